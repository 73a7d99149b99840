//! `harness conversations fork`: copies a conversation.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::ForkOrder;

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::error::CommandError;

/// The flags of `harness conversations fork`.
#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The conversation to copy
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
    /// The last record that the copy has; all of them if left out
    #[arg(long, value_name = "SEQ")]
    pub(super) at: Option<u64>,
    /// The title of the copy; that of the original if left out
    #[arg(long, value_name = "TITLE")]
    pub(super) title: Option<String>,
}

/// Copies a conversation; the id of the copy.
///
/// # Errors
/// If it cannot be copied.
pub(super) async fn run(fork: &Fork, service: &Connection) -> Result<String, CommandError> {
    let order = ForkOrder {
        seq: fork.at,
        title: fork.title.clone(),
    };
    Ok(service.ask(&routes::fork(&fork.id, &order)).await?.id)
}
