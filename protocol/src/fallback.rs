//! The change of the model inside a reply.

use serde::{Deserialize, Serialize};

/// A model declined, and the API asked another one for the rest of the reply. The texts come from the API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelFallback {
    /// The model that declined.
    pub from: String,
    /// The model that replies from here on.
    pub to: String,
    /// The API's word for the reason, such as `cyber`, if it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}
