//! The iterations of a workflow, told from its records.

use std::collections::BTreeMap;

use harness_protocol::{
    WorkflowAttempt, WorkflowCheckRun, WorkflowIteration, WorkflowIterations, WorkflowReason,
    WorkflowSpent,
};
use serde::Serialize;

use super::facts::{Candidate, Rejection, Spent};
use super::record::{CheckEnded, IterationEnded, VerificationEnded, WorkflowRecord};

/// The requested iterations: those after `after`, up to `limit`. Number 0 are the verifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A page, without checks.
    Page {
        /// Only those after this one.
        after: u32,
        /// Maximum number of iterations.
        limit: usize,
    },
    /// One, with everything.
    One(u32),
}

/// Adds up records to iterations.
#[derive(Debug)]
pub struct PastIterations {
    wanted: Wanted,
    found: BTreeMap<u32, WorkflowIteration>,
    has_more: bool,
}

impl PastIterations {
    /// Nothing yet.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            found: BTreeMap::new(),
            has_more: false,
        }
    }

    /// Adds a record that was written then, in seconds since the Unix epoch.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "watches: most records say nothing of an iteration"
    )]
    pub fn add(&mut self, record: &WorkflowRecord, at: u64) {
        match record {
            WorkflowRecord::IterationStarted {
                n,
                feature,
                base,
                why,
            } => {
                if let Some(it) = self.iteration(*n, at) {
                    it.feature = Some(feature.clone());
                    it.base = Some(base.commit.clone());
                    it.why.clone_from(why);
                }
            }
            WorkflowRecord::ConversationLinked {
                n,
                attempt,
                conversation,
                ..
            } => {
                if let Some(it) = self.attempt(*n, *attempt) {
                    it.conversation = Some(conversation.clone());
                }
            }
            WorkflowRecord::AttemptTimedOut { n, attempt } => {
                if let Some(it) = self.attempt(*n, *attempt) {
                    it.timed_out = true;
                }
            }
            WorkflowRecord::Candidate {
                n,
                attempt,
                candidate,
            } => {
                if let Some(it) = self.attempt(*n, *attempt) {
                    leave(it, candidate);
                }
            }
            WorkflowRecord::CheckEnded(ended) => self.check(ended),
            WorkflowRecord::Verdict(verdict) => {
                if let Some(it) = self.attempt(verdict.n, verdict.attempt) {
                    it.accepted = Some(verdict.accepted);
                    it.reasons = verdict.reasons.iter().map(reason).collect();
                }
            }
            WorkflowRecord::IterationEnded(ended) => self.end(ended, at),
            WorkflowRecord::VerificationStarted { number, head, .. } => {
                if let Some(it) = self.iteration(0, at) {
                    let it = numbered(it, *number);
                    it.commit = Some(head.commit.clone());
                    it.tree = Some(head.tree.clone());
                }
            }
            WorkflowRecord::VerificationEnded(ended) => self.verified(ended),
            _ => {}
        }
    }

    /// The page.
    #[must_use]
    pub fn page(self) -> WorkflowIterations {
        let after = self.found.keys().next_back().copied();
        WorkflowIterations {
            after: after.filter(|_| self.has_more),
            iterations: self.found.into_values().collect(),
        }
    }

    /// The one that was wanted, if there is one.
    #[must_use]
    pub fn one(mut self) -> Option<WorkflowIteration> {
        self.found.pop_first().map(|(_, it)| it)
    }

    /// The iteration of that number, if it is wanted; begun if it was not yet.
    fn iteration(&mut self, n: u32, at: u64) -> Option<&mut WorkflowIteration> {
        match self.wanted {
            Wanted::One(wanted) if wanted != n => return None,
            Wanted::One(_) => {}
            Wanted::Page { after, .. } if n <= after => return None,
            Wanted::Page { limit, .. } => {
                if self.found.len() >= limit && !self.found.contains_key(&n) {
                    self.has_more = true;
                    return None;
                }
            }
        }
        Some(self.found.entry(n).or_insert_with(|| WorkflowIteration {
            iteration: n,
            started_at: at,
            ..WorkflowIteration::default()
        }))
    }

    /// The attempt in an iteration that has begun.
    fn attempt(&mut self, n: u32, attempt: u32) -> Option<&mut WorkflowAttempt> {
        Some(numbered(self.found.get_mut(&n)?, attempt))
    }

    fn check(&mut self, ended: &CheckEnded) {
        if matches!(self.wanted, Wanted::Page { .. }) {
            return;
        }
        if let Some(it) = self.attempt(ended.n, ended.attempt) {
            it.checks.push(WorkflowCheckRun {
                check: ended.check.clone(),
                tree: ended.tree.clone(),
                r#try: ended.r#try,
                verdict: word(&ended.verdict),
                why: ended.why.clone(),
                counts: ended.counts,
                ms: ended.ms,
                output: ended.output.clone(),
            });
        }
    }

    fn end(&mut self, ended: &IterationEnded, at: u64) {
        if let Some(it) = self.found.get_mut(&ended.n) {
            it.ended_at = Some(at);
            it.status = Some(word(&ended.status));
            it.commit = ended.commit.as_ref().map(|head| head.commit.clone());
            it.note.clone_from(&ended.note);
            it.spent = Some(spent(ended.usage));
        }
    }

    fn verified(&mut self, ended: &VerificationEnded) {
        if let Some(it) = self.attempt(0, ended.number) {
            it.accepted = Some(ended.green).filter(|_| !ended.stopped);
            it.reasons = ended.problems.iter().map(reason).collect();
        }
    }
}

fn numbered(it: &mut WorkflowIteration, attempt: u32) -> &mut WorkflowAttempt {
    let known = it.attempts.iter().position(|one| one.attempt == attempt);
    let at = known.unwrap_or_else(|| {
        it.attempts.push(WorkflowAttempt {
            attempt,
            ..WorkflowAttempt::default()
        });
        it.attempts.len() - 1
    });
    &mut it.attempts[at]
}

fn leave(it: &mut WorkflowAttempt, candidate: &Candidate) {
    it.commit = Some(candidate.head.commit.clone());
    it.tree = Some(candidate.head.tree.clone());
    it.files = candidate.files;
    it.lines = candidate.lines;
    it.protected.clone_from(&candidate.protected);
}

fn reason(rejection: &Rejection) -> WorkflowReason {
    WorkflowReason {
        reason: rejection.reason.word().to_owned(),
        check: rejection.check.clone(),
        detail: rejection.detail.clone(),
    }
}

fn spent(it: Spent) -> WorkflowSpent {
    WorkflowSpent {
        tokens: it.tokens,
        cost_micro_usd: it.cost_micro_usd,
        active_ms: it.active_ms,
    }
}

/// The word that a value has on the wire.
fn word<T: Serialize>(value: &T) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "past_tests.rs"]
mod tests;
