//! Notes about the conversation as a whole: another title, a branch that continues elsewhere.

use super::Machine;
use super::order::{ConversationOrder, OrderResult};
use crate::conversation::messages::{NoteBranch, RenameConversation, SubmitError};
use crate::journal::Record;

impl ConversationOrder for RenameConversation {
    type Answer = ();
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(Some(self.title.len()))
    }

    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self { title, by } = self;
        Ok(((), vec![machine.note(Record::Renamed { title, by })]))
    }
}

impl ConversationOrder for NoteBranch {
    type Answer = ();
    type Refusal = SubmitError;

    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self {
            conversation,
            behind,
            by,
        } = self;
        let record = Record::Branched {
            conversation,
            behind,
            by,
        };
        Ok(((), vec![machine.note(record)]))
    }
}
