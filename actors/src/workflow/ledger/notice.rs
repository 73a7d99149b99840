//! The notices for people that they were not given yet.

use std::collections::VecDeque;

use crate::workflow::record::WorkflowRecord;
use crate::workflow::state::PauseReason;

/// Maximum number of waiting notices; beyond it the oldest are dropped.
const MAX_WAITING: usize = 32;

/// A notice for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerNotice {
    /// All is done.
    Completed {
        /// The commit.
        commit: String,
    },
    /// It is paused.
    Paused {
        /// The reason.
        reason: PauseReason,
        /// A remark.
        detail: String,
    },
    /// A gate waits for a person.
    Gate {
        /// Its name.
        gate: String,
        /// The question.
        asks: String,
    },
}

/// The notices of a workflow, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Notices {
    count: u32,
    waiting: VecDeque<(u32, LedgerNotice)>,
}

impl Notices {
    /// The first that waits, with its number.
    pub(super) fn first(&self) -> Option<&(u32, LedgerNotice)> {
        self.waiting.front()
    }

    /// Goes by a record.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "watches: people are not told of most records"
    )]
    pub(super) fn apply(&mut self, record: &WorkflowRecord) {
        let notice = match record {
            WorkflowRecord::Completed { head } => LedgerNotice::Completed {
                commit: head.commit.clone(),
            },
            WorkflowRecord::Paused { reason, detail, .. } => LedgerNotice::Paused {
                reason: *reason,
                detail: detail.clone(),
            },
            WorkflowRecord::GateOpened { gate, asks } => LedgerNotice::Gate {
                gate: gate.clone(),
                asks: asks.clone(),
            },
            // A closed gate needs no answer.
            WorkflowRecord::GateClosed { gate, .. } => {
                let is_other = |(_, it): &(u32, LedgerNotice)| !matches!(it, LedgerNotice::Gate { gate: own, .. } if own == gate);
                return self.waiting.retain(is_other);
            }
            WorkflowRecord::Notified { number, .. } => {
                return self.waiting.retain(|(own, _)| own != number);
            }
            // What the older file did not tell, the new one need not.
            WorkflowRecord::ManifestApplied(_) => return self.waiting.clear(),
            _ => return,
        };
        self.count = self.count.saturating_add(1);
        self.waiting.push_back((self.count, notice));
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::facts::Head;
    use crate::workflow::record::GateAnswer;

    /// Spec: [FLOW-103]
    #[test]
    fn what_was_not_told_waits_in_its_order_and_an_answered_gate_does_not() {
        let mut notices = Notices::default();
        let gate = |gate: &str| WorkflowRecord::GateOpened {
            gate: gate.to_owned(),
            asks: String::new(),
        };
        let paused = WorkflowRecord::Paused {
            reason: PauseReason::Stuck,
            detail: "b".to_owned(),
            by: None,
        };
        for record in [gate("plan-1"), paused, gate("accept-1")] {
            notices.apply(&record);
        }
        assert_eq!(notices.first().unwrap().0, 1);
        notices.apply(&WorkflowRecord::GateClosed {
            gate: "plan-1".to_owned(),
            answer: GateAnswer {
                approved: true,
                comment: None,
                by: None,
            },
        });
        let stuck = LedgerNotice::Paused {
            reason: PauseReason::Stuck,
            detail: "b".to_owned(),
        };
        assert_eq!(notices.first(), Some(&(2, stuck)));
        let told = |number| WorkflowRecord::Notified {
            number,
            failed: None,
        };
        notices.apply(&told(2));
        assert_eq!(notices.first().unwrap().0, 3);
        notices.apply(&told(3));
        assert_eq!(notices.first(), None);
        for number in 4..=50 {
            let commit = number.to_string();
            let head = Head {
                tree: String::new(),
                commit: commit.clone(),
            };
            notices.apply(&WorkflowRecord::Completed { head });
        }
        // It is bounded where nothing tells them.
        assert_eq!(notices.first().unwrap().0, 50 - 31);
    }
}
