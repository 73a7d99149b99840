//! The models and tools to choose from.

use serde::{Deserialize, Serialize};

use crate::ThinkingLevel;

/// The answer to `GET /v1/models`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelList {
    /// The models that the API lists, in its order.
    pub models: Vec<ModelEntry>,
}

/// A model that the API lists. What it does not say is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelEntry {
    /// The id to choose it by.
    pub id: String,
    /// The name to show to people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// The state in the model's life cycle, in the API's word: `active`, `deprecated` or `retired`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    /// The time at which the API ends to serve it, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retires_at: Option<String>,
    /// Maximum number of tokens of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// Maximum number of tokens of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The thinking levels that the model supports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinking: Vec<ThinkingLevel>,
}

/// The answer to `GET /v1/tools`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolList {
    /// The tools, in the order in which a model is offered them.
    pub tools: Vec<ToolEntry>,
}

/// A tool of the service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolEntry {
    /// Its name.
    pub name: String,
    /// The description that the model gets.
    pub description: String,
}
