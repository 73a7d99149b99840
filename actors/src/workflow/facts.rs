//! Values that a workflow's records, inputs and effects have in common.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::state::{FeatureState, IterationStatus, RejectReason};

/// Maximum size of an output or of a model's last text in a record, in bytes.
pub const MAX_TAIL: usize = 4 * 1024;
/// The feature whose checks are the health checks: repair of the base, where the file wants that.
pub const HEALTH_FEATURE: &str = "workspace.health";
/// The name under which a person's refusal is filed.
pub const GATE_CHECK: &str = "gate";

/// A commit with its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The commit.
    pub commit: String,
    /// The hash of its tree.
    pub tree: String,
}

/// The place of a step in a workflow. Iterations and attempts count from 1. Attempt 0 is the work on the base before
/// the first attempt; iteration 0 is the verification whose number `attempt` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepPlace {
    /// The iteration.
    pub n: u32,
    /// The attempt in it.
    pub attempt: u32,
}

/// Tokens, money and time that were used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// Milliseconds in which something worked.
    pub active_ms: u64,
}

impl Spent {
    /// That and more.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(more.tokens),
            cost_micro_usd: self.cost_micro_usd.saturating_add(more.cost_micro_usd),
            active_ms: self.active_ms.saturating_add(more.active_ms),
        }
    }

    /// That without what is known already.
    #[must_use]
    pub fn minus(self, known: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(known.tokens),
            cost_micro_usd: self.cost_micro_usd.saturating_sub(known.cost_micro_usd),
            active_ms: self.active_ms.saturating_sub(known.active_ms),
        }
    }

    /// Time alone.
    #[must_use]
    pub fn time(active_ms: u64) -> Self {
        Self {
            active_ms,
            ..Self::default()
        }
    }
}

/// The budget that a resume adds to the file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Grants {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// Milliseconds of work.
    pub active_ms: u64,
    /// Iterations.
    pub iterations: u32,
}

impl Grants {
    /// Those and more.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(more.tokens),
            cost_micro_usd: self.cost_micro_usd.saturating_add(more.cost_micro_usd),
            active_ms: self.active_ms.saturating_add(more.active_ms),
            iterations: self.iterations.saturating_add(more.iterations),
        }
    }
}

/// The exact tree that an attempt left, as a commit on its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The commit, its tree without any change of a protected file.
    #[serde(flatten)]
    pub head: Head,
    /// Number of files that differ from the base.
    pub files: u32,
    /// Number of lines that were added or removed.
    pub lines: u64,
    /// The protected files that the attempt changed; they were restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The reason why it is too large to be taken, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_large: Option<String>,
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// By its time limit.
    TimedOut,
    /// It could not be started, for this reason.
    NotStarted(String),
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    /// The end of the command.
    pub end: CommandEnd,
    /// Its output, both streams, at most what is kept of one.
    pub output: String,
    /// The SHA-256 under which that is kept.
    pub output_hash: String,
    /// Duration in milliseconds.
    pub ms: u64,
    /// True if the command changed tracked files.
    pub tree_changed: bool,
}

/// One reason of a rejection, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The reason.
    pub reason: RejectReason,
    /// The check that gave it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The text that goes with it.
    pub detail: String,
}

/// The names of passing tests.
pub type TestNames = BTreeSet<String>;

/// The limits of an operator's order to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOrder {
    /// The key under which a repetition is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Maximum number of features, if other than in the file; a strict workflow takes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_features: Option<u32>,
    /// Iterations of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// The operator who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A line of what has happened, for people and for the next conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressEntry {
    /// The iteration; 0 for the initializer.
    pub n: u32,
    /// Its feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The outcome, and the model's note.
    pub text: String,
}

/// The state of a run at the end of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The outcome of the iteration.
    pub status: IterationStatus,
    /// The accepted head.
    pub head: Head,
    /// A remark.
    pub note: String,
}

/// The strength of the sandbox for commands; a stronger one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxStrength {
    /// No sandbox.
    None,
    /// A sandbox with gaps.
    Partly,
    /// A sandbox that keeps all its promises.
    Held,
}

/// The change of an iteration's feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureChange {
    /// The feature.
    pub feature: String,
    /// Its state from now on.
    pub state: FeatureState,
}

/// The last bytes of a text, at most `MAX_TAIL`, from the beginning of a character on.
#[must_use]
pub fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MAX_TAIL);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-21]
    #[test]
    fn a_tail_has_4_kib_and_begins_with_a_character() {
        assert_eq!(tail("short"), "short");
        let long = "é".repeat(MAX_TAIL);
        let text = format!("{long}x");
        assert!(tail(&text).len() <= MAX_TAIL && tail(&text).len() > MAX_TAIL - 2);
        assert!(tail(&text).ends_with("éx"));
    }
}
