//! The first line of a journal.

use std::path::PathBuf;

use harness_protocol::Settings;
use serde::{Deserialize, Serialize};

use super::position::Epoch;
use crate::ids::ConversationId;

/// The newest format that this version reads, which is the one of journals whose conversation works
/// in another folder than the service did. All others have format 1. A journal of a newer format is
/// refused.
pub const FORMAT_VERSION: u32 = 2;

/// The facts about a conversation before its first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The conversation.
    pub conversation: ConversationId,
    /// The life of the journal.
    pub epoch: Epoch,
    /// The time when the conversation was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// The title that it was made with.
    pub title: Option<String>,
    /// The settings in which it differs from the service.
    pub settings: Settings,
    /// The origin of a fork.
    pub forked_from: Option<ForkedFrom>,
    /// The folder that it works in. `None` for the service's folder.
    pub workspace: Option<Workspace>,
}

/// The folder that a conversation works in, fixed when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Absolute, without links.
    pub folder: PathBuf,
    /// True if it was another folder than the service's when the conversation was made. Versions that read only format
    /// 1 know nothing of folders and would work in the wrong one.
    pub is_elsewhere: bool,
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
            workspace: None,
        }
    }
}
