//! Wrong use of the command line in one line, as every other error.

use std::io::Write as _;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _};

use crate::cli::Cli;
use crate::visible;

/// The exit code for wrong use.
const EXIT_WRONG_USE: i32 = 2;

/// Says what a command line asks for that is no command, which is help, the version or wrong use; the
/// exit code.
pub(crate) fn tell(error: &clap::Error, words: &[String]) -> i32 {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    // The streams may be closed, and then there is no reader to tell.
    if !error.use_stderr() || is_help {
        drop(error.print());
        return error.exit_code();
    }
    drop(writeln!(
        std::io::stderr(),
        "harness: {}",
        line(error, words)
    ));
    EXIT_WRONG_USE
}

/// The mistake, what may have been meant, and where to read more.
fn line(error: &clap::Error, words: &[String]) -> String {
    let told = error.render().to_string();
    let told = told.strip_prefix("error: ").unwrap_or(&told);
    let end = ["\n\nUsage: ", "\n\nFor more information"].iter();
    let end = end.filter_map(|end| told.find(end)).min();
    let told = &told[..end.unwrap_or(told.len())];
    let parts = told.split("\n\n").flat_map(|part| part.split("\n  tip: "));
    let one_line = |part: &str| {
        let part = part.trim().trim_start_matches("tip: ");
        part.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let parts: Vec<String> = parts
        .map(one_line)
        .filter(|part| !part.is_empty())
        .collect();
    let help = format!("see `{} --help`", command(words));
    visible::line(&format!("{}; {help}", parts.join("; ")))
}

/// The command that the words of a command line name, if there is one.
fn command(words: &[String]) -> String {
    let mut command: Command = Cli::command();
    let mut path = command.get_name().to_owned();
    for word in words {
        if let Some(named) = command.find_subcommand(word) {
            path = format!("{path} {}", named.get_name());
            command = named.clone();
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// Spec: [CLI-341]
    #[test]
    fn wrong_use_is_one_line_with_the_fix() {
        for (given, told) in [
            (
                &["prompt", "-v"][..],
                "unexpected argument '-v' found; to pass '-v' as a value, use '-- -v'; \
                 see `harness prompt --help`",
            ),
            (
                &["--home", "/x", "conversations", "delete"],
                "the following required arguments were not provided: <ID>; \
                 see `harness conversations delete --help`",
            ),
            (
                &["cancel", "--run", "x"],
                "invalid value 'x' for '--run <N>': invalid digit found in string; \
                 see `harness cancel --help`",
            ),
            (
                &["prompt", "--mode", "pln"],
                "invalid value 'pln' for '--mode <MODE>' [possible values: plan, ask, edits, \
                 sandbox, locked]; a similar value exists: 'plan'; see `harness prompt --help`",
            ),
            (
                &["promt"],
                "unrecognized subcommand 'promt'; a similar subcommand exists: 'prompt'; \
                 see `harness --help`",
            ),
            (
                &["-c", "x", "events"],
                "the flag '--conversation' cannot stand before 'events'; a flag stands behind the \
                 command that it is for, and only --home and --color anywhere; \
                 see `harness events --help`",
            ),
            (
                &["events", "--after", "a\nb"],
                "invalid value 'a b' for '--after <POSITION>': it is neither the number of a record \
                 nor a position of the form <epoch>-<seq>-<sum>; see `harness events --help`",
            ),
        ] {
            let words: Vec<String> = given.iter().map(|&word| word.to_owned()).collect();
            let all = ["harness"].iter().chain(given);
            let error = Cli::try_parse_from(all).unwrap_err();
            assert_eq!(line(&error, &words), told);
        }
    }
}
