//! Looks at journals without opening them for use, and repairs those that cannot be opened.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::super::header::Header;
use super::super::header_line::HeaderError;
use super::super::line::{self, Seal};
use super::super::position::Epoch;
use super::super::{NewRecord, OpenError, conversation_name};
use super::disk::{Disk, DiskFile, OpenMode};
use super::ends::{self, FileTail};
use super::folder::{JournalFolder, PublishError, failed, short};
use super::lines::{LineReader, MANY};
use super::scan::LineScan;
use super::state_size::StateSize;
use super::system_disk::SystemDisk;
use super::whole::Whole;
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::storage::StorageError;

/// Looks at the journals of a folder, and repairs them. Blocks; for the command line.
pub struct Doctor(JournalFolder);

/// State of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalReport {
    /// The conversation.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// Number of records that can be read.
    pub records: u64,
    /// Number of damaged parts between them.
    pub damaged_parts: u64,
    /// Size of those parts, in bytes.
    pub damaged_bytes: u64,
    /// The number of a record that comes before the last one, which has a lower number: nothing can be appended before
    /// a repair.
    pub misplaced: Option<u64>,
    /// Size of a torn line at the end, in bytes; the next append sets it aside.
    pub torn_bytes: u64,
    /// True if the last line has no line break; the next append adds it.
    pub is_open: bool,
    /// The reason why the journal cannot be opened.
    pub error: Option<OpenError>,
}

/// The outcome of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Number of records that the journal has now.
    pub records: u64,
    /// The archive of the unrepaired journal.
    pub archive: PathBuf,
    /// True if the header was lost, and with it the settings and the proof that each record is what was written.
    pub lost_header: bool,
}

impl Doctor {
    /// For the journals in a folder.
    #[must_use]
    pub fn new(folder: PathBuf, trash: PathBuf, disk: Arc<dyn Disk>, clock: Clock) -> Self {
        Self(JournalFolder {
            path: folder,
            trash,
            disk,
            clock,
            size: StateSize::default(),
        })
    }

    /// For the journals of a state folder on the machine's file system.
    #[must_use]
    pub fn at(home: &Path, clock: Clock) -> Self {
        Self(JournalFolder::at(home, Arc::new(SystemDisk), clock))
    }

    /// For the journals of the workflows of a state folder.
    #[must_use]
    pub fn of_workflows(home: &Path, clock: Clock) -> Self {
        let folder = JournalFolder::at(home, Arc::new(SystemDisk), clock);
        let path = home.join("workflows");
        Self(JournalFolder { path, ..folder })
    }

    /// Looks at all journals, and changes nothing.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn inspect(&self) -> Result<Vec<JournalReport>, StorageError> {
        let journals = self.0.journals();
        let mut journals = journals.map_err(|error| failed("list", &self.0.path, &error))?;
        journals.sort_unstable();
        Ok(journals.iter().map(|(id, _)| self.look_at(id)).collect())
    }

    fn look_at(&self, id: &str) -> JournalReport {
        let path = self.0.journal(id);
        let mut report = JournalReport {
            id: id.to_owned(),
            path: path.clone(),
            records: 0,
            damaged_parts: 0,
            damaged_bytes: 0,
            misplaced: None,
            torn_bytes: 0,
            is_open: false,
            error: None,
        };
        let looked = self.0.disk.open(&path, OpenMode::Read).and_then(|file| {
            let length = file.stat()?.length;
            let head = match ends::head(&*file, length)? {
                Ok(head) => head,
                Err(error) => return Ok(Some(open_error(&path, error))),
            };
            let FileTail { end, torn } = ends::tail(&*file, head.end, length)?;
            let mut scan = LineScan::new(Seal::new(head.header.epoch), 0);
            let whole = (head.end.bytes, end.bytes);
            let highest = ends::highest(&*file, head.end, end.bytes)?;
            report.misplaced = Some(highest).filter(|highest| *highest > end.position.seq);
            scan.run(&*file, whole, highest, |_, _| Ok(()), |_| Ok(()))?;
            report.records = scan.records;
            report.damaged_parts = scan.damage.parts;
            report.damaged_bytes = scan.damage.bytes;
            report.torn_bytes = torn;
            report.is_open = end.is_open;
            Ok(None)
        });
        report.error =
            looked.unwrap_or_else(|error| Some(OpenError::Storage(failed("read", &path, &error))));
        report
    }

    /// Rebuilds a journal from the records that can be read, under a new epoch, and keeps the old file unchanged as an
    /// archive.
    ///
    /// # Errors
    /// When there is no such journal, when a newer version or another process writes it, or when the storage fails. The
    /// journal is unchanged then.
    pub fn repair(&self, id: &ConversationId) -> Result<Repaired, OpenError> {
        let id = id.as_str();
        let path = self.0.journal(id);
        let failed = |error| OpenError::Storage(failed("repair", &path, &error));
        let missing = || OpenError::NotFound { id: id.to_owned() };
        if !conversation_name::is_valid(id) {
            return Err(missing());
        }
        let file = match self.0.disk.open(&path, OpenMode::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            opened => opened.map_err(failed)?,
        };
        if !file.try_lock().map_err(failed)? {
            return Err(failed(io::Error::other("another process writes it")));
        }
        let length = file.stat().map_err(failed)?.length;
        let head = match ends::head(&*file, length).map_err(failed)? {
            Ok(head) => Some(head),
            Err(HeaderError::Unreadable(_)) => None,
            Err(error @ HeaderError::Newer(_)) => return Err(open_error(&path, error)),
        };
        let (life, entries) = match &head {
            Some(head) => {
                let epoch = head.header.epoch;
                let whole = (head.end.bytes, length);
                let (mut entries, ended_block) = sealed(&*file, epoch, whole).map_err(failed)?;
                let unfinished = self.0.read_kept(id, epoch, ended_block);
                for block in unfinished.map_err(OpenError::Storage)? {
                    let at = self.0.now();
                    let record = block.sealed();
                    let sealed = record.map(|record| NewRecord { at, record }.to_json());
                    entries.extend(sealed.transpose().map_err(OpenError::Storage)?);
                }
                (epoch.to_string(), entries)
            }
            None => (
                "damaged".to_owned(),
                unproved(&*file, length).map_err(failed)?,
            ),
        };
        let lost_header = head.is_none();
        let header = Header {
            epoch: Epoch::random(),
            conversation: ConversationId::new(id),
            ..head.map_or_else(
                || Header::new(ConversationId::new(id), self.0.now()),
                |head| head.header,
            )
        };
        let whole =
            Whole::encode(&header, &entries).map_err(|error| failed(io::Error::other(error)))?;
        let unfinished = self.0.prepare(id, &whole.content).map_err(failed)?;
        match self.0.publish_over(&unfinished, id, &life) {
            Ok(archive) => {
                self.0.forget_kept(id);
                Ok(Repaired {
                    records: whole.end.position.seq,
                    archive,
                    lost_header,
                })
            }
            Err(PublishError::Refused(error) | PublishError::Unsure(error)) => Err(failed(error)),
        }
    }
}

/// The records whose checksums are right, and the number of the last one that ended a block.
fn sealed(file: &dyn DiskFile, epoch: Epoch, whole: (u64, u64)) -> io::Result<(Vec<Bytes>, u64)> {
    let mut entries = Vec::new();
    let mut ended_block = 0;
    let mut scan = LineScan::new(Seal::new(epoch), 0);
    let keep = |line: &[u8], found: &_| {
        if let Some(entry) = line::decode(line, found, epoch) {
            if entry.record.ends_block() {
                ended_block = entry.position.seq;
            }
            entries.push(entry.json);
        }
        Ok(())
    };
    scan.run(file, whole, u64::MAX, keep, |_| Ok(()))?;
    Ok((entries, ended_block))
}

/// The records of a journal whose header is lost. Without it no checksum can be checked.
fn unproved(file: &dyn DiskFile, length: u64) -> io::Result<Vec<Bytes>> {
    let mut entries = Vec::new();
    let mut lines = LineReader::new(file, 0, length, MANY);
    while let Some(line) = lines.next()? {
        entries.extend(line::without_proof(line.bytes));
    }
    Ok(entries)
}

fn open_error(path: &Path, error: HeaderError) -> OpenError {
    let path = short(path);
    match error {
        HeaderError::Unreadable(reason) => OpenError::Unreadable { path, reason },
        HeaderError::Newer(version) => OpenError::Newer { path, version },
    }
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
