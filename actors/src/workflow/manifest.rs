//! The work of a workflow, and the checks that decide that it is done: its file, with the defaults filled in.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;

/// The approved statement of a workflow. A file that has passed validation; see `file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The purpose of it all.
    pub objective: String,
    /// Number of features that a run may take.
    pub mode: RunMode,
    /// Settings of the tree in which the work is done.
    pub workspace: WorkspaceSettings,
    /// Checks of the base tree before work on it.
    pub health: Vec<Check>,
    /// Checks of every candidate.
    pub checks: Vec<Check>,
    /// The units of work, in the order of the file.
    pub features: Vec<Feature>,
    /// Files that no iteration may change.
    pub protect: Protect,
    /// Limits of attempts and iterations, and the ends of a run.
    pub policy: WorkflowPolicy,
    /// The limits of its usage.
    pub budget: Budget,
    /// The rights of the model.
    pub permissions: Permissions,
    /// The tree in which checks run.
    pub verify: VerifyWhere,
    /// The points at which a person must approve.
    pub gates: Gates,
    /// The times at which it starts by itself and may work. `None` if only a person starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// The command that tells people of a completion, a pause and a gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<ServiceCommand>,
}

/// Number of features that a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// One; the default.
    Strict,
    /// At most `policy.max_features_per_run`.
    Bounded,
    /// All that are open.
    Unlimited,
}

/// Settings of the tree in which the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSettings {
    /// The use of git.
    pub git: GitMode,
    /// The branch of the work; `{name}` is replaced by the workflow's name.
    pub branch: String,
    /// The commands that make a fresh worktree ready for work and for checks, in order.
    pub prepare: Vec<ServiceCommand>,
    /// Untracked files of the repository that a worktree needs, as copies; never part of a candidate.
    pub copy: Vec<String>,
}

/// The use of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitMode {
    /// A linked worktree on a separate branch; the default.
    Worktree,
    /// The repository's own working tree, which has to be clean.
    InPlace,
}

/// A command that the service runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCommand {
    /// The program.
    #[serde(flatten)]
    pub program: Program,
    /// The folder it runs in, below the worktree's root; none for the root itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables of its environment besides those that every check has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Time limit, in seconds.
    pub time_limit_s: u64,
    /// True if the command may reach the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
}

/// The program of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// A program with its arguments; no shell looks at them.
    Cmd(Vec<String>),
    /// A line for `bash -c`.
    Shell(String),
    /// A question to the program that embeds the workflow; no file has it, and the service has none.
    Hook(Hook),
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cmd(words) => f.write_str(&words.join(" ")),
            Self::Shell(line) => f.write_str(line),
            Self::Hook(_) => f.write_str("the program that made the workflow"),
        }
    }
}

impl ServiceCommand {
    /// A program with its arguments, which may take 5 minutes.
    #[must_use]
    pub fn from_words(words: &[&str]) -> Self {
        Self::new(Program::Cmd(
            words.iter().map(ToString::to_string).collect(),
        ))
    }

    /// A program, which may take 5 minutes.
    #[must_use]
    pub fn new(program: Program) -> Self {
        Self {
            program,
            cwd: None,
            env: BTreeMap::new(),
            time_limit_s: 300,
            network: false,
        }
    }
}

/// A question to the program that embeds a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// A check that decides if the base is fit for work.
    Health,
    /// A check that decides if the result of an attempt is accepted.
    Outcome,
}

/// A command that the service runs and judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Its name, unique in the file. A feature's check has `<feature>.<n>` unless it is named.
    pub id: String,
    /// The command; none for a check that a person makes.
    #[serde(flatten)]
    pub command: Option<ServiceCommand>,
    /// The exit code it has to have.
    pub exit: Exit,
    /// A regular expression that a line of its output has to match; without a matching line the check is vacuous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_match: Option<String>,
    /// A regular expression that no line may match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_not_match: Option<String>,
    /// A regular expression with one group, the names of passing tests: what it matched on the last
    /// accepted tree it has to match again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
    /// The time at which it runs.
    pub when: CheckTime,
    /// True if it must fail on the base first.
    pub red: bool,
    /// Number of passes that must follow a failure for it to count as passed.
    #[serde(default)]
    pub flaky: u32,
    /// True if the model does not learn of the check.
    #[serde(default)]
    pub hidden: bool,
    /// The files of a hidden check, by their path below the root: laid over the tree for the check alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl Check {
    /// The question that decides it, if the program that embeds the workflow does.
    #[must_use]
    pub fn hook(&self) -> Option<Hook> {
        match self.command.as_ref()?.program {
            Program::Hook(hook) => Some(hook),
            Program::Cmd(_) | Program::Shell(_) => None,
        }
    }
}

/// The exit code that a check has to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// This one.
    Code(i32),
    /// Any; what counts is its output.
    Any,
}

/// The point at which a check of every candidate runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckTime {
    /// For every candidate.
    Always,
    /// At the end alone.
    Final,
}

/// A unit of work with the checks that accept it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// Its name, unique in the file.
    pub id: String,
    /// The wish.
    pub description: String,
    /// Steps that show that it works, for the model.
    pub steps: Vec<String>,
    /// True if the workflow is done only with it.
    pub required: bool,
    /// Smaller is first; then the order of the file.
    pub priority: i64,
    /// The features that have to pass first.
    pub after: Vec<String>,
    /// True if it passes at once if its checks pass before the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds: bool,
    /// The checks that accept it. Without any a person does.
    pub checks: Vec<Check>,
}

/// Files that no iteration may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protect {
    /// Globs below the root: `*` within a name, `**` over folders.
    pub paths: Vec<String>,
    /// True if the scripts that checks run are protected by themselves, and new files may not take the place of what a
    /// check runs.
    #[serde(default = "yes")]
    pub scripts: bool,
    /// The consequence of a change of one.
    pub on_change: OnChange,
}

/// The meaning of a manifest of an older version.
fn yes() -> bool {
    true
}

/// The consequence of a change of a protected file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnChange {
    /// Rejects the attempt; the file is restored.
    Reject,
    /// The same, and the second one pauses the workflow.
    Pause,
}

/// Limits of attempts and iterations, and the ends of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowPolicy {
    /// Prompts for one feature in one iteration.
    pub max_turns_per_run: u32,
    /// Features in one run.
    pub max_features_per_run: u32,
    /// Rejected attempts in one iteration that are followed by another.
    pub retry_budget: u32,
    /// The failures that end a run at once.
    pub fail_fast: FailFast,
    /// Maximum number of iterations. `None` only if the file removes the limit.
    pub max_iterations: Option<u32>,
    /// The accepted features that are checked again.
    pub regression: Regression,
}

/// The failures that end a run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailFast {
    /// A failed health check.
    pub health: bool,
    /// A failed conversation.
    pub chat: bool,
    /// A rejected candidate.
    pub validation: bool,
}

/// The accepted features that are checked again with every candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regression {
    /// All of them, and the global checks.
    All,
    /// The global checks alone.
    Global,
    /// None.
    None,
}

/// The limits of a workflow's usage. `None` removes a limit; only the file can do that, with "unlimited", or for the
/// cost by leaving it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens in all.
    pub tokens: Option<u64>,
    /// US dollars in all.
    pub cost_usd: Option<f64>,
    /// Time in which it works, in seconds.
    pub active_s: Option<u64>,
    /// Time of one attempt's conversation, in seconds.
    pub attempt_s: u64,
}

/// The rights of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// The mode of its conversations.
    pub mode: String,
    /// The fate of a question to a person.
    pub asks: QuestionPolicy,
    /// Rules that allow, as in a conversation.
    pub allow: Vec<String>,
    /// The model; none for the service's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The fate of a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionPolicy {
    /// The workflow pauses until a person answers.
    Pause,
    /// It is denied.
    Deny,
}

/// The tree in which checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyWhere {
    /// In a new worktree of the candidate.
    Fresh,
    /// In the tree in which the model worked.
    InPlace,
}

/// The points at which a person must approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gates {
    /// Before anything of the manifest runs.
    pub plan: bool,
    /// Before a candidate whose checks passed is accepted.
    pub accept: bool,
}
