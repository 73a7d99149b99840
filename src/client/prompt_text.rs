//! The text of a prompt: from the command line, or from standard input.

use std::io::{self, IsTerminal as _, Read as _};

use derive_more::{Display, Error};

/// Why there is no prompt to send.
#[derive(Debug, Display, Error)]
pub(super) enum PromptTextError {
    /// The user gave none.
    #[display(
        "no {sought}: give it as TEXT or on standard input; see `harness {} --help`",
        sought.command()
    )]
    Missing {
        /// The text that is missing.
        sought: Sought,
    },
    /// It says nothing.
    #[display(
        "the {sought} is empty: give it as TEXT or on standard input; see `harness {} --help`",
        sought.command()
    )]
    Empty {
        /// The text that is empty.
        sought: Sought,
    },
    /// Standard input cannot be read, or is not UTF-8.
    #[display("cannot read the prompt from standard input: {source}")]
    Unreadable {
        /// The system's error.
        source: io::Error,
    },
}

impl PromptTextError {
    /// The exit code: 2 for wrong use, 1 for a failure.
    pub(super) fn exit_code(&self) -> i32 {
        match self {
            Self::Missing { .. } | Self::Empty { .. } => 2,
            Self::Unreadable { .. } => 1,
        }
    }
}

/// The text that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub(super) enum Sought {
    /// Of `harness prompt`.
    #[display("prompt")]
    Prompt,
    /// Of `harness steer`.
    #[display("message")]
    Steering,
    /// Of `harness follow-up`.
    #[display("message")]
    FollowUp,
    /// The text for a skill; may be empty.
    #[display("text")]
    ForSkill,
}

impl Sought {
    fn command(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Steering => "steer",
            Self::FollowUp => "follow-up",
            Self::ForSkill => "skill",
        }
    }
}

/// Where the text is.
#[derive(Debug, PartialEq, Eq)]
enum TextSource {
    CommandLine(String),
    Input,
}

/// The words of the command line, or all of standard input, exactly.
///
/// # Errors
/// If there is none, it says nothing, or it cannot be read.
pub(super) fn read(words: &[String], sought: Sought) -> Result<String, PromptTextError> {
    let mut input = io::stdin();
    let text = match source(words, sought, input.is_terminal())? {
        TextSource::CommandLine(text) => text,
        TextSource::Input => {
            let mut text = String::new();
            input
                .read_to_string(&mut text)
                .map_err(|source| PromptTextError::Unreadable { source })?;
            text
        }
    };
    checked(text, sought)
}

fn checked(text: String, sought: Sought) -> Result<String, PromptTextError> {
    match sought {
        Sought::ForSkill => Ok(text),
        _ if text.trim().is_empty() => Err(PromptTextError::Empty { sought }),
        _ => Ok(text),
    }
}

fn source(
    words: &[String],
    sought: Sought,
    input_is_terminal: bool,
) -> Result<TextSource, PromptTextError> {
    match words {
        [] if input_is_terminal => Err(PromptTextError::Missing { sought }),
        [] => Ok(TextSource::Input),
        [dash] if dash == "-" => Ok(TextSource::Input),
        words => Ok(TextSource::CommandLine(words.join(" "))),
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
        let given =
            |given: &[&str], terminal: bool| source(&words(given), Sought::Prompt, terminal);
        let text = |text: &str| TextSource::CommandLine(text.to_owned());
        assert_eq!(
            given(&["What", "is in src?"], true).unwrap(),
            text("What is in src?")
        );
        assert_eq!(given(&["-", "x"], true).unwrap(), text("- x"));
        assert_eq!(given(&["-"], true).unwrap(), TextSource::Input);
        assert_eq!(given(&[], false).unwrap(), TextSource::Input);
        assert_eq!(given(&[], true).unwrap_err().exit_code(), 2);
    }

    /// Spec: [CLI-342]
    #[test]
    fn an_empty_text_is_refused_in_the_words_of_the_command() {
        for (sought, told) in [
            (
                Sought::Prompt,
                "the prompt is empty: give it as TEXT or on standard input; \
                 see `harness prompt --help`",
            ),
            (
                Sought::FollowUp,
                "the message is empty: give it as TEXT or on standard input; \
                 see `harness follow-up --help`",
            ),
        ] {
            let error = checked(" \n".to_owned(), sought).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.exit_code()), (told, 2));
        }
        assert_eq!(checked(String::new(), Sought::ForSkill).unwrap(), "");
        assert_eq!(checked(" x ".to_owned(), Sought::Prompt).unwrap(), " x ");
    }
}
