//! The bodies of the REST routes.

use serde::{Deserialize, Serialize};

/// The body of `POST /prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptOrder {
    /// What to ask; must not be blank.
    pub content: String,
}

/// The answer to an accepted `POST /prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptAnswer {
    /// Names the run that the prompt started.
    pub run_id: u64,
}

/// The answer to `POST /cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelAnswer {
    /// Whether a run was stopped; false when none was going.
    pub cancelled: bool,
}

/// The answer to `GET /healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always `ok`: a service that cannot answer does not answer.
    pub status: String,
}
