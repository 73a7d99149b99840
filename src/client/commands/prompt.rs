//! `harness prompt`: sends a prompt and shows its run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use harness_actors::model::ReplySchema;
use harness_protocol::{ApprovalMode, PromptOrder};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

use crate::cli::exit_codes::runs;
use crate::client::api::routes;
use crate::client::commands::common::{MessageArgs, SendingArgs};
use crate::client::commands::order::CommandOrder;
use crate::client::error::CommandError;
use crate::client::prompt_text::Sought;

const PROMPT_HELP: &str = "\
Examples:
  harness prompt What is in src?
  git diff | harness prompt -c review -
  harness prompt -c ID --key nightly-1 Summarize the log   running it again does not ask again
  harness prompt --attach plan.png --attach notes.md What is missing in the plan?
  harness prompt --mode edits Fix the failing test        what tools change in this run is not asked
  harness prompt --allow 'edit(docs/**)' --asks stop Mend the links in docs
  harness prompt --new --model claude-opus-5-5 -q -o notes.md Write release notes
  harness prompt --schema todo.json List what is left to do | jq .items
  harness prompt --wait --timeout 10m Then run the tests  behind the run that is going
  harness prompt -- -v means what?

The reply goes to standard output as it arrives, what the tools do and show to standard error. Ctrl-C
cancels the run and waits for its end; a second Ctrl-C ends the command at once. A reader that
leaves, as `| head` does, ends the command and not the run: `harness cancel` does that.";

/// The flags of `harness prompt`.
#[derive(Debug, Args)]
#[command(after_help = runs(PROMPT_HELP, "the run failed or was interrupted, its reply does not fit --schema, or no service runs"), mut_arg("key", |key| key.help(KEY_HELP)))]
pub(crate) struct PromptArgs {
    /// The question; `-`, or nothing when standard input is not a terminal, reads it from there
    #[arg(value_name = "TEXT")]
    pub(super) text: Vec<String>,
    /// Send this file along: an image, a PDF or a text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<PathBuf>,
    /// The mode of this run, in place of the conversation's: which changes tools may make
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) mode: Option<ModeFlag>,
    /// Let tools change what this rule covers in this run, such as 'edit(src/**)'; may be given several times
    #[arg(long, value_name = "RULE")]
    pub(super) allow: Vec<String>,
    /// Refuse what this rule covers in this run; may be given several times
    #[arg(long, value_name = "RULE")]
    pub(super) deny: Vec<String>,
    /// Print one JSON document that fits the JSON Schema in this file; a reply that does not is asked for once more
    #[arg(long, value_name = "FILE")]
    pub(super) schema: Option<PathBuf>,
    /// Make a conversation in this folder for it, and tell its id on standard error
    #[arg(long, conflicts_with_all = ["conversation", "key"])]
    pub(super) new: bool,
    /// Model that answers, with --new
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// How much the model thinks, with --new: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    pub(super) thinking: Option<String>,
    /// Most model requests of the run, with --new
    #[arg(long, value_name = "N")]
    pub(super) max_turns: Option<u32>,
    /// How it is sent.
    #[command(flatten)]
    pub(super) sending: SendingArgs,
}

/// The flag `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeFlag {
    /// Nothing is changed
    Plan,
    /// Every change is asked about
    Ask,
    /// Changes of files in the conversation's folder are made without asking
    Edits,
    /// As edits, and commands that the sandbox holds run without asking
    Sandbox,
    /// Only what rules allow, and nothing is asked
    Locked,
}

impl From<ModeFlag> for ApprovalMode {
    fn from(mode: ModeFlag) -> Self {
        match mode {
            ModeFlag::Plan => Self::Plan,
            ModeFlag::Ask => Self::Ask,
            ModeFlag::Edits => Self::Edits,
            ModeFlag::Sandbox => Self::Sandbox,
            ModeFlag::Locked => Self::Locked,
        }
    }
}

/// Maximum length of a key with a schema, in bytes: that of the second prompt is 9 longer, and the service takes 200.
const MAX_TYPED_KEY: usize = 191;

/// The help for the key of a prompt.
const KEY_HELP: &str = "Names the prompt: one that was sent before with this key is not run again";

impl PromptArgs {
    /// The order to send, whose reply has to fit a schema if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn order(
        &self,
        schema: Option<&ReplySchema>,
    ) -> Result<CommandOrder<'_>, CommandError> {
        let settings = self.settings()?;
        if let Some(key) = self.sending.key.as_ref().filter(|_| schema.is_some())
            && key.len() > MAX_TYPED_KEY
        {
            let reason = format!("with --schema a key has at most {MAX_TYPED_KEY} bytes");
            return Err(CommandError::Usage { reason });
        }
        let message = MessageArgs::read(&self.text, &self.attach, Sought::Prompt)?;
        let order = self.saying(message, self.sending.key.clone(), schema);
        Ok(match settings {
            Some(settings) => order.in_new(settings),
            None => order,
        })
    }

    /// The settings of the conversation that is to be made, if one is.
    ///
    /// # Errors
    /// If settings are given for one that is not made: they would hold for others, too.
    pub(super) fn settings(&self) -> Result<Option<Map<String, Value>>, CommandError> {
        let given = [
            ("model", self.model.clone().map(Value::from)),
            ("thinking", self.thinking.clone().map(Value::from)),
            ("max_turns", self.max_turns.map(Value::from)),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let given: Map<String, Value> = given.collect();
        match given.keys().next() {
            Some(name) if !self.new => Err(CommandError::Usage {
                reason: format!(
                    "--{} is for a new conversation, with --new; `harness settings set` changes \
                     it in one that there is",
                    name.replace('_', "-")
                ),
            }),
            _ => Ok(self.new.then_some(given)),
        }
    }

    /// The order that asks once more, since the reply has this fault.
    pub(super) fn correcting(&self, fault: &str, schema: &ReplySchema) -> CommandOrder<'_> {
        let text = format!(
            "Your reply does not fit the JSON Schema that it has to fit: {fault}\n\nReply again, with one JSON \
             document that fits this schema and nothing else:\n\n{}",
            schema.json()
        );
        let message = MessageArgs {
            text,
            files: Vec::new(),
        };
        // A repetition of the command finds both prompts, and another schema makes another one.
        let key = self.sending.key.as_ref().map(|key| {
            let digest = digest(&SHA256, message.text.as_bytes());
            let digest = digest.as_ref().iter().take(4);
            let digest: String = digest.map(|byte| format!("{byte:02x}")).collect();
            format!("{key}-{digest}")
        });
        self.saying(message, key, Some(schema))
    }

    pub(super) fn saying(
        &self,
        message: MessageArgs,
        key: Option<String>,
        schema: Option<&ReplySchema>,
    ) -> CommandOrder<'_> {
        let schema = schema.map(|schema| schema.json().clone());
        let is_typed = schema.is_some();
        let order = CommandOrder::with_key(&self.sending, key, |to, key, by| {
            let order = PromptOrder {
                schema,
                content: message.text,
                key: Some(key),
                by: Some(by),
                attachments: message.files,
                mode: self.mode.map(ApprovalMode::from),
                allow: self.allow.clone(),
                deny: self.deny.clone(),
            };
            routes::prompt(to, &order)
        });
        if is_typed { order.typed() } else { order }
    }
}
