//! `harness attach`, and `harness` alone: the terminal client on the running service.

use std::env;
use std::io::{self, IsTerminal as _};
use std::pin::pin;
use std::time::Duration;

use clap::{Args, ValueEnum};
use env_logger::Target;
use harness_actors::Redaction;
use harness_protocol::{ServiceInfo, SettingValue, UpstreamKind};
use serde_json::Map;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::{discovery, routes};
use crate::client::attach;
use crate::client::attach::name::client_name;
use crate::client::background::{self, StartWaits, tell_end};
use crate::client::commands::common::{CallerArgs, ConversationArg};
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::config::ClientConfig;
use crate::logging::log_file;
use crate::logging::log_setup;

pub(super) const HELP: &str = "\
Examples:
  harness                                      attach, and start the service if none runs
  harness attach -c ID                         attach to another conversation
  harness attach --new Ideas                   make a conversation and attach to it
  harness attach --plain | tee log             lines only: for pipes and screen readers

Several people, or several terminals, can be attached to one conversation at once; `--name` tells
them apart. Leaving ends neither the run nor the service.

Exit codes:
    0  left
    1  failed, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  lines only: the last run was cancelled, or Ctrl-C was pressed; 128 and the number of the
       signal that ended it";

/// The flags of `harness attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: ConversationArg,
    /// Make a conversation and attach to it
    #[arg(long, value_name = "TITLE", num_args = 0..=1, conflicts_with = "conversation")]
    pub(super) new: Option<Option<String>>,
    /// The name of the client.
    #[command(flatten)]
    pub(super) caller: CallerArgs,
    /// Write lines one after the other, and never move the cursor
    #[arg(long)]
    pub(super) plain: bool,
    /// The colours
    #[arg(long, value_enum, env = "HARNESS_THEME", default_value = "auto")]
    pub(super) theme: ThemeFlag,
}

impl AttachArgs {
    /// Whether lines are wanted, which can go anywhere.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }
}

/// The colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ThemeFlag {
    /// For the background that the terminal says it has, else for a dark one
    Auto,
    /// For a dark background
    Dark,
    /// For a light background
    Light,
    /// The terminal's own sixteen colours
    Terminal,
}

impl ThemeFlag {
    /// The chosen theme, by its name on the command line.
    pub(super) fn chosen(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Dark => Some("dark"),
            Self::Light => Some("light"),
            Self::Terminal => Some("terminal"),
        }
    }
}

/// The file of the client's log, in the state folder.
const LOG_FILE: &str = "tui.log";
/// The filter of the client's log, unless `RUST_LOG` gives one.
const LOG_FILTER: &str = "warn";

/// Number of conversations that are looked at, the last active ones.
const PAGE: usize = 50;

/// The source of a setting that was not made, in the words of `harness config`.
const DEFAULT: &str = "default";

/// How long looking for the service may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// The behaviour when no service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutService {
    /// Say so.
    Fail,
    /// Start one.
    Start {
        /// Whether it is to be the demo.
        is_demo: bool,
    },
}

/// Attaches until the user leaves; the exit code.
///
/// # Errors
/// If there is no service, or the terminal cannot be used.
pub(super) async fn run(
    attach: &AttachArgs,
    config: &ClientConfig,
    without_service: WithoutService,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let service = match without_service {
        WithoutService::Fail => patiently(discovery::find(config), output).await?,
        WithoutService::Start { is_demo } => start(config, is_demo, output).await?,
    };
    let conversation = match &attach.new {
        Some(title) => folder::make(title.clone(), Map::new(), &service).await?,
        None => attach.which.find(&service).await?,
    };
    let offers_models = match without_service {
        WithoutService::Start { .. } if harness_tui::takes_screen(attach.plain) => {
            has_no_model(&service, &conversation).await
        }
        WithoutService::Start { .. } | WithoutService::Fail => false,
    };
    drop(service);
    start_log(attach, config, output);
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| CommandError::System {
        reason: format!("the system has no randomness: {error}"),
    })?;
    let options = harness_tui::ClientOptions {
        name: client_name(attach.caller.name()),
        client_key: format!("tui-{:016x}", u64::from_ne_bytes(random)),
        home: config.home.clone(),
        conversation,
        theme: attach.theme.chosen().map(str::to_owned),
        is_plain: attach.plain,
        has_colors: output.chosen_colors(),
        offers_models,
    };
    attach::run(options, config).await
}

/// True if the conversation asks the default model of a service that has a key and was asked nothing yet: then a person
/// chooses one first.
async fn has_no_model(service: &ServiceConnection, conversation: &str) -> bool {
    let is_default = service.info().is_some_and(|info| {
        let is_unset = |setting: &SettingValue| setting.key == "model" && setting.source == DEFAULT;
        let has_key = info.upstream.kind == UpstreamKind::Api && info.upstream.has_key;
        has_key && info.settings.iter().any(is_unset)
    });
    if !is_default {
        return false;
    }
    // Without the list nothing is offered, and the attaching says what is wrong.
    let listed = service.ask(&routes::conversations(PAGE, None)).await;
    let is_new = listed.is_ok_and(|page| page.conversations.iter().all(|one| one.prompts == 0));
    let settings = service.ask(&routes::settings(conversation)).await;
    is_new && settings.is_ok_and(|answer| answer.settings.model.is_none())
}

/// Starts logging: to a file if the client has the screen, on which a line would be over what it
/// shows; else to standard error.
fn start_log(attach: &AttachArgs, config: &ClientConfig, output: &mut Output) {
    let filter = env::var("RUST_LOG").unwrap_or_else(|_| LOG_FILTER.to_owned());
    let redaction = Redaction::new(config.secrets.clone());
    if !harness_tui::takes_screen(attach.plain) {
        return log_setup::start(&filter, Target::Stderr, redaction);
    }
    match log_file::open_bounded(&config.home, LOG_FILE) {
        Ok((file, _)) => log_setup::start(&filter, Target::Pipe(Box::new(file)), redaction),
        Err(error) => output.note(&format!("harness: there is no log: {error}")),
    }
}

/// Says what is waited for, if that takes long and a person can see it.
async fn patiently<F: Future>(looking: F, output: &mut Output) -> F::Output {
    let mut looking = pin!(looking);
    if let Ok(found) = tokio::time::timeout(PATIENCE, &mut looking).await {
        return found;
    }
    if io::stderr().is_terminal() {
        output.note("harness: looking for the service…");
    }
    looking.await
}

/// Starts a service if none runs, and tells of it.
async fn start(
    config: &ClientConfig,
    is_demo: bool,
    output: &mut Output,
) -> Result<ServiceConnection, CommandError> {
    let serve = background::serve(&config.home, is_demo)?;
    let looking = background::find_or_start(config, serve, StartWaits::default());
    let found = patiently(looking, output).await;
    tell_end(&found, output);
    let (connection, remark) = found?;
    match connection.info() {
        Some(info) if is_demo && info.upstream.kind != UpstreamKind::Demo => {
            return Err(no_demo(info));
        }
        _ => {}
    }
    if let Some(remark) = remark {
        output.note(&format!("harness: {remark}"));
    }
    Ok(connection)
}

/// A user who asks for the demo must not pay for an answer.
fn no_demo(info: &ServiceInfo) -> CommandError {
    let ServiceInfo {
        model,
        workspace,
        pid,
        ..
    } = info;
    let host = info.upstream.host.as_deref().unwrap_or("an API");
    let reason = format!(
        "a service that is not the demo runs already ({model} at {host}, folder {workspace}, process {pid}): `harness` attaches to it, `harness stop` ends it, and with another HARNESS_HOME the demo runs beside it"
    );
    CommandError::NoDemo { reason }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;

    fn parse(arguments: &[&str]) -> Result<AttachArgs, ErrorKind> {
        let cli = Cli::try_parse_from(["harness"].iter().chain(arguments));
        match cli.map_err(|error| error.kind())? {
            Cli {
                command: Some(ProgramCommand::Client(ClientCommand::Attach(attach))),
                ..
            } => Ok(attach),
            Cli {
                command: None,
                alone,
                ..
            } => Ok(alone.into_inner().attach),
            other => panic!("{other:?}"),
        }
    }

    /// Spec: [CLI-60]
    #[test]
    fn alone_and_as_attach_the_flags_are_the_same() {
        let flags = ["--plain", "--theme", "light", "--name", "ana", "-c", "x"];
        for command in [&[][..], &["attach"]] {
            let attach = parse(&[command, &flags].concat()).unwrap();
            assert!(attach.plain);
            assert_eq!(attach.theme.chosen(), Some("light"));
            assert_eq!(attach.caller.name().as_deref(), Some("ana"));
            assert_eq!(attach.which.named(), Some("x"));
            let attach = parse(command).unwrap();
            assert_eq!(attach.which.named(), None);
            assert_eq!((attach.new, attach.plain), (None, false));
            assert_eq!(attach.theme, ThemeFlag::Auto);
            assert_eq!(attach.theme.chosen(), None);
            let new = |flags: &[&str]| parse(&[command, flags].concat()).unwrap().new;
            assert_eq!(new(&["--new"]), Some(None));
            assert_eq!(new(&["--new", "Ideas"]), Some(Some("Ideas".to_owned())));
        }
    }

    /// Spec: [CLI-07] [CLI-60]
    #[test]
    fn wrong_use_is_refused() {
        for (arguments, kind) in [
            (
                &["attach", "--new", "-c", "x"][..],
                ErrorKind::ArgumentConflict,
            ),
            (&["attach", "--theme", "pink"], ErrorKind::InvalidValue),
            (&["attach", "-c", ""], ErrorKind::InvalidValue),
            // `--demo` does not apply to a running service.
            (&["attach", "--demo"], ErrorKind::UnknownArgument),
            (&["--demo", "attach"], ErrorKind::ArgumentConflict),
            (&["--plain", "serve"], ErrorKind::ArgumentConflict),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), kind, "{arguments:?}");
        }
    }
}
