//! The trash of a state folder: deleted conversations, moved back or removed. Needs no service.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use derive_more::{Display, Error};

use super::disk::FileKind;
use super::folder::{JournalFolder, failed};
use super::system_disk::SystemDisk;
use crate::clock::Clock;
use crate::storage::StorageError;

/// The deleted journals of a state folder. Blocks; for the command line.
pub struct JournalTrash(JournalFolder);

/// A deleted journal with its other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedJournal {
    /// Names it in the trash: its id and the time of its deletion.
    pub name: String,
    /// The conversation or the workflow.
    pub id: String,
    /// The time of its deletion, in milliseconds since the Unix epoch.
    pub deleted_at: u64,
    /// Size of all its files, in bytes.
    pub bytes: u64,
}

/// The reason why a deleted conversation was not moved back.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum RestoreError {
    /// Nothing in the trash has this name.
    #[display("there is no {name} in the trash")]
    NotFound {
        /// The name.
        name: String,
    },
    /// Another conversation has its id.
    #[display("there is a conversation {id} again; delete that one first")]
    Exists {
        /// The id.
        id: String,
    },
    /// The storage failed. Called again, what was not moved yet is moved.
    #[display("{_0}")]
    Storage(StorageError),
}

impl JournalTrash {
    /// The trash of a state folder on the machine's file system.
    #[must_use]
    pub fn at(home: &Path, clock: Clock) -> Self {
        Self(JournalFolder::at(home, Arc::new(SystemDisk), clock))
    }

    /// The deleted journals, the last deleted first.
    ///
    /// # Errors
    /// When the trash cannot be read.
    pub fn list(&self) -> Result<Vec<TrashedJournal>, StorageError> {
        let files = self.files()?;
        let mut trashed: Vec<TrashedJournal> = Vec::new();
        for file in files.keys() {
            let Some((name, id, deleted_at)) = name_parts(file) else {
                continue;
            };
            let bytes = own_files(&files, name).map(|(_, bytes)| bytes).sum();
            trashed.push(TrashedJournal {
                name: name.to_owned(),
                id: id.to_owned(),
                deleted_at,
                bytes,
            });
        }
        trashed.sort_by_key(|one| std::cmp::Reverse(one.deleted_at));
        Ok(trashed)
    }

    /// Moves a journal and its other files back to the conversations. Returns the id.
    ///
    /// # Errors
    /// See [`RestoreError`]; a journal that cannot be moved back stays in the trash.
    pub fn restore(&self, name: &str) -> Result<String, RestoreError> {
        let not_found = || RestoreError::NotFound {
            name: name.to_owned(),
        };
        let files = self.files().map_err(RestoreError::Storage)?;
        let journal = JournalFolder::journal_name(name);
        let (_, id, _) = name_parts(&journal).ok_or_else(not_found)?;
        if !files.contains_key(&journal) {
            return Err(not_found());
        }
        let folder = &self.0;
        let storage = |error| RestoreError::Storage(failed("restore", &folder.journal(id), &error));
        if folder.exists(id).map_err(storage)? {
            return Err(RestoreError::Exists { id: id.to_owned() });
        }
        // The journal is last: a conversation that is there again has all its files.
        let mut own: Vec<&str> = own_files(&files, name).map(|(file, _)| file).collect();
        own.sort_by_key(|file| *file == journal);
        for file in own {
            let to = folder.path.join(format!("{id}{}", &file[name.len()..]));
            let moved = folder.disk.rename_new(&folder.trash.join(file), &to);
            moved.map_err(storage)?;
        }
        for changed in [&folder.path, &folder.trash] {
            folder.disk.sync_folder(changed).map_err(storage)?;
        }
        Ok(id.to_owned())
    }

    /// Removes a deleted journal and its other files for good.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self, trashed: &TrashedJournal) -> Result<(), StorageError> {
        let files = self.files()?;
        let journal = JournalFolder::journal_name(&trashed.name);
        let own = own_files(&files, &trashed.name).map(|(file, _)| file);
        let mut own: Vec<&str> = own.collect();
        // The journal is last: what is left of it after a failure can be removed again.
        own.sort_by_key(|file| *file == journal);
        for file in own {
            let path = self.0.trash.join(file);
            let removed = self.0.disk.remove(&path);
            removed.map_err(|error| failed("remove", &path, &error))?;
        }
        Ok(())
    }

    /// The files of the trash with their sizes.
    fn files(&self) -> Result<BTreeMap<String, u64>, StorageError> {
        let trash = &self.0.trash;
        let unreadable = |error| failed("list", trash, &error);
        let names = match self.0.disk.names(trash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            names => names.map_err(unreadable)?,
        };
        let mut files = BTreeMap::new();
        for name in names {
            match self.0.disk.stat(&trash.join(&name)) {
                Ok(stat) if stat.kind == FileKind::File => {
                    files.insert(name, stat.length);
                }
                Ok(_) => {}
                // It was removed since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
        Ok(files)
    }
}

/// The name in the trash, the id and the time of the deletion of a journal's file. `None` for other files.
fn name_parts(file: &str) -> Option<(&str, &str, u64)> {
    let name = JournalFolder::id_of(file)?;
    let (id, deleted_at) = name.rsplit_once('-')?;
    Some((name, id, deleted_at.parse().ok()?))
}

/// The files of a deleted journal, with their sizes.
fn own_files<'f>(
    files: &'f BTreeMap<String, u64>,
    name: &'f str,
) -> impl Iterator<Item = (&'f str, u64)> {
    let own = files.iter().filter(move |(file, _)| {
        let rest = file.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('.'))
    });
    own.map(|(file, bytes)| (file.as_str(), *bytes))
}

#[cfg(test)]
#[path = "trash_tests.rs"]
mod tests;
