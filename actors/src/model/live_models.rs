//! Asks the API which models it serves, and what they can do.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::client::ApiClient;
use super::{ModelError, ModelInfo};
use crate::limit::within;

/// Maximum number of pages of the list that are read.
const MAX_PAGES: usize = 10;
/// Time limit for reading one page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(15);

/// Some models.
pub(super) type Models = Arc<[Arc<ModelInfo>]>;

#[derive(Deserialize)]
struct ModelsPage {
    data: Vec<Value>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

/// The models that the API lists.
pub(super) async fn list(client: ApiClient) -> Result<Models, ModelError> {
    let (models, end) = live_models(&client).await;
    end.map(|()| models)
}

/// One model, also by another name than its own; nothing if there is none.
pub(super) async fn one(client: ApiClient, model: Arc<str>) -> Result<Models, ModelError> {
    if !is_path_part(&model) {
        return Ok(Models::default());
    }
    match get(&client, &format!("/v1/models/{model}")).await {
        Ok(info) => {
            let read = serde_json::from_value(info).into_iter();
            Ok(read.map(|info| redacted(info, &client)).collect())
        }
        Err(ModelError::Api { status: 404, .. }) => Ok(Models::default()),
        Err(error) => Err(error),
    }
}

/// True if an id can become a part of a path, and of no other path.
pub(super) fn is_path_part(model: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@".contains(&byte);
    model.bytes().all(is_plain)
}

/// The models that the API lists; what could be read if it fails half-way, and why it did.
pub(super) async fn live_models(client: &ApiClient) -> (Models, Result<(), ModelError>) {
    if let Some(transport) = client.transport() {
        return match transport.models().await {
            Ok(models) => {
                let models = models.into_iter().map(|info| redacted(info, client));
                (models.collect(), Ok(()))
            }
            Err(error) => (Models::default(), Err(error.redacted(client.redaction()))),
        };
    }
    let mut models = Vec::new();
    let mut after = String::new();
    for _ in 0..MAX_PAGES {
        let page = match page(client, &after).await {
            Ok(page) => page,
            Err(error) => return (models.into(), Err(error)),
        };
        // One that makes no sense does not lose the others.
        let read = page.data.into_iter().map(serde_json::from_value);
        models.extend(read.flatten().map(|info| redacted(info, client)));
        match page.last_id {
            Some(last_id) if page.has_more => after = format!("&after_id={last_id}"),
            _ => break,
        }
    }
    (models.into(), Ok(()))
}

/// A model as it may be shown: a gateway may quote what it was sent anywhere.
fn redacted(info: ModelInfo, client: &ApiClient) -> Arc<ModelInfo> {
    let redaction = client.redaction();
    Arc::new(ModelInfo {
        id: redaction.apply(info.id),
        display_name: redaction.apply(info.display_name),
        lifecycle: info.lifecycle.map(|word| redaction.apply(word)),
        retires_at: info.retires_at.map(|time| redaction.apply(time)),
        ..info
    })
}

async fn page(client: &ApiClient, after: &str) -> Result<ModelsPage, ModelError> {
    let page = get(client, &format!("/v1/models?limit=1000{after}")).await?;
    serde_json::from_value(page).map_err(|_| malformed())
}

/// Reads a JSON document.
pub(super) async fn get(client: &ApiClient, path: &str) -> Result<Value, ModelError> {
    let read = async {
        let body = client.http().document(&client.access(), path).await?;
        serde_json::from_slice(&body).map_err(|_| malformed())
    };
    let limit = PAGE_TIMEOUT;
    let read = within(limit, read).await;
    let read = read.unwrap_or(Err(ModelError::NoAnswer { limit }));
    read.map_err(|error| client.with_hint_of_key(error.redacted(client.redaction())))
}

fn malformed() -> ModelError {
    ModelError::Malformed {
        reason: "the list of models is none".to_owned(),
    }
}

/// The families that the API's model ids name.
const FAMILIES: [&str; 4] = ["haiku", "sonnet", "opus", "fable"];

/// The newest live model of the family of a retired one.
pub(super) fn successor<'a>(
    retired: &str,
    live: impl IntoIterator<Item = &'a Arc<ModelInfo>>,
) -> Option<&'a Arc<ModelInfo>> {
    let family = FAMILIES.iter().find(|family| retired.contains(**family))?;
    live.into_iter()
        .filter(|model| model.id != retired && model.id.contains(family))
        .max_by(|a, b| a.created_at.cmp(&b.created_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-20]
    #[test]
    fn the_successor_is_the_newest_of_the_family() {
        let live = [
            ("claude-opus-5-5", "2026-09-22T00:00:00Z"),
            ("claude-haiku-4-5-20251001", "2025-10-01T00:00:00Z"),
            ("claude-haiku-5-5", "2026-10-07T00:00:00Z"),
            ("claude-haiku-old", "2024-10-07T00:00:00Z"),
        ]
        .map(|(id, created_at)| {
            Arc::new(ModelInfo {
                id: id.to_owned(),
                created_at: created_at.to_owned(),
                ..ModelInfo::default()
            })
        });
        let found = |retired| successor(retired, &live).map(|model| model.id.as_str());
        assert_eq!(found("claude-3-haiku-20240307"), Some("claude-haiku-5-5"));
        assert_eq!(found("claude-haiku-5-5"), Some("claude-haiku-4-5-20251001"));
        assert_eq!(found("claude-3-5-sonnet-20241022"), None);
        assert_eq!(found("something-else"), None);
    }
}
