//! What a conversation has decided and not yet done: everything waits, in order, for the records
//! before it to be in the journal.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::conversation::machine::SummaryCall;
use crate::conversation::messages::{CompactError, Compacted, Overview, RunOutcome, SubmitError};
use crate::event::Passing;
use crate::ids::{CallId, RunId};
use crate::journal::{NewRecord, Position};
use crate::model::messages::DescribeModel;
use crate::storage::StorageError;
use crate::tool::ToolCall;

/// Names one append of this process.
pub(super) type AppendId = u64;

/// Takes whether what it answers is on record.
pub(super) type Answer = Box<dyn FnOnce(Result<(), SubmitError>)>;

/// One thing to be done.
pub(super) enum Step {
    /// Show these records, once they are written.
    Record {
        append: AppendId,
        records: Vec<NewRecord>,
        written: Option<Vec<Position>>,
    },
    Show(Passing),
    CallModel(CallId),
    RunTool(CallId, ToolCall),
    EndRun(RunId, RunOutcome),
    DescribeModel(DescribeModel),
    Summarize(CallId, SummaryCall),
    /// Tells that everything before was done, or why not.
    Answer(Answer),
    EndCompaction(Result<Compacted, CompactError>),
    Rewrite {
        compacted: Compacted,
        by: Option<String>,
    },
    /// Answers when everything before was done.
    Settled(oneshot::Sender<()>),
    /// The position is filled in when its turn comes.
    Overview(
        oneshot::Sender<Result<Overview, StorageError>>,
        Box<Overview>,
    ),
}

/// The queue of what is to be done.
#[derive(Default)]
pub(super) struct Outbox {
    steps: VecDeque<Step>,
}

impl Outbox {
    pub(super) fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Notes that records were written.
    pub(super) fn written(&mut self, id: AppendId, positions: Vec<Position>) {
        for step in &mut self.steps {
            if let Step::Record {
                append, written, ..
            } = step
                && *append == id
            {
                *written = Some(positions);
                return;
            }
        }
    }

    /// The next thing that can be done now.
    pub(super) fn next(&mut self) -> Option<Step> {
        if let Some(Step::Record { written: None, .. }) = self.steps.front() {
            return None;
        }
        self.steps.pop_front()
    }

    /// Takes a call off that was not made yet.
    pub(super) fn take_back(&mut self, id: &CallId) -> bool {
        let is_it = |step: &Step| match step {
            Step::DescribeModel(order) => order.call_id == *id,
            Step::CallModel(call_id) | Step::Summarize(call_id, _) | Step::RunTool(call_id, _) => {
                call_id == id
            }
            Step::Record { .. }
            | Step::Show(_)
            | Step::EndRun(..)
            | Step::Answer(_)
            | Step::EndCompaction(_)
            | Step::Rewrite { .. }
            | Step::Settled(_)
            | Step::Overview(..) => false,
        };
        let place = self.steps.iter().position(is_it);
        place.and_then(|place| self.steps.remove(place)).is_some()
    }

    /// Whether the end of that run waits.
    pub(super) fn ends(&self, run: RunId) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step, Step::EndRun(ending, _) if *ending == run))
    }

    /// Takes the records of an append off, with all that waits behind them. What stands before
    /// them was taken by the journal, or will be.
    pub(super) fn cut(&mut self, id: AppendId) -> VecDeque<Step> {
        let place = self.place(id).unwrap_or(self.steps.len());
        self.steps.split_off(place)
    }

    /// Whether the records of that append wait.
    pub(super) fn awaits(&self, id: AppendId) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: AppendId) -> Option<usize> {
        let is_it = |step: &Step| matches!(step, Step::Record { append, .. } if *append == id);
        self.steps.iter().position(is_it)
    }
}
