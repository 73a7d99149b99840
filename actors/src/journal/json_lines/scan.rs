//! Looks at every line of a part of a journal, and finds what is damaged.

use std::io;

use super::super::JournalDamage;
use super::super::line::{self, FoundRecord, Seal};
use super::damage::DamagedPart;
use super::disk::DiskFile;
use super::lines::{LineReader, MANY};

/// A look at lines in their order.
pub(super) struct LineScan {
    seal: Seal,
    /// The number of the last record that was found.
    pub(super) last: u64,
    /// Number of records that were found.
    pub(super) records: u64,
    /// Further damage; copied nowhere yet.
    pub(super) damage: JournalDamage,
}

impl LineScan {
    /// Begins after the record `last`.
    pub(super) fn new(seal: Seal, last: u64) -> Self {
        Self {
            seal,
            last,
            records: 0,
            damage: JournalDamage::default(),
        }
    }

    /// Looks at the lines between two offsets. Numbers have to grow, up to `max`.
    ///
    /// # Errors
    /// When the file cannot be read, or what the two functions say.
    pub(super) fn run(
        &mut self,
        file: &dyn DiskFile,
        (from, to): (u64, u64),
        max: u64,
        mut record: impl FnMut(&[u8], &FoundRecord) -> io::Result<()>,
        mut damaged: impl FnMut(&DamagedPart<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut lines = LineReader::new(file, from, to, MANY);
        while let Some(line) = lines.next()? {
            if line.is_blank() {
                continue;
            }
            let found = line::find(line.bytes, self.seal);
            let found = found.and_then(|found| {
                let is_next = (self.last + 1..=max).contains(&found.seq);
                is_next.then_some(found).ok_or("its number is out of order")
            });
            let (bytes, reason) = match found {
                Ok(found) => {
                    self.last = found.seq;
                    self.records += 1;
                    record(line.bytes, &found)?;
                    (
                        &line.bytes[..found.start],
                        "a torn record is before a whole one",
                    )
                }
                Err(reason) => (line.bytes, reason),
            };
            if !bytes.is_empty() {
                self.damage.parts += 1;
                self.damage.bytes += bytes.len() as u64;
                damaged(&DamagedPart {
                    offset: line.offset,
                    bytes,
                    reason,
                })?;
            }
        }
        Ok(())
    }
}
