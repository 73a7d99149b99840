//! The models endpoint: what a model is, and one page of the list.

use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::capabilities::{Capabilities, generation};

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 1000;

/// One model, and how the models endpoint shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The id in requests.
    pub id: String,
    /// The name for people.
    pub display_name: String,
    /// RFC 3339.
    pub created_at: String,
    /// The context window.
    pub max_input_tokens: u64,
    /// The most that a request may ask for.
    pub max_tokens: u64,
    /// Its abilities.
    pub capabilities: Capabilities,
    /// Number of tokens that it makes of a text, in percent of the plain rule, which is one for every four characters.
    pub token_percent: u64,
    /// The fields that the models endpoint lists for this model.
    pub listing: Listing,
    /// The models that it may be replaced by where it declines.
    pub fallbacks: &'static [&'static str],
    /// The state in its life cycle. A retired model is listed and not served.
    pub lifecycle: &'static str,
    /// The time at which it ends to be served, as RFC 3339.
    pub retires_at: Option<String>,
}

/// The fields that the models endpoint lists for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// All of it.
    Full,
    /// Not what it can do.
    WithoutCapabilities,
    /// Neither what it can do nor its limits.
    NamesOnly,
}

impl Model {
    /// A model with the limits and the abilities of its generation. An id that tells none gets
    /// the limits that most have, and can do everything.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        let (max_input_tokens, max_tokens) = match generation(&id) {
            Some((_, version)) if version < (4, 6) => (200_000, 64_000),
            Some(("sonnet", (4, 6))) => (1_000_000, 64_000),
            Some(_) | None => (1_000_000, 128_000),
        };
        Self {
            display_name: id.clone(),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            max_input_tokens,
            max_tokens,
            capabilities: Capabilities::for_model(&id),
            token_percent: 100,
            listing: Listing::Full,
            fallbacks: &[],
            lifecycle: "active",
            retires_at: None,
            id,
        }
    }

    /// A model that neither sees images nor reads PDF documents.
    pub fn text_only(id: impl Into<String>) -> Self {
        let mut model = Self::new(id);
        model.capabilities.image_input = false;
        model.capabilities.pdf_input = false;
        model
    }

    /// Sets the context window.
    #[must_use]
    pub fn window(mut self, max_input_tokens: u64) -> Self {
        self.max_input_tokens = max_input_tokens;
        self
    }

    /// Sets the most that a request may ask for.
    #[must_use]
    pub fn output_limit(mut self, max_tokens: u64) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Sets how many tokens it makes of a text, in percent of the plain rule.
    #[must_use]
    pub fn token_percent(mut self, percent: u64) -> Self {
        self.token_percent = percent;
        self
    }

    /// Sets how much of it the models endpoint tells.
    #[must_use]
    pub fn listed(mut self, listing: Listing) -> Self {
        self.listing = listing;
        self
    }

    /// Sets the models that it may be replaced by where it declines.
    #[must_use]
    pub fn falling_back_to(mut self, models: &'static [&'static str]) -> Self {
        self.fallbacks = models;
        self
    }

    /// Makes it a model that is listed and no longer served.
    #[must_use]
    pub fn retired(mut self) -> Self {
        self.lifecycle = "retired";
        self
    }

    /// Makes it a deprecated model that is served until then, a time in RFC 3339.
    #[must_use]
    pub fn retiring(mut self, end: impl Into<String>) -> Self {
        self.lifecycle = "deprecated";
        self.retires_at = Some(end.into());
        self
    }

    /// The default list of models, newest first.
    #[must_use]
    pub fn current() -> Vec<Self> {
        let rows = [
            ("claude-haiku-5-5", "Claude Haiku 5.5", "2026-10-07"),
            ("claude-opus-5-5", "Claude Opus 5.5", "2026-09-22"),
            ("claude-sonnet-5-5", "Claude Sonnet 5.5", "2026-09-22"),
            ("claude-fable-5-1", "Claude Fable 5.1", "2026-09-01"),
            ("claude-opus-5", "Claude Opus 5", "2026-07-15"),
            ("claude-sonnet-5", "Claude Sonnet 5", "2026-06-20"),
            ("claude-fable-5", "Claude Fable 5", "2026-06-05"),
            ("claude-opus-4-8", "Claude Opus 4.8", "2026-05-20"),
            ("claude-opus-4-7", "Claude Opus 4.7", "2026-04-10"),
            ("claude-sonnet-4-6", "Claude Sonnet 4.6", "2026-02-17"),
            ("claude-opus-4-6", "Claude Opus 4.6", "2026-02-05"),
            ("claude-opus-4-5", "Claude Opus 4.5", "2025-11-24"),
            (
                "claude-haiku-4-5-20251001",
                "Claude Haiku 4.5",
                "2025-10-15",
            ),
            ("claude-sonnet-4-5", "Claude Sonnet 4.5", "2025-09-29"),
        ];
        let model = |(id, name, day): (&str, &str, &str)| Self {
            display_name: name.to_owned(),
            created_at: format!("{day}T00:00:00Z"),
            ..Self::new(id)
        };
        rows.map(model).into()
    }

    /// The model as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut shown = json!({
            "type": "model",
            "id": self.id,
            "display_name": self.display_name,
            "created_at": self.created_at,
            "deprecated_at": null,
            "lifecycle": self.lifecycle,
            "line": generation(&self.id).map(|(family, _)| family),
            "retires_at": self.retires_at,
        });
        if self.listing != Listing::NamesOnly {
            shown["max_input_tokens"] = self.max_input_tokens.into();
            shown["max_tokens"] = self.max_tokens.into();
        }
        if self.listing == Listing::Full {
            shown["capabilities"] = self.capabilities.to_json();
            shown["allowed_fallback_models"] = self.fallbacks.into();
        }
        shown
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

    #[test]
    fn a_model_is_listed_as_far_as_it_is_to_be() {
        let model = Model::new("claude-opus-4-5");
        let full = model.to_json();
        assert_eq!(
            (&full["max_input_tokens"], &full["max_tokens"]),
            (&json!(200_000), &json!(64_000))
        );
        assert_eq!(full["line"], "opus");
        assert!(full["capabilities"].is_object());
        let without = model.clone().listed(Listing::WithoutCapabilities).to_json();
        assert_eq!(without.get("capabilities"), None);
        assert_eq!(without["max_tokens"], 64_000);
        let bare = model.listed(Listing::NamesOnly).to_json();
        assert_eq!(
            (bare.get("capabilities"), bare.get("max_tokens")),
            (None, None)
        );
    }

    #[test]
    fn the_list_is_newest_first_and_each_has_its_limits() {
        let models = Model::current();
        assert!(models.is_sorted_by(|a, b| a.created_at >= b.created_at));
        let limits = |id: &str| {
            let model = models.iter().find(|model| model.id == id).unwrap();
            (model.max_input_tokens, model.max_tokens)
        };
        assert_eq!(limits("claude-haiku-4-5-20251001"), (200_000, 64_000));
        assert_eq!(limits("claude-sonnet-4-6"), (1_000_000, 64_000));
        assert_eq!(limits("claude-opus-5-5"), (1_000_000, 128_000));
    }
}
