//! A look at the names of models that a command gives, where the API says which there are.

use std::time::Duration;

use harness_actors::nearest;
use harness_protocol::ModelList;
use serde_json::{Map, Value};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::output::Output;
use crate::visible;

/// How long the list may take: an order is not to wait for an API that is slow.
const LIMIT: Duration = Duration::from_secs(3);
/// The settings that name a model.
const MODELS: [&str; 2] = ["model", "compaction_model"];
/// How many characters of a name are shown.
const MAX_SHOWN: usize = 100;

/// Says so if settings name a model that the API does not list, with the one that may be meant. An
/// API may answer to names that it does not list, so that this is no error.
pub(super) async fn warn(
    settings: &Map<String, Value>,
    service: &ServiceConnection,
    output: &mut Output,
) {
    let named = MODELS
        .iter()
        .filter_map(|name| settings.get(*name)?.as_str());
    let named: Vec<&str> = named.collect();
    if named.is_empty() {
        return;
    }
    let listed = service.ask(&list()).await;
    let Ok(listed) = listed.inspect_err(|error| log::debug!("no list of models: {error}")) else {
        return;
    };
    for line in named.iter().filter_map(|name| remark(name, &listed)) {
        output.note(&format!("harness: {line}"));
    }
}

/// The request for the models that the API lists.
pub(super) fn list() -> Route<ModelList> {
    routes::models().within(LIMIT)
}

/// The remark about a model that the API does not list.
pub(super) fn remark(name: &str, listed: &ModelList) -> Option<String> {
    let mut ids = listed.models.iter().map(|model| model.id.as_str());
    if listed.models.is_empty() || ids.any(|id| id == name) {
        return None;
    }
    let name_shown = visible::short(name, MAX_SHOWN);
    let ids = listed.models.iter().map(|model| model.id.as_str());
    let meant = nearest(name, ids).map_or_else(String::new, |id| {
        format!(" is {} meant?", visible::short(id, MAX_SHOWN))
    });
    Some(format!(
        "the API does not list the model {name_shown};{meant} `harness models` shows those that it lists"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::testing::{Server, answer, recorded};

    /// Spec: [CLI-353]
    #[actix::test]
    async fn a_model_that_the_api_does_not_list_is_told_with_the_one_that_may_be_meant() {
        let models = json!({"models": [{"id": "claude-opus-5-5"}, {"id": "claude-haiku-4-5"}]});
        for (listed, name, told) in [
            (
                answer(200, &models),
                "claude-opus-55",
                "harness: the API does not list the model claude-opus-55; is claude-opus-5-5 \
                 meant? `harness models` shows those that it lists\n",
            ),
            (
                answer(200, &models),
                "x",
                "harness: the API does not list the model x; `harness models` shows those that it \
                 lists\n",
            ),
            (answer(200, &models), "claude-haiku-4-5", ""),
            (answer(200, &json!({"models": []})), "x", ""),
            (answer(502, &json!({})), "x", ""),
        ] {
            let server = Server::start().await;
            server.on("/v1/models", vec![listed]);
            let connection = ServiceConnection::new(server.named(), None);
            let (mut output, record) = recorded();
            let settings = Map::from_iter([("model".to_owned(), json!(name))]);
            warn(&settings, &connection, &mut output).await;
            assert_eq!(record.err(), told);
        }
    }
}
