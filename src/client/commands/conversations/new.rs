//! `harness conversations new`: makes a conversation in this folder.

use clap::Args;
use serde_json::{Map, Value};

use crate::client::api::connection::ServiceConnection;
use crate::client::commands::common::JsonFlag;
use crate::client::commands::settings::values;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::{folder, known_models};

/// The flags of `harness conversations new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// A title of at most 200 characters on one line
    #[arg(long, value_name = "TITLE")]
    pub(super) title: Option<String>,
    /// Model that answers in this conversation
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// Standing instructions for the model in this conversation
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) system_prompt: Option<String>,
    /// Longest reply in tokens; 0 for the model's own limit
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<u32>,
    /// Most model requests a run
    #[arg(long, value_name = "N")]
    pub(super) max_turns: Option<u32>,
    /// How much the model thinks: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    pub(super) thinking: Option<String>,
    /// Tools that the model is offered, separated by commas; all if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) tools: Option<Vec<String>>,
    /// Any setting, as for `harness settings set`; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) set: Vec<String>,
    /// The form of the answer.
    #[command(flatten)]
    pub(super) form: JsonFlag,
}

/// Makes a conversation; what the service says of it.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn run(
    new: &NewArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<Value, CommandError> {
    let mut settings = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        settings.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("model", new.model.clone().map(Value::from));
    set("max_tokens", new.max_tokens.map(Value::from));
    set("max_turns", new.max_turns.map(Value::from));
    set("system_prompt", new.system_prompt.clone().map(Value::from));
    set("thinking", new.thinking.clone().map(Value::from));
    set("active_tools", new.tools.clone().map(Value::from));
    // What they cannot be, the service says in its words.
    settings.extend(values(&new.set)?);
    known_models::warn(&settings, service, output).await;
    folder::make_raw(new.title.clone(), settings, service).await
}
