//! The text of a record: one line of JSON with its number and its checksum.

use std::io::Write as _;

use bytes::Bytes;
use crc32fast::Hasher;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::position::{Epoch, Position};
use super::record::Record;
use super::{JournalEntry, NewRecord};
use crate::storage::StorageError;

/// The bytes before a line's checksum; the checksum covers everything before them.
const SUM: &[u8] = b",\"crc\":\"";
/// The length of a checksum with its key and closing brace: a line is longer than its object by so many bytes.
pub(super) const SEAL: usize = SUM.len() + 8 + 2;
/// The beginning of every line that this crate writes.
const SEQ: &[u8] = b"{\"seq\":";
/// The largest number of a record: one that every reader of JSON can hold exactly.
const MAX_SEQ: u64 = 1 << 53;
/// Maximum number of places of a damaged line that are tried for a record that it ends in.
const TRIES: usize = 16;

/// Makes and checks the checksums of one life of a journal. A line of another journal, or of
/// this one before it was rewritten, does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seal(u32);

impl Seal {
    /// For the records of a journal.
    pub(super) fn new(epoch: Epoch) -> Self {
        Self(crc32fast::hash(epoch.to_string().as_bytes()))
    }

    /// For a header, which contains the epoch itself.
    pub(super) fn of_header() -> Self {
        Self(crc32fast::hash(b""))
    }

    /// The checksum of these bytes.
    pub(super) fn sum(self, bytes: &[u8]) -> u32 {
        let mut hasher = Hasher::new_with_initial(self.0);
        hasher.update(bytes);
        hasher.finalize()
    }

    /// Puts the checksum of the object that begins at `start` into it, and ends the line.
    pub(super) fn close(self, line: &mut Vec<u8>, start: usize) -> u32 {
        line.pop();
        let sum = self.sum(&line[start..]);
        line.extend_from_slice(SUM);
        line.extend_from_slice(format!("{sum:08x}\"}}\n").as_bytes());
        sum
    }
}

/// A line split at its checksum.
pub(super) struct SealedLine<'a> {
    /// The bytes that the checksum covers.
    pub(super) body: &'a [u8],
    /// The checksum.
    pub(super) sum: u32,
}

impl<'a> SealedLine<'a> {
    /// Splits a line without its line break; nothing if it has no checksum at its end.
    pub(super) fn split(line: &'a [u8]) -> Option<Self> {
        let (body, seal) = line.split_at_checked(line.len().checked_sub(SEAL)?)?;
        let digits = seal.strip_prefix(SUM)?.strip_suffix(b"\"}")?;
        let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let text = str::from_utf8(digits).ok()?;
        let sum = u32::from_str_radix(text, 16).ok()?;
        digits.iter().all(is_hex).then_some(Self { body, sum })
    }

    /// True if the line ends in what was a checksum before some bytes of it changed. Without this, damage to the
    /// checksum could hide damage to the rest.
    pub(super) fn is_broken(line: &[u8]) -> bool {
        let Some(start) = line.len().checked_sub(SEAL) else {
            return false;
        };
        let end = &line[start..];
        let frame = (0..SUM.len()).chain(SEAL - 2..SEAL);
        let whole = [SUM, b"........\"}"].concat();
        frame.filter(|&at| end[at] == whole[at]).count() >= 5
    }
}

/// A record that a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundRecord {
    /// The offset of its beginning in the line; the bytes before it are damaged.
    pub(super) start: usize,
    /// The end of its object without its checksum and its last brace.
    body: usize,
    /// The end of the record in the line.
    end: usize,
    /// Its number.
    pub(super) seq: u64,
    /// Its checksum.
    pub(super) sum: u32,
}

impl FoundRecord {
    /// Length of its object without its checksum, in bytes.
    pub(super) fn object_bytes(&self) -> usize {
        self.body - self.start + 1
    }
}

/// The record of a line; the error is the reason why it has none. Parses only lines without a checksum.
pub(super) fn find(line: &[u8], seal: Seal) -> Result<FoundRecord, &'static str> {
    let line = line.trim_ascii_end();
    let found = match SealedLine::split(line) {
        Some(sealed) if seal.sum(sealed.body) == sealed.sum => complete_line(line, 0, &sealed),
        Some(_) => ending(line, seal).ok_or("its checksum is wrong"),
        None if SealedLine::is_broken(line) => Err("its checksum is damaged"),
        None => unsealed(line, seal),
    }?;
    if found.seq > MAX_SEQ {
        return Err("its number is too large");
    }
    Ok(found)
}

/// A record whose checksum is right.
fn complete_line(
    line: &[u8],
    start: usize,
    sealed: &SealedLine<'_>,
) -> Result<FoundRecord, &'static str> {
    let seq = match prefix(sealed.body) {
        Some((seq, _)) => seq,
        None => {
            let text = str::from_utf8(&line[start..]).map_err(|_| "it is not UTF-8")?;
            let envelope: Envelope<'_> =
                serde_json::from_str(text).map_err(|_| "it is not a record")?;
            envelope.seq
        }
    };
    Ok(FoundRecord {
        start,
        body: start + sealed.body.len(),
        end: line.len(),
        seq,
        sum: sealed.sum,
    })
}

/// The whole record that a damaged line ends in: a torn write, or a hole that a power cut left,
/// may have come before it.
fn ending(line: &[u8], seal: Seal) -> Option<FoundRecord> {
    let mut upto = line.len();
    for _ in 0..TRIES {
        upto = line[..upto]
            .windows(SEQ.len())
            .rposition(|bytes| bytes == SEQ)?;
        if let Some(sealed) = SealedLine::split(&line[upto..])
            && seal.sum(sealed.body) == sealed.sum
        {
            return complete_line(line, upto, &sealed).ok();
        }
        upto += SEQ.len() - 1;
    }
    None
}

/// A record without a checksum, written by hand.
fn unsealed(line: &[u8], seal: Seal) -> Result<FoundRecord, &'static str> {
    /// Read to its last value, so that what is taken can be read by everyone.
    #[derive(Deserialize)]
    struct Strict {
        seq: u64,
        #[serde(rename = "at")]
        _at: u64,
        #[serde(rename = "type")]
        _kind: String,
        #[serde(rename = "data")]
        _data: Value,
        crc: Option<IgnoredAny>,
    }
    let text = str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
    let strict: Strict = serde_json::from_str(text).map_err(|_| "it is not a record")?;
    if strict.crc.is_some() {
        return Err("its checksum is not at its end");
    }
    Ok(FoundRecord {
        start: 0,
        body: line.len() - 1,
        end: line.len(),
        seq: strict.seq,
        sum: seal.sum(line),
    })
}

/// The object of a record whose checksum cannot be checked, since its journal's header is lost.
pub(super) fn without_proof(line: &[u8]) -> Option<Bytes> {
    let line = line.trim_ascii();
    let body = match SealedLine::split(line) {
        Some(sealed) => [sealed.body, b"}"].concat(),
        None => line.to_vec(),
    };
    let found = unsealed(&body, Seal(0)).ok()?;
    decode(&body, &found, Epoch(0)).map(|entry| entry.json)
}

/// The fields around a record.
#[derive(Deserialize)]
struct Envelope<'a> {
    seq: u64,
    at: u64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// Reads a record that was found. `None` if it is not a record despite its checksum.
pub(super) fn decode(line: &[u8], found: &FoundRecord, epoch: Epoch) -> Option<JournalEntry> {
    let text = str::from_utf8(&line[found.start..found.end]).ok()?;
    let body = &line[found.start..found.body];
    let known = prefix(body).and_then(|(_, at)| Some((at, serde_json::from_str(text).ok()?)));
    let (at, record) = match known {
        Some(known) => known,
        None => {
            let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
            let unknown = || Record::Unknown {
                kind: envelope.kind.clone(),
                data: envelope.data.to_owned(),
            };
            let record = serde_json::from_str(text).unwrap_or_else(|_| unknown());
            (envelope.at, record)
        }
    };
    Some(JournalEntry {
        position: Position {
            epoch,
            seq: found.seq,
            sum: found.sum,
        },
        at,
        record,
        json: [body, b"}"].concat().into(),
    })
}

/// The number and the time with which the lines of this crate begin.
fn prefix(body: &[u8]) -> Option<(u64, u64)> {
    let (seq, rest) = number(body.strip_prefix(SEQ)?)?;
    let (at, rest) = number(rest.strip_prefix(b",\"at\":")?)?;
    rest.starts_with(b",").then_some((seq, at))
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((number, &text[digits..]))
}

/// Adds a record's line to `lines` and tells its checksum.
///
/// # Errors
/// When the record has no JSON form.
pub(super) fn encode(
    new: &NewRecord,
    seq: u64,
    seal: Seal,
    lines: &mut Vec<u8>,
) -> serde_json::Result<u32> {
    let start = lines.len();
    write!(lines, "{{\"seq\":{seq},\"at\":{}", new.at).map_err(serde_json::Error::io)?;
    let record = lines.len();
    serde_json::to_writer(&mut *lines, &new.record)?;
    // The record's object continues after the number and the time.
    lines[record] = b',';
    Ok(seal.close(lines, start))
}

impl NewRecord {
    /// The JSON object of the record, like [`JournalEntry::json`], for a journal that is made or replaced
    /// at once; its number is given there.
    ///
    /// # Errors
    /// When the record has no JSON form.
    pub fn to_json(&self) -> Result<Bytes, StorageError> {
        object(self).map_err(|error| StorageError {
            doing: "write".to_owned(),
            path: "a record".to_owned(),
            reason: error.to_string(),
        })
    }
}

/// The object of a record without a checksum, like [`JournalEntry::json`].
///
/// # Errors
/// When the record has no JSON form.
fn object(new: &NewRecord) -> serde_json::Result<Bytes> {
    let mut line = Vec::new();
    encode(new, 1, Seal(0), &mut line)?;
    line.truncate(line.len() - SEAL - 1);
    line.push(b'}');
    Ok(line.into())
}

/// Adds the line of an object like [`JournalEntry::json`] to `lines` under another number, and returns its checksum.
/// Everything but the number is unchanged, byte for byte.
///
/// # Errors
/// When the object is not a record.
pub(super) fn renumber(
    json: &Bytes,
    seq: u64,
    seal: Seal,
    lines: &mut Vec<u8>,
) -> Result<u32, &'static str> {
    #[derive(Deserialize)]
    struct Numbered<'a> {
        #[serde(borrow)]
        seq: &'a RawValue,
    }
    let json = json.trim_ascii();
    if json.contains(&b'\n') || SealedLine::split(json).is_some() {
        return Err("it is not one line without a checksum");
    }
    let text = str::from_utf8(json).map_err(|_| "it is not UTF-8")?;
    drop(serde_json::from_str::<Envelope<'_>>(text).map_err(|_| "it is not a record")?);
    let numbered: Numbered<'_> = serde_json::from_str(text).map_err(|_| "it has no number")?;
    let old = numbered.seq.get();
    let at = old.as_ptr().addr() - text.as_ptr().addr();
    let start = lines.len();
    lines.extend_from_slice(&json[..at]);
    lines.extend_from_slice(seq.to_string().as_bytes());
    lines.extend_from_slice(&json[at + old.len()..]);
    Ok(seal.close(lines, start))
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
