//! The iterations of a workflow as clients see them: what was tried, what was left, and how it was judged.

use serde::{Deserialize, Serialize};

use crate::WorkflowSpent;

/// The answer to `GET /v1/workflows/{id}/iterations`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkflowIterations {
    /// The iterations in their order, without the checks of their attempts.
    pub iterations: Vec<WorkflowIteration>,
    /// The last one of the page, if others follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
}

/// An iteration. Number 0 has the verifications of the head as its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkflowIteration {
    /// Its number, from 1 on.
    pub iteration: u32,
    /// Its feature; none of the verifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Why this feature.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The commit that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// When it began, in seconds since the Unix epoch.
    pub started_at: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// How it ended, such as `accepted`; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The accepted commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The note that the model handed over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Its usage, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<WorkflowSpent>,
    /// Its attempts.
    pub attempts: Vec<WorkflowAttempt>,
}

/// One attempt, or one verification of the head.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkflowAttempt {
    /// Its number, from 1 on.
    pub attempt: u32,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Whether the conversation took too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The commit that it left, or that was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The hash of its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How many files it changed.
    #[serde(default)]
    pub files: u32,
    /// How many lines it added or removed.
    #[serde(default)]
    pub lines: u64,
    /// The protected files that it changed, which were put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The runs of its checks, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<WorkflowCheckRun>,
    /// Whether it was accepted, or all was as it has to be; none while nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<WorkflowReason>,
}

/// One run of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowCheckRun {
    /// The check.
    pub check: String,
    /// The tree that it ran on.
    pub tree: String,
    /// Counts its starts.
    pub r#try: u32,
    /// How it came out, such as `passed`.
    pub verdict: String,
    /// Why, in a sentence.
    pub why: String,
    /// Whether it is the one that counts.
    pub counts: bool,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The SHA-256 of its output.
    pub output: String,
}

/// Why an attempt was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowReason {
    /// The reason, such as `check_failed`.
    pub reason: String,
    /// The check that gave it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// A remark.
    pub detail: String,
}

/// The answer to `GET /v1/workflows/{id}/iterations/{n}/diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowDiff {
    /// The iteration.
    pub iteration: u32,
    /// The attempt.
    pub attempt: u32,
    /// The commit that it began with.
    pub base: String,
    /// The commit that it left.
    pub commit: String,
    /// Its changes, as git tells them.
    pub diff: String,
    /// Whether the diff is longer than what is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
