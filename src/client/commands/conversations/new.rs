//! `harness conversations new`: makes a conversation in this folder.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::settings::values;
use crate::client::error::CommandError;
use crate::client::folder;

/// The flags of `harness conversations new`.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// A title of at most 200 characters on one line
    #[arg(long, value_name = "TITLE")]
    pub(super) title: Option<String>,
    /// Model that answers in this conversation
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// Standing instructions for the model in this conversation
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) system_prompt: Option<String>,
    /// Longest reply in tokens
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
}

/// Makes a conversation; its id.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn run(new: &New, service: &Connection) -> Result<String, CommandError> {
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
    let mut order = Map::new();
    order.extend(
        new.title
            .as_ref()
            .map(|title| ("title".to_owned(), json!(title))),
    );
    order.extend(folder::to_work_in(service)?.map(|here| ("workspace".to_owned(), json!(here))));
    order.insert("settings".to_owned(), settings.into());
    Ok(service.ask(&routes::create(&order)).await?.id)
}
