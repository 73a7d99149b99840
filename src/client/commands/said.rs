//! A message that is queued: what `harness steer` and `harness follow-up` have in common.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::{PromptOrder, Queue, QueueAnswer};
use serde_json::Value;

use crate::client::api::connection::Connection;
use crate::client::api::patience::Patience;
use crate::client::api::{discovery, routes};
use crate::client::commands::common::{self, Caller, Common, Message};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::config::ClientConfig;

/// What `harness steer` and `harness follow-up` take.
#[derive(Debug, Args)]
pub(crate) struct Said {
    /// What to say; `-`, or nothing when standard input is not a terminal, reads it from there
    #[arg(value_name = "TEXT")]
    pub(super) text: Vec<String>,
    /// Send this file along: an image, a PDF or a text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<PathBuf>,
    /// Names the message: one that was sent before with this key is not queued again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(super) key: Option<String>,
    /// Who says it.
    #[command(flatten)]
    pub(super) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(super) common: Common,
}

impl Said {
    /// What the command line says.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn message(&self) -> Result<Message, CommandError> {
        Message::read(&self.text, &self.attach)
    }

    /// Queues a message, under one key however often it is sent, and prints its number.
    ///
    /// # Errors
    /// If it cannot be queued.
    pub(super) async fn say(
        &self,
        queue: Queue,
        message: Message,
        (config, patience): (&ClientConfig, Patience),
        service: &Connection,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let order = PromptOrder {
            content: message.text,
            key: Some(self.key.clone().unwrap_or_else(common::new_key)),
            by: self.caller.name(),
            attachments: message.files,
        };
        let route = routes::queue(&self.common.which.find(service).await?, queue, &order);
        let route = route.answered_as::<Value>();
        let once = async || Ok(discovery::find(config).await?.ask(&route).await?);
        let (raw, _) = common::sent(patience, output, once).await?;
        let number = |QueueAnswer { item }| vec![item.to_string()];
        common::print(raw, self.common.json, output, number)
    }
}
