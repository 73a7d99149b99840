//! The file of the client's settings, `client.toml` in the state folder.
//!
//! Invariant: the file is only ever replaced as a whole, under a lock, by one that is on the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::{ClientSettings, edited};
use crate::whole_file::replace;

/// The name of the file.
const FILE_NAME: &str = "client.toml";
/// Maximum number of bytes that are read of the file.
const MAX: u64 = 1024 * 1024;

/// The place of the settings. Its functions wait for the disk and for other clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsFile {
    path: PathBuf,
}

impl SettingsFile {
    /// The file in this state folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE_NAME),
        }
    }

    /// The settings of the file, and all its faults.
    pub(crate) fn load(&self) -> (ClientSettings, Vec<String>) {
        let said = |problem: &String| format!("{FILE_NAME}: {problem}");
        match self.text() {
            Ok(text) => {
                let (settings, problems) = ClientSettings::parse(&text);
                (settings, problems.iter().map(said).collect())
            }
            Err(error) => (ClientSettings::default(), vec![said(&error.to_string())]),
        }
    }

    /// Changes one setting in the present content of the file.
    ///
    /// # Errors
    /// If the file cannot be read or written; it is unchanged then.
    pub(crate) fn keep(&self, name: &str, value: &str) -> io::Result<()> {
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags)
            .open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let text = edited(&self.text()?, name, value);
        replace(&self.path, &text)?;
        lock.unlock()
    }

    /// The text; empty if the file does not exist.
    fn text(&self) -> io::Result<String> {
        let flags = OFlag::O_NONBLOCK.bits();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(&self.path);
        match opened {
            Ok(file) => read(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        }
    }
}

fn read(file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file"));
    }
    io::read_to_string(io::Read::take(file, MAX))
}
