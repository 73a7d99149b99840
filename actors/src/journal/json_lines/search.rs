//! Finds a record in a file by its number, without reading what is before it.

use std::io;

use super::super::line::{self, Seal};
use super::disk::DiskFile;
use super::ends::JournalEnd;
use super::lines::{FEW, LineReader};

/// A part of a file that is read rather than halved.
const SMALL: u64 = 32 * 1024;

/// The offset at which to start reading so that no record after number `after` is missed. Numbers only grow, so halves
/// of the file can be left out.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn start_of(
    file: &dyn DiskFile,
    from: u64,
    end: JournalEnd,
    after: u64,
) -> io::Result<u64> {
    let seal = Seal::new(end.position.epoch);
    let (mut low, mut high) = (from, end.bytes);
    while after > 0 && high.saturating_sub(low) > SMALL {
        let middle = low + (high - low) / 2;
        match first_behind(file, middle, high, end, seal)? {
            Some((offset, seq)) if seq <= after => low = offset,
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

/// The first line after an offset that holds a record, and the record's number.
fn first_behind(
    file: &dyn DiskFile,
    from: u64,
    to: u64,
    end: JournalEnd,
    seal: Seal,
) -> io::Result<Option<(u64, u64)>> {
    let mut lines = LineReader::behind(file, from, to, FEW)?;
    while let Some(line) = lines.next()? {
        if let Ok(found) = line::find(line.bytes, seal)
            && found.seq <= end.position.seq
        {
            return Ok(Some((line.offset, found.seq)));
        }
    }
    Ok(None)
}
