//! The output of a running check, before its record tells how it ended.
//!
//! Invariant: none of it is in the journal; it is bounded, however much a check writes.

use harness_protocol::Event;

use crate::ids::{CallId, ConversationId};
use crate::secret::Redaction;
use crate::tool::LiveOutput;
use crate::workflow::facts::StepPlace;
use crate::workflow::state::IterationStep;

/// The output of the open step.
pub(super) struct Showing {
    /// Names the step among those of this life.
    id: CallId,
    open: Option<OpenOutput>,
}

struct OpenOutput {
    at: StepPlace,
    step: IterationStep,
    output: LiveOutput,
}

impl Showing {
    /// Nothing is shown yet of that workflow.
    pub(super) fn for_conversation(conversation: ConversationId) -> Self {
        let id = CallId {
            conversation,
            number: 0,
        };
        Self { id, open: None }
    }

    /// The step that is open from now on, and its output.
    pub(super) fn open(
        &mut self,
        at: StepPlace,
        step: IterationStep,
        output: impl FnOnce(CallId) -> LiveOutput,
    ) -> LiveOutput {
        let output = output(self.id.next());
        self.open = Some(OpenOutput {
            at,
            step,
            output: output.clone(),
        });
        output
    }

    /// Closes the open output.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// True if that step is open.
    pub(super) fn is(&self, id: &CallId) -> bool {
        self.id == *id
    }

    /// The next piece to show, and whether more waits.
    pub(super) fn next(&self) -> Option<(Event, bool)> {
        let OpenOutput { at, step, output } = self.open.as_ref()?;
        // Its lines come without secrets.
        let piece = output.next(&Redaction::default())?;
        let event = Event::StepOutput {
            iteration: at.n,
            attempt: at.attempt,
            step: step.to_string(),
            offset: piece.offset,
            text: piece.text,
        };
        Some((event, piece.has_more))
    }
}
