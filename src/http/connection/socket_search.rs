//! The search for one socket among the descriptors of processes.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/fd`.

use std::fs::{self, ReadDir};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// Maximum number of descriptors that one search looks at: a process may have a million.
const MOST_DESCRIPTORS: usize = 200_000;

/// Looks for one socket. After too many descriptors it finds nothing.
#[derive(Debug)]
pub(super) struct SocketSearch {
    link: PathBuf,
    /// Number of descriptors that it still looks at.
    left: usize,
}

impl SocketSearch {
    /// For the socket that has that number in the kernel.
    pub(super) fn new(inode: u64) -> Self {
        Self {
            link: format!("socket:[{inode}]").into(),
            left: MOST_DESCRIPTORS,
        }
    }

    /// True if the socket is among the descriptors in a folder `fd` of `/proc`. A process that has exited, or
    /// whose descriptors cannot be read, has none here.
    ///
    /// # Errors
    /// If the service may open no more files.
    pub(super) fn finds_in(&mut self, folder: &Path) -> io::Result<bool> {
        for entry in entries(folder)?.into_iter().flatten().flatten() {
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            if fs::read_link(entry.path()).is_ok_and(|found| found == self.link) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The entries of a folder of `/proc`. `None` if its process has exited, or does not show them.
///
/// # Errors
/// If the service may open no more files.
pub(super) fn entries(folder: &Path) -> io::Result<Option<ReadDir>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries)),
        Err(error) if is_lack(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

fn is_lack(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM))
}
