//! `harness conversations rename`: gives a conversation another title.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::ChangeConversation;
use serde_json::Value;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{CallerArgs, JsonFlag};
use crate::client::error::CommandError;
use crate::client::named;

/// The flags of `harness conversations rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// The conversation, by its id or title or the beginning of one
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
    /// The new title
    #[arg(value_name = "TITLE")]
    pub(super) title: String,
    /// The name of the client that renames it.
    #[command(flatten)]
    pub(super) caller: CallerArgs,
    /// The form of the answer.
    #[command(flatten)]
    pub(super) form: JsonFlag,
}

/// Renames a conversation; what the service says of it.
///
/// # Errors
/// If it cannot be renamed.
pub(super) async fn run(
    rename: &RenameArgs,
    service: &ServiceConnection,
) -> Result<Value, CommandError> {
    let change = ChangeConversation {
        title: rename.title.clone(),
        by: rename.caller.name(),
    };
    let id = named::conversation(&rename.id, service).await?;
    let route = routes::rename(&id, &change).answered_as();
    Ok(service.ask(&route).await?)
}
