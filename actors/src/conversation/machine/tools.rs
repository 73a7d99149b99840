//! The tool calls of a reply, in its order, and the state of each.

use std::collections::VecDeque;

use super::effect::Effect;
use crate::ids::CallId;
use crate::tool::{ToolCall, ToolOutcome};

/// The calls of a reply that have no recorded result yet, in its order.
#[derive(Debug)]
pub(super) struct PendingCalls {
    calls: VecDeque<PendingCall>,
}

#[derive(Debug)]
struct PendingCall {
    call: ToolCall,
    state: CallState,
}

/// The state of a call.
#[derive(Debug, PartialEq)]
enum CallState {
    /// It has not begun.
    Waiting,
    /// It runs.
    Running(CallId),
    /// It has planned what it would change, and waits for a decision.
    Held(CallId),
    /// Its result is recorded when those before it are.
    Done(ToolOutcome),
}

impl PendingCalls {
    pub(super) fn new(calls: Vec<ToolCall>) -> Self {
        let waiting = |call| PendingCall {
            call,
            state: CallState::Waiting,
        };
        Self {
            calls: calls.into_iter().map(waiting).collect(),
        }
    }

    /// Begins so many of the calls that wait.
    pub(super) fn begin(&mut self, at_once: usize, last_call: &mut CallId) -> Vec<Effect> {
        let waiting = self.calls.iter_mut();
        let waiting = waiting.filter(|call| call.state == CallState::Waiting);
        let begin = |PendingCall { call, state }: &mut PendingCall| {
            let call_id = last_call.next();
            *state = CallState::Running(call_id.clone());
            Effect::RunTool(call_id, call.clone(), None)
        };
        waiting.take(at_once).map(begin).collect()
    }

    /// The call that runs under that name waits for a decision.
    pub(super) fn hold(&mut self, planned: &CallId) {
        let is_it = |call: &&mut PendingCall| matches!(&call.state, CallState::Running(id) if id == planned);
        if let Some(call) = self.calls.iter_mut().find(is_it) {
            call.state = CallState::Held(planned.clone());
        }
    }

    /// The first call waits for a decision.
    pub(super) fn hold_first(&mut self, last_call: &mut CallId) {
        if let Some(call) = self.calls.front_mut() {
            call.state = CallState::Held(last_call.next());
        }
    }

    /// The name of the call that waits for a decision.
    pub(super) fn held(&self) -> Option<&CallId> {
        self.calls.iter().find_map(|call| match &call.state {
            CallState::Held(call_id) => Some(call_id),
            CallState::Waiting | CallState::Running(_) | CallState::Done(_) => None,
        })
    }

    /// Lets the call that waits for a decision run, under a new name.
    pub(super) fn release(&mut self, last_call: &mut CallId) -> Option<(CallId, ToolCall)> {
        let is_held = |call: &&mut PendingCall| matches!(call.state, CallState::Held(_));
        let call = self.calls.iter_mut().find(is_held)?;
        let call_id = last_call.next();
        call.state = CallState::Running(call_id.clone());
        Some((call_id, call.call.clone()))
    }

    /// The calls that run.
    pub(super) fn running(&self) -> impl Iterator<Item = &CallId> {
        self.calls.iter().filter_map(|call| match &call.state {
            CallState::Running(call_id) => Some(call_id),
            CallState::Waiting | CallState::Held(_) | CallState::Done(_) => None,
        })
    }

    /// The call that runs under that name.
    pub(super) fn runs(&self, call_id: &CallId) -> Option<&ToolCall> {
        let is_it =
            |call: &&PendingCall| matches!(&call.state, CallState::Running(id) if id == call_id);
        self.calls.iter().find(is_it).map(|call| &call.call)
    }

    /// The call that runs under that name, or waits for a decision.
    pub(super) fn pending(&self, call_id: &CallId) -> Option<&ToolCall> {
        let is_it = |call: &&PendingCall| match &call.state {
            CallState::Running(id) | CallState::Held(id) => id == call_id,
            CallState::Waiting | CallState::Done(_) => false,
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
        let is_it = |call: &&mut PendingCall| match &call.state {
            CallState::Running(id) | CallState::Held(id) => id == finished,
            CallState::Waiting | CallState::Done(_) => false,
        };
        self.calls.iter_mut().find(is_it)?.state = CallState::Done(outcome);
        let is_done = |call: &mut PendingCall| matches!(call.state, CallState::Done(_));
        let mut results = Vec::new();
        while let Some(PendingCall {
            call,
            state: CallState::Done(outcome),
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
