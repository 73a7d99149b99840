//! `harness prompt`: sends a prompt and shows its run.

use std::path::PathBuf;

use clap::Args;
use harness_protocol::PromptOrder;

use crate::client::api::routes;
use crate::client::commands::common::{Message, Sending};
use crate::client::commands::run::Order;
use crate::client::error::CommandError;
use crate::exit_codes::runs;

const PROMPT_HELP: &str = "\
Examples:
  harness prompt What is in src?
  git diff | harness prompt -c review -
  harness prompt -c ID --key nightly-1 Summarize the log   running it again does not ask again
  harness prompt --attach plan.png --attach notes.md What is missing in the plan?
  harness prompt -- -v means what?

The reply goes to standard output as it arrives, what the tools do to standard error. Ctrl-C
cancels the run and waits for its end; a second Ctrl-C ends the command at once.";

/// The flags of `harness prompt`.
#[derive(Debug, Args)]
#[command(after_help = runs(PROMPT_HELP, "the run failed or was interrupted, or no service runs"), mut_arg("key", |key| key.help(KEY_HELP)))]
pub(crate) struct Prompt {
    /// What to ask; `-`, or nothing when standard input is not a terminal, reads it from there
    #[arg(value_name = "TEXT")]
    pub(super) text: Vec<String>,
    /// Send this file along: an image, a PDF or a text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<PathBuf>,
    /// How it is sent.
    #[command(flatten)]
    pub(super) sending: Sending,
}

/// What a key of a prompt is for.
const KEY_HELP: &str = "Names the prompt: one that was sent before with this key is not run again";

impl Prompt {
    /// What is to be sent.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn order(&self) -> Result<Order<'_>, CommandError> {
        Ok(self.saying(Message::read(&self.text, &self.attach)?))
    }

    pub(super) fn saying(&self, message: Message) -> Order<'_> {
        Order::sending(&self.sending, |to, key, by| {
            let order = PromptOrder {
                content: message.text,
                key: Some(key),
                by: Some(by),
                attachments: message.files,
            };
            routes::prompt(to, &order)
        })
    }
}
