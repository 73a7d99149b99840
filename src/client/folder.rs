//! The conversations of the folder that a command is started in.

use std::path::PathBuf;

use harness_protocol::{NewConversation, ServiceInfo, Settings};

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::error::CommandError;

/// The conversation that the service always has.
const DEFAULT_CONVERSATION: &str = "default";
/// What a service says of itself whose conversations have folders.
const FEATURE: &str = "workspaces";

/// The folder that a command is started in, without links.
///
/// # Errors
/// If it is gone.
pub(super) fn here() -> Result<String, CommandError> {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let folder = folder.map_err(|error| CommandError::System {
        reason: format!("the current folder cannot be used: {error}"),
    })?;
    folder
        .into_os_string()
        .into_string()
        .map_err(|name| CommandError::System {
            reason: format!(
                "the name of the current folder is not UTF-8: {}",
                PathBuf::from(name).display()
            ),
        })
}

/// Whether the conversations of the service have folders.
pub(super) fn are_known(info: &ServiceInfo) -> bool {
    info.features.iter().any(|feature| feature == FEATURE)
}

/// The folder that a command is started in, if the service knows folders.
///
/// # Errors
/// If it is gone.
pub(super) fn here_if_known(service: &Connection) -> Result<Option<String>, CommandError> {
    service.info().is_some_and(are_known).then(here).transpose()
}

/// The conversation that was named, or else the one of this folder that was active last. One is made
/// if there is none.
///
/// # Errors
/// If the service does not tell, or does not make one there.
pub(super) async fn conversation(
    named: Option<&str>,
    service: &Connection,
) -> Result<String, CommandError> {
    if let Some(id) = named {
        return Ok(id.to_owned());
    }
    let Some(folder) = here_if_known(service)? else {
        return Ok(DEFAULT_CONVERSATION.to_owned());
    };
    let last = service
        .ask(&routes::conversations_in(&folder, 1, None))
        .await?;
    match last.conversations.into_iter().next() {
        Some(last) => Ok(last.id),
        // It is there without being made.
        None if to_work_in(service)?.is_none() => Ok(DEFAULT_CONVERSATION.to_owned()),
        None => make(None, service).await,
    }
}

/// The folder that a new conversation is to work in, unless it is the service's own, which needs no
/// word.
///
/// # Errors
/// If it is gone.
pub(super) fn to_work_in(service: &Connection) -> Result<Option<String>, CommandError> {
    let own = service.info().map(|info| info.workspace.as_str());
    Ok(here_if_known(service)?.filter(|here| own != Some(here)))
}

/// Makes a conversation in this folder; the id of it.
///
/// # Errors
/// If it cannot be made there.
pub(super) async fn make(
    title: Option<String>,
    service: &Connection,
) -> Result<String, CommandError> {
    let order = NewConversation {
        title,
        workspace: to_work_in(service)?,
        settings: Settings::default(),
    };
    Ok(service.ask(&routes::create(&order)).await?.id)
}

/// A path as people write it: with `~` for the home folder.
pub(super) fn shown(path: &str) -> String {
    harness_tui::below_home(std::env::var("HOME").ok().as_deref(), path)
}
