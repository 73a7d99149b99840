//! The decided effects that are not yet done: in order, each after the records before it.

use std::collections::VecDeque;

use crate::journal::Durability;
use crate::workflow::machine::WorkflowEffect;
use crate::workflow::record::WorkflowRecord;

/// The queue of what a workflow is to do.
#[derive(Debug, Default)]
pub(super) struct WorkflowOutbox {
    effects: VecDeque<WorkflowEffect>,
}

/// The next thing to do.
#[derive(Debug)]
pub(super) enum NextEffect {
    /// Write these, then continue.
    Write(Vec<WorkflowRecord>, Durability),
    /// Do this.
    Do(WorkflowEffect),
}

impl WorkflowOutbox {
    pub(super) fn extend(&mut self, effects: Vec<WorkflowEffect>) {
        self.effects.extend(effects);
    }

    pub(super) fn clear(&mut self) {
        self.effects.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Takes what is first: one effect, or all records up to the next that is none.
    pub(super) fn next(&mut self) -> Option<NextEffect> {
        let mut records = Vec::new();
        while let Some(effect) = self.effects.pop_front() {
            if let WorkflowEffect::Record(record) = effect {
                records.push(record);
            } else if records.is_empty() {
                return Some(NextEffect::Do(effect));
            } else {
                self.effects.push_front(effect);
                break;
            }
        }
        let needed = records.iter().map(WorkflowRecord::durability).max()?;
        Some(NextEffect::Write(records, needed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::facts::Grants;
    use crate::workflow::ledger::WorkflowLedger;
    use crate::workflow::machine::{OperatorOrder, OrderOutcome, WorkflowInput, WorkflowMachine};
    use crate::workflow::state::PauseReason;

    /// Spec: [FLOW-22]
    #[test]
    fn case_40_an_order_is_answered_behind_its_flushed_record() {
        let mut ledger = WorkflowLedger::default();
        ledger.apply(&WorkflowRecord::Paused {
            reason: PauseReason::BudgetTokens,
            detail: String::new(),
            by: None,
        });
        let mut outbox = WorkflowOutbox::default();
        let order = OperatorOrder::Resume {
            grants: Grants::default(),
            retry_stuck: false,
        };
        let input = WorkflowInput::Order {
            asker: 7,
            by: None,
            order,
        };
        outbox.extend(WorkflowMachine::new(ledger, None).handle(input));
        let Some(NextEffect::Write(records, needed)) = outbox.next() else {
            panic!("nothing is written first");
        };
        assert!(matches!(records[..], [WorkflowRecord::Resumed { .. }]));
        assert_eq!(needed, Durability::Synced);
        let Some(NextEffect::Do(WorkflowEffect::Answer { asker, answer })) = outbox.next() else {
            panic!("it is not answered");
        };
        assert_eq!((asker, answer), (7, OrderOutcome::Taken));
        assert!(outbox.is_empty());
    }
}
