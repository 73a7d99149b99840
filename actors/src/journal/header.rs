//! The first line of a journal.

use harness_protocol::Settings;
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
