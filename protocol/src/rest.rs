//! The bodies of the REST routes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalMode, AttachmentOrder};

/// The body of `POST /prompt`, `POST …/steer` and `POST …/follow-up`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptOrder {
    /// The question; must not be blank.
    pub content: String,
    /// Makes a repetition safe: a prompt with a key that the conversation has seen is not run again, and is answered as
    /// the first one was. The header `Idempotency-Key` has the same meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The name of the client that sends it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentOrder>,
    /// The mode of its run, in place of the conversation's. Not for messages that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Rules that allow changes in its run, like `edit(src/**)`. Not for messages that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that deny changes in its run. Not for messages that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The JSON Schema that the reply is to fit, in the part of JSON Schema that the API takes. Not for messages that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// The body of `POST …/shell`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellOrder {
    /// The text that the shell is given.
    pub command: String,
    /// True if the command and its output are hidden from the model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hidden: bool,
    /// The name of the client that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `POST …/shell`, when the command has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellAnswer {
    /// The output, with one last line: how the command ended.
    pub result: String,
    /// True if the command failed.
    pub is_error: bool,
}

/// The body of `POST /cancel`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CancelOrder {
    /// The run to cancel; the current run if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<u64>,
    /// The name of the client that cancels it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// True if the queued messages are withdrawn, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clear_queue: bool,
}

/// The body of `POST …/continue` and `POST …/retry`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContinueOrder {
    /// The name of the client that asks for it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `POST …/compact`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactOrder {
    /// Summarize even if the conversation is well within the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// The focus of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The name of the client that asks for it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `POST …/compact`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompactAnswer {
    /// True if the past was replaced by a summary; false if there was no need.
    pub compacted: bool,
    /// The estimate of the next request before, in tokens.
    pub tokens_before: u64,
    /// The estimate of the next request now, in tokens.
    pub tokens_after: u64,
    /// The path of the archived journal that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
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
    /// True if a run was stopped; false if there was none.
    pub cancelled: bool,
}
