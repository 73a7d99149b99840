//! The commands, a file each: what the command line asks of the service, and how it ends.

mod acp;
mod approval_choice;
mod approvals;
mod asks;
mod attach;
mod cancel;
mod common;
mod compact;
mod conversations;
mod events;
pub(super) mod follow;
mod greeting;
pub(super) mod jobs;
pub(crate) mod life;
mod listing;
mod mcp;
mod models;
mod order;
mod prompt;
mod queue;
mod resume;
mod rules;
mod run;
mod said;
mod schema_file;
mod settings;
mod skill;
mod stops;
mod table;
mod template;
mod tools;
mod trash;
mod undo;
mod usage;
pub(super) mod workflow;

use clap::Subcommand;
use harness_actors::Clock;
use harness_actors::model::ReplySchema;
use harness_protocol::Queue;
use serde_json::Value;
use tokio::time::Instant;

use crate::cli::color::ColorFlag;
use crate::cli::exit_codes::{asks, exits, runs};
use crate::client::api::connection::ServiceConnection;
use crate::client::api::patience::Patience;
use crate::client::api::route::Route;
use crate::client::api::routes;
pub(crate) use crate::client::commands::attach::AttachArgs;
use crate::client::commands::attach::WithoutService;
use crate::client::commands::common::{CommonArgs, StartingArgs, WaysArgs};
use crate::client::commands::greeting::{Greeting, greet};
use crate::client::commands::life::{logs, restart, status, stop};
use crate::client::commands::listing::ListingArgs;
use crate::client::commands::order::CommandOrder;
use crate::client::commands::prompt::PromptArgs;
use crate::client::commands::said::QueueMessageArgs;
use crate::client::commands::workflow::WorkflowCommand;
use crate::client::error::{CommandError, EXIT_DENIED, EXIT_LIMITED};
use crate::client::interrupts::{Interrupts, until_interrupted};
use crate::client::output::Output;
use crate::client::reply_file::ReplyFile;
use crate::config::{ClientConfig, HomeFlag};

/// The commands for the running service.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Attach to a conversation in the terminal, beside other clients
    #[command(after_help = attach::HELP)]
    Attach(AttachArgs),
    /// List, make, show, rename, delete, fork and export conversations
    Conversations(conversations::ConversationsArgs),
    /// Show deleted conversations, move one back, or remove them for good
    Trash(trash::TrashArgs),
    /// Follow the events of a conversation
    Events(events::EventsArgs),
    /// Send a prompt and stream the reply
    Prompt(prompt::PromptArgs),
    /// Cancel the run that is going
    Cancel(cancel::CancelArgs),
    /// Tell the model something in the run that is going
    #[command(after_help = exits(said::STEER_HELP, "it waits", "failed, or no service runs", None))]
    Steer(QueueMessageArgs),
    /// Go on with this when the run would end
    #[command(after_help = exits(said::FOLLOW_UP_HELP, "it waits", "failed, or no service runs", None))]
    FollowUp(QueueMessageArgs),
    /// Show or withdraw what waits to be said
    Queue(queue::QueueArgs),
    /// Show what tools wait to change
    Approvals(approvals::ApprovalsArgs),
    /// Allow what a tool waits to change
    Approve(approvals::ApproveArgs),
    /// Refuse what a tool waits to change
    Deny(approvals::DenyArgs),
    /// Show or change the rules of what tools may change
    Rules(rules::RulesArgs),
    /// Show or stop what runs in the background
    Jobs(jobs::JobsArgs),
    /// Take back what tools changed
    Undo(undo::UndoArgs),
    /// Go on without a new prompt and stream the reply
    #[command(after_help = runs(resume::CONTINUE_HELP, resume::FAILED))]
    Continue(StartingArgs),
    /// Ask again for a reply that failed and stream it
    #[command(after_help = runs(resume::RETRY_HELP, resume::FAILED))]
    Retry(StartingArgs),
    /// Show or change the settings of a conversation
    Settings(settings::SettingsArgs),
    /// Show or renew the tools that a conversation is offered
    Tools(tools::ToolsArgs),
    /// List, add, test, accept and remove MCP servers
    Mcp(mcp::McpArgs),
    /// Be the agent of an editor, over standard input and output
    #[command(after_help = exits(acp::HELP, "the editor closed standard input", "failed", None))]
    Acp(acp::AcpArgs),
    /// Replace the past of a conversation by a summary
    Compact(compact::CompactArgs),
    /// Show the tokens that a conversation used, and what they cost
    #[command(after_help = asks(usage::USAGE_HELP))]
    Usage(CommonArgs),
    /// List the models that can be chosen
    Models(models::ModelsArgs),
    /// List the skills that there are
    #[command(after_help = asks(listing::SKILLS_HELP))]
    Skills(ListingArgs),
    /// List the prompt templates that there are
    #[command(after_help = asks(listing::TEMPLATES_HELP))]
    Templates(ListingArgs),
    /// Send a skill and stream the reply
    Skill(skill::SkillArgs),
    /// Send a prompt template with arguments and stream the reply
    Template(template::TemplateArgs),
    /// Show what service runs, and where it differs from this shell
    Status(status::StatusArgs),
    /// Stop the running service
    Stop(stop::StopArgs),
    /// Start this version in the place of the running service
    Restart(restart::RestartArgs),
    /// Show the log of the service
    Logs(logs::LogsArgs),
}

impl ClientCommand {
    async fn carry_out(
        &self,
        config: &ClientConfig,
        output: &mut Output,
    ) -> Result<i32, CommandError> {
        match self {
            // Ctrl-C is a key like any other there.
            Self::Attach(it) => attach::run(it, config, WithoutService::Fail, output).await,
            Self::Status(it) => status::run(it, config, output).await,
            Self::Stop(it) => stop::run(it, config, output).await,
            Self::Restart(it) => restart::run(it, config, output).await,
            Self::Logs(it) => logs::run(it, config, output).await,
            Self::Trash(it) => trash::run(it, config, output).await,
            Self::Mcp(it) => mcp::run(it, config, output).await,
            Self::Acp(it) => acp::run(it, config, output).await,
            Self::Prompt(it) => match &it.schema {
                Some(file) => start_typed(it, &schema_file::read(file)?, config, output).await,
                None => start(it.order(None)?, config, output).await,
            },
            Self::Continue(it) => {
                start(
                    CommandOrder::without_prompt(it, routes::resume),
                    config,
                    output,
                )
                .await
            }
            Self::Retry(it) => {
                start(
                    CommandOrder::without_prompt(it, routes::retry),
                    config,
                    output,
                )
                .await
            }
            Self::Skill(it) => start(it.order()?, config, output).await,
            Self::Template(it) => start(it.order(), config, output).await,
            Self::Steer(it) => say(it, Queue::Steer, config, output).await,
            Self::FollowUp(it) => say(it, Queue::FollowUp, config, output).await,
            Self::Conversations(it) => asked(it, conversations::run, config, output).await,
            Self::Cancel(it) => asked(it, cancel::run, config, output).await,
            Self::Queue(it) => asked(it, queue::run, config, output).await,
            Self::Approvals(it) => asked(it, approvals::run, config, output).await,
            Self::Approve(it) => asked(it, approvals::approve, config, output).await,
            Self::Deny(it) => asked(it, approvals::deny, config, output).await,
            Self::Rules(it) => asked(it, rules::run, config, output).await,
            Self::Jobs(it) => {
                let show = async |it: &jobs::JobsArgs,
                                  service: &ServiceConnection,
                                  output: &mut Output| {
                    jobs::run(it, service, Clock::system(), output).await
                };
                asked(it, show, config, output).await
            }
            Self::Undo(it) => asked(it, undo::run, config, output).await,
            Self::Settings(it) => asked(it, settings::run, config, output).await,
            Self::Tools(it) => asked(it, tools::run, config, output).await,
            Self::Compact(it) => asked(it, compact::run, config, output).await,
            Self::Usage(it) => asked(it, usage::run, config, output).await,
            Self::Models(it) => asked(it, models::run, config, output).await,
            Self::Skills(it) => list("skills", routes::skills, it, config, output).await,
            Self::Templates(it) => list("templates", routes::templates, it, config, output).await,
            Self::Events(it) => {
                let follow = async |it: &events::EventsArgs,
                                    service: &ServiceConnection,
                                    output: &mut Output| {
                    events::run(it, service, config, Patience::default(), output).await
                };
                asked(it, follow, config, output).await
            }
        }
    }
}

/// Carries out a command; the exit code.
pub(crate) fn run(command: &ClientCommand, home: &HomeFlag, color: ColorFlag) -> i32 {
    let mut output = Output::of_process(color);
    let result = ClientConfig::from_process(home).map_err(CommandError::from);
    let result = result
        .and_then(|config| actix::System::new().block_on(command.carry_out(&config, &mut output)));
    ended(result, &mut output)
}

/// Carries out a command about workflows; the exit code.
pub(crate) fn run_workflow(command: &WorkflowCommand, home: &HomeFlag, color: ColorFlag) -> i32 {
    let mut output = Output::of_process(color);
    let result = ClientConfig::from_process(home).map_err(CommandError::from);
    let result = result.and_then(|config| {
        let work = workflow::run(command, &config, &mut output);
        actix::System::new().block_on(work)
    });
    ended(result, &mut output)
}

/// Attaches, after starting a service if none runs; the exit code.
pub(crate) fn run_alone(
    attach: &AttachArgs,
    is_demo: bool,
    home: &HomeFlag,
    color: ColorFlag,
) -> i32 {
    let mut output = Output::of_process(color);
    let result = ClientConfig::from_process(home).map_err(CommandError::from);
    let result = result.and_then(|config| {
        let start = WithoutService::Start { is_demo };
        actix::System::new().block_on(attach::run(attach, &config, start, &mut output))
    });
    ended(result, &mut output)
}

/// Starts a run and shows it to its end.
async fn start(
    order: CommandOrder<'_>,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let file = prepare(order.ways(), output)?;
    let service = greet(Greeting::Remarks, config, output).await?;
    let order = order.find(&service, output).await?;
    let mut interrupts = Interrupts::of_process()?;
    let run = run::run(order, config, Patience::default(), &mut interrupts, output).await?;
    // A reply that was not finished is in no file.
    if let Some(file) = file.filter(|_| matches!(run.code, 0 | EXIT_DENIED | EXIT_LIMITED)) {
        file.keep()?;
    }
    Ok(run.code)
}

/// Prepares the output of a run; the file that the reply goes to, if there is one.
fn prepare(ways: &WaysArgs, output: &mut Output) -> Result<Option<ReplyFile>, CommandError> {
    if ways.quiet {
        output.hush();
    }
    let file = ways.output.as_deref().map(ReplyFile::begin).transpose()?;
    if let Some(file) = &file {
        output.write_to(file);
    }
    Ok(file)
}

/// Starts a run whose reply has to fit a schema, asks once more where it does not, and prints the document.
async fn start_typed(
    prompt: &PromptArgs,
    schema: &ReplySchema,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let order = prompt.order(Some(schema))?;
    let (is_json, timeout) = (prompt.sending.starting.json, order.ways().timeout);
    let file = prepare(order.ways(), output)?;
    let service = greet(Greeting::Remarks, config, output).await?;
    let mut order = order.find(&service, output).await?;
    let conversation = order.conversation.clone();
    let mut interrupts = Interrupts::of_process()?;
    let began = Instant::now();
    let mut may_ask_again = true;
    let mut is_denied = false;
    loop {
        let run = run::run(order, config, Patience::default(), &mut interrupts, output).await?;
        is_denied |= run.code == EXIT_DENIED;
        if !matches!(run.code, 0 | EXIT_DENIED) {
            return Ok(run.code);
        }
        if !run.is_whole {
            output.tell("harness: the run has no whole reply to check");
            return Ok(if is_denied { EXIT_DENIED } else { 1 });
        }
        let fault = match schema.read(&run.reply) {
            Ok(document) => {
                if !is_json {
                    output.text(&format!("{document}\n"))?;
                }
                if let Some(file) = file {
                    file.keep()?;
                }
                return Ok(if is_denied { EXIT_DENIED } else { 0 });
            }
            Err(fault) => fault,
        };
        if !std::mem::take(&mut may_ask_again) {
            output.tell(&format!(
                "harness: the reply does not fit the schema: {fault}"
            ));
            return Ok(1);
        }
        output.note(&format!(
            "harness: the reply does not fit the schema, asking once more: {fault}"
        ));
        order = prompt
            .correcting(&fault, schema)
            .to(conversation.clone(), false);
        order.ways.timeout = timeout.map(|limit| limit.saturating_sub(began.elapsed()));
    }
}

/// Lets a message wait.
async fn say(
    said: &QueueMessageArgs,
    queue: Queue,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let message = said.message(queue)?;
    let service = greet(Greeting::Remarks, config, output).await?;
    let sending = (config, Patience::default());
    until_interrupted(said.say(queue, message, sending, &service, output)).await
}

/// Lists what can be sent by its name.
async fn list(
    kind: &str,
    route: impl FnOnce(Option<&str>) -> Route<Value>,
    listing: &ListingArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let service = greet(Greeting::Version, config, output).await?;
    until_interrupted(listing::run(kind, route, listing, &service, output)).await
}

/// Asks the service something.
async fn asked<C>(
    command: &C,
    ask: impl AsyncFnOnce(&C, &ServiceConnection, &mut Output) -> Result<(), CommandError>,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let service = greet(Greeting::Version, config, output).await?;
    until_interrupted(ask(command, &service, output)).await
}

fn ended(result: Result<i32, CommandError>, output: &mut Output) -> i32 {
    match result {
        Ok(code) => code,
        Err(error) => {
            if error.is_worth_telling() {
                output.tell(&format!("harness: {error}"));
            }
            error.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use clap::error::ErrorKind;

    use std::io;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::api::error::ApiError;
    use crate::client::api::stream::Break;
    use crate::client::prompt_text::{PromptTextError, Sought};
    use crate::client::testing::recorded;

    fn parse(arguments: &[&str]) -> Result<ClientCommand, ErrorKind> {
        match Cli::try_parse_from(["harness"].iter().chain(arguments)) {
            Ok(Cli {
                command: Some(ProgramCommand::Client(command)),
                ..
            }) => Ok(command),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.kind()),
        }
    }

    /// Spec: [CLI-11]
    #[test]
    fn help_shows_examples_and_exit_codes() {
        for command in [
            "attach",
            "conversations",
            "events",
            "prompt",
            "cancel",
            "steer",
            "follow-up",
            "queue",
            "continue",
            "retry",
            "settings",
            "tools",
            "mcp",
            "acp",
            "compact",
            "usage",
            "models",
        ] {
            let error = Cli::try_parse_from(["harness", command, "--help"]).unwrap_err();
            let help = error.to_string();
            for part in ["Examples:", "Exit codes:", "[env: HARNESS_HOME]"] {
                assert!(help.contains(part), "{part} is missing in:\n{help}");
            }
        }
    }

    /// Spec: [CLI-07] [CLI-33] [CLI-812]
    #[test]
    fn wrong_use_is_refused_before_anything_is_sent() {
        for (arguments, kind) in [
            (
                &["events", "--after", "3", "--tail", "2"][..],
                ErrorKind::ArgumentConflict,
            ),
            (&["events", "-c", ""], ErrorKind::InvalidValue),
            (&["cancel", "--run", "x"], ErrorKind::ValueValidation),
            (&["prompt", "-v"], ErrorKind::UnknownArgument),
            (&["queue", "withdraw", "x"], ErrorKind::ValueValidation),
            (&["settings", "set"], ErrorKind::MissingRequiredArgument),
            (&["continue", "more"], ErrorKind::UnknownArgument),
            (&["mcp", "add", "git"], ErrorKind::MissingRequiredArgument),
            (
                &["mcp", "add", "git", "uvx", "mcp-server-git"],
                ErrorKind::UnknownArgument,
            ),
            (
                &["mcp", "add", "git", "--env", "x", "--", "uvx"],
                ErrorKind::ValueValidation,
            ),
            (
                &["conversations", "delete"],
                ErrorKind::MissingRequiredArgument,
            ),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), kind, "{arguments:?}");
        }
    }

    /// Spec: [CLI-20] [CLI-40]
    #[test]
    fn what_is_left_out_is_the_list_and_the_default_conversation() {
        let Ok(ClientCommand::Conversations(conversations)) = parse(&["conversations", "--json"])
        else {
            panic!("no list");
        };
        assert!(conversations.action.is_none() && conversations.list.json);
        let Ok(ClientCommand::Prompt(prompt)) = parse(&["prompt", "What", "is", "--", "-v"]) else {
            panic!("no prompt");
        };
        assert_eq!(prompt.sending.starting.which.named(), None);
        assert_eq!(prompt.text, ["What", "is", "-v"]);
    }

    /// Spec: [CLI-07] [CLI-08] [CLI-09]
    #[test]
    fn the_exit_code_tells_wrong_use_from_failure_and_a_reader_that_left_from_both() {
        let output = |kind: io::ErrorKind| CommandError::Output(kind.into());
        for (error, code, told) in [
            (output(io::ErrorKind::BrokenPipe), 0, false),
            (output(io::ErrorKind::StorageFull), 1, true),
            (CommandError::Stopped, 130, false),
            (CommandError::from(ApiError::from(Break::Silent)), 1, true),
            (
                PromptTextError::Missing {
                    sought: Sought::Prompt,
                }
                .into(),
                2,
                true,
            ),
        ] {
            let (mut output, record) = recorded();
            assert_eq!(ended(Err(error), &mut output), code);
            assert_eq!(record.err().starts_with("harness: "), told);
            assert_eq!(record.err().lines().count(), usize::from(told));
        }
    }
}
