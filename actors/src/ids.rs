//! The names of things that answers refer back to.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Names a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationId(Arc<str>);

impl ConversationId {
    /// The conversation of that name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a run within its conversation; counts from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct RunId(pub u64);

/// Names a queued message within its conversation; counts from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct ItemId(pub u64);

/// Names one call of a model or a tool. No two calls of a service share one, so an answer that
/// comes late is known and ignored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallId {
    /// The conversation that made the call.
    pub conversation: ConversationId,
    /// Counts the calls of that conversation from 1.
    pub number: u64,
}

impl CallId {
    /// Counts on, and names the call with that number.
    pub(crate) fn next(&mut self) -> Self {
        self.number += 1;
        self.clone()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.conversation, self.number)
    }
}
