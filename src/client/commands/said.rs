//! A message that is queued: what `harness steer` and `harness follow-up` have in common.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::{PromptOrder, Queue, QueueAnswer};
use serde_json::Value;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::patience::Patience;
use crate::client::api::{discovery, routes};
use crate::client::commands::common::{self, ChangingArgs, MessageArgs};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::prompt_text::Sought;
use crate::config::ClientConfig;

pub(super) const STEER_HELP: &str = "\
Examples:
  harness steer Look into tests, too           said behind the tools that run now
  git diff | harness steer -c review -

The model is told it with its next request, behind the results of the tools; without a run it
waits for the next one. Prints the number of the message, for `harness queue withdraw`.";

pub(super) const FOLLOW_UP_HELP: &str = "\
Examples:
  harness follow-up Then write the tests       said when the run would end
  harness follow-up --key tests-1 Write tests  running it again does not queue it again

The run goes on with it in place of its end; without a run it waits for the next one. Prints the
number of the message, for `harness queue withdraw`.";

/// The arguments of `harness steer` and `harness follow-up`.
#[derive(Debug, Args)]
pub(crate) struct QueueMessageArgs {
    /// The text; `-`, or nothing when standard input is not a terminal, reads it from there
    #[arg(value_name = "TEXT")]
    pub(super) text: Vec<String>,
    /// Send this file along: an image, a PDF or a text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<PathBuf>,
    /// Names the message: one that was sent before with this key is not queued again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(super) key: Option<String>,
    /// The name of the client that sends it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

impl QueueMessageArgs {
    /// The text of the command line.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn message(&self, queue: Queue) -> Result<MessageArgs, CommandError> {
        let sought = match queue {
            Queue::Steer => Sought::Steering,
            Queue::FollowUp => Sought::FollowUp,
        };
        MessageArgs::read(&self.text, &self.attach, sought)
    }

    /// Queues a message, under one key however often it is sent, and prints its number.
    ///
    /// # Errors
    /// If it cannot be queued.
    pub(super) async fn say(
        &self,
        queue: Queue,
        message: MessageArgs,
        (config, patience): (&ClientConfig, Patience),
        service: &ServiceConnection,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let order = PromptOrder {
            content: message.text,
            key: Some(self.key.clone().unwrap_or_else(common::new_key)),
            by: self.changing.caller.name(),
            attachments: message.files,
            ..PromptOrder::default()
        };
        let common = &self.changing.common;
        let route = routes::queue(&common.which.find(service).await?, queue, &order);
        let route = route.answered_as::<Value>();
        let once = async || Ok(discovery::find(config).await?.ask(&route).await?);
        let (raw, _) = common::sent(patience, output, once).await?;
        let number = |QueueAnswer { item }| vec![item.to_string()];
        common::print(raw, common.json, output, number)
    }
}
