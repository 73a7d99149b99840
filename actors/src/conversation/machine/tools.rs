//! The tool calls of a reply, in its order, and the state of each.

use std::collections::VecDeque;

use super::effect::Effect;
use crate::ids::CallId;
use crate::tool::{ToolCall, ToolOutcome};

/// The calls of a reply that have no recorded result yet, in its order.
#[derive(Debug)]
pub(super) struct Tools {
    calls: VecDeque<Call>,
}

#[derive(Debug)]
struct Call {
    call: ToolCall,
    state: State,
}

/// The state of a call.
#[derive(Debug, PartialEq)]
enum State {
    /// It has not begun.
    Waiting,
    /// It runs.
    Running(CallId),
    /// It has planned what it would change, and waits for a decision.
    Held(CallId),
    /// Its result is recorded when those before it are.
    Done(ToolOutcome),
}

impl Tools {
    pub(super) fn new(calls: Vec<ToolCall>) -> Self {
        let waiting = |call| Call {
            call,
            state: State::Waiting,
        };
        Self {
            calls: calls.into_iter().map(waiting).collect(),
        }
    }

    /// Begins so many of the calls that wait.
    pub(super) fn begin(&mut self, at_once: usize, last_call: &mut CallId) -> Vec<Effect> {
        let waiting = self.calls.iter_mut();
        let waiting = waiting.filter(|call| call.state == State::Waiting);
        let begin = |Call { call, state }: &mut Call| {
            let call_id = last_call.next();
            *state = State::Running(call_id.clone());
            Effect::RunTool(call_id, call.clone(), None)
        };
        waiting.take(at_once).map(begin).collect()
    }

    /// The call that runs under that name waits for a decision.
    pub(super) fn hold(&mut self, planned: &CallId) {
        let is_it = |call: &&mut Call| matches!(&call.state, State::Running(id) if id == planned);
        if let Some(call) = self.calls.iter_mut().find(is_it) {
            call.state = State::Held(planned.clone());
        }
    }

    /// The first call waits for a decision.
    pub(super) fn hold_first(&mut self, last_call: &mut CallId) {
        if let Some(call) = self.calls.front_mut() {
            call.state = State::Held(last_call.next());
        }
    }

    /// The name of the call that waits for a decision.
    pub(super) fn held(&self) -> Option<&CallId> {
        self.calls.iter().find_map(|call| match &call.state {
            State::Held(call_id) => Some(call_id),
            State::Waiting | State::Running(_) | State::Done(_) => None,
        })
    }

    /// Lets the call that waits for a decision run, under a new name.
    pub(super) fn release(&mut self, last_call: &mut CallId) -> Option<(CallId, ToolCall)> {
        let is_held = |call: &&mut Call| matches!(call.state, State::Held(_));
        let call = self.calls.iter_mut().find(is_held)?;
        let call_id = last_call.next();
        call.state = State::Running(call_id.clone());
        Some((call_id, call.call.clone()))
    }

    /// The calls that run.
    pub(super) fn running(&self) -> impl Iterator<Item = &CallId> {
        self.calls.iter().filter_map(|call| match &call.state {
            State::Running(call_id) => Some(call_id),
            State::Waiting | State::Held(_) | State::Done(_) => None,
        })
    }

    /// The call that runs under that name.
    pub(super) fn runs(&self, call_id: &CallId) -> Option<&ToolCall> {
        let is_it = |call: &&Call| matches!(&call.state, State::Running(id) if id == call_id);
        self.calls.iter().find(is_it).map(|call| &call.call)
    }

    /// The call that runs under that name, or waits for a decision.
    pub(super) fn pending(&self, call_id: &CallId) -> Option<&ToolCall> {
        let is_it = |call: &&Call| match &call.state {
            State::Running(id) | State::Held(id) => id == call_id,
            State::Waiting | State::Done(_) => false,
        };
        self.calls.iter().find(is_it).map(|call| &call.call)
    }

    /// Notes an outcome. Tells the results that are to be recorded now; `None` if the call neither
    /// runs nor waits for a decision.
    pub(super) fn finish(
        &mut self,
        finished: &CallId,
        outcome: ToolOutcome,
    ) -> Option<Vec<(ToolCall, ToolOutcome)>> {
        let is_it = |call: &&mut Call| match &call.state {
            State::Running(id) | State::Held(id) => id == finished,
            State::Waiting | State::Done(_) => false,
        };
        self.calls.iter_mut().find(is_it)?.state = State::Done(outcome);
        let is_done = |call: &mut Call| matches!(call.state, State::Done(_));
        let mut results = Vec::new();
        while let Some(Call {
            call,
            state: State::Done(outcome),
        }) = self.calls.pop_front_if(is_done)
        {
            results.push((call, outcome));
        }
        Some(results)
    }

    /// Whether all calls have a recorded result.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
