//! Puts another file in place of a journal's, or none.

use std::sync::Arc;

use bytes::Bytes;

use super::super::{AppendError, Header, OpenError, Replaced};
use super::folder::{PublishError, short};
use super::journal::{FileJournal, Life, ReaderState};
use super::pool::lock;
use super::whole::Whole;

impl FileJournal {
    /// See [`super::super::Journal::replace`].
    pub(super) fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: &[Bytes],
    ) -> Result<Replaced, AppendError> {
        let mut writing = lock(&self.writing);
        self.admit(&mut writing, expected)?;
        let whole = Whole::encode(&header, entries).map_err(|reason| self.refused(reason))?;
        if matches!(writing.life, Life::New) {
            self.put(&mut writing, &whole)?;
            lock(&self.shown).header = header;
            return Ok(Replaced {
                position: whole.end.position,
                archive: String::new(),
            });
        }
        if let Err(error) = self.flush_now() {
            let reason = self.failed("flush", &error).to_string();
            return Err(self.halt(&mut writing, reason));
        }
        let folder = &self.shared.folder;
        let failed = |error| AppendError::Storage(self.failed("replace", &error));
        let unfinished = folder.prepare(&self.id, &whole.content).map_err(failed)?;
        let inode = unfinished.file.stat().map_err(failed)?.inode;
        let life = writing.end.position.epoch.to_string();
        let archive = match folder.publish_over(&unfinished, &self.id, &life) {
            Ok(archive) => archive,
            Err(PublishError::Refused(error)) => return Err(failed(error)),
            Err(PublishError::Unsure(error)) => {
                let reason = self.failed("replace", &error).to_string();
                return Err(self.halt(&mut writing, reason));
            }
        };
        let file = unfinished.file;
        *lock(&self.shown) = ReaderState {
            header,
            file: Some(Arc::clone(&file)),
            start: whole.start,
            end: whole.end,
            torn: 0,
        };
        writing.end = whole.end;
        writing.life = Life::Taken { inode, file };
        self.forget_kept();
        Ok(Replaced {
            position: whole.end.position,
            archive: short(&archive),
        })
    }

    /// See [`super::super::JournalStore::remove`].
    pub(super) fn remove(&self) -> Result<String, OpenError> {
        let mut writing = lock(&self.writing);
        let thrown = match writing.life {
            Life::New => return Err(self.shared.missing(&self.id)),
            Life::Found { .. } => self.shared.throw_away(&self.id)?,
            Life::Taken { .. } => self.shared.throw_away_ours(&self.id)?,
        };
        writing.refusal = Some(AppendError::Tampered {
            path: self.path(),
            what: "it was moved to the trash".to_owned(),
        });
        self.shared.forget(self);
        Ok(thrown)
    }
}
