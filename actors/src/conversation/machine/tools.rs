//! The tool calls of a reply, in its order, and how far each of them is.

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

/// How far a call is.
#[derive(Debug, PartialEq)]
enum State {
    /// It has not begun.
    Waiting,
    /// It runs.
    Running(CallId),
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
            Effect::RunTool(call_id, call.clone())
        };
        waiting.take(at_once).map(begin).collect()
    }

    /// The calls that run.
    pub(super) fn running(&self) -> impl Iterator<Item = &CallId> {
        self.calls.iter().filter_map(|call| match &call.state {
            State::Running(call_id) => Some(call_id),
            State::Waiting | State::Done(_) => None,
        })
    }

    /// The call that runs under that name.
    pub(super) fn runs(&self, call_id: &CallId) -> Option<&ToolCall> {
        let is_it = |call: &&Call| matches!(&call.state, State::Running(id) if id == call_id);
        self.calls.iter().find(is_it).map(|call| &call.call)
    }

    /// Notes an outcome. Tells the results that are to be recorded now; `None` if the call does
    /// not run.
    pub(super) fn finish(
        &mut self,
        finished: &CallId,
        outcome: ToolOutcome,
    ) -> Option<Vec<(ToolCall, ToolOutcome)>> {
        let is_it = |call: &&mut Call| matches!(&call.state, State::Running(id) if id == finished);
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
