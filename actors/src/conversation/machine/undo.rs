//! Changes that were taken back: the fact is put on record, and the next request tells the model.

use harness_protocol::UndoneFile;

use super::Machine;
use super::effect::Effect;
use crate::conversation::messages::SubmitError;
use crate::journal::Record;

/// The result of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The changes behind this record.
    pub behind: u64,
    /// The outcome for each file.
    pub files: Vec<UndoneFile>,
    /// The name of the client that did it.
    pub by: Option<String>,
}

impl Machine {
    /// Whether changes may be taken back now.
    ///
    /// # Errors
    /// While a run goes, also one that waits for an answer.
    pub fn check_undo(&self) -> Result<(), SubmitError> {
        self.check_idle()
    }

    /// Notes that changes were taken back, behind what a service left open when it died.
    #[must_use]
    pub fn undone(&mut self, undone: Undone) -> Vec<Effect> {
        let Undone { behind, files, by } = undone;
        let mut effects = self.close();
        effects.push(self.note(Record::Undone { behind, files, by }));
        effects
    }
}
