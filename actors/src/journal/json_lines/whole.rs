//! The content of a whole journal that is made at once.

use bytes::Bytes;

use super::super::header::Header;
use super::super::header_line;
use super::super::line::{self, Seal};
use super::super::position::Position;
use super::ends::End;

/// The bytes of a journal.
pub(super) struct Whole {
    /// All of them.
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
}
