//! The facts about the iteration and the verification that are under way.

use crate::ids::RunId;
use crate::workflow::facts::{Candidate, Head, Spent, StepPlace};
use crate::workflow::record::{CheckEnded, GateAnswer, Purpose, VerdictNote};
use crate::workflow::state::{CheckVerdict, IterationStep, StepOutcome};

/// A step that began and has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// The place in the workflow.
    pub at: StepPlace,
    /// The step.
    pub step: IterationStep,
    /// The tree, of a check.
    pub tree: Option<String>,
    /// Number of this start of the step.
    pub number: u32,
}

/// The iteration that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIteration {
    /// Its number.
    pub n: u32,
    /// Its feature.
    pub feature: String,
    /// The commit that it began with.
    pub base: Head,
    /// The last commits when the iteration began.
    pub log: String,
    /// The attempt that is under way or has ended last.
    pub attempt: Attempt,
    /// The tokens, money and time that it has used up.
    pub spent: Spent,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// The conversation and its run, once they took the prompt.
    pub linked: Option<Linked>,
    /// Number of its waits for the provider.
    pub waits: u32,
    /// Sum of those waits, in milliseconds.
    pub waited_ms: u64,
    /// The end of the running wait, in milliseconds since the Unix epoch.
    pub waits_until: Option<u64>,
    /// The part of its conversation's usage that was counted already.
    pub charged: Spent,
    /// True if the conversation took too long.
    pub is_late: bool,
    /// The outcome of the conversation.
    pub conversed: Option<StepOutcome>,
    /// The model's last text.
    pub note: String,
    /// The candidate that it left.
    pub candidate: Option<Candidate>,
    /// The checks of that.
    pub results: Results,
    /// A person's answer about it.
    pub gate: Option<GateAnswer>,
    /// The judgement.
    pub verdict: Option<VerdictNote>,
    /// True if the branch moved.
    pub accepted: bool,
    /// True if the worktree is the base again.
    pub restored: bool,
    /// True if it ends without a judgement.
    pub interrupted: bool,
    /// The last step of it that did not do what it was to do.
    pub failed: Option<IterationStep>,
    /// Number of times that the service died in its conversation.
    pub crashes: u32,
}

impl Attempt {
    /// The attempt of that number, before anything of it is done.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }
}

/// A conversation that took a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The conversation.
    pub conversation: String,
    /// Its run.
    pub run: RunId,
}

impl OpenIteration {
    /// The place of its attempt.
    #[must_use]
    pub fn place(&self) -> StepPlace {
        StepPlace {
            n: self.n,
            attempt: self.attempt.number,
        }
    }
}

/// The verification that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenVerification {
    /// Its number.
    pub number: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The commit that it runs on.
    pub head: Head,
    /// The checks so far.
    pub results: Results,
}

/// The results of checks: one that counts for each check and tree, and the tries before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Results {
    counted: Vec<CheckEnded>,
    tries: Vec<Tries>,
}

/// A check that failed at first.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tries {
    check: String,
    tree: String,
    passes: u32,
}

impl Results {
    /// The result that counts.
    #[must_use]
    pub fn result(&self, check: &str, tree: &str) -> Option<&CheckEnded> {
        let is_it = |ended: &&CheckEnded| ended.check == check && ended.tree == tree;
        self.counted.iter().find(is_it)
    }

    /// All that count, in the order in which they ended.
    #[must_use]
    pub fn counted(&self) -> &[CheckEnded] {
        &self.counted
    }

    /// Number of passes of the check since it failed. `None` if it has not failed.
    #[must_use]
    pub fn passes(&self, check: &str, tree: &str) -> Option<u32> {
        let is_it = |tries: &&Tries| tries.check == check && tries.tree == tree;
        self.tries.iter().find(is_it).map(|tries| tries.passes)
    }

    /// Adds a result. One that comes after the one that counts is not taken.
    pub(super) fn add(&mut self, ended: &CheckEnded) -> bool {
        if self.result(&ended.check, &ended.tree).is_some() {
            return false;
        }
        if ended.counts {
            self.counted.push(ended.clone());
            return true;
        }
        let passed = ended.verdict == CheckVerdict::Passed && ended.lost.is_empty();
        let found = self
            .tries
            .iter_mut()
            .find(|tries| tries.check == ended.check && tries.tree == ended.tree);
        match found {
            Some(tries) if passed => tries.passes += 1,
            Some(tries) => tries.passes = 0,
            None => self.tries.push(Tries {
                check: ended.check.clone(),
                tree: ended.tree.clone(),
                passes: 0,
            }),
        }
        true
    }
}
