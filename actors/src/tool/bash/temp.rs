//! The folder for temporary files of one command.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// How often another name is tried.
const TRIES: usize = 16;

/// A folder that nobody else can use. It is removed with all that is in it when this is dropped, which
/// blocks.
#[derive(Debug)]
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes one. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(crate) fn new() -> io::Result<Self> {
        let above = fs::canonicalize(std::env::temp_dir())?;
        for _ in 0..TRIES {
            let path = above.join(format!("harness-{:016x}", fastrand::u64(..)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(ErrorKind::AlreadyExists))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.0) {
            Ok(()) => {}
            // What held the command has removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => log::warn!("the folder {} stays: {error}", self.0.display()),
        }
    }
}
