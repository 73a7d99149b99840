//! Reading outputs that are kept, without what is secret: whole, a range, or the end.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::characters::Characters;
use super::lines::from_line;
use super::outputs::Outputs;
use crate::ids::ConversationId;
use crate::secret::Redaction;

/// How much is read at once, in bytes.
const PIECE: usize = 256 * 1024;

/// The part of an output that is wanted. Bytes and lines are those of the shown text, without
/// secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRange {
    /// All of it.
    All,
    /// The lines from the first to the last, which count from 1.
    Lines(u64, u64),
    /// The bytes from the first, which counts from 0, to the one in front of the second.
    Bytes(u64, u64),
}

impl Outputs {
    /// The kept output of a call, or a range of it; what is behind the end is empty. Blocks.
    ///
    /// # Errors
    /// The disk's error; also if nothing is kept.
    pub fn read(
        &self,
        conversation: &ConversationId,
        call: &str,
        range: OutputRange,
        redaction: &Redaction,
    ) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path(conversation, call))?;
        let mut cut = RangeCut::new(range);
        let mut characters = Characters::default();
        let mut waiting = String::new();
        let mut piece = vec![0; PIECE];
        while !cut.is_over() {
            let count = match file.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 {
                // The file may be that of a command that runs: a secret may be half written.
                waiting.push_str(&characters.rest());
                cut.take(&redaction.apply_to_start(&waiting, waiting.len()));
                break;
            }
            waiting.push_str(&characters.next(&piece[..count]));
            let (text, end) = redaction.apply_to_growing(&waiting, 0, waiting.len());
            waiting.drain(..end);
            cut.take(&text);
        }
        Ok(cut.kept)
    }

    /// The end of an output, whole lines of at most so many bytes, without what is secret. Blocks.
    ///
    /// # Errors
    /// The disk's error; also if there is none.
    pub(super) fn tail(
        &self,
        conversation: &ConversationId,
        call: &str,
        most: usize,
        redaction: &Redaction,
    ) -> io::Result<String> {
        let mut file = File::open(self.path(conversation, call))?;
        let size = file.metadata()?.len();
        // A secret may begin in front of what is shown.
        let wanted = (most + redaction.reach()) as u64;
        file.seek(SeekFrom::Start(size.saturating_sub(wanted)))?;
        let mut end = Vec::new();
        file.take(wanted).read_to_end(&mut end)?;
        let text = redaction.apply(String::from_utf8_lossy(&end).into_owned());
        if size <= wanted && text.len() <= most {
            return Ok(text);
        }
        Ok(from_line(&text, most).to_owned())
    }
}

/// Takes a range out of a text that comes in pieces.
struct RangeCut {
    range: OutputRange,
    kept: Vec<u8>,
    /// How many bytes were taken in.
    bytes: u64,
    /// How many lines have ended.
    lines: u64,
}

impl RangeCut {
    fn new(range: OutputRange) -> Self {
        Self {
            range,
            kept: Vec::new(),
            bytes: 0,
            lines: 0,
        }
    }

    /// Whether what follows is behind the range.
    fn is_over(&self) -> bool {
        match self.range {
            OutputRange::All => false,
            OutputRange::Lines(_, last) => self.lines >= last,
            OutputRange::Bytes(_, end) => self.bytes >= end,
        }
    }

    fn take(&mut self, text: &str) {
        match self.range {
            OutputRange::All => self.kept.extend_from_slice(text.as_bytes()),
            OutputRange::Lines(first, last) => {
                for part in text.as_bytes().split_inclusive(|byte| *byte == b'\n') {
                    let line = self.lines + 1;
                    if (first..=last).contains(&line) {
                        self.kept.extend_from_slice(part);
                    }
                    self.lines += u64::from(part.ends_with(b"\n"));
                }
            }
            OutputRange::Bytes(first, end) => {
                let place = |at: u64| {
                    let behind = at.saturating_sub(self.bytes).min(text.len() as u64);
                    usize::try_from(behind).unwrap_or(text.len())
                };
                let (from, to) = (place(first), place(end));
                self.kept
                    .extend_from_slice(&text.as_bytes()[from..to.max(from)]);
                self.bytes += text.len() as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Spec: [HTTP-111]
    #[test]
    fn b11_an_output_is_read_whole_or_by_ranges_without_secrets() {
        let home = tempfile::tempdir().unwrap();
        let outputs = Outputs::at(home.path());
        let id = ConversationId::new("c");
        let redaction = Redaction::new(vec!["sk-0123456789".into()]);
        // Secrets lie over the ends of pieces.
        let mut written = String::new();
        let mut shown = String::new();
        for line in 0..60_000 {
            written += &format!("line {line} sk-0123456789\n");
            shown += &format!("line {line} ***\n");
        }
        let mut file = outputs.new_output(&id, "a").create().unwrap();
        file.write_all(written.as_bytes()).unwrap();
        let read = |range| {
            let bytes = outputs.read(&id, "a", range, &redaction).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert!(read(OutputRange::All) == shown);
        assert_eq!(
            read(OutputRange::Lines(30_000, 30_001)),
            "line 29999 ***\nline 30000 ***\n"
        );
        assert_eq!(read(OutputRange::Lines(60_001, 60_002)), "");
        let (from, to) = (400_001, 400_041);
        let range = OutputRange::Bytes(from as u64, to as u64);
        assert_eq!(read(range), shown[from..to]);
        assert_eq!(read(OutputRange::Bytes(5, 5)), "");
        assert_eq!(read(OutputRange::Bytes(u64::MAX, u64::MAX)), "");
        // What may become a secret is not shown.
        file.write_all(b"sk-01234").unwrap();
        assert!(read(OutputRange::All) == shown);
        let none = outputs.read(&id, "b", OutputRange::All, &redaction);
        assert_eq!(none.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
