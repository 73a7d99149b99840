//! `harness completions` and `harness man`: the files that a shell and `man` need, made from the
//! command line itself.

use std::io::{self, Write as _};

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use derive_more::{Display, Error, From};

use crate::cli::Cli;

pub(crate) const COMPLETIONS_HELP: &str = "\
Examples:
  harness completions bash >~/.local/share/bash-completion/completions/harness
  harness completions zsh >~/.zfunc/_harness      in a folder of $fpath
  harness completions fish >~/.config/fish/completions/harness.fish

Exit codes:
  0  done
  1  failed
  2  wrong use";

pub(crate) const MAN_HELP: &str = "\
Examples:
  harness man | man -l -
  harness man prompt | man -l -
  harness man >~/.local/share/man/man1/harness.1

Exit codes:
  0  done
  1  failed
  2  wrong use: there is no such command";

/// The arguments of `harness completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The arguments of `harness man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command, such as `prompt` or `conversations list`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Why nothing is printed.
#[derive(Debug, Display, Error, From)]
pub(crate) enum ShellFileError {
    /// There is no such command.
    #[display("there is no command `harness {name}`; `harness --help` lists them")]
    #[from(skip)]
    NoCommand {
        /// Its name.
        name: String,
    },
    /// It cannot be written.
    #[display("cannot write to standard output: {_0}")]
    Output(io::Error),
}

impl ShellFileError {
    /// The exit code: 2 for wrong use, 1 for a failure.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::NoCommand { .. } => 2,
            Self::Output(_) => 1,
        }
    }
}

/// Prints the completions.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn completions(wanted: &Completions) -> Result<(), ShellFileError> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    clap_complete::generate(wanted.shell, &mut command, "harness", &mut text);
    Ok(write(&text)?)
}

/// Prints the manual page.
///
/// # Errors
/// If there is no such command, or it cannot be written.
pub(crate) fn man(wanted: &Man) -> Result<(), ShellFileError> {
    let mut text = Vec::new();
    Page::new(page_of(&wanted.command)?).render(&mut text)?;
    Ok(write(&text)?)
}

/// The command that these words name, with its whole name.
fn page_of(words: &[String]) -> Result<Command, ShellFileError> {
    let mut program = Cli::command();
    program.build();
    let mut command = &program;
    for word in words {
        command = command
            .find_subcommand(word)
            .ok_or_else(|| ShellFileError::NoCommand {
                name: words.join(" "),
            })?;
    }
    let name = command.get_bin_name().unwrap_or_default().replace(' ', "-");
    Ok(command.clone().display_name(name))
}

/// Writes a text to standard output; a reader that has seen enough is no failure.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(text: &[u8]) -> io::Result<()> {
    match io::stdout().write_all(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &[&str]) -> Result<String, ShellFileError> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut text = Vec::new();
        Page::new(page_of(&words)?).render(&mut text).unwrap();
        Ok(String::from_utf8(text).unwrap())
    }

    /// Spec: [CLI-345]
    #[test]
    fn there_is_a_manual_page_for_each_command() {
        for (words, parts) in [
            (&[][..], ["harness \\-", "Exit codes"]),
            (&["prompt"], ["harness\\-prompt", "\\-\\-attach"]),
            (
                &["conversations", "list"],
                ["harness\\-conversations\\-list", "\\-\\-here"],
            ),
        ] {
            let page = page(words).unwrap();
            assert!(parts.iter().all(|part| page.contains(part)), "{page}");
        }
        let error = page(&["conversations", "lst"]).unwrap_err();
        let told = "there is no command `harness conversations lst`; `harness --help` lists them";
        assert_eq!((error.to_string().as_str(), error.exit_code()), (told, 2));
    }

    /// Spec: [CLI-345]
    #[test]
    fn completions_know_the_commands_and_flags() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "harness", &mut text);
            let text = String::from_utf8(text).unwrap();
            for part in ["follow-up", "no-follow", "conversations", "version"] {
                assert!(text.contains(part), "{shell}: {part}");
            }
        }
    }
}
