//! `harness template`: sends a filled-in prompt template and shows its run.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use crate::cli::exit_codes::runs;
use crate::client::api::routes;
use crate::client::commands::common::SendingArgs;
use crate::client::commands::order::CommandOrder;

const TEMPLATE_HELP: &str = "\
Examples:
  harness template review src/main.rs          run with `review`, $1 being src/main.rs
  harness template -c ID review \"two words\" x  $1 is `two words`, $2 is `x`
  harness template review -- -v                an argument that begins with a hyphen

What is shown, and what Ctrl-C does, is as with `harness prompt`.";

/// The flags of `harness template`.
#[derive(Debug, Args)]
#[command(after_help = runs(TEMPLATE_HELP, "the run failed or was interrupted, there is no such template, or no service runs"))]
pub(crate) struct TemplateArgs {
    /// The template
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    template: String,
    /// The arguments for its places
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// How it is sent.
    #[command(flatten)]
    pub(super) sending: SendingArgs,
}

impl TemplateArgs {
    /// The order to send.
    pub(super) fn order(&self) -> CommandOrder<'_> {
        let (name, arguments) = (&self.template, &self.arguments);
        CommandOrder::sending(&self.sending, move |to, key, by| {
            let order = json!({"name": name, "arguments": arguments, "key": key, "by": by});
            routes::template(to, &order)
        })
    }
}
