//! The content of a whole journal that is made at once.

use std::io;

use bytes::Bytes;

use super::super::header::Header;
use super::super::header_line;
use super::super::line::{self, SEAL, Seal};
use super::super::position::Position;
use super::disk::{DiskFile, append_all};
use super::ends::End;

/// How much is written at once.
const PIECE: usize = 1024 * 1024;
/// How much is flushed at once: the flushes of other journals wait for no more than that.
const FLUSHED: u64 = 16 * 1024 * 1024;

/// The bytes of a journal.
pub(super) struct Whole {
    /// All of them; the first of them only, where they were written to a file piece by piece.
    pub(super) content: Vec<u8>,
    /// Where it would end without records.
    pub(super) start: End,
    /// Where the journal ends.
    pub(super) end: End,
}

impl Whole {
    /// A journal without records.
    ///
    /// # Errors
    /// Says why there is no such journal.
    pub(super) fn empty(header: &Header) -> Result<Self, String> {
        let content = header_line::encode(header).map_err(|error| error.to_string())?;
        let start = End {
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
    /// Says why there is no such journal.
    pub(super) fn of(header: &Header, entries: &[Bytes]) -> Result<Self, String> {
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

    /// About how many bytes it will have with these records.
    pub(super) fn bytes_with(&self, entries: &[Bytes]) -> u64 {
        let lines = entries.iter().map(|json| (json.len() + SEAL) as u64);
        self.start.bytes + lines.sum::<u64>()
    }

    /// Writes a journal that is empty so far to a file, with these records, numbered from 1. Each
    /// of them is dropped when it is written.
    ///
    /// # Errors
    /// What the system says, or why there is no such journal.
    pub(super) fn write(&mut self, entries: Vec<Bytes>, file: &dyn DiskFile) -> io::Result<u64> {
        append_all(file, &self.content)?;
        let seal = Seal::new(self.start.position.epoch);
        let mut piece = Vec::new();
        let mut flushed = 0;
        for (seq, json) in (1..).zip(entries) {
            let sum = line::renumber(&json, seq, seal, &mut piece)
                .map_err(|reason| io::Error::other(format!("entry {seq}: {reason}")))?;
            drop(json);
            self.end.position.seq = seq;
            self.end.position.sum = sum;
            if piece.len() >= PIECE {
                self.put(&mut piece, file)?;
                if self.end.bytes - flushed >= FLUSHED {
                    file.sync()?;
                    flushed = self.end.bytes;
                }
            }
        }
        self.put(&mut piece, file)?;
        Ok(self.end.bytes)
    }

    fn put(&mut self, piece: &mut Vec<u8>, file: &dyn DiskFile) -> io::Result<()> {
        append_all(file, piece)?;
        self.end.bytes += piece.len() as u64;
        piece.clear();
        piece.shrink_to(2 * PIECE);
        Ok(())
    }
}
