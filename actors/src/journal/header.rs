//! The first line of a journal.

use serde::{Deserialize, Serialize};

use super::position::Epoch;
use crate::ids::ConversationId;

/// The format that this version writes and reads. A journal of a newer format is refused.
pub const FORMAT_VERSION: u32 = 1;

/// What is known of a conversation before its first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The conversation.
    pub conversation: ConversationId,
    /// The life of the journal.
    pub epoch: Epoch,
    /// When the conversation was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// The title that it was made with.
    pub title: Option<String>,
    /// What differs from the service's settings.
    pub settings: Settings,
    /// Where it was forked from.
    pub forked_from: Option<ForkedFrom>,
}

/// The settings of one conversation; what is left out is as the service has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// The model to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many tokens one reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How many model requests one run may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What the model is told before the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

/// The conversation that another one begins like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The conversation.
    pub conversation: String,
    /// The last record that both have.
    pub seq: u64,
}

impl Header {
    /// The header of a new conversation.
    #[must_use]
    pub fn new(conversation: ConversationId, created_at: u64) -> Self {
        Self {
            conversation,
            epoch: Epoch::random(),
            created_at,
            title: None,
            settings: Settings::default(),
            forked_from: None,
        }
    }
}
