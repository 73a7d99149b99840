//! `harness conversations delete`: moves a conversation to the trash.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::Value;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::JsonFlag;
use crate::client::error::CommandError;
use crate::client::named;
use crate::client::question::{is_at_terminal, is_confirmed};
use crate::visible;

/// How many characters of a title are shown.
const MAX_TITLE: usize = 60;

/// The flags of `harness conversations delete`.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The conversation, by its id or title or the beginning of one
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
    /// Do not ask at a terminal
    #[arg(short, long)]
    pub(super) yes: bool,
    /// The form of the answer.
    #[command(flatten)]
    pub(super) form: JsonFlag,
}

/// Deletes a conversation, after a question at a terminal; the answer of the service.
///
/// # Errors
/// If it cannot be deleted, or is not to be.
pub(super) async fn run(
    delete: &DeleteArgs,
    service: &ServiceConnection,
) -> Result<Value, CommandError> {
    let id = named::conversation(&delete.id, service).await?;
    if !delete.yes && is_at_terminal() {
        let summary = service.ask(&routes::snapshot(&id, 1)).await?.summary;
        let title = summary.title.as_deref().unwrap_or("without a title");
        let (id, title) = (visible::line(&id), visible::short(title, MAX_TITLE));
        let question = format!(
            "Move {id} ({title}, {} prompts) to the trash?",
            summary.prompts
        );
        if !is_confirmed(&question) {
            return Err(CommandError::Kept { id });
        }
    }
    Ok(service.ask(&routes::delete(&id).answered_as()).await?)
}
