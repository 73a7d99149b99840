//! Workflows as clients see them. The content of a workflow's record is the same as in its journal.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of a workflow: the answer to `GET /v1/workflows/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowSnapshot {
    /// Its id.
    pub id: String,
    /// The name of its file.
    pub name: String,
    /// Its purpose.
    pub objective: String,
    /// The state of the workflow, for example `running`.
    pub state: String,
    /// The reason of the pause, for example `budget_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The text that goes with the reason; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The SHA-256 of the file in force.
    pub manifest: String,
    /// The version number of that file, from 1 on.
    pub version: u32,
    /// The time when the workflow was created, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub created_at: u64,
    /// The folder of the repository that it works for.
    pub folder: String,
    /// The branch of the work. `None` without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The last accepted commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The folder that its conversations work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The features, in the order of the file.
    pub features: Vec<WorkflowFeature>,
    /// Number of iterations that were begun.
    pub iterations: u32,
    /// The step under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<WorkflowStep>,
    /// The gate that a person has to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<WorkflowGate>,
    /// The tokens, money and time that it has used.
    pub spent: WorkflowSpent,
    /// The limits of tokens, money and time, including later grants.
    #[serde(default, skip_serializing_if = "WorkflowLimits::is_none")]
    pub limits: WorkflowLimits,
    /// The last lines of progress.
    pub progress: Vec<String>,
    /// The time of the next scheduled run in milliseconds since the Unix epoch, if one is planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_start: Option<u64>,
    /// Number of accepted commits on the branch.
    #[serde(default)]
    pub commits: u32,
    /// The command that merges them into the branch that is checked out. `None` if there are no commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// The position in the journal that the snapshot shows.
    pub position: String,
}

/// A feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowFeature {
    /// Its id.
    pub id: String,
    /// The description of the feature.
    pub description: String,
    /// The state of the feature: `failing`, `passing`, `stuck`, `skipped` or `blocked`.
    pub state: String,
    /// True if the workflow cannot be done without it.
    pub required: bool,
}

/// A step of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowStep {
    /// The iteration; 0 for a verification of the head.
    pub iteration: u32,
    /// The attempt in it.
    pub attempt: u32,
    /// The name of the step, for example `converse` or `check:suite`.
    pub step: String,
    /// The feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The conversation of the iteration, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Duration of the step so far, in milliseconds.
    pub for_ms: u64,
    /// The time until which it waits for the provider, in milliseconds since the Unix epoch. `None` if it does not
    /// wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<u64>,
}

/// A gate that a person has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowGate {
    /// Its name.
    pub gate: String,
    /// The question.
    pub asks: String,
}

/// The tokens, money and time that were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkflowSpent {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// Milliseconds in which it worked.
    pub active_ms: u64,
}

/// The limits of a workflow. A missing field means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkflowLimits {
    /// Tokens of all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Milliseconds in which it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
    /// Iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
}

impl WorkflowLimits {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The answer to `GET /v1/workflows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowList {
    /// The workflows, the last made first.
    pub workflows: Vec<WorkflowSnapshot>,
}

/// The body of `POST /v1/workflows`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewWorkflow {
    /// The folder of the repository; the service's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The path of the file, absolute or below the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file's content as JSON, in place of a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// Its name; that of the file without its ending if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The SHA-256 of the file that a person approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<String>,
    /// True if the file is only checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The id under which a repetition is known; made up if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of the client that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `PUT /v1/workflows/{id}/manifest`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyWorkflowFile {
    /// The path of the file, absolute or below the workflow's folder; the file that was applied last if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file's content as JSON, in place of a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// The SHA-256 of the file that a person approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<String>,
    /// True if features of the current file may be missing in the new one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_remove: bool,
    /// True if the file is only compared with the current one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The name of the client that orders it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `POST /v1/workflows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowMade {
    /// True if this order created the workflow.
    pub created: bool,
    /// The workflow.
    pub workflow: WorkflowSnapshot,
}

/// The body of `POST /v1/workflows/{id}/run`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunWorkflow {
    /// Maximum number of features of this run; the value in the file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_features: Option<u32>,
    /// Maximum number of iterations of this run; the value in the file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// The key under which a repetition is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The name of the client that orders it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `POST /v1/workflows/{id}/pause`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseWorkflow {
    /// `now`, `attempt` or `iteration`; `iteration` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The name of the client that orders it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `POST /v1/workflows/{id}/resume`; may be left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeWorkflow {
    /// Additional tokens that the workflow may use.
    #[serde(default)]
    pub add_tokens: u64,
    /// Additional US dollars.
    #[serde(default)]
    pub add_cost_usd: f64,
    /// Additional seconds of work.
    #[serde(default)]
    pub add_active_s: u64,
    /// Additional iterations.
    #[serde(default)]
    pub add_iterations: u32,
    /// True if stuck features are tried again.
    #[serde(default)]
    pub retry_stuck: bool,
    /// The name of the client that orders it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of an order that carries only the name of its client; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainWorkflowOrder {
    /// The name of the client that orders it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `POST /v1/workflows/{id}/gates/{gate}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerGate {
    /// `approve` or `reject`.
    pub answer: String,
    /// A line for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The name of the client that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `POST /v1/workflows/{id}/features/{feature}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeFeature {
    /// `retry`, `skip` or `unskip`.
    pub action: String,
    /// The name of the client that orders it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
