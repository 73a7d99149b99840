//! The content of a whole journal that is made at once.

use std::io;

use bytes::Bytes;

use super::super::JournalEntries;
use super::super::header::Header;
use super::super::header_line;
use super::super::line::{self, Seal};
use super::super::position::Position;
use super::disk::{DiskFile, append_all};
use super::ends::JournalEnd;
use super::state_size::StateSize;

/// Size of one write, in bytes.
const PIECE: usize = 1024 * 1024;
/// Number of bytes after which the file is flushed: the flushes of other journals wait for at most that.
const FLUSHED: u64 = 16 * 1024 * 1024;

/// The bytes of a journal.
pub(super) struct Whole {
    /// All of them; none, where they were written to a file piece by piece.
    pub(super) content: Vec<u8>,
    /// The end of the journal if it had no records.
    pub(super) start: JournalEnd,
    /// The end of the journal.
    pub(super) end: JournalEnd,
}

impl Whole {
    /// A journal without records.
    ///
    /// # Errors
    /// The reason why the journal cannot exist.
    pub(super) fn empty(header: &Header) -> Result<Self, String> {
        let content = header_line::encode(header).map_err(|error| error.to_string())?;
        let start = JournalEnd {
            position: Position::start(header.epoch),
            bytes: content.len() as u64,
            is_open: false,
        };
        Ok(Self {
            content,
            start,
            end: start,
        })
    }

    /// A journal with these records, numbered from 1.
    ///
    /// # Errors
    /// The reason why the journal cannot exist.
    pub(super) fn encode(header: &Header, entries: &[Bytes]) -> Result<Self, String> {
        let mut whole = Self::empty(header)?;
        let seal = Seal::new(header.epoch);
        for (seq, json) in (1..).zip(entries) {
            let sum = line::renumber(json, seq, seal, &mut whole.content)
                .map_err(|reason| format!("entry {seq}: {reason}"))?;
            whole.end.position.seq = seq;
            whole.end.position.sum = sum;
        }
        whole.end.bytes = whole.content.len() as u64;
        Ok(whole)
    }

    /// Writes a journal that is empty so far to a file, with these records, numbered from 1, as
    /// they come. Each part of it is written if a state folder of that size has room for it.
    ///
    /// # Errors
    /// The system's error, or the reason why the journal cannot exist.
    pub(super) fn write(
        &mut self,
        mut entries: JournalEntries,
        file: &dyn DiskFile,
        size: &StateSize,
    ) -> io::Result<u64> {
        let seal = Seal::new(self.start.position.epoch);
        let mut piece = std::mem::take(&mut self.content);
        self.end.bytes = 0;
        let mut flushed = 0;
        loop {
            let part = entries.wait().map_err(io::Error::other)?;
            if part.is_empty() {
                break;
            }
            for json in part {
                let seq = self.end.position.seq + 1;
                let sum = line::renumber(&json, seq, seal, &mut piece)
                    .map_err(|reason| io::Error::other(format!("entry {seq}: {reason}")))?;
                drop(json);
                self.end.position.seq = seq;
                self.end.position.sum = sum;
                if piece.len() >= PIECE {
                    self.put(&mut piece, file, size)?;
                    if self.end.bytes - flushed >= FLUSHED {
                        file.sync()?;
                        flushed = self.end.bytes;
                    }
                }
            }
        }
        self.put(&mut piece, file, size)?;
        Ok(self.end.bytes)
    }

    fn put(
        &mut self,
        piece: &mut Vec<u8>,
        file: &dyn DiskFile,
        size: &StateSize,
    ) -> io::Result<()> {
        let bytes = self.end.bytes + piece.len() as u64;
        size.check(bytes)?;
        append_all(file, piece)?;
        self.end.bytes = bytes;
        piece.clear();
        piece.shrink_to(2 * PIECE);
        Ok(())
    }
}
