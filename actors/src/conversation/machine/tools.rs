//! The tool calls of a reply, in its order, and which of them have an outcome.

use std::collections::VecDeque;

use crate::ids::CallId;
use crate::tool::{ToolCall, ToolOutcome};

/// The calls of a reply that have no recorded result yet, in its order.
#[derive(Debug)]
pub(super) struct Tools {
    /// Those that were begun; a result is recorded when all before it are.
    pub(super) begun: VecDeque<Begun>,
    /// Those that were not.
    pub(super) rest: VecDeque<ToolCall>,
}

/// A call that was begun.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) call_id: CallId,
    pub(super) call: ToolCall,
    pub(super) outcome: Option<ToolOutcome>,
}

impl Tools {
    /// The calls that run.
    pub(super) fn running(&self) -> impl Iterator<Item = CallId> {
        let running = self.begun.iter().filter(|begun| begun.outcome.is_none());
        running.map(|begun| begun.call_id.clone())
    }

    /// Notes an outcome; false if the call does not run.
    pub(super) fn finish(&mut self, finished: &CallId, outcome: ToolOutcome) -> bool {
        let mut begun = self.begun.iter_mut();
        let is_it = |begun: &&mut Begun| begun.call_id == *finished && begun.outcome.is_none();
        let Some(begun) = begun.find(is_it) else {
            return false;
        };
        begun.outcome = Some(outcome);
        true
    }

    /// The next result in the reply's order, if it is there.
    pub(super) fn next_result(&mut self) -> Option<(ToolCall, ToolOutcome)> {
        let outcome = self.begun.front_mut()?.outcome.take()?;
        let begun = self.begun.pop_front()?;
        Some((begun.call, outcome))
    }
}
