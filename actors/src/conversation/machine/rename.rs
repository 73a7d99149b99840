//! Giving the conversation another title.

use super::Machine;
use super::order::{Order, Taken};
use crate::conversation::messages::{RenameConversation, SubmitError};
use crate::journal::Record;

impl Order for RenameConversation {
    type Answer = ();
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(Some(self.title.len()))
    }

    fn apply(self, machine: &mut Machine) -> Taken<Self> {
        let Self { title, by } = self;
        Ok(((), vec![machine.note(Record::Renamed { title, by })]))
    }
}
