//! The text of a prompt: from the command line, or from standard input.

use std::io::{self, IsTerminal as _, Read as _};

use derive_more::{Display, Error};

/// Why there is no prompt to send.
#[derive(Debug, Display, Error)]
pub(super) enum PromptTextError {
    /// Nobody gave one.
    #[display("no prompt: give it as TEXT or on standard input; see `harness prompt --help`")]
    Missing,
    /// Standard input cannot be read, or is not UTF-8.
    #[display("cannot read the prompt from standard input: {source}")]
    Unreadable {
        /// What the system said.
        source: io::Error,
    },
}

impl PromptTextError {
    /// The exit code: 2 for wrong use, 1 for a failure.
    pub(super) fn exit_code(&self) -> i32 {
        match self {
            Self::Missing => 2,
            Self::Unreadable { .. } => 1,
        }
    }
}

/// Where the text is.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    CommandLine(String),
    Input,
}

/// The words of the command line, or all of standard input, exactly.
///
/// # Errors
/// If there is none, or it cannot be read.
pub(super) fn read(words: &[String]) -> Result<String, PromptTextError> {
    let mut input = io::stdin();
    match source(words, input.is_terminal())? {
        Source::CommandLine(text) => Ok(text),
        Source::Input => {
            let mut text = String::new();
            input
                .read_to_string(&mut text)
                .map_err(|source| PromptTextError::Unreadable { source })?;
            Ok(text)
        }
    }
}

fn source(words: &[String], input_is_terminal: bool) -> Result<Source, PromptTextError> {
    match words {
        [] if input_is_terminal => Err(PromptTextError::Missing),
        [] => Ok(Source::Input),
        [dash] if dash == "-" => Ok(Source::Input),
        words => Ok(Source::CommandLine(words.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-40]
    #[test]
    fn a_prompt_is_the_words_or_the_input_and_never_waited_for_at_a_terminal() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let given = |given: &[&str], terminal: bool| source(&words(given), terminal);
        let text = |text: &str| Source::CommandLine(text.to_owned());
        assert_eq!(
            given(&["What", "is in src?"], true).unwrap(),
            text("What is in src?")
        );
        assert_eq!(given(&["-", "x"], true).unwrap(), text("- x"));
        assert_eq!(given(&["-"], true).unwrap(), Source::Input);
        assert_eq!(given(&[], false).unwrap(), Source::Input);
        assert_eq!(given(&[], true).unwrap_err().exit_code(), 2);
    }
}
