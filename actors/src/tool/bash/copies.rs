//! Copies of files from before commands, which go with the process that made them.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use nix::fcntl::OFlag;
use tokio::time::Instant;

use super::TempFolder;
use super::stamp::FileStamp;
use crate::clock::Clock;

/// Maximum size of the copies for one command, and of a pack, in bytes.
const MAX_PACK: u64 = 64 * 1024 * 1024;
/// Maximum number of packs; the oldest go first.
const MAX_PACKS: usize = 8;
/// A copy counts as a multiple of that many bytes. A large one begins at one, where file systems can share the content.
const BLOCK: u64 = 4096;
/// Time after which no more copies are made for a command.
const PATIENCE: Duration = Duration::from_millis(500);

/// The copies that are there, for all conversations. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct FileCopies(Arc<SharedCopies>);

#[derive(Debug)]
struct SharedCopies {
    /// The folder for packs. `None` for the system's for temporary files.
    home: Option<PathBuf>,
    /// Maximum size of the copies for one command, in bytes.
    most: u64,
    kept: Mutex<KeptCopies>,
}

#[derive(Debug, Default)]
struct KeptCopies {
    /// The oldest first.
    packs: Vec<CopyPack>,
    /// All that are open, also those that only running commands use.
    open: Vec<Weak<File>>,
    /// The copies by the paths of their files, with the properties of the file.
    copies: HashMap<PathBuf, (FileStamp, CopiedFile)>,
}

/// A file without a name that has copies, one after the other.
#[derive(Debug)]
struct CopyPack {
    file: Arc<File>,
    end: u64,
}

/// The copy of a file.
#[derive(Debug, Clone)]
pub(super) struct CopiedFile {
    pack: Arc<File>,
    at: u64,
    size: u64,
}

impl Default for FileCopies {
    fn default() -> Self {
        Self::bounded(None, MAX_PACK)
    }
}

impl FileCopies {
    /// Copies whose packs are in a state folder. Nothing is done there before the first one.
    pub(super) fn within(home: &Path) -> Self {
        Self::bounded(Some(home.to_owned()), MAX_PACK)
    }

    /// Copies of at most so many bytes for one command.
    pub(super) fn bounded(home: Option<PathBuf>, most: u64) -> Self {
        Self(Arc::new(SharedCopies {
            home,
            most,
            kept: Mutex::default(),
        }))
    }

    /// The copies of files with these properties: those that are there, and new ones while there is room and time. The
    /// first files get theirs first. Blocks.
    pub(super) fn copies(
        &self,
        wanted: impl Iterator<Item = (PathBuf, FileStamp)>,
    ) -> HashMap<PathBuf, (FileStamp, CopiedFile)> {
        let SharedCopies { home, most, kept } = &*self.0;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + PATIENCE;
        let mut room = *most;
        let mut taken = HashMap::new();
        for (path, stamp) in wanted {
            let Some(rest) = room.checked_sub(counted(stamp.content.size)) else {
                continue;
            };
            let known = kept.copies.get(&path).filter(|(known, _)| *known == stamp);
            if let Some(known) = known {
                room = rest;
                taken.insert(path, known.clone());
                continue;
            }
            if Instant::now() > until {
                continue;
            }
            match kept.copy(&path, stamp, home.as_deref()) {
                Ok(Some(copied)) => {
                    room = rest;
                    taken.insert(path, (stamp, copied));
                }
                Ok(None) => {}
                Err(error) => {
                    log::warn!("no copies of files are made before a command: {error}");
                    break;
                }
            }
        }
        taken
    }
}

impl KeptCopies {
    /// Copies a file. `None` if it cannot be read, or has other properties by now.
    fn copy(
        &mut self,
        path: &Path,
        stamp: FileStamp,
        home: Option<&Path>,
    ) -> io::Result<Option<CopiedFile>> {
        let size = stamp.content.size;
        let mut options = OpenOptions::new();
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let opened = options.read(true).custom_flags(flags.bits()).open(path);
        let Ok(source) = opened else {
            return Ok(None);
        };
        let is_same = || {
            source
                .metadata()
                .is_ok_and(|found| FileStamp::from_metadata(&found) == stamp)
        };
        let now = Clock::system().now();
        if !is_same() {
            return Ok(None);
        }
        let Some(pack) = self.pack(counted(size), home)? else {
            return Ok(None);
        };
        let at = match size < BLOCK {
            true => pack.end,
            false => pack.end.next_multiple_of(BLOCK),
        };
        let mut into = &*pack.file;
        into.seek(SeekFrom::Start(at))?;
        let copied = io::copy(&mut (&source).take(size), &mut into)?;
        if copied != size || !is_same() {
            return Ok(None);
        }
        pack.end = at + size;
        let copied = CopiedFile {
            pack: Arc::clone(&pack.file),
            at,
            size,
        };
        // One that could be changed without another time serves only the command that begins now.
        if stamp.is_settled_at(now) {
            self.copies.insert(path.to_owned(), (stamp, copied.clone()));
        }
        Ok(Some(copied))
    }

    /// A pack with room for so many bytes. `None` if running commands use too many.
    fn pack(&mut self, size: u64, home: Option<&Path>) -> io::Result<Option<&mut CopyPack>> {
        let fits = |pack: &CopyPack| pack.end.next_multiple_of(BLOCK) + size <= MAX_PACK;
        if !self.packs.last().is_some_and(fits) {
            if self.packs.len() == MAX_PACKS {
                let oldest = self.packs.remove(0);
                let is_other = |copied: &CopiedFile| !Arc::ptr_eq(&copied.pack, &oldest.file);
                self.copies.retain(|_, (_, copied)| is_other(copied));
            }
            self.open.retain(|pack| pack.strong_count() > 0);
            if self.open.len() >= MAX_PACKS {
                return Ok(None);
            }
            let file = Arc::new(nameless(home)?);
            self.open.push(Arc::downgrade(&file));
            self.packs.push(CopyPack { file, end: 0 });
        }
        Ok(self.packs.last_mut())
    }
}

impl CopiedFile {
    /// The content. Blocks.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let size = usize::try_from(self.size).map_err(io::Error::other)?;
        let mut content = vec![0; size];
        self.pack.read_exact_at(&mut content, self.at)?;
        Ok(content)
    }
}

/// The size as it counts.
fn counted(size: u64) -> u64 {
    size.max(1).next_multiple_of(BLOCK)
}

/// Makes a file that has no name, and goes when it is closed.
fn nameless(home: Option<&Path>) -> io::Result<File> {
    let temp = match home {
        Some(_) => None,
        None => Some(TempFolder::new()?),
    };
    let folder = home
        .or(temp.as_ref().map(TempFolder::path))
        .unwrap_or(Path::new("/"));
    let path = folder.join(format!("copies-{:016x}.unfinished", fastrand::u64(..)));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn put(&self, name: &str, content: &str) -> PathBuf {
            let path = self.0.path().join(name);
            fs::write(&path, content).unwrap();
            path
        }

        /// Makes as if the file had been there for longer.
        fn settled(path: &Path) -> FileStamp {
            let stamp = || FileStamp::from_metadata(&fs::symlink_metadata(path).unwrap());
            while !stamp().is_settled_at(Clock::system().now()) {
                std::thread::yield_now();
            }
            stamp()
        }
    }

    fn take(copies: &FileCopies, files: &[(&Path, FileStamp)]) -> Vec<Option<Vec<u8>>> {
        let owned = |(path, stamp): &(&Path, FileStamp)| (path.to_path_buf(), *stamp);
        let taken = copies.copies(files.iter().map(owned));
        let content = |(path, _): &(&Path, FileStamp)| Some(taken.get(*path)?.1.read().unwrap());
        files.iter().map(content).collect()
    }

    /// Spec: [UNDO-780]
    #[test]
    fn a_copy_is_that_of_the_file_with_these_properties_and_is_made_once() {
        let folder = Folder(tempfile::tempdir().unwrap());
        let (one, large) = (
            folder.put("one", "one"),
            folder.put("large", &"x".repeat(5000)),
        );
        let files = [
            (&*one, Folder::settled(&one)),
            (&*large, Folder::settled(&large)),
        ];
        let copies = FileCopies::within(folder.0.path());
        let contents = [Some(b"one".to_vec()), Some(vec![b'x'; 5000])];
        assert_eq!(take(&copies, &files), contents);
        let end = || copies.0.kept.lock().unwrap().packs[0].end;
        let first = end();
        assert_eq!(first, 4096 + 5000);
        assert_eq!(take(&copies, &files), contents);
        assert_eq!(end(), first);
        folder.put("one", "two");
        // It is no more the file that was looked at.
        let mut other = files[0].1;
        other.mode = 0o100_600;
        assert_eq!(take(&copies, &[(&*one, other)]), [None]);
        let now = FileStamp::from_metadata(&fs::symlink_metadata(&one).unwrap());
        assert_eq!(take(&copies, &[(&*one, now)]), [Some(b"two".to_vec())]);
        assert!(end() > first);
        // Nothing of it has a name.
        assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 2);
    }

    /// Spec: [UNDO-780]
    #[test]
    fn copies_are_bounded_for_a_command_and_in_all() {
        let folder = Folder(tempfile::tempdir().unwrap());
        let files = ["a", "b", "c"].map(|name| folder.put(name, "x"));
        let stamps: Vec<_> = files
            .iter()
            .map(|path| (&**path, Folder::settled(path)))
            .collect();
        let copies = FileCopies::bounded(None, 2 * BLOCK);
        let there: Vec<bool> = take(&copies, &stamps).iter().map(Option::is_some).collect();
        assert_eq!(there, [true, true, false]);

        let copies = FileCopies::default();
        let mut held = Vec::new();
        for number in 0..MAX_PACKS {
            // As if it was full.
            if let Some(pack) = copies.0.kept.lock().unwrap().packs.last_mut() {
                pack.end = MAX_PACK;
            }
            let path = folder.put(&format!("f{number}"), "x");
            let stamp = Folder::settled(&path);
            held.push(copies.copies([(path, stamp)].into_iter()));
        }
        assert!(held.iter().all(|taken| taken.len() == 1));
        copies.0.kept.lock().unwrap().packs[MAX_PACKS - 1].end = MAX_PACK;
        // The oldest is let go of, and is still in use.
        assert_eq!(take(&copies, &stamps[..1]), [None]);
        drop(held);
        assert_eq!(take(&copies, &stamps[..1]), [Some(b"x".to_vec())]);
        assert!(copies.0.kept.lock().unwrap().packs.len() <= MAX_PACKS);
    }
}
