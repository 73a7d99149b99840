//! What a conversation has decided and not yet done: everything waits, in order, for the records
//! before it to be in the journal.

use std::collections::VecDeque;

use crate::conversation::machine::Effect;
use crate::conversation::messages::SubmitError;
use crate::ids::{CallId, RunId};
use crate::journal::{NewRecord, Position};

/// Names one append of this process.
pub(super) type AppendId = u64;

/// Answers a question or an order. Takes the actor, and whether everything before it is on record.
pub(super) type Answer<A> = Box<dyn FnOnce(&A, Result<(), SubmitError>)>;

/// One thing to be done.
#[expect(
    clippy::large_enum_variant,
    reason = "few steps wait, and none for long"
)]
pub(super) enum Step<A> {
    /// Show these records, once they are written.
    Written {
        append: AppendId,
        records: Vec<NewRecord>,
        positions: Option<Vec<Position>>,
    },
    /// Do this.
    Do(Effect),
    /// Tell that everything before was done, or why not.
    Answer(Answer<A>),
}

/// The queue of what an actor is to do.
pub(super) struct Outbox<A> {
    steps: VecDeque<Step<A>>,
}

impl<A> Default for Outbox<A> {
    fn default() -> Self {
        Self {
            steps: VecDeque::new(),
        }
    }
}

impl<A> Outbox<A> {
    pub(super) fn push(&mut self, step: Step<A>) {
        self.steps.push_back(step);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Notes that records were written.
    pub(super) fn written(&mut self, id: AppendId, written: Vec<Position>) {
        for step in &mut self.steps {
            if let Step::Written {
                append, positions, ..
            } = step
                && *append == id
            {
                *positions = Some(written);
                return;
            }
        }
    }

    /// The next thing that can be done now.
    pub(super) fn next(&mut self) -> Option<Step<A>> {
        let is_open = |step: &mut Step<A>| {
            !matches!(
                step,
                Step::Written {
                    positions: None,
                    ..
                }
            )
        };
        self.steps.pop_front_if(is_open)
    }

    /// Takes a call off that was not made yet.
    pub(super) fn take_back(&mut self, id: &CallId) -> bool {
        let is_it = |step: &Step<A>| match step {
            Step::Do(
                Effect::CallModel(made)
                | Effect::DescribeModel { call_id: made, .. }
                | Effect::Summarize(made, _)
                | Effect::RunTool(made, _),
            ) => made == id,
            Step::Do(_) | Step::Written { .. } | Step::Answer(_) => false,
        };
        let place = self.steps.iter().position(is_it);
        place.and_then(|place| self.steps.remove(place)).is_some()
    }

    /// Whether the end of that run waits.
    pub(super) fn ends(&self, run: RunId) -> bool {
        let is_it =
            |step: &Step<A>| matches!(step, Step::Do(Effect::EndRun(ending, _)) if *ending == run);
        self.steps.iter().any(is_it)
    }

    /// Takes the records of an append off, with all that waits behind them. What stands before
    /// them was taken by the journal, or will be.
    pub(super) fn cut(&mut self, id: AppendId) -> VecDeque<Step<A>> {
        let place = self.place(id).unwrap_or(self.steps.len());
        self.steps.split_off(place)
    }

    /// Whether the records of that append wait.
    pub(super) fn awaits(&self, id: AppendId) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: AppendId) -> Option<usize> {
        let is_it = |step: &Step<A>| matches!(step, Step::Written { append, .. } if *append == id);
        self.steps.iter().position(is_it)
    }
}
