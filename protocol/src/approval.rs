//! Approvals: what a tool may change only when an operator says so.

use serde::{Deserialize, Serialize};

use crate::Subject;

/// A question to the operators: may a tool do what it is about to do? It is open until it is answered
/// or withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Names it within its conversation; counts from 1.
    pub id: u64,
    /// The run that waits for the answer.
    pub run_id: u64,
    /// The id of the `tool_call`.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// The planned action: `change`, `command` or `mcp_call`.
    #[serde(flatten)]
    pub subject: Subject,
    /// Tells the subject from any other: SHA-256 in hexadecimal digits. An answer that allows names it.
    pub digest: String,
    /// Why it is asked.
    pub because: String,
    /// The scopes that an answer may have.
    pub scopes: Vec<Scope>,
    /// The rule that an answer makes that reaches further than once; none if none may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// The scope of an answer that allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The change that is asked about.
    #[default]
    Once,
    /// All that the rule covers, to the end of the run.
    Run,
    /// All that the rule covers in the conversation.
    Conversation,
    /// All that the rule covers in every conversation that works in the same folder.
    Workspace,
    /// A scope that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// An operator's answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The tool may.
    Allow,
    /// It may not.
    Deny,
    /// A verdict that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// The reason why an approval was closed without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// The run was cancelled.
    Cancelled,
    /// The file was changed after the question; another approval asks about its content now.
    Changed,
    /// A rule or the mode decides it now.
    Decided,
    /// The run ended without an answer.
    RunEnded,
    /// No operator answered within the time that the setting `approval_timeout` gives.
    Expired,
    /// The conversation is a fork: the one that it was forked from waits for the answer.
    Forked,
    /// A reason that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// The body of `POST /v1/conversations/{id}/approvals/{approval}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerOrder {
    /// The answer.
    pub answer: Verdict,
    /// The digest of what was looked at. To allow, it has to be that of the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How far it reaches.
    #[serde(default)]
    pub scope: Scope,
    /// A line for the model, if it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the run is cancelled too, if it may not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// The name of the client that answers, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The key under which a repetition is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The answer to `POST /v1/conversations/{id}/approvals/{approval}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The approval.
    pub id: u64,
    /// The first answer, which is the one that counts.
    pub answer: Verdict,
    /// How far it reaches.
    #[serde(default)]
    pub scope: Scope,
    /// The rule that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The name of the client that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `GET /v1/approvals` and `GET /v1/conversations/{id}/approvals`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// The approvals that wait for an answer, the oldest first.
    pub approvals: Vec<OpenApproval>,
}

/// An approval that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenApproval {
    /// The conversation.
    pub conversation: String,
    /// The title of the conversation. `None` from a service that does not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder of the conversation, absolute. `None` from a service that does not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The time of the conversation's last record, in Unix seconds. `None` from a service that does not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<u64>,
    /// The approval.
    #[serde(flatten)]
    pub approval: Approval,
}
