//! The policy of a run: its limits, and the failures that end it.

use serde_json::{Value, json};

use super::error::RuntimeError;
use crate::workflow::manifest::{FailFast, RunMode};

/// The policy of a run: its limits, and the failures that end it. The default is strict: one feature, one prompt, no
/// retry, and the run ends at a health check or a candidate that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPolicy {
    /// The mode, which limits the number of features of a run.
    pub mode: RunMode,
    /// Prompts for one feature in one iteration.
    pub max_turns_per_run: u32,
    /// Features in one run; 1 in strict mode.
    pub max_features_per_run: u32,
    /// Rejected attempts in one iteration that are followed by another; each costs a turn, too.
    pub retry_budget: u32,
    /// The failures that end a run at once.
    pub fail_fast: FailFast,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            mode: RunMode::Strict,
            max_turns_per_run: 1,
            max_features_per_run: 1,
            retry_budget: 0,
            fail_fast: FailFast {
                health: true,
                chat: false,
                validation: true,
            },
        }
    }
}

impl RunPolicy {
    pub(super) fn check(&self) -> Result<(), RuntimeError> {
        if self.max_turns_per_run == 0 || self.max_features_per_run == 0 {
            return Err(RuntimeError::invalid(
                "a policy needs one turn and one feature a run at least",
            ));
        }
        if self.mode == RunMode::Strict && self.max_features_per_run != 1 {
            return Err(RuntimeError::invalid(
                "a strict policy has one feature a run; take the bounded mode for more",
            ));
        }
        Ok(())
    }

    /// The word of its mode, and its table, as in a file.
    pub(super) fn as_json(&self) -> (&'static str, Value) {
        let mode = match self.mode {
            RunMode::Strict => "strict",
            RunMode::Bounded => "bounded",
            RunMode::Unlimited => "unlimited",
        };
        let FailFast {
            health,
            chat,
            validation,
        } = self.fail_fast;
        let policy = json!({
            "max_turns_per_run": self.max_turns_per_run,
            "max_features_per_run": self.max_features_per_run,
            "retry_budget": self.retry_budget,
            "fail_fast": {"health": health, "chat": chat, "validation": validation},
        });
        (mode, policy)
    }
}
