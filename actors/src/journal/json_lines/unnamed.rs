//! Removes the contents of attachments that no journal names: a crash may have come between a file
//! and the record of its prompt.
//!
//! Invariant: whatever cannot be read, or comes about meanwhile, keeps a content.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use super::contents::Contents;
use super::disk::{DiskFile, FileKind, OpenMode};
use super::pool::lock;
use crate::clock::Clock;

/// Minimum age of a content that is looked for. The prompt of a younger one may be under way.
const MIN_AGE: Duration = Duration::from_secs(60 * 60);
/// Maximum number of bytes of journals that are read for that. Where there are more, contents that no journal names
/// remain: they cost less than reading all of it.
const MAX_READ: u64 = 8 * 1024 * 1024 * 1024;
/// Size of one read, in bytes.
const CHUNK: usize = 1024 * 1024;
/// Rest of the sweep after each chunk, so that it delays no other reader.
const REST: Duration = Duration::from_millis(5);
/// Number of digits in the name of a content.
const DIGITS: usize = 64;

impl Contents {
    /// Removes what no journal, archive or journal in the trash names, and tells how many contents
    /// that were.
    ///
    /// # Errors
    /// When something cannot be looked at; nothing is removed then.
    pub(super) fn sweep_unnamed(&self, clock: Clock) -> io::Result<usize> {
        lock(&self.claims).since_sweep = Some(HashSet::new());
        let unnamed = self.unnamed(clock);
        let mut claims = lock(&self.claims);
        let mut removed = 0;
        if let Ok(unnamed) = &unnamed {
            for sha256 in unnamed.iter().filter(|sha256| claims.is_free(sha256)) {
                self.remove(sha256);
                removed += 1;
            }
        }
        claims.since_sweep = None;
        unnamed.map(|_| removed)
    }

    /// The contents that nothing names.
    fn unnamed(&self, clock: Clock) -> io::Result<HashSet<String>> {
        let mut unnamed = self.old(clock)?;
        let mut read = 0;
        // The trash is last: what goes there meanwhile is found in one of the two places.
        for folder in ["conversations", "trash"] {
            let folder = self.home.join(folder);
            let mut known = HashSet::new();
            while !unnamed.is_empty() {
                let names = match self.disk.names(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                    names => names?,
                };
                // What was put there meanwhile may be the old name of what was looked at.
                let new: Vec<String> = names
                    .into_iter()
                    .filter(|name| !known.contains(name))
                    .collect();
                if new.is_empty() {
                    break;
                }
                for name in new {
                    self.take_named(&folder.join(&name), &mut unnamed, &mut read)?;
                    known.insert(name);
                }
            }
        }
        Ok(unnamed)
    }

    /// The contents that are old enough.
    fn old(&self, clock: Clock) -> io::Result<HashSet<String>> {
        let now = clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = now.saturating_sub(MIN_AGE).as_nanos();
        let mut old = HashSet::new();
        for sha256 in self.all().map_err(io::Error::other)? {
            let (_, path) = self.place(&sha256);
            if u128::from(self.disk.stat(&path)?.changed_at) < before {
                old.insert(sha256);
            }
        }
        Ok(old)
    }

    /// Takes out what a file names.
    fn take_named(
        &self,
        path: &Path,
        unnamed: &mut HashSet<String>,
        read: &mut u64,
    ) -> io::Result<()> {
        let file = match self.disk.stat(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(stat) if stat.kind != FileKind::File => return Ok(()),
            looked => looked.and_then(|_| self.disk.open(path, OpenMode::Read)),
        };
        let file = match file {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        *read += file.stat()?.length;
        if *read > MAX_READ {
            return Err(io::Error::other(format!(
                "there are more than {MAX_READ} bytes of journals"
            )));
        }
        each_name(&*file, |name| {
            unnamed.remove(name);
        })
    }
}

/// Finds everything in a file that may be the name of a content: so many digits between two other
/// characters.
fn each_name(file: &dyn DiskFile, mut found: impl FnMut(&str)) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    let mut digits = Vec::with_capacity(DIGITS + 1);
    loop {
        let read = file.read_at(&mut chunk, at)?;
        for byte in &chunk[..read] {
            if matches!(byte, b'0'..=b'9' | b'a'..=b'f') {
                // One more than a name has shows that it is none.
                if digits.len() <= DIGITS {
                    digits.push(*byte);
                }
                continue;
            }
            take(&digits, &mut found);
            digits.clear();
        }
        if read == 0 {
            take(&digits, &mut found);
            return Ok(());
        }
        at += read as u64;
        thread::park_timeout(REST);
    }
}

fn take(digits: &[u8], found: &mut impl FnMut(&str)) {
    if digits.len() == DIGITS
        && let Ok(name) = str::from_utf8(digits)
    {
        found(name);
    }
}

#[cfg(test)]
#[path = "unnamed_tests.rs"]
mod tests;
