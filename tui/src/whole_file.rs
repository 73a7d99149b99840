//! Files that are only ever replaced as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Replaces a file by one that is on the disk, for its owner alone. The caller holds the lock. Blocks.
///
/// # Errors
/// The disk's error; the file is unchanged then.
pub(crate) fn replace(path: &Path, content: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    // A client that died in between may have left one.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}
