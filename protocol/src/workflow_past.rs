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
    /// Its feature. `None` for verifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The reason why this feature was chosen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The commit that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The time when it began, in seconds since the Unix epoch.
    pub started_at: u64,
    /// The time when it ended, in seconds since the Unix epoch. `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// The outcome, for example `accepted`. `None` while it is open.
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
    /// True if the conversation reached its time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The commit that it left, or that was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The hash of its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Number of files that it changed.
    #[serde(default)]
    pub files: u32,
    /// Number of lines that it added or removed.
    #[serde(default)]
    pub lines: u64,
    /// The protected files that it changed, which were put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The runs of its checks, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<WorkflowCheckRun>,
    /// True if the attempt was accepted, or the verification found the head in order. `None` before the judgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// The reasons of a rejection.
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
    /// The verdict, for example `passed`.
    pub verdict: String,
    /// The reason of the verdict, in a sentence.
    pub why: String,
    /// True if this run decides the verdict of the check.
    pub counts: bool,
    /// Duration in milliseconds.
    pub ms: u64,
    /// The SHA-256 of its output.
    pub output: String,
}

/// A reason why an attempt was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowReason {
    /// The reason, for example `check_failed`.
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
    /// The changes as a diff by git.
    pub diff: String,
    /// True if the diff is longer than the part in `diff`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
