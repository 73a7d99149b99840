//! Which models the API serves now, for when the one that was asked for is gone.

use std::time::Duration;

use serde::Deserialize;

use super::client::ApiClient;

/// How many pages of the list are read at most.
const MAX_PAGES: usize = 10;
/// How large a page may be, in bytes.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// How long reading one page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
struct Page {
    data: Vec<LiveModel>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

/// One entry of `GET /v1/models`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct LiveModel {
    pub(super) id: String,
    /// RFC 3339, so that the order of the texts is that of the times.
    #[serde(default)]
    pub(super) created_at: String,
}

/// The models that the API lists; what could be read if it fails half-way.
pub(super) async fn live_models(client: &ApiClient) -> Vec<LiveModel> {
    let mut models = Vec::new();
    let mut after = String::new();
    for _ in 0..MAX_PAGES {
        let Some(page) = page(client, &after).await else {
            break;
        };
        models.extend(page.data);
        match page.last_id {
            Some(last_id) if page.has_more => after = format!("&after_id={last_id}"),
            _ => break,
        }
    }
    models
}

async fn page(client: &ApiClient, after: &str) -> Option<Page> {
    let path = format!("/v1/models?limit=1000{after}");
    let read = async {
        let mut answer = client.get(&path).send().await.ok()?;
        let body = answer.body().limit(MAX_PAGE_BYTES).await.ok()?;
        serde_json::from_slice(&body).ok()
    };
    let page = tokio::time::timeout(PAGE_TIMEOUT, read)
        .await
        .ok()
        .flatten();
    if page.is_none() {
        log::warn!("the list of live models could not be read");
    }
    page
}

/// The families that the API's model ids name.
const FAMILIES: [&str; 4] = ["haiku", "sonnet", "opus", "fable"];

/// The newest live model of the family of a retired one.
pub(super) fn successor(retired: &str, live: &[LiveModel]) -> Option<String> {
    let family = FAMILIES.iter().find(|family| retired.contains(**family))?;
    live.iter()
        .filter(|model| model.id != retired && model.id.contains(family))
        .max_by(|a, b| a.created_at.cmp(&b.created_at))
        .map(|model| model.id.clone())
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
        .map(|(id, created_at)| LiveModel {
            id: id.to_owned(),
            created_at: created_at.to_owned(),
        });
        let found = |retired| successor(retired, &live);
        assert_eq!(
            found("claude-3-haiku-20240307").as_deref(),
            Some("claude-haiku-5-5")
        );
        assert_eq!(
            found("claude-haiku-5-5").as_deref(),
            Some("claude-haiku-4-5-20251001")
        );
        assert_eq!(found("claude-3-5-sonnet-20241022"), None);
        assert_eq!(found("something-else"), None);
    }
}
