//! `harness conversations delete`: moves a conversation to the trash.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::error::CommandError;

/// The flags of `harness conversations delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The conversation
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
}

/// Deletes a conversation; where its journal was moved.
///
/// # Errors
/// If it cannot be deleted.
pub(super) async fn run(delete: &Delete, service: &Connection) -> Result<String, CommandError> {
    Ok(service.ask(&routes::delete(&delete.id)).await?.trash)
}
