//! The models endpoint: what a model is, and one page of the list.

use serde_json::{Value, json};

use crate::api_error::ApiError;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 1000;

/// One model as the models endpoint shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// What a request names.
    pub id: String,
    /// What people read.
    pub display_name: String,
    /// RFC 3339.
    pub created_at: String,
    /// The context window.
    pub max_input_tokens: u64,
    /// The most that a request may ask for.
    pub max_tokens: u64,
}

impl Model {
    /// A model with the context window and output limit that most have.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            display_name: id.clone(),
            id,
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            max_input_tokens: 1_000_000,
            max_tokens: 128_000,
        }
    }

    /// The models that a stand-in lists unless its responder says otherwise, newest first.
    #[must_use]
    pub fn current() -> Vec<Self> {
        let named = |id: &str, display_name: &str, day: &str| Self {
            display_name: display_name.to_owned(),
            created_at: format!("{day}T00:00:00Z"),
            ..Self::new(id)
        };
        vec![
            named("claude-haiku-5-5", "Claude Haiku 5.5", "2026-10-07"),
            named("claude-opus-5-5", "Claude Opus 5.5", "2026-09-22"),
            named("claude-sonnet-5-5", "Claude Sonnet 5.5", "2026-09-22"),
            named("claude-fable-5-1", "Claude Fable 5.1", "2026-09-01"),
            Self {
                max_input_tokens: 200_000,
                max_tokens: 64_000,
                ..named(
                    "claude-haiku-4-5-20251001",
                    "Claude Haiku 4.5",
                    "2025-10-15",
                )
            },
        ]
    }

    /// The model as JSON.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "type": "model",
            "id": self.id,
            "display_name": self.display_name,
            "created_at": self.created_at,
            "max_input_tokens": self.max_input_tokens,
            "max_tokens": self.max_tokens,
        })
    }
}

/// One page of the list, as the query asks for it.
pub(crate) fn page(models: &[Model], query: &str) -> Result<Value, ApiError> {
    let mut limit = DEFAULT_LIMIT;
    let mut rest = models;
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match name {
            "limit" => {
                let parsed = value
                    .parse()
                    .ok()
                    .filter(|limit| (1..=MAX_LIMIT).contains(limit));
                limit = parsed.ok_or_else(|| ApiError::at("limit", "Input should be 1 to 1000"))?;
            }
            "after_id" => {
                let place = models.iter().position(|model| model.id == value);
                let place = place.ok_or_else(|| ApiError::at("after_id", "Unknown id"))?;
                rest = &models[place + 1..];
            }
            other => return Err(ApiError::at(other, "Extra inputs are not permitted")),
        }
    }
    let data = &rest[..limit.min(rest.len())];
    Ok(json!({
        "data": data.iter().map(Model::to_json).collect::<Vec<_>>(),
        "has_more": rest.len() > data.len(),
        "first_id": data.first().map(|model| &model.id),
        "last_id": data.last().map(|model| &model.id),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let models = ["a", "b", "c"].map(Model::new);
        let ids = |page: &Value| -> Vec<String> {
            let data = page["data"].as_array().unwrap();
            data.iter()
                .map(|model| model["id"].as_str().unwrap().to_owned())
                .collect()
        };
        let first = page(&models, "limit=2").unwrap();
        assert_eq!(ids(&first), ["a", "b"]);
        assert_eq!(
            (&first["has_more"], &first["last_id"]),
            (&json!(true), &json!("b"))
        );
        let second = page(&models, "limit=2&after_id=b").unwrap();
        assert_eq!(ids(&second), ["c"]);
        assert_eq!(
            (&second["has_more"], &second["first_id"]),
            (&json!(false), &json!("c"))
        );
        assert_eq!(page(&models, "limit=0").unwrap_err().status, 400);
        assert_eq!(page(&models, "after_id=z").unwrap_err().status, 400);
    }
}
