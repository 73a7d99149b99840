//! Carries out one command of a client and says how it ended.

pub(super) mod arguments;
mod compact;
mod conversations;
mod events;
mod guidance;
pub(super) mod life;
pub(super) mod order_arguments;
pub(super) mod queue;
pub(super) mod run;
pub(super) mod settings;
mod usage;

use std::io;

use derive_more::{Display, Error, From};
use harness_actors::Clock;
use harness_protocol::{AttachmentOrder, CancelAnswer, CancelOrder, Queue};

use crate::client::api::connection::RequestError;
use crate::client::api::connection::path;
use crate::client::api::discovery;
use crate::client::api::discovery::DiscoveryError;
use crate::client::api::follower::Patience;
use crate::client::api::stream::Break;
use crate::client::attach;
use crate::client::attach::Attach;
use crate::client::attach::WithoutService;
use crate::client::background::StartError;
use crate::client::commands::arguments::Cancel;
use crate::client::commands::arguments::ClientCommand;
use crate::client::commands::life::RestartError;
use crate::client::commands::life::StopError;
use crate::client::commands::order_arguments::Continue;
use crate::client::commands::order_arguments::FollowUp;
use crate::client::commands::order_arguments::Retry;
use crate::client::commands::order_arguments::Steer;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::client::prompt_files;
use crate::client::prompt_text;
use crate::client::remarks;
use crate::config::{ClientConfig, ConfigError};

/// The exit code of a command that Ctrl-C ended, and of a run that was cancelled.
pub(crate) const EXIT_CANCELLED: i32 = 130;

/// Why a command did not do what it was asked.
#[derive(Debug, Display, Error, From)]
pub(crate) enum CommandError {
    /// A setting cannot be used.
    Config(ConfigError),
    /// There is no service to talk to.
    Discovery(DiscoveryError),
    /// There is none in spite of an attempt to start one.
    Start(StartError),
    /// The service was not stopped.
    Stop(StopError),
    /// The service was not restarted.
    Restart(RestartError),
    /// One runs that is not the demo.
    #[display("{reason}")]
    #[from(skip)]
    NoDemo {
        /// What runs, and the ways out.
        reason: String,
    },
    /// The service did not answer, or said no.
    Request(RequestError),
    /// The event stream ended.
    Broken(Break),
    /// There is no prompt to send.
    Prompt(prompt_text::PromptTextError),
    /// A file cannot go with the prompt.
    File(prompt_files::PromptFileError),
    /// The result cannot be written.
    #[display("cannot write to standard output: {_0}")]
    Output(io::Error),
    /// The system refused something else.
    #[display("{reason}")]
    #[from(skip)]
    System {
        /// What, and what the system said.
        reason: String,
    },
    /// What was given cannot be sent.
    #[display("{reason}")]
    #[from(skip)]
    Usage {
        /// What, and what it should be.
        reason: String,
    },
    /// The service contradicts itself.
    #[display("{reason}")]
    #[from(skip)]
    Contradiction {
        /// How.
        reason: &'static str,
    },
    /// The terminal client could not go on.
    Screen(harness_tui::RunError),
    /// Ctrl-C was pressed.
    #[display("stopped")]
    Stopped,
}

impl CommandError {
    /// The exit code: 2 for wrong use, 130 for Ctrl-C, 1 for a failure. A reader that has seen
    /// enough and left is no failure.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Config(_) | Self::Usage { .. } => 2,
            Self::Prompt(error) => error.exit_code(),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Stopped => EXIT_CANCELLED,
            Self::Discovery(_)
            | Self::Start(_)
            | Self::Stop(_)
            | Self::Restart(_)
            | Self::NoDemo { .. }
            | Self::Screen(_)
            | Self::File(_)
            | Self::Request(_)
            | Self::Broken(_)
            | Self::Output(_)
            | Self::System { .. }
            | Self::Contradiction { .. } => 1,
        }
    }

    /// Whether there is something to say that the exit code does not.
    fn is_worth_telling(&self) -> bool {
        !matches!(self.exit_code(), 0 | EXIT_CANCELLED)
    }
}

/// What is said to a conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    /// In words.
    pub(crate) text: String,
    /// In files.
    pub(crate) files: Vec<AttachmentOrder>,
}

/// Carries out a command; the exit code.
pub(crate) fn run(command: &ClientCommand) -> i32 {
    let mut output = Output::of_process();
    let result = ClientConfig::from_process(command.home())
        .map_err(CommandError::from)
        .and_then(|config| {
            // Standard input may block, which nothing may that the events wait for.
            let message = match command {
                ClientCommand::Prompt(prompt) => Message {
                    files: prompt_files::read(&prompt.attach)?,
                    text: prompt_text::read(&prompt.text)?,
                },
                ClientCommand::Steer(Steer { said })
                | ClientCommand::FollowUp(FollowUp { said }) => Message {
                    files: prompt_files::read(&said.attach)?,
                    text: prompt_text::read(&said.text)?,
                },
                ClientCommand::Skill(skill) if !skill.text.is_empty() => Message {
                    files: Vec::new(),
                    text: prompt_text::read(&skill.text)?,
                },
                _ => Message::default(),
            };
            actix::System::new().block_on(carry_out(command, &config, message, &mut output))
        });
    ended(result, &mut output)
}

/// Attaches, after starting a service if none runs; the exit code.
pub(crate) fn run_alone(attach: &Attach, is_demo: bool) -> i32 {
    let mut output = Output::of_process();
    let result = ClientConfig::from_process(&attach.home)
        .map_err(CommandError::from)
        .and_then(|config| {
            let start = WithoutService::Start { is_demo };
            let attached = attach::run(attach, &config, start, &mut output);
            actix::System::new().block_on(attached)
        });
    ended(result, &mut output)
}

async fn carry_out(
    command: &ClientCommand,
    config: &ClientConfig,
    message: Message,
    output: &mut Output,
) -> Result<i32, CommandError> {
    if let ClientCommand::Attach(attach) = command {
        // Ctrl-C is a key like any other there.
        return attach::run(attach, config, WithoutService::Fail, output).await;
    }
    if let Some(order) = command.life() {
        return life::run(order, config, output).await;
    }
    greet(command, config, output).await?;
    let mut interrupts = Interrupts::of_process().map_err(|error| CommandError::System {
        reason: format!("cannot take notice of Ctrl-C: {error}"),
    })?;
    let patience = Patience::default();
    let run = match command {
        ClientCommand::Prompt(prompt) => Some(run::Order::new(prompt, message.clone())),
        ClientCommand::Continue(Continue { resumed }) => {
            Some(run::Order::resume(resumed, "/continue"))
        }
        ClientCommand::Retry(Retry { resumed }) => Some(run::Order::resume(resumed, "/retry")),
        _ => None,
    };
    if let Some(order) = run {
        return run::run(order, config, patience, &mut interrupts, output).await;
    }
    if let Some(order) = guidance::order(command, &message.text) {
        return run::run(order, config, patience, &mut interrupts, output).await;
    }
    let work = async {
        match command {
            ClientCommand::Conversations(conversations) => {
                conversations::run(conversations, config, Clock::system(), output).await
            }
            ClientCommand::Events(events) => events::run(events, config, patience, output).await,
            ClientCommand::Cancel(order) => cancel(order, config, output).await,
            ClientCommand::Steer(Steer { said }) => {
                queue::say(said, Queue::Steer, message, config, output).await
            }
            ClientCommand::FollowUp(FollowUp { said }) => {
                queue::say(said, Queue::FollowUp, message, config, output).await
            }
            ClientCommand::Queue(queued) => queue::run(queued, config, output).await,
            ClientCommand::Settings(order) => settings::run(order, config, output).await,
            ClientCommand::Compact(order) => compact::run(order, config, output).await,
            ClientCommand::Usage(used) => usage::run(used, config, output).await,
            ClientCommand::Models(models) => usage::models(models, config, output).await,
            ClientCommand::Skills(listing) => {
                let connection = discovery::find(config).await?;
                guidance::list("skills", listing, &connection, output).await
            }
            ClientCommand::Templates(listing) => {
                let connection = discovery::find(config).await?;
                guidance::list("templates", listing, &connection, output).await
            }
            ClientCommand::Attach(_)
            | ClientCommand::Skill(_)
            | ClientCommand::Template(_)
            | ClientCommand::Prompt(_)
            | ClientCommand::Continue(_)
            | ClientCommand::Retry(_)
            | ClientCommand::Status(_)
            | ClientCommand::Stop(_)
            | ClientCommand::Restart(_)
            | ClientCommand::Logs(_) => Ok(()),
        }
    };
    tokio::select! {
        done = work => done.map(|()| 0),
        () = interrupts.next() => Err(CommandError::Stopped),
    }
}

/// Looks for the service, and says on standard error what this shell ought to know of it: that it
/// is of another version, and, before the model is told something, where it is not what this shell
/// says.
async fn greet(
    command: &ClientCommand,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let version = connection.info().and_then(remarks::version);
    let differing = if command.is_said_to_the_model() {
        remarks::of_process(&config.home, &connection)
    } else {
        Vec::new()
    };
    let lines = differing.into_iter().map(|remark| remark.line);
    for line in version.into_iter().chain(lines) {
        output.note(&format!("harness: {line}"));
    }
    Ok(())
}

fn ended(result: Result<i32, CommandError>, output: &mut Output) -> i32 {
    match result {
        Ok(code) => code,
        Err(error) => {
            if error.is_worth_telling() {
                output.note(&format!("harness: {error}"));
            }
            error.exit_code()
        }
    }
}

async fn cancel(
    order: &Cancel,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let path = path(&order.which.conversation, "/cancel");
    let body = CancelOrder {
        run_id: order.run,
        by: order.caller.name(),
        clear_queue: order.clear_queue,
    };
    let answer: CancelAnswer = connection.order(hyper::Method::POST, &path, &body).await?;
    output.line(if answer.cancelled {
        "the run was stopped"
    } else {
        "no run was going"
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::client::testing::Home;
    use crate::client::testing::Server;
    use crate::client::testing::answer;
    use crate::client::testing::recorded;

    /// Spec: [CLI-07] [CLI-08] [CLI-09]
    #[test]
    fn the_exit_code_tells_wrong_use_from_failure_and_a_reader_that_left_from_both() {
        let output = |kind: io::ErrorKind| CommandError::Output(kind.into());
        for (error, code, told) in [
            (output(io::ErrorKind::BrokenPipe), 0, false),
            (output(io::ErrorKind::StorageFull), 1, true),
            (CommandError::Stopped, 130, false),
            (CommandError::Broken(Break::Silent), 1, true),
            (prompt_text::PromptTextError::Missing.into(), 2, true),
        ] {
            let (mut output, record) = recorded();
            assert_eq!(ended(Err(error), &mut output), code);
            assert_eq!(record.err().starts_with("harness: "), told);
            assert_eq!(record.err().lines().count(), usize::from(told));
        }
    }

    /// Spec: [CLI-35] [CLI-51] [CLI-78]
    #[actix::test]
    async fn a_cancel_says_whether_a_run_was_stopped() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let answers = [true, false, false].map(|cancelled| json!({"cancelled": cancelled}));
        server.on(
            "/v1/conversations/c/cancel",
            answers.iter().map(|body| answer(200, body)).collect(),
        );
        for (flags, printed, sent) in [
            (
                &["--run", "3", "--name", "ana"][..],
                "the run was stopped\n",
                r#"{"run_id":3,"by":"ana"}"#,
            ),
            (
                &["--clear-queue"],
                "no run was going\n",
                r#"{"clear_queue":true}"#,
            ),
            (&[], "no run was going\n", "{}"),
        ] {
            let line = ["harness", "cancel", "-c", "c"].iter().chain(flags);
            let Some(Command::Client(ClientCommand::Cancel(order))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{flags:?}");
            };
            let (mut output, record) = recorded();
            cancel(&order, &home.config, &mut output).await.unwrap();
            assert_eq!(record.out(), printed);
            assert!(server.requests().pop().unwrap().ends_with(sent));
        }
    }
}
