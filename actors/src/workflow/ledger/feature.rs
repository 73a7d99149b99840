//! The state of one feature, with the counters that tell when it is given up.

use std::collections::VecDeque;

use crate::workflow::facts::Rejection;
use crate::workflow::record::{IterationEnded, VerdictNote};
use crate::workflow::state::{FeatureState, IterationStatus, RejectReason};

/// Number of rejected attempts in a row with one fingerprint that make a feature stuck.
const MAX_SAME: u32 = 3;
/// Number of attempts in a row without a change that make it stuck.
const MAX_NO_CHANGE: u32 = 2;
/// In how many iterations its retries may be used up.
const MAX_EXHAUSTED: u32 = 3;
/// Number of claims in a row that it cannot be done which make it stuck.
const MAX_BLOCKED: u32 = 2;
/// Maximum number of its rejected trees that are remembered.
const MAX_TREES: usize = 64;
/// Maximum number of reasons of its last rejection that the next conversation receives.
const MAX_FAILURES: usize = 8;
/// The first words of the model's last reply when it claims that a feature cannot be done.
pub const BLOCKED: &str = "BLOCKED:";

/// One feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureNote {
    /// Its id.
    pub id: String,
    /// Its state; never `Blocked`, which depends on others.
    pub state: FeatureState,
    /// True if it has ever passed.
    pub has_passed: bool,
    /// Number of its attempts that were judged.
    pub attempts: u32,
    /// The looks of its last rejection.
    pub fingerprint: Option<String>,
    /// Number of rejections in a row with this look.
    pub same: u32,
    /// Number of attempts in a row that changed nothing.
    pub no_change: u32,
    /// In how many iterations its retries were used up.
    pub exhausted: u32,
    /// Number of claims in a row that it cannot be done.
    pub blocked: u32,
    /// The trees that were rejected, the last ones.
    pub trees: VecDeque<String>,
    /// The reasons of the last rejection, and the output of the checks.
    pub failures: Vec<Failure>,
}

/// A reason of a rejection with the end of what its check wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason.
    pub rejection: Rejection,
    /// The end of the output; empty if no check gave the reason.
    pub tail: String,
}

impl FeatureNote {
    /// An open feature that nothing is known of.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: FeatureState::Failing,
            has_passed: false,
            attempts: 0,
            fingerprint: None,
            same: 0,
            no_change: 0,
            exhausted: 0,
            blocked: 0,
            trees: VecDeque::new(),
            failures: Vec::new(),
        }
    }

    /// The reason to give it up, if there is one.
    #[must_use]
    pub fn stuck(&self) -> Option<String> {
        if self.no_change >= MAX_NO_CHANGE {
            return Some(format!("{MAX_NO_CHANGE} attempts in a row changed nothing"));
        }
        if self.same >= MAX_SAME {
            return Some(format!(
                "{MAX_SAME} attempts in a row failed in the same way"
            ));
        }
        if self.blocked >= MAX_BLOCKED {
            return Some(format!(
                "the model said {MAX_BLOCKED} times in a row that it is blocked"
            ));
        }
        (self.exhausted >= MAX_EXHAUSTED)
            .then(|| format!("its retries were used up in {MAX_EXHAUSTED} iterations"))
    }

    /// Opens it again, its counters at zero. What the last rejection said is still told.
    pub fn retry(&mut self) {
        self.state = FeatureState::Failing;
        self.forget();
    }

    /// Forgets what counts against it.
    pub fn forget(&mut self) {
        self.fingerprint = None;
        (self.same, self.no_change, self.exhausted, self.blocked) = (0, 0, 0, 0);
        self.trees.clear();
    }

    /// Notes a judgement. `failures` are its reasons, `note` is the model's last text.
    pub(super) fn judged(&mut self, verdict: &VerdictNote, failures: Vec<Failure>, note: &str) {
        self.attempts = self.attempts.saturating_add(1);
        if verdict.accepted {
            self.forget();
            self.failures.clear();
            return;
        }
        self.failures = failures;
        self.failures.truncate(MAX_FAILURES);
        let changed_nothing = |reason: &Rejection| reason.reason == RejectReason::NoChange;
        if verdict.reasons.iter().any(changed_nothing) {
            self.no_change += 1;
        } else {
            self.no_change = 0;
        }
        if self.fingerprint.is_some() && self.fingerprint == verdict.fingerprint {
            self.same += 1;
        } else {
            self.same = 1;
            self.fingerprint.clone_from(&verdict.fingerprint);
        }
        if note.trim_start().starts_with(BLOCKED) {
            self.blocked += 1;
        } else {
            self.blocked = 0;
        }
        let was_checked = verdict
            .reasons
            .iter()
            .any(|reason| reason.reason.is_of_checks());
        if was_checked && !self.trees.contains(&verdict.tree) {
            self.trees.push_back(verdict.tree.clone());
            if self.trees.len() > MAX_TREES {
                self.trees.pop_front();
            }
        }
    }

    /// Notes the end of an iteration on it.
    pub(super) fn ended(&mut self, ended: &IterationEnded) {
        self.state = ended.feature.state;
        if ended.exhausted {
            self.exhausted += 1;
        }
        if ended.status == IterationStatus::Accepted {
            self.has_passed = true;
        }
    }
}
