//! The file that the prompts of the past are kept in.
//!
//! One prompt is one line, written as a JSON string so that it may have line breaks. Older files have the plain text of
//! each prompt; those lines are read unchanged.
//!
//! Invariant: the file is only ever replaced as a whole, under a lock, by one that is on the disk.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::entries::PromptHistory;
use crate::whole_file::replace;

/// The file's name in the state folder.
pub(crate) const FILE_NAME: &str = "prompt_history";

/// Only so much of a file is read, from its end. What we write is smaller.
const MAX_READ: u64 = 16 * 1024 * 1024;

/// The file of the prompts. Its functions wait for the disk and for other clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HistoryFile {
    path: PathBuf,
}

impl HistoryFile {
    /// The file in this state folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE_NAME),
        }
    }

    /// The content of the file; empty if the file does not exist.
    ///
    /// # Errors
    /// If there is a file and it cannot be read.
    pub(crate) fn load(&self) -> io::Result<PromptHistory> {
        let opened = OpenOptions::new()
            .read(true)
            // A pipe of that name must not keep us waiting for a writer.
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(&self.path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(PromptHistory::default());
            }
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file"));
        }
        let skipped = metadata.len().saturating_sub(MAX_READ);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ).read_to_end(&mut bytes)?;
        let mut lines = bytes.split(|byte| *byte == b'\n');
        if skipped > 0 {
            // The end of a line whose beginning was not read.
            lines.next();
        }
        Ok(lines.filter_map(decode).collect())
    }

    /// Adds a prompt to what the file has by now, and returns all of it.
    ///
    /// # Errors
    /// If the file cannot be read or written; it is unchanged then.
    pub(crate) fn add(&self, prompt: &str) -> io::Result<PromptHistory> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Held until the end; a client that dies gives it up.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut history = self.load()?;
        if history.add(prompt) {
            self.replace(&history)?;
            File::open(folder)?.sync_all()?;
        }
        lock.unlock()?;
        Ok(history)
    }

    fn replace(&self, history: &PromptHistory) -> io::Result<()> {
        let mut lines = String::new();
        for entry in history.entries() {
            lines.push_str(&serde_json::to_string(entry)?);
            lines.push('\n');
        }
        replace(&self.path, &lines)
    }
}

/// The prompt that a line of the file holds. `None` if it is blank.
fn decode(line: &[u8]) -> Option<String> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    Some(serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned()))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
