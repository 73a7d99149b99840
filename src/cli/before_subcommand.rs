//! Flags of a command that stand for it alone: where a subcommand follows, only the global flags may
//! stand before it.

use std::ops::Deref;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// The fix.
const TIP: &str =
    "a flag stands behind the command that it is for, and only --home and --color anywhere";

/// Those flags. A command line that gives one of them and a subcommand is refused.
#[derive(Debug)]
pub(crate) struct WithoutSubcommand<T>(T);

#[cfg(test)]
impl<T> WithoutSubcommand<T> {
    /// The flags themselves.
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for WithoutSubcommand<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> FromArgMatches for WithoutSubcommand<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if let Some(name) = matches.subcommand_name() {
            let own = T::augment_args(Command::new(""));
            let is_given = |flag: &&Arg| {
                let source = matches.value_source(flag.get_id().as_str());
                source == Some(ValueSource::CommandLine)
            };
            if let Some(flag) = own.get_arguments().find(is_given) {
                return Err(refusal(flag, name));
            }
        }
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: Args> Args for WithoutSubcommand<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

fn refusal(flag: &Arg, subcommand: &str) -> clap::Error {
    let id = flag.get_id().as_str();
    let name = flag
        .get_long()
        .map_or_else(|| id.to_owned(), |long| format!("--{long}"));
    let reason = format!("the flag '{name}' cannot stand before '{subcommand}'\n\n  tip: {TIP}\n");
    clap::Error::raw(ErrorKind::ArgumentConflict, reason)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::cli::Cli;

    /// Spec: [CLI-340]
    #[test]
    fn global_flags_stand_anywhere_and_others_behind_their_command() {
        for line in [
            &["--home", "/x", "conversations"][..],
            &["conversations", "--home", "/x"],
            &["--home", "/x", "conversations", "list", "--json"],
            &["conversations", "--home", "/x", "list"],
            &["queue", "--home", "/x", "clear"],
            &["--home", "/x", "settings", "set", "thinking=high"],
            &["--home", "/x", "serve", "--port", "9000"],
            &["--home", "/x", "workflow", "list"],
        ] {
            Cli::try_parse_from(["harness"].iter().chain(line)).unwrap();
        }
        for (line, flag, command) in [
            (
                &["-c", "x", "conversations"][..],
                "conversation",
                "conversations",
            ),
            (&["-c", "x", "events"], "conversation", "events"),
            (&["conversations", "--json", "list"], "json", "list"),
            (&["queue", "-c", "x", "clear"], "conversation", "clear"),
        ] {
            let told = format!("the flag '--{flag}' cannot stand before '{command}'");
            let error = Cli::try_parse_from(["harness"].iter().chain(line)).unwrap_err();
            assert!(error.to_string().contains(&told), "{error}");
            assert!(error.to_string().contains(super::TIP), "{error}");
        }
    }
}
