//! What came out of a call.

use harness_protocol::FileChange;
use serde_json::json;

use super::error::ToolError;
use super::seen::SeenFile;

/// What came out of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// What the tool returned, or a JSON object with the field `error`.
    pub result: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// What was changed.
    pub changes: Vec<FileChange>,
    /// The files that the model has seen whole by it.
    pub seen: Vec<SeenFile>,
    /// Where the next command starts, if that is another folder.
    pub folder: Option<String>,
    /// What runs on in the background.
    pub job: Option<StartedJob>,
}

/// A job that a call has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedJob {
    /// Names it within its conversation.
    pub job: u64,
    /// The beginning of its command.
    pub command: String,
}

impl ToolOutcome {
    /// The outcome of a call that failed.
    #[must_use]
    pub fn failed(error: &str) -> Self {
        Self {
            result: json!({ "error": error }).to_string(),
            is_error: true,
            changes: Vec::new(),
            seen: Vec::new(),
            folder: None,
            job: None,
        }
    }
}

impl From<Result<String, ToolError>> for ToolOutcome {
    fn from(result: Result<String, ToolError>) -> Self {
        match result {
            Ok(result) => Self {
                result,
                is_error: false,
                changes: Vec::new(),
                seen: Vec::new(),
                folder: None,
                job: None,
            },
            Err(ToolError(error)) => Self::failed(&error),
        }
    }
}
