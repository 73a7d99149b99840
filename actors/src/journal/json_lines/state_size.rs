//! Size of the state folder, and its limit.
//!
//! A separate thread counts it at the start; each write updates it afterwards. Space that other programs freed is
//! noticed before a write is refused: the folder is counted again then, and every few seconds while it is full.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::disk::{Disk, FileKind};
use crate::threads::start_thread;

/// Time between two counts of a full folder: the operator may be making room.
const RECOUNT: Duration = Duration::from_secs(2);
/// The folders that count, below the state folder.
const FOLDERS: [&str; 3] = ["conversations", "attachments", "trash"];

/// The size of a state folder. Clones share it.
#[derive(Clone, Default)]
pub struct StateSize(Option<Arc<Size>>);

struct Size {
    home: PathBuf,
    disk: Arc<dyn Disk>,
    max: u64,
    /// The result of the last count, with the bytes that were written since it began.
    bytes: AtomicU64,
    /// The bytes that were written since the last count began.
    written: AtomicU64,
    is_wanted: AtomicBool,
    /// Asks for a count; the thread that counts ends with it.
    wanted: Sender<()>,
}

impl StateSize {
    /// The size of a state folder that may have so many bytes, or any number.
    ///
    /// # Errors
    /// If the thread that counts cannot be started.
    pub fn new(home: &Path, max: Option<u64>, disk: Arc<dyn Disk>) -> io::Result<Self> {
        let Some(max) = max else {
            return Ok(Self(None));
        };
        let (wanted, wants) = channel();
        let size = Arc::new(Size {
            home: home.to_owned(),
            disk,
            max,
            bytes: AtomicU64::new(0),
            written: AtomicU64::new(0),
            is_wanted: AtomicBool::new(false),
            wanted,
        });
        let counted = Arc::downgrade(&size);
        start_thread("state-size", move || keep_counting(&counted, &wants))?;
        Ok(Self(Some(size)))
    }

    /// Notes that so many bytes were written.
    pub(super) fn grew(&self, bytes: usize) {
        if let Self(Some(size)) = self {
            let bytes = bytes as u64;
            size.bytes.fetch_add(bytes, Ordering::Relaxed);
            size.written.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Notes that so many bytes were removed. During a count, which may not have seen the removal, they remain in the
    /// sum until the next count.
    pub(super) fn shrank(&self, bytes: u64) {
        if let Self(Some(size)) = self {
            let less = |now: u64| Some(now.saturating_sub(bytes));
            // It always gives a number.
            let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
            size.bytes
                .fetch_update(set, fetch, less)
                .unwrap_or_default();
        }
    }

    /// Checks that so many bytes more may be written, besides the records that end a running run.
    ///
    /// # Errors
    /// One line with the size, the limit and the remedies.
    pub(super) fn check(&self, bytes: u64) -> io::Result<()> {
        let Self(Some(size)) = self else {
            return Ok(());
        };
        let used = size.bytes.load(Ordering::Relaxed);
        if used.saturating_add(bytes) <= size.max {
            return Ok(());
        }
        if !size.is_wanted.swap(true, Ordering::AcqRel) {
            // The thread is there as long as this is.
            size.wanted.send(()).unwrap_or_default();
        }
        let max = size.max;
        Err(io::Error::other(format!(
            "the state folder has {used} bytes, and max_state_bytes allows {max}; delete \
             conversations and run `harness trash empty`, or raise max_state_bytes"
        )))
    }
}

impl Size {
    /// Counts what is there. What is written meanwhile counts twice at most.
    fn count(&self) -> io::Result<()> {
        self.written.store(0, Ordering::Relaxed);
        let mut bytes = 0;
        for folder in FOLDERS {
            bytes += self.size_of(&self.home.join(folder), 0)?;
        }
        let written = self.written.load(Ordering::Relaxed);
        self.bytes.store(bytes + written, Ordering::Relaxed);
        Ok(())
    }

    /// The sum of the lengths of the files in a folder and in those in it.
    fn size_of(&self, folder: &Path, depth: u32) -> io::Result<u64> {
        let names = match self.disk.names(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            names => names?,
        };
        let mut bytes = 0;
        for name in names {
            let path = folder.join(name);
            match self.disk.stat(&path) {
                Ok(stat) if stat.kind == FileKind::Folder && depth == 0 => {
                    bytes += self.size_of(&path, depth + 1)?;
                }
                Ok(stat) if stat.kind == FileKind::File => bytes += stat.length,
                // Nothing of ours, or removed since.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(bytes)
    }

    fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.max
    }
}

/// Counts at once, whenever it is asked for, and while the folder is full.
fn keep_counting(size: &Weak<Size>, wants: &Receiver<()>) {
    loop {
        let Some(counted) = size.upgrade() else {
            return;
        };
        counted.is_wanted.store(false, Ordering::Release);
        if let Err(error) = counted.count() {
            let home = counted.home.display();
            log::warn!("cannot count the bytes of {home}: {error}");
        }
        let is_full = counted.is_full();
        drop(counted);
        let wanted = if is_full {
            wants.recv_timeout(RECOUNT)
        } else {
            wants.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        if wanted == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

#[cfg(test)]
#[path = "state_size_tests.rs"]
mod tests;
