//! `harness prompt`: sends a prompt and shows its run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use harness_protocol::{ApprovalMode, PromptOrder};

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
  harness prompt --mode edits Fix the failing test        what tools change in this run is not asked
  harness prompt --allow 'edit(docs/**)' --asks stop Mend the links in docs
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
    /// What tools may change in this run, in place of the conversation's mode
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) mode: Option<Mode>,
    /// Let tools change what this rule covers in this run, such as 'edit(src/**)'; may be given several times
    #[arg(long, value_name = "RULE")]
    pub(super) allow: Vec<String>,
    /// Refuse what this rule covers in this run; may be given several times
    #[arg(long, value_name = "RULE")]
    pub(super) deny: Vec<String>,
    /// How it is sent.
    #[command(flatten)]
    pub(super) sending: Sending,
}

/// The flag `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Nothing is changed
    Plan,
    /// Every change is asked about
    Ask,
    /// Changes of files in the conversation's folder are made without asking
    Edits,
    /// As edits
    Sandbox,
    /// Only what rules allow, and nothing is asked
    Locked,
}

impl From<Mode> for ApprovalMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Plan => Self::Plan,
            Mode::Ask => Self::Ask,
            Mode::Edits => Self::Edits,
            Mode::Sandbox => Self::Sandbox,
            Mode::Locked => Self::Locked,
        }
    }
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
                mode: self.mode.map(ApprovalMode::from),
                allow: self.allow.clone(),
                deny: self.deny.clone(),
            };
            routes::prompt(to, &order)
        })
    }
}
