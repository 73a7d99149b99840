//! `harness conversations rename`: gives a conversation another title.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::ChangeConversation;

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::common::Caller;
use crate::client::error::CommandError;

/// The flags of `harness conversations rename`.
#[derive(Debug, Args)]
pub(crate) struct Rename {
    /// The conversation
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
    /// The new title
    #[arg(value_name = "TITLE")]
    pub(super) title: String,
    /// Who renames it.
    #[command(flatten)]
    pub(super) caller: Caller,
}

/// Renames a conversation; its title.
///
/// # Errors
/// If it cannot be renamed.
pub(super) async fn run(rename: &Rename, service: &Connection) -> Result<String, CommandError> {
    let change = ChangeConversation {
        title: rename.title.clone(),
        by: rename.caller.name(),
    };
    let renamed = service.ask(&routes::rename(&rename.id, &change)).await?;
    Ok(renamed.title.unwrap_or_default())
}
