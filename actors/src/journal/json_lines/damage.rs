//! The copy of what is damaged in a journal, beside it.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::disk::{DiskFile, OpenMode, append_all};
use super::folder::JournalFolder;
use super::lines::{LineReader, MANY};

/// A damaged part of a journal.
pub(super) struct DamagedPart<'a> {
    /// Offset of its beginning in the file.
    pub(super) offset: u64,
    /// Its bytes.
    pub(super) bytes: &'a [u8],
    /// The fault in it.
    pub(super) reason: &'a str,
}

/// Tells parts apart: another part may get the same offset where one was cut off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct PartKey {
    offset: u64,
    length: u64,
    sum: u32,
}

#[derive(Serialize)]
struct CopiedPart<'a> {
    offset: u64,
    length: u64,
    sum: u32,
    reason: &'a str,
    hex: String,
}

impl DamagedPart<'_> {
    fn key(&self) -> PartKey {
        PartKey {
            offset: self.offset,
            length: self.bytes.len() as u64,
            sum: crc32fast::hash(self.bytes),
        }
    }

    fn line(&self) -> serde_json::Result<Vec<u8>> {
        let PartKey {
            offset,
            length,
            sum,
        } = self.key();
        let mut hex = String::with_capacity(self.bytes.len() * 2);
        for byte in self.bytes {
            for digit in [byte >> 4, byte & 15] {
                hex.extend(char::from_digit(digit.into(), 16));
            }
        }
        let mut line = serde_json::to_vec(&CopiedPart {
            offset,
            length,
            sum,
            reason: self.reason,
            hex,
        })?;
        line.push(b'\n');
        Ok(line)
    }
}

/// The damage file of a journal.
pub(super) struct Aside<'a> {
    folder: &'a JournalFolder,
    id: &'a str,
    opened: Option<(Arc<dyn DiskFile>, HashSet<PartKey>)>,
}

impl<'a> Aside<'a> {
    /// Not opened before there is a part to copy.
    pub(super) fn new(folder: &'a JournalFolder, id: &'a str) -> Self {
        Self {
            folder,
            id,
            opened: None,
        }
    }

    /// Adds a part and warns of it; nothing if it is there already.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn add(&mut self, part: &DamagedPart<'_>) -> io::Result<()> {
        let path = self.folder.damage(self.id);
        let (file, mut known) = match self.opened.take() {
            Some(opened) => opened,
            None => {
                let file = self.folder.disk.open(&path, OpenMode::AppendOrNew)?;
                let known = known(&*file)?;
                (file, known)
            }
        };
        let is_new = known.insert(part.key());
        if is_new {
            let line = part.line()?;
            append_all(&*file, &line)?;
            self.folder.size.grew(line.len());
            log::warn!(
                "{} is damaged at byte {}: {}; {} bytes are set aside in {}",
                self.folder.journal(self.id).display(),
                part.offset,
                part.reason,
                part.bytes.len(),
                path.display(),
            );
        }
        self.opened = Some((file, known));
        Ok(())
    }

    /// Makes what was added durable.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn finish(self) -> io::Result<()> {
        let Some((file, _)) = self.opened else {
            return Ok(());
        };
        file.sync()?;
        self.folder.disk.sync_folder(&self.folder.path)
    }
}

/// The parts that a damage file holds. A line that a crash tore is ended.
fn known(file: &dyn DiskFile) -> io::Result<HashSet<PartKey>> {
    let mut lines = LineReader::new(file, 0, file.stat()?.length, MANY);
    let mut known = HashSet::new();
    let mut is_ended = true;
    while let Some(line) = lines.next()? {
        known.extend(serde_json::from_slice::<PartKey>(line.bytes));
        is_ended = line.is_ended();
    }
    if !is_ended {
        append_all(file, b"\n")?;
    }
    Ok(known)
}
