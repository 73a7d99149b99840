//! What tools changed, as the records tell it, and what of it was taken back.

use harness_protocol::{FileChange, UndoOutcome, UndoTo, UndoneFile};

use super::read_back::Reading;
use crate::ids::RunId;
use crate::journal::{Journal, Record};
use crate::storage::StorageError;

/// Changes that were not taken back, the oldest first.
#[derive(Debug, Default)]
pub(in crate::conversation) struct Changes {
    all: Vec<Made>,
    run: u64,
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
        } else if let Record::FilesChanged { changes, .. } = record {
            let run = self.run;
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

    /// The changes to take back, behind which record they are; none if there are none.
    pub(in crate::conversation) fn behind(
        self,
        to: Option<UndoTo>,
    ) -> Option<(u64, Vec<FileChange>)> {
        let last_run = self.all.last()?.run;
        let is_meant = |made: &&Made| match to {
            Some(UndoTo::Seq(seq)) => made.seq > seq,
            Some(UndoTo::Run(run)) => made.run >= run,
            None => made.run >= last_run,
        };
        let first = self.all.iter().find(is_meant)?.seq;
        let meant = self.all.into_iter().filter(|made| made.seq >= first);
        Some((first - 1, meant.map(|made| made.change).collect()))
    }
}
