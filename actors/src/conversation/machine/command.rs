//! Commands that operators ran: each is put on record, and the next prompt tells the model.

use super::Machine;
use super::order::{ConversationOrder, OrderResult};
use crate::conversation::messages::{NoteCommand, SubmitError};
use crate::journal::Record;

impl ConversationOrder for NoteCommand {
    type Answer = ();
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        // It was run: that is kept however full the disk is.
        Ok(None)
    }

    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self {
            command,
            result,
            is_error,
            is_hidden,
            by,
        } = self;
        let record = Record::CommandRan {
            command,
            result,
            is_error,
            is_hidden,
            by,
        };
        Ok(((), vec![machine.note(record)]))
    }
}
