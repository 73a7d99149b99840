//! The command line: what can be asked of the program, and the help a newcomer works from.

pub(crate) mod before_subcommand;
pub(crate) mod color;
pub(crate) mod exit_codes;
pub(crate) mod shell_files;
pub(crate) mod wrong_use;

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use serde_json::json;

use crate::cli::before_subcommand::WithoutSubcommand;
use crate::cli::color::ColorFlag;
use crate::cli::exit_codes::exits;
use crate::cli::shell_files::{Completions, Man};
use crate::client::{AttachArgs, ClientCommand};
use crate::config::{HomeFlag, SettingFlags};
use crate::doctor::Examine;
use crate::workflow::Workflow;

const OVERVIEW: &str = "\
Examples:
  harness --demo                           try it, without a key or a network
  export ANTHROPIC_API_KEY=...             then, with your key:
  harness                                  talk to it here, and start the service if none runs
  harness serve                            serve this folder on http://127.0.0.1:8421
  harness serve --workspace ~/src/project --port 9000
  harness config                           show every setting and where it came from
With a service running, from any shell of the same user:
  harness attach                           join the conversation
  harness prompt What is in src?           ask, and stream the reply
  harness events                           follow what happens
  harness steer Look into tests, too       tell it something while it works
  harness follow-up Then list src          say this when it would stop
  harness continue                         go on after a limit, a cancel or a crash
  harness settings set thinking=high       from the next run on
  harness skill NAME                       `harness skills` lists them
  harness template NAME ARGUMENT           `harness templates` lists them
  harness compact                          replace the past by a summary
  harness usage                            the tokens, and what they cost
  harness conversations                    list what there is
Long work that the service checks itself:
  harness workflow new FILE                make a workflow of a file, once you approve it
  harness workflow run --wait              let it work, and show what happens
  harness workflow show                    how it is
The service itself:
  harness status                           what runs: folder, model, version, process, log
  harness stop                             end it
  harness restart                          this version in its place, when no run is going
  harness logs -f                          what it logs
Without a service:
  harness completions bash                 what the shell needs to complete commands; also zsh, fish
  harness man | man -l -                   the manual page
  harness version                          the version of this program
  harness workflow check FILE              all that is wrong with the file of a workflow

Exit codes:
    0  done, or stopped as asked
    1  failed
    2  wrong use: a flag or a setting cannot be used
    3  `harness status`: no service runs; a workflow: a person is needed
    4  `harness status`: one runs that cannot be talked to; a workflow: a limit stopped it
  130  cancelled, or ended with Ctrl-C";

const SETTINGS_HELP: &str = "\
Settings:
  A flag wins over the environment, the environment over config.toml in the state folder,
  and config.toml over the default. A key of config.toml is the flag with underscores:
  `--max-turns 20` is `max_turns = 20`. Durations: 300ms, 2s, 5m, 1h; a bare number is seconds.
  `harness config` shows every setting and where it came from.

Secrets have no flag, because other users can list flags; set them in the environment or the file:
  ANTHROPIC_API_KEY     api_key     API key of the Messages API
  ANTHROPIC_AUTH_TOKEN  auth_token  bearer token, in place of an API key
  HARNESS_TOKEN         token       what clients send, in place of the token file

Keys that single conversations use instead are named in config.toml only, and chosen by their names
with `harness settings set key_source=NAME`:
  [key_sources]
  team = \"env:TEAM_KEY\"
  mine = \"file:~/keys/mine\"     mode 0600, and yours

Exit codes:
  0  stopped as asked
  1  failed
  2  wrong use: a flag or a setting cannot be used";

const VERSION_HELP: &str = "\
Examples:
  harness version                              as `harness --version`
  harness version --json                       an object, for scripts

`harness status` shows the version of the running service.";

/// Runs conversations with a language model as a service that many clients can attach to.
#[derive(Debug, Parser)]
#[command(name = "harness", version, after_help = OVERVIEW)]
pub(crate) struct Cli {
    /// How to attach. Read before the command, which is taken out of what was parsed.
    #[command(flatten)]
    pub(crate) alone: WithoutSubcommand<Alone>,
    /// The command; attaches if left out.
    #[command(subcommand)]
    pub(crate) command: Option<ProgramCommand>,
    /// The state folder, of every command.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
    /// The colours, of every command.
    #[command(flatten)]
    pub(crate) color: ColorFlag,
}

/// The flags of `harness` alone.
#[derive(Debug, Args)]
pub(crate) struct Alone {
    /// If a service has to be started, let it talk to the model built into the program
    #[arg(long)]
    pub(crate) demo: bool,
    /// How to attach.
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
}

impl Cli {
    /// The help for a newcomer who asks for nothing where nothing can be shown.
    pub(crate) fn help() -> String {
        Self::command().render_help().to_string()
    }
}

/// The arguments for a service that a command line, with the name of the program first, starts;
/// none if it starts none.
pub(crate) fn as_serve(words: &[&str]) -> Option<Serve> {
    match Cli::try_parse_from(words).ok()?.command? {
        ProgramCommand::Serve(serve) => Some(serve),
        ProgramCommand::Config(_)
        | ProgramCommand::Doctor(_)
        | ProgramCommand::Workflow(_)
        | ProgramCommand::Completions(_)
        | ProgramCommand::Man(_)
        | ProgramCommand::Version(_)
        | ProgramCommand::Client(_) => None,
    }
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum ProgramCommand {
    /// Serve until stopped with Ctrl-C or SIGTERM
    Serve(Serve),
    /// Look at every journal, and repair what is damaged when told to
    Doctor(Examine),
    /// Show every setting, its value and where it came from; creates nothing
    Config(ShowConfig),
    /// Make, run, watch and steer workflows, and look at their files
    #[command(visible_alias = "wf")]
    Workflow(Workflow),
    /// Print the completions for a shell
    #[command(after_help = shell_files::COMPLETIONS_HELP)]
    Completions(Completions),
    /// Print the manual page, of the program or of one command
    #[command(after_help = shell_files::MAN_HELP)]
    Man(Man),
    /// Print the version of this program
    Version(ShowVersion),
    /// A command for the running service.
    #[command(flatten)]
    Client(ClientCommand),
}

/// The flags of `harness serve`.
#[derive(Debug, Args)]
#[command(after_help = SETTINGS_HELP)]
pub(crate) struct Serve {
    /// Talk to the model built into the program: needs no key and no network
    #[arg(long)]
    pub(crate) demo: bool,
    /// Outlive the terminal
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
    /// The settings.
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// The flags of `harness config`.
#[derive(Debug, Args)]
#[command(after_help = SETTINGS_HELP)]
pub(crate) struct ShowConfig {
    /// Print a JSON object with `items`, each {key, value, source}
    #[arg(long)]
    pub(crate) json: bool,
    /// The settings.
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// The flags of `harness version`.
#[derive(Debug, Args)]
#[command(after_help = exits(VERSION_HELP, "done", "failed", None))]
pub(crate) struct ShowVersion {
    /// Print a JSON object with `name` and `version`
    #[arg(long)]
    pub(crate) json: bool,
}

impl ShowVersion {
    /// The line to print: that of `--version`, or an object.
    pub(crate) fn line(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        if self.json {
            format!("{}\n", json!({"name": "harness", "version": version}))
        } else {
            format!("harness {version}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn help_of(subcommand: &str) -> String {
        let error = Cli::try_parse_from(["harness", subcommand, "--help"]).unwrap_err();
        assert_eq!(
            (error.kind(), error.exit_code()),
            (ErrorKind::DisplayHelp, 0)
        );
        error.to_string()
    }

    fn refusal(arguments: &[&str]) -> ErrorKind {
        let error = Cli::try_parse_from(arguments).unwrap_err();
        assert_eq!((error.use_stderr(), error.exit_code()), (true, 2));
        error.kind()
    }

    /// Spec: [CONF-32]
    #[test]
    fn alone_it_attaches_and_has_help_for_where_it_cannot() {
        let cli = Cli::try_parse_from(["harness", "--demo"]).unwrap();
        assert!(cli.command.is_none() && cli.alone.demo);
        let cli = Cli::try_parse_from(["harness"]).unwrap();
        assert!(cli.command.is_none() && !cli.alone.demo);
        for part in ["Usage: harness", "harness attach", "Exit codes:"] {
            assert!(Cli::help().contains(part), "{part}");
        }
    }

    /// Spec: [CONF-33]
    #[test]
    fn demo_belongs_to_serve_and_json_to_config() {
        assert_eq!(
            refusal(&["harness", "config", "--demo"]),
            ErrorKind::UnknownArgument
        );
        assert_eq!(
            refusal(&["harness", "serve", "--json"]),
            ErrorKind::UnknownArgument
        );
        let cli = Cli::try_parse_from(["harness", "serve", "--demo"]).unwrap();
        assert!(matches!(
            cli.command,
            Some(ProgramCommand::Serve(Serve { demo: true, .. }))
        ));
        let cli = Cli::try_parse_from(["harness", "config", "--json"]).unwrap();
        assert!(matches!(
            cli.command,
            Some(ProgramCommand::Config(ShowConfig { json: true, .. }))
        ));
    }

    /// Spec: [CONF-34]
    #[test]
    fn help_names_every_flag_variable_and_default_and_the_exit_codes() {
        Cli::command().debug_assert();
        let overview = Cli::command().render_long_help().to_string();
        for part in ["harness --demo", "ANTHROPIC_API_KEY", "Exit codes:"] {
            assert!(overview.contains(part), "{part} is missing in:\n{overview}");
        }
        for subcommand in ["serve", "config"] {
            let help = help_of(subcommand);
            for part in [
                "--model <MODEL>",
                "[env: HARNESS_MODEL] [default: claude-3-haiku-20240307]",
                "--base-url <URL>",
                "[env: ANTHROPIC_BASE_URL] [default: https://api.anthropic.com]",
                "--require-token[=<BOOL>]",
                "[env: HARNESS_HOME] [default: $HOME/.harness]",
                "[env: RUST_LOG] [default: info]",
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "HARNESS_TOKEN",
                "Exit codes:",
            ] {
                assert!(help.contains(part), "{part} is missing in:\n{help}");
            }
        }
    }

    /// Spec: [CLI-631]
    #[test]
    fn the_command_and_the_flag_print_the_same_version() {
        let flag = Cli::try_parse_from(["harness", "--version"]).unwrap_err();
        let line = |words: &[&str]| match Cli::try_parse_from(words).unwrap().command {
            Some(ProgramCommand::Version(version)) => version.line(),
            other => panic!("{other:?}"),
        };
        assert_eq!(line(&["harness", "version"]), flag.to_string());
        let object = line(&["harness", "version", "--json"]);
        let object: serde_json::Value = serde_json::from_str(&object).unwrap();
        let told = format!("harness {}\n", object["version"].as_str().unwrap());
        assert_eq!(told, flag.to_string());
        assert_eq!(object["name"], "harness");
    }

    /// Spec: [CONF-35]
    #[test]
    fn a_secret_has_no_flag() {
        for flag in ["--api-key", "--auth-token", "--token"] {
            assert_eq!(
                refusal(&["harness", "serve", flag, "x"]),
                ErrorKind::UnknownArgument
            );
        }
    }
}
