//! The contents of files before tools changed them, so that a change can be taken back.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::threads::for_each;
use crate::attachment::sha256;
use crate::clock::Clock;

/// How many bytes of contents are kept at most; the oldest go first.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// The contents that are kept, by their SHA-256, a file each. Clones share them.
#[derive(Debug, Clone)]
pub struct BeforeStore(Arc<KeptContents>);

#[derive(Debug)]
struct KeptContents {
    folder: PathBuf,
    max: u64,
    clock: Clock,
    /// How many bytes there are; none before they were counted.
    bytes: Mutex<Option<u64>>,
}

impl BeforeStore {
    /// Those in the folder `before` of a state folder. Nothing is done there before the first one.
    #[must_use]
    pub fn at(home: &Path, clock: Clock) -> Self {
        Self::bounded(home, MAX_BYTES, clock)
    }

    fn bounded(home: &Path, max: u64, clock: Clock) -> Self {
        Self(Arc::new(KeptContents {
            folder: home.join("before"),
            max,
            clock,
            bytes: Mutex::default(),
        }))
    }

    /// Keeps a content, flushed, under its hash. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(crate) fn put(&self, hash: &str, content: &[u8]) -> io::Result<()> {
        let KeptContents {
            folder,
            max,
            clock,
            bytes,
        } = &*self.0;
        let path = folder.join(hash);
        if let Ok(file) = File::options().append(true).open(&path) {
            // It is the newest again.
            return file.set_modified(at(clock.unix_millis()));
        }
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        // Another thread may put the same one. What a killed service leaves goes when room is made.
        let unfinished = folder.join(format!("{hash}.{:016x}.unfinished", fastrand::u64(..)));
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        let put = file.write_all(content).and_then(|()| file.sync_data());
        let put = put.and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = put {
            match fs::remove_file(&unfinished) {
                Ok(()) => {}
                Err(other) => log::warn!("{} stays: {other}", unfinished.display()),
            }
            return Err(error);
        }
        File::open(folder)?.sync_all()?;
        let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = match *bytes {
            Some(bytes) => bytes + content.len() as u64,
            None => sum(&all(folder)?),
        };
        *bytes = Some(if counted > *max {
            make_room(folder, *max, &path)?
        } else {
            counted
        });
        Ok(())
    }

    /// Keeps contents under their hashes, as [`Self::put`] does for each. Blocks.
    pub(crate) fn put_all(&self, contents: &[(String, Vec<u8>)]) -> Vec<io::Result<()>> {
        for_each(contents, |(hash, content)| self.put(hash, content))
    }

    /// A content, if it is kept and is what it was. Blocks.
    pub(crate) fn get(&self, hash: &str) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let mut file = File::open(self.0.folder.join(hash)).ok()?;
        file.read_to_end(&mut content).ok()?;
        (sha256(&content) == hash).then_some(content)
    }
}

/// A time by milliseconds since the Unix epoch.
fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// The contents: when each was put last, how large it is, and where.
fn all(folder: &Path) -> io::Result<Vec<(SystemTime, u64, PathBuf)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = match entry.metadata() {
            // It got its name meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            found => found?,
        };
        all.push((found.modified()?, found.len(), entry.path()));
    }
    Ok(all)
}

fn sum(all: &[(SystemTime, u64, PathBuf)]) -> u64 {
    all.iter().map(|(_, bytes, _)| bytes).sum()
}

/// Removes the oldest but the newest one, down to nine tenths, so that it is not to be done each time;
/// tells how many bytes are left.
fn make_room(folder: &Path, max: u64, newest: &Path) -> io::Result<u64> {
    let mut all = all(folder)?;
    all.sort();
    let mut bytes = sum(&all);
    for (_, size, path) in all {
        if bytes <= max / 10 * 9 {
            break;
        }
        if path == newest {
            continue;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => bytes -= size,
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Spec: [UNDO-01]
    #[test]
    fn f17_contents_are_kept_by_their_hash_and_the_oldest_go_first() {
        let home = tempfile::tempdir().unwrap();
        let store = BeforeStore::bounded(home.path(), 1000, Clock::system());
        let hashes: Vec<String> = (0..9_u8)
            .map(|number| {
                let content = [number; 100];
                let hash = sha256(&content);
                store.put(&hash, &content).unwrap();
                let file = File::options()
                    .append(true)
                    .open(home.path().join("before").join(&hash));
                file.unwrap().set_modified(at(u64::from(number))).unwrap();
                hash
            })
            .collect();
        assert_eq!(store.get(&hashes[0]).unwrap(), [0; 100]);
        // Put again, it is the newest.
        store.put(&hashes[0], &[0; 100]).unwrap();
        // As after a start.
        let store = BeforeStore::bounded(home.path(), 1000, Clock::system());
        let large = [7; 250];
        store.put(&sha256(&large), &large).unwrap();
        let there: Vec<bool> = hashes
            .iter()
            .map(|hash| store.get(hash).is_some())
            .collect();
        assert_eq!(
            there,
            [true, false, false, false, true, true, true, true, true]
        );
        assert!(store.get(&sha256(&large)).is_some());
        // What was changed there is not what was kept.
        let path = home.path().join("before").join(&hashes[8]);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(path, "another").unwrap();
        assert_eq!(store.get(&hashes[8]), None);
        assert!(sum(&all(&home.path().join("before")).unwrap()) <= 1000);
    }

    /// So many contents of 1 MiB; `HARNESS_CONTENTS` says how many.
    ///
    /// Spec: [UNDO-01]
    #[test]
    fn f17_contents_of_1_mib_stay_under_the_cap() {
        let count = std::env::var("HARNESS_CONTENTS").map_or(24, |count| count.parse().unwrap());
        let home = tempfile::tempdir().unwrap();
        let max = MAX_BYTES.min(count / 2 * 1024 * 1024);
        let store = BeforeStore::bounded(home.path(), max, Clock::system());
        let mut content = vec![b'x'; 1024 * 1024];
        let mut last = String::new();
        for number in 0..count {
            content[..8].copy_from_slice(&number.to_be_bytes());
            last = sha256(&content);
            store.put(&last, &content).unwrap();
            if number % 16 == 0 {
                assert!(sum(&all(&home.path().join("before")).unwrap()) <= max);
            }
        }
        assert!(sum(&all(&home.path().join("before")).unwrap()) <= max);
        assert_eq!(store.get(&last), Some(content));
    }
}
