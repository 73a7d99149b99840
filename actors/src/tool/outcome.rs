//! The outcome of a call.

use std::time::Duration;

use harness_protocol::{Extent, FileChange};
use serde_json::{Value, json};

use super::error::ToolError;
use super::seen::SeenFile;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The tool's result, or a JSON object with the field `error`.
    pub result: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The files that it changed.
    pub changes: Vec<FileChange>,
    /// Further changes, which are not listed one by one.
    pub changes_note: Option<String>,
    /// The changes that a command made at protected places. They were taken back, and operators are asked about each.
    pub proposals: Vec<FileChange>,
    /// The files that the model has seen by it, whole or in part.
    pub seen: Vec<SeenFile>,
    /// Where the next command starts, if that is another folder.
    pub folder: Option<String>,
    /// The job that runs on in the background.
    pub job: Option<StartedJob>,
    /// How much it brought, if the tool counts it.
    pub extent: Option<Box<Extent>>,
    /// How long the tool ran; none if it did not.
    pub took: Option<Duration>,
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
            changes_note: None,
            proposals: Vec::new(),
            seen: Vec::new(),
            folder: None,
            job: None,
            extent: None,
            took: None,
        }
    }

    /// The error text, if the call failed with one.
    pub(crate) fn error(&self) -> Option<String> {
        let result: Value = serde_json::from_str(&self.result).ok()?;
        let error = result.get("error").filter(|_| self.is_error)?;
        error.as_str().map(str::to_owned)
    }
}

impl From<Result<String, ToolError>> for ToolOutcome {
    fn from(result: Result<String, ToolError>) -> Self {
        match result {
            Ok(result) => Self {
                result,
                is_error: false,
                changes: Vec::new(),
                changes_note: None,
                proposals: Vec::new(),
                seen: Vec::new(),
                folder: None,
                job: None,
                extent: None,
                took: None,
            },
            Err(ToolError(error)) => Self::failed(&error),
        }
    }
}
