//! The unfinished part of a reply: a file beside the journal that a crash of the process leaves.
//!
//! It is written and never flushed, cut when a record ends the block, and gone when the run ends.
//! Only the journal proves its content: a line that names another life of the journal, or an earlier
//! record than the one that ended the last block, counts for nothing.

use std::io;
use std::sync::Arc;

use super::super::BlockPiece;
use super::super::position::Epoch;
use super::super::unfinished::{self, KeptPiece};
use super::disk::{DiskFile, FileKind, OpenMode, append_all};
use super::folder::{JournalFolder, failed};
use super::lines::{LineReader, MANY};
use crate::storage::StorageError;

/// The file of the blocks that are not finished.
#[derive(Default)]
pub(super) struct UnfinishedFile {
    file: Option<Arc<dyn DiskFile>>,
    bytes: u64,
}

impl UnfinishedFile {
    /// True if the file is open, so that keeping a piece is only a write.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Writes pieces of blocks after the existing ones. `handed` is the last record before.
    ///
    /// # Errors
    /// Fails when the storage refuses; earlier pieces are unchanged.
    pub(super) fn add(
        &mut self,
        folder: &JournalFolder,
        id: &str,
        (epoch, handed): (Epoch, u64),
        pieces: Vec<BlockPiece>,
    ) -> Result<(), StorageError> {
        let mut lines = Vec::new();
        for piece in pieces {
            let line = serde_json::to_writer(&mut lines, &KeptPiece::new(epoch, handed, piece));
            line.map_err(|error| unkept(folder, id, &error.into()))?;
            lines.push(b'\n');
        }
        self.write(folder, id, &lines)
            .map_err(|error| unkept(folder, id, &error))
    }

    fn write(&mut self, folder: &JournalFolder, id: &str, lines: &[u8]) -> io::Result<()> {
        let file = if let Some(file) = &self.file {
            Arc::clone(file)
        } else {
            let file = folder.open_kept(id)?;
            // What a crash left there was sealed since.
            file.truncate(0)?;
            self.bytes = 0;
            Arc::clone(self.file.insert(file))
        };
        if let Err(error) = append_all(&*file, lines) {
            file.truncate(self.bytes)?;
            return Err(error);
        }
        self.bytes += lines.len() as u64;
        Ok(())
    }

    /// A record ended the block: nothing of it stays here.
    pub(super) fn cut(&mut self, folder: &JournalFolder, id: &str) {
        if self.bytes == 0 {
            return;
        }
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.truncate(0)) {
            // The journal proves it outdated all the same.
            log::warn!("{}", unkept(folder, id, &error));
        }
        self.bytes = 0;
    }
}

fn unkept(folder: &JournalFolder, id: &str, error: &io::Error) -> StorageError {
    failed("write", &folder.kept(id), error)
}

impl JournalFolder {
    /// Opens the file to write it. Anything else that has its name is moved out of the way.
    fn open_kept(&self, id: &str) -> io::Result<Arc<dyn DiskFile>> {
        let path = self.kept(id);
        match self.disk.open(&path, OpenMode::AppendOrNew) {
            Err(_) if self.disk.stat(&path)?.kind != FileKind::File => {
                let aside = format!("{id}.{:016x}.foreign", fastrand::u64(..));
                self.disk.rename(&path, &self.path.join(aside))?;
                self.disk.open(&path, OpenMode::AppendOrNew)
            }
            opened => opened,
        }
    }

    /// The blocks that are kept for a journal of this life and were not finished by record `after`.
    /// A path that is not a regular file has none.
    ///
    /// # Errors
    /// When the storage cannot be read.
    pub(super) fn read_kept(
        &self,
        id: &str,
        epoch: Epoch,
        after: u64,
    ) -> Result<Vec<BlockPiece>, StorageError> {
        let path = self.kept(id);
        let read = || -> io::Result<Vec<KeptPiece>> {
            if self.disk.stat(&path)?.kind != FileKind::File {
                log::warn!("{} is not a file; it is left alone", path.display());
                return Ok(Vec::new());
            }
            let file = self.disk.open(&path, OpenMode::Read)?;
            let length = file.stat()?.length;
            let mut pieces = Vec::new();
            let mut lines = LineReader::new(&*file, 0, length, MANY);
            while let Some(line) = lines.next()? {
                // The last one may be torn.
                pieces.extend(serde_json::from_slice::<KeptPiece>(line.bytes).ok());
            }
            Ok(pieces)
        };
        match read() {
            Ok(pieces) => Ok(unfinished::join(pieces, epoch, after)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Removes that file, if there is one.
    pub(super) fn forget_kept(&self, id: &str) {
        let path = self.kept(id);
        match self.disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log::warn!("{}", failed("remove", &path, &error));
            }
            Ok(()) | Err(_) => {}
        }
    }
}
