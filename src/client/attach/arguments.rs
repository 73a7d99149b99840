//! The flags of `harness attach`, and of `harness` alone.

use clap::{Args, ValueEnum};

use crate::client::commands::arguments::Caller;
use crate::client::commands::arguments::Which;
use crate::config::HomeFlag;

pub(in crate::client) const HELP: &str = "\
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
pub(crate) struct Attach {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: Which,
    /// Make a conversation and attach to it
    #[arg(long, value_name = "TITLE", num_args = 0..=1, conflicts_with = "conversation")]
    pub(super) new: Option<Option<String>>,
    /// Who attaches.
    #[command(flatten)]
    pub(super) caller: Caller,
    /// Write lines one after the other, and never move the cursor
    #[arg(long)]
    pub(super) plain: bool,
    /// The colours
    #[arg(long, value_enum, env = "HARNESS_THEME", default_value = "auto")]
    pub(super) theme: Theme,
    /// The state folder.
    #[command(flatten)]
    pub(in crate::client) home: HomeFlag,
}

impl Attach {
    /// Whether lines are wanted, which can go anywhere.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }
}

/// The colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Theme {
    /// For the background that the terminal says it has, else for a dark one
    Auto,
    /// For a dark background
    Dark,
    /// For a light background
    Light,
    /// The terminal's own sixteen colours
    Terminal,
}

impl Theme {
    /// What was chosen, by its name on the command line.
    pub(super) fn chosen(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Dark => Some("dark"),
            Self::Light => Some("light"),
            Self::Terminal => Some("terminal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;

    fn parse(arguments: &[&str]) -> Result<Attach, ErrorKind> {
        let cli = Cli::try_parse_from(["harness"].iter().chain(arguments));
        match cli.map_err(|error| error.kind())? {
            Cli {
                command: Some(Command::Client(ClientCommand::Attach(attach))),
                ..
            } => Ok(attach),
            Cli {
                command: None,
                alone,
            } => Ok(alone.attach),
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
            assert_eq!(attach.which.conversation, "x");
            let attach = parse(command).unwrap();
            assert_eq!(attach.which.conversation, "default");
            assert_eq!((attach.new, attach.plain), (None, false));
            assert_eq!(attach.theme, Theme::Auto);
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
            // A service that runs is no demo by being attached to.
            (&["attach", "--demo"], ErrorKind::UnknownArgument),
            (&["--demo", "attach"], ErrorKind::ArgumentConflict),
            (&["--plain", "serve"], ErrorKind::ArgumentConflict),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), kind, "{arguments:?}");
        }
    }
}
