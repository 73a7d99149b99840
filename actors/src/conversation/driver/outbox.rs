//! Decisions of a conversation that are not carried out yet: everything waits, in order, for the
//! records before it to be in the journal.

use std::collections::VecDeque;

use crate::conversation::machine::Effect;
use crate::conversation::messages::SubmitError;
use crate::ids::{CallId, RunId};
use crate::journal::{BlockPiece, NewRecord, Position};

/// Names one append of this process.
pub(super) type AppendId = u64;

/// Answers a question or an order. Takes the actor, and whether everything before it is on record.
pub(super) type OutboxAnswer<A> = Box<dyn FnOnce(&A, Result<(), SubmitError>)>;

/// The state of pieces that must be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// More may come to them: the journal has others to write.
    Gathering,
    /// The journal has them, to write.
    Handed(AppendId),
    /// They are written.
    Written,
}

/// One thing to be done.
#[expect(
    clippy::large_enum_variant,
    reason = "few steps wait, and none for long"
)]
pub(super) enum OutboxStep<A> {
    /// Show these records, once they are written.
    Written {
        append: AppendId,
        records: Vec<NewRecord>,
        positions: Option<Vec<Position>>,
    },
    /// Show these pieces of unfinished blocks, once they are kept.
    Kept {
        pieces: Vec<BlockPiece>,
        keeping: Keeping,
    },
    /// Do this.
    Do(Effect),
    /// Tell that everything before was done, or why not.
    Answer(OutboxAnswer<A>),
}

/// The queue of what an actor is to do.
pub(super) struct Outbox<A> {
    steps: VecDeque<OutboxStep<A>>,
}

impl<A> Default for Outbox<A> {
    fn default() -> Self {
        Self {
            steps: VecDeque::new(),
        }
    }
}

impl<A> Outbox<A> {
    pub(super) fn push(&mut self, step: OutboxStep<A>) {
        self.steps.push_back(step);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Notes that records were written.
    pub(super) fn written(&mut self, id: AppendId, written: Vec<Position>) {
        for step in &mut self.steps {
            if let OutboxStep::Written {
                append, positions, ..
            } = step
                && *append == id
            {
                *positions = Some(written);
                return;
            }
        }
    }

    /// The pieces that wait to be handed to the journal, if nothing was decided since.
    pub(super) fn gathering(&mut self) -> Option<&mut Vec<BlockPiece>> {
        match self.steps.back_mut() {
            Some(OutboxStep::Kept {
                pieces,
                keeping: Keeping::Gathering,
            }) => Some(pieces),
            Some(_) | None => None,
        }
    }

    /// Whether pieces wait to be handed to the journal.
    pub(super) fn has_gathered(&self) -> bool {
        self.steps.iter().any(Self::is_gathered)
    }

    fn is_gathered(step: &OutboxStep<A>) -> bool {
        match step {
            OutboxStep::Kept { keeping, .. } => *keeping == Keeping::Gathering,
            OutboxStep::Written { .. } | OutboxStep::Do(_) | OutboxStep::Answer(_) => false,
        }
    }

    /// Takes the first pieces that were gathered; the journal is to have them under this name.
    pub(super) fn hand(&mut self, id: AppendId) -> Option<Vec<BlockPiece>> {
        self.steps.iter_mut().find_map(|step| match step {
            OutboxStep::Kept { pieces, keeping } if *keeping == Keeping::Gathering => {
                *keeping = Keeping::Handed(id);
                Some(pieces.clone())
            }
            OutboxStep::Kept { .. }
            | OutboxStep::Written { .. }
            | OutboxStep::Do(_)
            | OutboxStep::Answer(_) => None,
        })
    }

    /// Notes that pieces were written, or drops them.
    pub(super) fn kept(&mut self, id: AppendId, is_written: bool) {
        self.steps.retain_mut(|step| match step {
            OutboxStep::Kept { keeping, .. } if *keeping == Keeping::Handed(id) => {
                *keeping = Keeping::Written;
                is_written
            }
            OutboxStep::Kept { .. }
            | OutboxStep::Written { .. }
            | OutboxStep::Do(_)
            | OutboxStep::Answer(_) => true,
        });
    }

    /// Drops what was gathered and not handed to the journal.
    pub(super) fn drop_gathered(&mut self) {
        self.steps.retain(|step| !Self::is_gathered(step));
    }

    /// The next thing that can be done now.
    pub(super) fn next(&mut self) -> Option<OutboxStep<A>> {
        let is_open = |step: &mut OutboxStep<A>| match step {
            OutboxStep::Written { positions, .. } => positions.is_some(),
            OutboxStep::Kept { keeping, .. } => *keeping == Keeping::Written,
            OutboxStep::Do(_) | OutboxStep::Answer(_) => true,
        };
        self.steps.pop_front_if(is_open)
    }

    /// Takes a call off that was not made yet.
    pub(super) fn take_back(&mut self, id: &CallId) -> bool {
        let is_it = |step: &OutboxStep<A>| match step {
            OutboxStep::Do(
                Effect::CallModel(made)
                | Effect::DescribeModel { call_id: made, .. }
                | Effect::TellDropped(made, _)
                | Effect::Summarize(made, _)
                | Effect::RunTool(made, ..)
                | Effect::KeepChange(made, ..),
            ) => made == id,
            OutboxStep::Do(_)
            | OutboxStep::Written { .. }
            | OutboxStep::Kept { .. }
            | OutboxStep::Answer(_) => false,
        };
        let place = self.steps.iter().position(is_it);
        place.and_then(|place| self.steps.remove(place)).is_some()
    }

    /// Whether the end of that run waits.
    pub(super) fn ends(&self, run: RunId) -> bool {
        let is_it = |step: &OutboxStep<A>| matches!(step, OutboxStep::Do(Effect::EndRun(ending, _)) if *ending == run);
        self.steps.iter().any(is_it)
    }

    /// Takes the records of an append off, with all that waits behind them. What stands before
    /// them was taken by the journal, or will be.
    pub(super) fn cut(&mut self, id: AppendId) -> VecDeque<OutboxStep<A>> {
        let place = self.place(id).unwrap_or(self.steps.len());
        self.steps.split_off(place)
    }

    /// Whether the records of that append wait.
    pub(super) fn awaits(&self, id: AppendId) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: AppendId) -> Option<usize> {
        let is_it = |step: &OutboxStep<A>| matches!(step, OutboxStep::Written { append, .. } if *append == id);
        self.steps.iter().position(is_it)
    }
}
