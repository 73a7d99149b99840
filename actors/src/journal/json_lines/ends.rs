//! The two ends of a journal's file: its header, and where its records end.

use std::io;

use super::super::header::Header;
use super::super::header_line::{self, HeaderError};
use super::super::line::{self, Seal};
use super::super::position::Position;
use super::disk::DiskFile;
use super::lines::{FEW, LineReader, MANY};

/// Size of the first window that is read at the end, in bytes; eight times as much if no record is in it.
const WINDOW: u64 = 64 * 1024;

/// The first line of a file.
pub(super) struct FileHead {
    /// Its header.
    pub(super) header: Header,
    /// The end of the journal when it has no records.
    pub(super) end: JournalEnd,
}

/// Reads the first line. The outer error is the system's.
pub(super) fn head(file: &dyn DiskFile, length: u64) -> io::Result<Result<FileHead, HeaderError>> {
    let mut lines = LineReader::new(file, 0, length, FEW);
    let Some(line) = lines.next()? else {
        return Ok(Err(HeaderError::Unreadable("it is empty".to_owned())));
    };
    Ok(header_line::decode(line.bytes).map(|header| FileHead {
        end: JournalEnd {
            position: Position::start(header.epoch),
            bytes: line.end(),
            is_open: !line.is_ended(),
        },
        header,
    }))
}

/// The end of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JournalEnd {
    /// The position after the last record.
    pub(super) position: Position,
    /// Number of bytes of the file that belong to the journal.
    pub(super) bytes: u64,
    /// True if the last line has no line break.
    pub(super) is_open: bool,
}

/// The end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileTail {
    /// The end of the journal.
    pub(super) end: JournalEnd,
    /// Size of a torn line after that end, in bytes.
    pub(super) torn: u64,
}

/// Finds the end of the journal in a file of that length, whose first record follows `start`. Reads only as much as it
/// needs.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn tail(file: &dyn DiskFile, start: JournalEnd, length: u64) -> io::Result<FileTail> {
    let mut window = WINDOW;
    loop {
        let at = length.saturating_sub(window);
        let lines = if at <= start.bytes {
            LineReader::new(file, start.bytes, length, MANY)
        } else {
            LineReader::behind(file, at, length, MANY)?
        };
        let found = tail_of(lines, start)?;
        if found.end.position.seq > 0 || at <= start.bytes {
            return Ok(found);
        }
        window = window.saturating_mul(8);
    }
}

/// The end as these lines show it.
fn tail_of(mut lines: LineReader<'_>, start: JournalEnd) -> io::Result<FileTail> {
    let seal = Seal::new(start.position.epoch);
    let mut tail = FileTail {
        end: start,
        torn: 0,
    };
    while let Some(line) = lines.next()? {
        let found = line::find(line.bytes, seal)
            .ok()
            .filter(|found| found.seq > tail.end.position.seq);
        if let Some(found) = found {
            tail.end.position.seq = found.seq;
            tail.end.position.sum = found.sum;
        }
        if line.is_ended() || line.is_blank() || found.is_some() {
            tail.end.bytes = line.end();
            tail.end.is_open = !line.is_ended();
        }
        tail.torn = line.end() - tail.end.bytes;
    }
    Ok(tail)
}

/// The highest number of the records between two offsets; 0 if there is none. Reads all of them.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn highest(file: &dyn DiskFile, start: JournalEnd, to: u64) -> io::Result<u64> {
    let seal = Seal::new(start.position.epoch);
    let mut lines = LineReader::new(file, start.bytes, to, MANY);
    let mut highest = 0;
    while let Some(line) = lines.next()? {
        if let Ok(found) = line::find(line.bytes, seal) {
            highest = highest.max(found.seq);
        }
    }
    Ok(highest)
}
