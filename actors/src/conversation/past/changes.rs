//! The changes that tools made, as the records tell them, and those that were taken back.

use harness_protocol::{FileChange, UndoOutcome, UndoTo, UndoneFile};

use super::read_back::Reading;
use crate::ids::RunId;
use crate::journal::{Journal, Record};
use crate::storage::StorageError;

/// Changes that were not taken back, the oldest first.
#[derive(Debug, Default)]
pub(in crate::conversation) struct Changes {
    all: Vec<Made>,
    /// The notes of records about changes that are not named, each with the number of its record.
    notes: Vec<(u64, String)>,
    run: u64,
}

/// The changes that an undo takes back.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::conversation) struct Meant {
    /// The record that it is all behind.
    pub(in crate::conversation) behind: u64,
    /// The changes, the oldest first.
    pub(in crate::conversation) changes: Vec<FileChange>,
    /// Further changes, which cannot be taken back.
    pub(in crate::conversation) notes: Vec<String>,
}

#[derive(Debug)]
struct Made {
    /// Its record.
    seq: u64,
    run: u64,
    change: FileChange,
}

impl Changes {
    /// Those of a journal up to record `end`.
    ///
    /// # Errors
    /// When the storage cannot be read.
    pub(in crate::conversation) async fn read(
        journal: &dyn Journal,
        end: u64,
    ) -> Result<Self, StorageError> {
        let mut changes = Self::default();
        let mut reading = Reading::new(journal, 0, end);
        while let Some(entries) = reading.next().await? {
            for entry in entries {
                changes.add(entry.position.seq, entry.record);
            }
        }
        Ok(changes)
    }

    fn add(&mut self, seq: u64, record: Record) {
        if let Record::RunStarted {
            run: RunId(run), ..
        } = record
        {
            self.run = run;
        } else if let Record::FilesChanged { changes, note, .. } = record {
            let run = self.run;
            self.notes.extend(note.map(|note| (seq, note)));
            let made = changes.into_iter().map(|change| Made {
                seq,
                run,
                change: FileChange {
                    diff: String::new(),
                    ..change
                },
            });
            self.all.extend(made);
        } else if let Record::Undone { behind, files, .. } = record {
            let is_back = |made: &Made| {
                let is_it = |file: &UndoneFile| {
                    file.outcome != UndoOutcome::Conflict && file.path == made.change.path
                };
                made.seq > behind && files.iter().any(is_it)
            };
            self.all.retain(|made| !is_back(made));
        }
    }

    /// The changes to take back; none if there are none.
    pub(in crate::conversation) fn behind(self, to: Option<UndoTo>) -> Option<Meant> {
        let last_run = self.all.last()?.run;
        let is_meant = |made: &&Made| match to {
            Some(UndoTo::Seq(seq)) => made.seq > seq,
            Some(UndoTo::Run(run)) => made.run >= run,
            None => made.run >= last_run,
        };
        let first = self.all.iter().find(is_meant)?.seq;
        let meant = self.all.into_iter().filter(|made| made.seq >= first);
        let notes = self.notes.into_iter().filter(|(seq, _)| *seq >= first);
        Some(Meant {
            behind: first - 1,
            changes: meant.map(|made| made.change).collect(),
            notes: notes.map(|(_, note)| note).collect(),
        })
    }
}
