//! The conversations of the folder that a command is started in.

use std::path::PathBuf;

use harness_protocol::{OWN_LIMIT, ServiceInfo, SettingValue};
use serde_json::{Map, Value};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::client::named::{self, DEFAULT_CONVERSATION};

/// The name of the feature of a service whose conversations have folders.
const FEATURE: &str = "workspaces";

/// The settings of a conversation that this program makes, each with the feature that a service has
/// which takes the value: a run and a reply may be as long as daily work needs.
const DAILY: [(&str, u32, Option<&str>); 2] = [
    ("max_turns", 200, None),
    ("max_tokens", OWN_LIMIT, Some("own_limit")),
];
/// The source of a setting that has its default, in the words of the service.
const DEFAULT_SOURCE: &str = "default";

/// The folder that a command is started in, without links.
///
/// # Errors
/// If it was removed.
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
    has_feature(info, FEATURE)
}

fn has_feature(info: &ServiceInfo, name: &str) -> bool {
    info.features.iter().any(|feature| feature == name)
}

/// The folder that a command is started in, if the service knows folders.
///
/// # Errors
/// If it was removed.
pub(super) fn here_if_known(service: &ServiceConnection) -> Result<Option<String>, CommandError> {
    service.info().is_some_and(are_known).then(here).transpose()
}

/// The conversation that was named, or else the one of this folder that was active last. One is made
/// if there is none.
///
/// # Errors
/// If the service does not tell, or does not make one there.
pub(super) async fn conversation(
    named: Option<&str>,
    service: &ServiceConnection,
) -> Result<String, CommandError> {
    if let Some(name) = named {
        return named::conversation(name, service).await;
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
        None => make(None, Map::new(), service).await,
    }
}

/// The folder that a new conversation is to work in, unless it is the service's own, which needs no
/// word.
///
/// # Errors
/// If it was removed.
pub(super) fn to_work_in(service: &ServiceConnection) -> Result<Option<String>, CommandError> {
    let own = service.info().map(|info| info.workspace.as_str());
    Ok(here_if_known(service)?.filter(|here| own != Some(here)))
}

/// Makes a conversation in this folder with these settings, which the service looks at; the id of it.
///
/// # Errors
/// If it cannot be made there.
pub(super) async fn make(
    title: Option<String>,
    settings: Map<String, Value>,
    service: &ServiceConnection,
) -> Result<String, CommandError> {
    let order = new_order(title, to_work_in(service)?, settings, service.info());
    Ok(service.ask(&routes::create(&order)).await?.id)
}

/// The same, answered as the service sends it.
///
/// # Errors
/// If it cannot be made there.
pub(super) async fn make_raw(
    title: Option<String>,
    settings: Map<String, Value>,
    service: &ServiceConnection,
) -> Result<Value, CommandError> {
    let order = new_order(title, to_work_in(service)?, settings, service.info());
    Ok(service.ask(&routes::create(&order).answered_as()).await?)
}

/// The order to make a conversation for daily work: its runs and replies may be longer than the
/// service lets others be, unless their lengths were set.
pub(super) fn new_order(
    title: Option<String>,
    folder: Option<String>,
    mut settings: Map<String, Value>,
    service: Option<&ServiceInfo>,
) -> Map<String, Value> {
    for (name, value, feature) in DAILY {
        let is_default = |of: &SettingValue| of.key == name && of.source == DEFAULT_SOURCE;
        let is_open = service.is_some_and(|info| {
            let is_taken = feature.is_none_or(|feature| has_feature(info, feature));
            is_taken && info.settings.iter().any(is_default)
        });
        if is_open && !settings.contains_key(name) {
            settings.insert(name.to_owned(), value.into());
        }
    }
    let mut order = Map::new();
    order.extend(title.map(|title| ("title".to_owned(), Value::from(title))));
    order.extend(folder.map(|folder| ("workspace".to_owned(), Value::from(folder))));
    order.insert("settings".to_owned(), settings.into());
    order
}

/// A path as people write it: with `~` for the home folder.
pub(super) fn display_path(path: &str) -> String {
    harness_tui::below_home(std::env::var("HOME").ok().as_deref(), path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::testing::Server;

    /// Spec: [CLI-352] [CLI-470]
    #[actix::test]
    async fn what_is_made_for_daily_work_may_go_on_unless_it_is_said_how_long() {
        let of_service = |turns: &str, tokens: &str| {
            json!([{"key": "max_turns", "value": "10", "source": turns},
                {"key": "max_tokens", "value": "4096", "source": tokens}])
        };
        let default = of_service("default", "default");
        let features = json!(["workspaces", "own_limit"]);
        let both = json!({"max_turns": 200, "max_tokens": 0});
        for (of_service, features, given, made) in [
            (&default, &features, json!({}), both),
            (&default, &json!([]), json!({}), json!({"max_turns": 200})),
            (
                &default,
                &features,
                json!({"max_turns": 3, "max_tokens": 9}),
                json!({"max_turns": 3, "max_tokens": 9}),
            ),
            (
                &of_service("flag --max-turns", "config.toml line 1"),
                &features,
                json!({}),
                json!({}),
            ),
            (&json!([]), &features, json!({}), json!({})),
        ] {
            let mut info = Server::start().await.info();
            info["settings"] = of_service.clone();
            info["features"] = features.clone();
            let info: ServiceInfo = serde_json::from_value(info).unwrap();
            let Value::Object(given) = given else {
                panic!("{given}");
            };
            let order = new_order(None, None, given, Some(&info));
            assert_eq!(Value::from(order), json!({ "settings": made }));
        }
    }
}
