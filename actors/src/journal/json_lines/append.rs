//! Appends records to a journal's file: checked, written, and taken back if that fails.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::libc::EIO;
use tokio::sync::oneshot;

use super::super::line::{self, Seal};
use super::super::{AppendError, Durability, NewRecord, Position, Record};
use super::damage::Aside;
use super::disk::{DiskFile, OpenMode, append_all};
use super::ends::{self, JournalEnd};
use super::jobs::{JournalAnswer, answer};
use super::journal::{FileJournal, Life, MADE_MEANWHILE, Writing};
use super::lines::MAX_LINE;
use super::pool::lock;
use super::scan::LineScan;
use super::whole::Whole;
use crate::storage::StorageError;

impl FileJournal {
    /// Appends, and answers when the records are as durable as was asked; if nothing is returned,
    /// that comes later.
    pub(super) fn append(
        self: &Arc<Self>,
        expected: u64,
        records: &[NewRecord],
        durability: Durability,
        reply: oneshot::Sender<Result<Vec<Position>, AppendError>>,
    ) -> Option<JournalAnswer> {
        let mut writing = lock(&self.writing);
        // A file is flushed when it is made; there is nothing more to wait for.
        let durability = match writing.life {
            Life::New => Durability::Written,
            Life::Found { .. } | Life::Taken { .. } => durability,
        };
        let appended = self.write(&mut writing, expected, records);
        match (appended, durability) {
            (Ok(positions), Durability::Synced) => {
                self.wait(writing.end, positions, reply);
                None
            }
            // Records that wait for a flush go first: if that fails, no later record may stay.
            (Ok(positions), Durability::Written) if self.has_waiting() => {
                self.wait(writing.end, positions, reply);
                None
            }
            (Ok(positions), Durability::Written) => {
                self.show(writing.end);
                // Behind a flush that fails, a record would go, and what was shown would be lost.
                if records.iter().any(|new| new.record.ends_block()) {
                    lock(&self.kept).cut(&self.shared.folder, &self.id);
                }
                Some(answer(reply, Ok(positions)))
            }
            (Err(error), Durability::Synced | Durability::Written) => {
                Some(answer(reply, Err(error)))
            }
        }
    }

    fn write(
        &self,
        writing: &mut Writing,
        expected: u64,
        records: &[NewRecord],
    ) -> Result<Vec<Position>, AppendError> {
        self.admit(writing, expected)?;
        let Life::Taken { file, .. } = &writing.life else {
            return self.make(writing, records);
        };
        let file = Arc::clone(file);
        let before = writing.end;
        let mut lines = Vec::new();
        if before.is_open {
            lines.push(b'\n');
        }
        let positions = self.encode(before.position, records, &mut lines)?;
        if positions.is_empty() {
            return Ok(positions);
        }
        if let Err(error) = append_all(&*file, &lines) {
            return Err(self.take_back(writing, &*file, &error));
        }
        self.shared.folder.size.grew(lines.len());
        writing.end = JournalEnd {
            position: positions.last().copied().unwrap_or(before.position),
            bytes: before.bytes + lines.len() as u64,
            is_open: false,
        };
        Ok(positions)
    }

    /// Cuts off the remains of a failed write.
    fn take_back(
        &self,
        writing: &mut Writing,
        file: &dyn DiskFile,
        error: &io::Error,
    ) -> AppendError {
        let failed = self.failed("write", error);
        match file.truncate(writing.end.bytes) {
            // A disk that is full may have room later; one that is broken is not trusted again.
            Ok(()) if error.raw_os_error() != Some(EIO) => AppendError::Storage(failed),
            Ok(()) => self.halt(writing, failed.to_string()),
            Err(error) => {
                let reason = format!("{failed}, nor take it back: {error}");
                self.halt(writing, reason)
            }
        }
    }

    /// Adds the lines of records after a position.
    fn encode(
        &self,
        behind: Position,
        records: &[NewRecord],
        lines: &mut Vec<u8>,
    ) -> Result<Vec<Position>, AppendError> {
        let refused = |reason: &str| {
            AppendError::Storage(StorageError {
                doing: "write".to_owned(),
                path: self.path(),
                reason: reason.to_owned(),
            })
        };
        let seal = Seal::new(behind.epoch);
        let mut positions = Vec::with_capacity(records.len());
        for (seq, new) in (behind.seq + 1..).zip(records) {
            if let Record::Unknown { kind, .. } = &new.record {
                return Err(AppendError::UnknownType { kind: kind.clone() });
            }
            let start = lines.len();
            let sum =
                line::encode(new, seq, seal, lines).map_err(|error| refused(&error.to_string()))?;
            if (lines.len() - start) as u64 > MAX_LINE {
                return Err(refused("the record is too long"));
            }
            let epoch = behind.epoch;
            positions.push(Position { epoch, seq, sum });
        }
        Ok(positions)
    }

    /// Makes the file with its first records. It is durable then.
    fn make(
        &self,
        writing: &mut Writing,
        records: &[NewRecord],
    ) -> Result<Vec<Position>, AppendError> {
        let header = self.published().header;
        let mut whole = Whole::empty(&header).map_err(|reason| self.refused(reason))?;
        let positions = self.encode(whole.end.position, records, &mut whole.content)?;
        whole.end.bytes = whole.content.len() as u64;
        whole.end.position = positions.last().copied().unwrap_or(whole.end.position);
        self.put(writing, &whole)?;
        Ok(positions)
    }

    /// Puts a file where there is none yet.
    pub(super) fn put(&self, writing: &mut Writing, whole: &Whole) -> Result<(), AppendError> {
        let folder = &self.shared.folder;
        let failed = |error| AppendError::Storage(self.failed("make", &error));
        let unfinished = folder.prepare(&self.id, &whole.content).map_err(failed)?;
        let inode = unfinished.file.stat().map_err(failed)?.inode;
        let names = match folder.publish(&unfinished, &self.id) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.refuse(writing, MADE_MEANWHILE));
            }
            published => published.map_err(failed)?,
        };
        if let Err(error) = names.sync() {
            folder.try_remove(&folder.journal(&self.id));
            let failed = self.failed("make", &error);
            return Err(self.halt(writing, failed.to_string()));
        }
        let file = unfinished.file;
        let mut shown = lock(&self.shown);
        shown.file = Some(Arc::clone(&file));
        shown.start = whole.start;
        shown.end = whole.end;
        writing.end = whole.end;
        writing.life = Life::Taken { inode, file };
        self.is_taken.store(true, Ordering::Release);
        Ok(())
    }

    /// Lets an append through, or not. Takes the journal first if that was not done yet.
    pub(super) fn admit(&self, writing: &mut Writing, expected: u64) -> Result<(), AppendError> {
        if let Some(refusal) = &writing.refusal {
            return Err(refusal.clone());
        }
        if let Some(reason) = lock(&self.shared.halted).get(&self.id) {
            let reason = reason.clone();
            return Err(AppendError::Halted { reason });
        }
        if let Life::Found { inode } = writing.life {
            self.take(writing, inode)?;
        }
        let end = writing.end.position.seq;
        if end != expected {
            return Err(AppendError::Conflict { expected, end });
        }
        if let Life::Taken { inode, .. } = writing.life {
            self.look(writing, inode)?;
        }
        Ok(())
    }

    /// Sees whether the file is still the one that was written.
    fn look(&self, writing: &mut Writing, inode: (u64, u64)) -> Result<(), AppendError> {
        let path = self.shared.folder.journal(&self.id);
        let stat = match self.shared.folder.disk.stat(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.refuse(writing, "it was deleted"));
            }
            stat => stat.map_err(|error| AppendError::Storage(self.failed("look at", &error)))?,
        };
        if stat.inode != inode {
            return Err(self.refuse(writing, "it was replaced"));
        }
        if stat.length < writing.end.bytes {
            return Err(self.refuse(writing, "it was truncated"));
        }
        if stat.length > writing.end.bytes {
            return Err(self.refuse(writing, "something was added to it"));
        }
        Ok(())
    }

    /// Locks the file and mends its end.
    fn take(&self, writing: &mut Writing, inode: (u64, u64)) -> Result<(), AppendError> {
        let path = self.shared.folder.journal(&self.id);
        let failed = |error| AppendError::Storage(self.failed("write", &error));
        let file = match self.shared.folder.disk.open(&path, OpenMode::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.refuse(writing, "it was deleted"));
            }
            opened => opened.map_err(failed)?,
        };
        if !file.try_lock().map_err(failed)? {
            return Err(AppendError::Taken { path: self.path() });
        }
        let stat = file.stat().map_err(failed)?;
        if stat.inode != inode {
            return Err(self.refuse(writing, "it was replaced"));
        }
        // Another process may have appended since the journal was opened.
        let shown = self.published();
        let tail = ends::tail(&*file, shown.start, stat.length).map_err(failed)?;
        if tail.end.bytes < shown.end.bytes {
            return Err(self.refuse(writing, "it was truncated"));
        }
        // No reader would find a record after one with a higher number.
        let highest = ends::highest(&*file, shown.start, tail.end.bytes).map_err(failed)?;
        let last = tail.end.position.seq;
        if highest > last {
            let what = format!(
                "record {highest} stands before record {last}, which is at its end; run `harness doctor --repair` while no service runs"
            );
            return Err(self.refuse(writing, &what));
        }
        if tail.torn > 0 {
            self.cut(&*file, tail.end, stat.length).map_err(failed)?;
        }
        let mut shown = lock(&self.shown);
        shown.file = Some(Arc::clone(&file));
        shown.end = tail.end;
        shown.torn = 0;
        writing.end = tail.end;
        writing.life = Life::Taken { inode, file };
        self.is_taken.store(true, Ordering::Release);
        Ok(())
    }

    /// Cuts a torn line off, once its copy is durable.
    fn cut(&self, file: &dyn DiskFile, end: JournalEnd, length: u64) -> io::Result<()> {
        let mut aside = Aside::new(&self.shared.folder, &self.id);
        let mut scan = LineScan::new(Seal::new(end.position.epoch), end.position.seq);
        let torn = (end.bytes, length);
        scan.run(file, torn, 0, |_, _| Ok(()), |part| aside.add(part))?;
        aside.finish()?;
        file.truncate(end.bytes)?;
        lock(&self.checked).was_cut(&scan.damage);
        Ok(())
    }

    /// Takes nothing more, because of what another program did.
    pub(super) fn refuse(&self, writing: &mut Writing, what: &str) -> AppendError {
        let refusal = AppendError::Tampered {
            path: self.path(),
            what: what.to_owned(),
        };
        log::error!("{refusal}");
        writing.refusal = Some(refusal.clone());
        refusal
    }

    /// The error for something that cannot be written.
    pub(super) fn refused(&self, reason: String) -> AppendError {
        AppendError::Storage(StorageError {
            doing: "write".to_owned(),
            path: self.path(),
            reason,
        })
    }

    /// Takes nothing more for the life of the store, because the storage may have lost what it had taken. Records that
    /// were not shown yet are cut off, and the appends that wait for them fail.
    pub(super) fn halt(&self, writing: &mut Writing, reason: String) -> AppendError {
        log::error!("{reason}; {} takes nothing more", self.id);
        lock(&self.shared.halted).insert(self.id.clone(), reason.clone());
        let shown = self.published().end;
        if let Life::Taken { file, .. } = &writing.life
            && let Err(error) = file.truncate(shown.bytes)
        {
            log::error!("cannot cut {}: {error}", self.path());
        }
        writing.end = shown;
        let halted = AppendError::Halted { reason };
        lock(&self.waiting).dismiss(&halted);
        halted
    }
}
