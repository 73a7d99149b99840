//! The folders of a store, the names in them, and how a whole journal is put there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::super::conversation_name;
use super::super::position::Epoch;
use super::disk::{Disk, DiskFile, DiskFolder, FileKind, OpenMode, append_all, is_passing};
use super::state_size::StateSize;
use crate::clock::Clock;
use crate::storage::StorageError;
use crate::threads::PASSES;

/// The file extension of a journal.
const JOURNAL: &str = ".jsonl";
/// The file extension of the file that has the unfinished blocks.
const KEPT: &str = ".unfinished";
/// The end of the name of an unfinished file, whose name begins with a dot.
const UNFINISHED: &str = ".tmp";

/// The folder of the journals and its disk.
pub(super) struct JournalFolder {
    /// The folder of the journals.
    pub(super) path: PathBuf,
    /// The folder of what was removed.
    pub(super) trash: PathBuf,
    /// The file system.
    pub(super) disk: Arc<dyn Disk>,
    /// The time of day.
    pub(super) clock: Clock,
    /// The size of the state folder.
    pub(super) size: StateSize,
}

/// A file that is complete but has no name yet.
pub(super) struct Unfinished {
    path: PathBuf,
    /// The file, locked.
    pub(super) file: Arc<dyn DiskFile>,
}

impl JournalFolder {
    /// The folders below the state folder.
    pub(super) fn at(home: &Path, disk: Arc<dyn Disk>, clock: Clock) -> Self {
        Self {
            path: home.join("conversations"),
            trash: home.join("trash"),
            disk,
            clock,
            size: StateSize::default(),
        }
    }

    /// The journal of a conversation.
    pub(super) fn journal(&self, id: &str) -> PathBuf {
        self.path.join(Self::journal_name(id))
    }

    /// The file name of the journal of a conversation.
    pub(super) fn journal_name(id: &str) -> String {
        format!("{id}{JOURNAL}")
    }

    /// Path of the file for unfinished blocks.
    pub(super) fn kept(&self, id: &str) -> PathBuf {
        self.path.join(format!("{id}{KEPT}"))
    }

    /// Path of the file that has copies of damaged parts.
    pub(super) fn damage(&self, id: &str) -> PathBuf {
        self.path.join(format!("{id}.damaged"))
    }

    /// The conversation whose journal has this name.
    pub(super) fn id_of(name: &str) -> Option<&str> {
        name.strip_suffix(JOURNAL)
            .filter(|id| conversation_name::is_valid(id))
    }

    /// Milliseconds since the Unix epoch.
    pub(super) fn now(&self) -> u64 {
        let since = self.clock.now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Removes files that a crash left unfinished. A process that is making one holds its lock.
    pub(super) fn sweep(&self) -> io::Result<()> {
        let names = self.disk.names(&self.path)?;
        for name in &names {
            let is_left_alone = |id: &str| !names.contains(&format!("{id}{JOURNAL}"));
            let is_unfinished = name.starts_with('.') && name.ends_with(UNFINISHED);
            if !is_unfinished && !name.strip_suffix(KEPT).is_some_and(is_left_alone) {
                continue;
            }
            let path = self.path.join(name);
            let opened = self.disk.open(&path, OpenMode::Read);
            let removed = opened.and_then(|file| match file.try_lock()? {
                true => self.disk.remove(&path),
                false => Ok(()),
            });
            // A failure to remove one must not keep the others.
            match removed {
                Ok(()) => log::debug!("removed the unfinished {}", path.display()),
                Err(error) => log::warn!("cannot remove {}: {error}", path.display()),
            }
        }
        Ok(())
    }

    /// Makes a file that is durable but has no name yet.
    pub(super) fn prepare(&self, id: &str, content: &[u8]) -> io::Result<Unfinished> {
        self.prepare_with(id, |file| {
            append_all(file, content).map(|()| content.len() as u64)
        })
    }

    /// The same with what `write` puts into it; that tells how many bytes.
    pub(super) fn prepare_with(
        &self,
        id: &str,
        write: impl FnOnce(&dyn DiskFile) -> io::Result<u64>,
    ) -> io::Result<Unfinished> {
        let path = self
            .path
            .join(format!(".{id}.{:016x}{UNFINISHED}", fastrand::u64(..)));
        let file = match self.disk.open(&path, OpenMode::New) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.make_folder(&self.path)?;
                self.disk.open(&path, OpenMode::New)?
            }
            opened => opened?,
        };
        let unfinished = Unfinished { path, file };
        let file = &unfinished.file;
        let written = file
            .try_lock()
            .and_then(|_| write(&**file))
            .and_then(|bytes| file.sync().map(|()| bytes));
        match written {
            Ok(bytes) => {
                self.size.grew(usize::try_from(bytes).unwrap_or(usize::MAX));
                Ok(unfinished)
            }
            Err(error) => {
                self.discard(&unfinished);
                Err(error)
            }
        }
    }

    /// Gives a file its name, which nothing may have yet. The name is durable once the folder that
    /// is returned is flushed. That one is opened first: whether there is an open file for it must
    /// not decide whether a name lasts.
    pub(super) fn publish(
        &self,
        unfinished: &Unfinished,
        id: &str,
    ) -> io::Result<Arc<dyn DiskFolder>> {
        let renamed = self.disk.open_folder(&self.path).and_then(|names| {
            self.disk.rename_new(&unfinished.path, &self.journal(id))?;
            Ok(names)
        });
        if renamed.is_err() {
            self.discard(unfinished);
        }
        renamed
    }

    /// Puts a file in the place of a journal, durably, and keeps the old one under the name that
    /// is returned. What was there is there again after an error.
    pub(super) fn publish_over(
        &self,
        unfinished: &Unfinished,
        id: &str,
        life: &str,
    ) -> Result<PathBuf, PublishError> {
        let path = self.journal(id);
        let archived = self.disk.open_folder(&self.path).and_then(|names| {
            let archive = self.archive(id, life)?;
            Ok((names, archive))
        });
        let (names, archive) = match archived {
            Ok(archived) => archived,
            Err(error) => {
                self.discard(unfinished);
                return Err(PublishError::Refused(error));
            }
        };
        // The old journal has two names from here on, so that a crash leaves it or the new one.
        if let Err(error) = self.disk.rename(&unfinished.path, &path) {
            self.discard(unfinished);
            self.try_remove(&archive);
            return Err(PublishError::Refused(error));
        }
        if let Err(error) = names.sync() {
            if let Err(error) = self.disk.rename(&archive, &path) {
                log::error!("cannot put {} back: {error}", path.display());
            }
            return Err(PublishError::Unsure(error));
        }
        Ok(archive)
    }

    /// Gives a journal the further name of an archive.
    fn archive(&self, id: &str, life: &str) -> io::Result<PathBuf> {
        let path = self.journal(id);
        let mut archive = self.path.join(format!("{id}.{life}.archive"));
        while let Err(error) = self.disk.link(&path, &archive) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            let again = Epoch::random();
            archive = self.path.join(format!("{id}.{life}.{again}.archive"));
        }
        Ok(archive)
    }

    fn discard(&self, unfinished: &Unfinished) {
        self.try_remove(&unfinished.path);
    }

    /// Removes a file if that can be done.
    pub(super) fn try_remove(&self, path: &Path) {
        if let Err(error) = self.disk.remove(path) {
            log::warn!("cannot remove {}: {error}", path.display());
        }
    }

    /// Moves a journal to the trash, with everything that belongs to it, and tells where it is.
    pub(super) fn throw_away(&self, id: &str) -> io::Result<PathBuf> {
        self.disk.make_folder(&self.trash)?;
        // What needs an open file comes first: nothing is left half moved for want of one.
        let folders = [
            self.disk.open_folder(&self.trash)?,
            self.disk.open_folder(&self.path)?,
        ];
        let names = self.disk.names(&self.path)?;
        let mut number = self.now();
        let thrown = loop {
            let thrown = self.trash.join(format!("{id}-{number}{JOURNAL}"));
            match self.disk.rename_new(&self.journal(id), &thrown) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                renamed => break renamed.map(|()| thrown)?,
            }
        };
        let is_its = |name: &String| {
            let rest = name
                .strip_prefix(id)
                .and_then(|rest| rest.strip_prefix('.'));
            rest.is_some_and(|rest| {
                matches!(rest, "damaged" | "unfinished") || rest.ends_with("archive")
            })
        };
        for name in names.iter().filter(|name| is_its(name)) {
            let rest = &name[id.len()..];
            let to = self.trash.join(format!("{id}-{number}{rest}"));
            self.disk.rename_new(&self.path.join(name), &to)?;
        }
        for folder in folders {
            folder.sync()?;
        }
        Ok(thrown)
    }

    /// True if a file or folder has the name of that journal.
    pub(super) fn exists(&self, id: &str) -> io::Result<bool> {
        match self.disk.stat(&self.journal(id)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The conversations that have a journal, each with the time of its last change.
    pub(super) fn journals(&self) -> io::Result<Vec<(String, u64)>> {
        let names = match self.disk.names(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let mut journals = Vec::new();
        for id in names.iter().filter_map(|name| Self::id_of(name)) {
            match self.disk.stat(&self.journal(id)) {
                Ok(stat) if stat.kind == FileKind::File => {
                    journals.push((id.to_owned(), stat.changed_at));
                }
                Ok(_) => {}
                // It was removed since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(journals)
    }
}

/// The reason why a journal was not replaced.
pub(super) enum PublishError {
    /// Nothing changed.
    Refused(io::Error),
    /// The names may not be what they seem after a power cut.
    Unsure(io::Error),
}

/// A path as errors name it. Clients receive errors, so it has only the part in the state folder: the folder of the
/// journals and the name.
pub(super) fn short(path: &Path) -> String {
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let folder = path.parent().and_then(name);
    let names: Vec<String> = folder.into_iter().chain(name(path)).collect();
    names.join("/")
}

/// The system's error about a path.
pub(super) fn failed(doing: &str, path: &Path, error: &io::Error) -> StorageError {
    StorageError {
        doing: doing.to_owned(),
        path: short(path),
        reason: match is_passing(error) {
            true => format!("{error}; {PASSES}"),
            false => error.to_string(),
        },
    }
}
