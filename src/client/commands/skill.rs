//! `harness skill`: sends a skill as a prompt and shows its run.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use crate::cli::exit_codes::runs;
use crate::client::api::routes;
use crate::client::commands::common::SendingArgs;
use crate::client::commands::order::CommandOrder;
use crate::client::error::CommandError;
use crate::client::prompt_text::{self, Sought};

const SKILL_HELP: &str = "\
Examples:
  harness skill release                        run with the instructions of the skill `release`
  harness skill release Only the patch version, please
  git log -5 | harness skill -c ID release -   what is said besides comes from standard input

What is shown, and what Ctrl-C does, is as with `harness prompt`.";

/// The flags of `harness skill`.
#[derive(Debug, Args)]
#[command(after_help = runs(SKILL_HELP, "the run failed or was interrupted, there is no such skill, or no service runs"))]
pub(crate) struct SkillArgs {
    /// The skill
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    skill: String,
    /// Further instructions; `-` reads them from standard input
    #[arg(value_name = "TEXT")]
    pub(super) text: Vec<String>,
    /// How it is sent.
    #[command(flatten)]
    pub(super) sending: SendingArgs,
}

impl SkillArgs {
    /// The order to send.
    ///
    /// # Errors
    /// If what is said besides cannot be read.
    pub(super) fn order(&self) -> Result<CommandOrder<'_>, CommandError> {
        let instructions =
            (!self.text.is_empty()).then(|| prompt_text::read(&self.text, Sought::ForSkill));
        Ok(self.saying(instructions.transpose()?))
    }

    pub(super) fn saying(&self, instructions: Option<String>) -> CommandOrder<'_> {
        CommandOrder::sending(&self.sending, move |to, key, by| {
            let mut order = json!({"name": self.skill, "key": key, "by": by});
            // An empty text is none.
            if let Some(text) = instructions.filter(|text| !text.is_empty()) {
                order["instructions"] = text.into();
            }
            routes::skill(to, &order)
        })
    }
}
