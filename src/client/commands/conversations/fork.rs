//! `harness conversations fork`: copies a conversation.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::ForkOrder;
use serde_json::Value;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::JsonFlag;
use crate::client::error::CommandError;
use crate::client::named;

/// The flags of `harness conversations fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The conversation to copy, by its id or title or the beginning of one
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
    /// The last record that the copy has; all of them if left out
    #[arg(long, value_name = "SEQ")]
    pub(super) at: Option<u64>,
    /// The title of the copy; that of the original if left out
    #[arg(long, value_name = "TITLE")]
    pub(super) title: Option<String>,
    /// The form of the answer.
    #[command(flatten)]
    pub(super) form: JsonFlag,
}

/// Copies a conversation; what the service says of the copy.
///
/// # Errors
/// If it cannot be copied.
pub(super) async fn run(
    fork: &ForkArgs,
    service: &ServiceConnection,
) -> Result<Value, CommandError> {
    let order = ForkOrder {
        seq: fork.at,
        title: fork.title.clone(),
        by: None,
    };
    let id = named::conversation(&fork.id, service).await?;
    Ok(service
        .ask(&routes::fork(&id, &order).answered_as())
        .await?)
}
