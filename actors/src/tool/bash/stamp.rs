//! The properties that tell a file from its earlier state.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness_protocol::PathKind;
use nix::sys::stat::FileStat;

use super::git_index::IndexStat;

/// The resolution of the times of files, which are behind the clock by as much.
///
/// Source: inode_timestamps in the kernel, a jiffy of at most 10 ms.
pub(super) const RESOLUTION: Duration = Duration::from_millis(10);
/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;
/// The bits of a mode that tell the kind of a file, and their values for a regular one, a folder and a symbolic link.
///
/// Source: inode(7), "The file type and mode".
const FORMAT: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// The properties that tell a file from its earlier state: kind, size, times, inode and mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) content: ContentStamp,
    pub(super) mode: u32,
    changed: (i64, i64),
}

/// The properties that a file keeps when it is moved or gets another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ContentStamp {
    pub(super) size: u64,
    pub(super) device: u64,
    pub(super) inode: u64,
    modified: (i64, i64),
}

impl FileStamp {
    pub(super) fn from_metadata(found: &Metadata) -> Self {
        Self {
            content: ContentStamp {
                size: found.len(),
                device: found.dev(),
                inode: found.ino(),
                modified: (found.mtime(), found.mtime_nsec()),
            },
            mode: found.mode(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// The stamp by what `fstatat` tells.
    pub(super) fn from_stat(found: &FileStat) -> Self {
        Self {
            content: ContentStamp {
                size: u64::try_from(found.st_size).unwrap_or_default(),
                device: found.st_dev,
                inode: found.st_ino,
                modified: (found.st_mtime, found.st_mtime_nsec),
            },
            mode: found.st_mode,
            changed: (found.st_ctime, found.st_ctime_nsec),
        }
    }

    pub(super) fn kind(&self) -> PathKind {
        match self.mode & FORMAT {
            REGULAR => PathKind::Regular,
            LINK => PathKind::Link,
            _ => PathKind::Special,
        }
    }

    pub(super) fn permissions(&self) -> u32 {
        self.mode & PERMISSIONS
    }

    pub(super) fn is_regular(&self) -> bool {
        self.mode & FORMAT == REGULAR
    }

    pub(super) fn is_folder(&self) -> bool {
        self.mode & FORMAT == FOLDER
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & FORMAT == LINK
    }

    /// True if the file was changed so long before that time that another change would have another time.
    pub(super) fn is_settled_at(&self, now: SystemTime) -> bool {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds)
            .ok()
            .zip(u32::try_from(nanoseconds).ok());
        let changed = changed.map(|(seconds, nanoseconds)| Duration::new(seconds, nanoseconds));
        changed.is_some_and(|changed| changed + 2 * RESOLUTION < since)
    }

    /// The numbers as an index of git has them.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "git cuts them too"
    )]
    pub(super) fn in_index(&self) -> IndexStat {
        let time = |(seconds, nanoseconds): (i64, i64)| (seconds as u32, nanoseconds as u32);
        IndexStat {
            changed: time(self.changed),
            modified: time(self.content.modified),
            inode: self.content.inode as u32,
            size: self.content.size as u32,
        }
    }
}
