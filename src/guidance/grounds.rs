//! The grounds that guidance comes from, and which of the files there are used.
//!
//! The state folder is our own. What a repository says comes from below the working folder only,
//! and what is above it is used only if no stranger can have written it.
//!
//! Invariant: what is judged is the file that is read.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use harness_actors::beneath::{BeneathError, FolderHandle, LinkPolicy, open_anywhere};

use super::above::{FolderLevel, Owners, climb};
use super::file::GuidanceStamp;

/// The ground of a file, which says how it may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOrigin {
    /// In the state folder: its links lead where they lead.
    StateFolder,
    /// In the working folder: links are followed as long as they stay there.
    Workspace,
    /// In a folder above the working folder.
    Above,
}

/// The names in a folder.
pub(super) type FolderNames = Box<dyn Iterator<Item = io::Result<OsString>>>;

/// The folders at one time, held open.
pub(super) struct Grounds {
    home: PathBuf,
    workspace: PathBuf,
    /// The working folder without the state folder, if that is in it.
    below: io::Result<FolderHandle>,
    above: Vec<FolderLevel>,
    owners: Owners,
}

impl Grounds {
    /// Opens them. What cannot be opened is reported when it is looked at.
    pub(super) fn open(home: &Path, workspace: &Path) -> Self {
        let is_one = fs::canonicalize(home).is_ok_and(|home| home == workspace);
        let below = FolderHandle::open(workspace).map(|folder| {
            // A link to the token would have the model told of it.
            if is_one { folder } else { folder.without(home) }
        });
        let found = below.as_ref().ok();
        let owners =
            Owners::from_metadata(found.and_then(|folder| folder.metadata().ok()).as_ref());
        Self {
            home: home.to_owned(),
            workspace: workspace.to_owned(),
            below,
            above: climb(workspace, &owners),
            owners,
        }
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Looks at a file; nothing if there is none.
    ///
    /// # Errors
    /// Why what is there is not used.
    pub(super) fn look(
        &self,
        origin: FileOrigin,
        path: &Path,
    ) -> Result<Option<GuidanceStamp>, String> {
        let found = match origin {
            FileOrigin::StateFolder => match fs::metadata(path) {
                Ok(found) if found.is_file() => Ok(found),
                Ok(_) => Err(BeneathError::NotAFile),
                Err(error) => Err(error.into()),
            },
            FileOrigin::Workspace => self
                .below()
                .and_then(|folder| folder.look(path, LinkPolicy::Inside)),
            FileOrigin::Above => return self.look_above(path),
        };
        match found {
            Ok(found) => Ok(Some(GuidanceStamp::from_metadata(&found))),
            Err(error) => reason(path, &error).map_or(Ok(None), Err),
        }
    }

    /// Opens a file, which may be another by now than the one that was looked at: it is judged
    /// again.
    ///
    /// # Errors
    /// Why it is not used.
    pub(super) fn read(&self, origin: FileOrigin, path: &Path) -> Result<File, String> {
        let opened = match origin {
            FileOrigin::StateFolder => open_anywhere(path),
            FileOrigin::Workspace => self
                .below()
                .and_then(|folder| folder.open_file(path, LinkPolicy::Inside)),
            FileOrigin::Above => return self.open_above(path),
        };
        opened.map_err(|error| {
            let gone = || "it is there no more".to_owned();
            reason(path, &error).unwrap_or_else(gone)
        })
    }

    /// The names in a folder; nothing if there is none.
    ///
    /// # Errors
    /// Why it cannot be listed.
    pub(super) fn names(
        &self,
        origin: FileOrigin,
        folder: &Path,
    ) -> Result<Option<FolderNames>, String> {
        let names = match origin {
            FileOrigin::StateFolder | FileOrigin::Above => fs::read_dir(folder)
                .map_err(BeneathError::from)
                .map(|entries| {
                    Box::new(entries.map(|entry| Ok(entry?.file_name()))) as FolderNames
                }),
            FileOrigin::Workspace => self
                .below()
                .and_then(|below| below.open_folder(folder, LinkPolicy::Inside))
                .and_then(|folder| Ok(Box::new(folder.list()?) as FolderNames)),
        };
        match names {
            Ok(names) => Ok(Some(names)),
            Err(error) => reason(folder, &error).map_or(Ok(None), Err),
        }
    }

    fn below(&self) -> Result<&FolderHandle, BeneathError> {
        let again = |error: &io::Error| io::Error::new(error.kind(), error.to_string()).into();
        self.below.as_ref().map_err(again)
    }

    fn look_above(&self, path: &Path) -> Result<Option<GuidanceStamp>, String> {
        let Some(level) = self.level_of(path) else {
            return Ok(None); // A folder further out could not be opened, which was told.
        };
        level.look(path, &self.owners)
    }

    fn open_above(&self, path: &Path) -> Result<File, String> {
        let level = self.level_of(path);
        let level = level.ok_or("its folder cannot be opened")?;
        level.read(path, &self.owners)
    }

    fn level_of(&self, path: &Path) -> Option<&FolderLevel> {
        let mut levels = self.above.iter();
        levels.find(|level| Some(level.path()) == path.parent())
    }
}

/// Why a path cannot be used; nothing if there is nothing.
pub(super) fn reason(path: &Path, error: &BeneathError) -> Option<String> {
    let found = fs::symlink_metadata(path).ok();
    let is_link = found.as_ref().is_some_and(fs::Metadata::is_symlink);
    let reason = match error {
        _ if error.is_absence() && found.is_none() => return None,
        _ if error.is_absence() && is_link => "it is a link that leads nowhere".to_owned(),
        BeneathError::LeadsOut if is_link => {
            "it is a link that leads out of the working folder".to_owned()
        }
        BeneathError::LeadsOut => {
            "it lies behind a link that leads out of the working folder".to_owned()
        }
        BeneathError::LeftOut => {
            "it leads into the state folder, whose files are used only from there".to_owned()
        }
        BeneathError::Link => {
            "it is a link, and above the working folder none is followed".to_owned()
        }
        BeneathError::NotAFile => "it is not a file".to_owned(),
        BeneathError::Io(error) => format!("it cannot be read: {error}"),
    };
    Some(reason)
}

#[cfg(test)]
#[path = "grounds_tests.rs"]
mod tests;
