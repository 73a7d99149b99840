//! The folders above the working folder, and whether a stranger can have written what is in them.
//!
//! A hard link to another user's file belongs to its owner. None can be in a folder that only those can
//! write whose files are used, so links of that kind are not counted.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use harness_actors::beneath::{BeneathError, FolderHandle, LinkPolicy};
use nix::unistd::Uid;

use super::file::{GuidanceStamp, display_path};
use super::grounds::reason;
use crate::os::user_ns;

/// The permission bits by which others than the owner can write.
const OTHERS_WRITE: u32 = 0o022;
/// The permission bit of a folder in which everybody can only change what is theirs.
const STICKY: u32 = 0o1000;

/// Whose files are used above the working folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owners {
    own: u32,
    of_workspace: Option<u32>,
}

impl Owners {
    /// Root, the service's user, and the owner of the working folder.
    pub(super) fn from_metadata(workspace: Option<&Metadata>) -> Self {
        Self {
            own: Uid::effective().as_raw(),
            of_workspace: workspace.map(Metadata::uid),
        }
    }

    /// The owner of a file, if the file is not used for that.
    fn stranger(self, owner: u32) -> Option<String> {
        self.stranger_if(owner, user_ns::can_be_told)
    }

    /// An id of several users is the id of none.
    fn stranger_if(self, owner: u32, can_be_told: impl Fn(u32) -> bool) -> Option<String> {
        let is_known = owner == 0 || owner == self.own || Some(owner) == self.of_workspace;
        match (is_known, can_be_told(owner)) {
            (true, true) => None,
            (true, false) => Some(format!(
                "a user who cannot be told from others (uid {owner})"
            )),
            (false, _) => Some(format!("another user (uid {owner})")),
        }
    }

    /// The fault of a folder, on the way to a file or as the one that holds it.
    fn fault(self, folder: &Path, owner: u32, mode: u32, use_as: Use) -> Option<String> {
        let place = display_path(folder);
        if let Some(stranger) = self.stranger(owner) {
            return Some(format!("its folder {place} belongs to {stranger}"));
        }
        if mode & OTHERS_WRITE == 0 {
            return None;
        }
        match use_as {
            // What lies there is judged by itself: nobody else can exchange it.
            Use::Passage if mode & STICKY != 0 => None,
            Use::Holder if mode & STICKY != 0 => Some(format!(
                "everybody can put files into {place}; move it into a folder of your own"
            )),
            Use::Passage | Use::Holder => Some(format!(
                "others can change what is in {place}; run `chmod go-w {}`",
                quoted(&place)
            )),
        }
    }

    /// The fault of a file.
    fn fault_of_file(self, path: &Path, owner: u32, mode: u32) -> Option<String> {
        if let Some(stranger) = self.stranger(owner) {
            return Some(format!("it belongs to {stranger}"));
        }
        let is_open = mode & OTHERS_WRITE != 0;
        let place = quoted(&display_path(path));
        is_open.then(|| format!("others can write it; run `chmod go-w {place}`"))
    }
}

/// The relation of a folder to a file.
#[derive(Debug, Clone, Copy)]
enum Use {
    Passage,
    Holder,
}

/// One folder above the working folder.
#[derive(Debug)]
pub(super) struct FolderLevel {
    path: PathBuf,
    folder: Result<FolderHandle, BeneathError>,
    /// Why nothing in it is used.
    fault: Option<String>,
}

impl FolderLevel {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at a file in the folder; nothing if there is none.
    ///
    /// # Errors
    /// Why what is there is not used.
    pub(super) fn look(
        &self,
        path: &Path,
        owners: &Owners,
    ) -> Result<Option<GuidanceStamp>, String> {
        let folder = match &self.folder {
            Ok(folder) => folder,
            Err(error) => {
                let told = |reason| format!("its folder is not looked into: {reason}");
                return reason(&self.path, error).map_or(Ok(None), |reason| Err(told(reason)));
            }
        };
        let found = folder.look(name(path), LinkPolicy::Refused);
        if found.as_ref().is_err_and(BeneathError::is_absence) {
            return Ok(None);
        }
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let found = found.map_err(|error| reason(path, &error).unwrap_or_default())?;
        match owners.fault_of_file(path, found.uid(), found.mode()) {
            Some(fault) => Err(fault),
            None => Ok(Some(GuidanceStamp::from_metadata(&found))),
        }
    }

    /// Opens a file in the folder.
    ///
    /// # Errors
    /// Why it is not used.
    pub(super) fn read(&self, path: &Path, owners: &Owners) -> Result<File, String> {
        let gone = |error: BeneathError| {
            reason(path, &error).unwrap_or_else(|| "it is there no more".to_owned())
        };
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let folder = self.folder.as_ref().map_err(ToString::to_string)?;
        let file = folder
            .open_file(name(path), LinkPolicy::Refused)
            .map_err(gone)?;
        let found = file.metadata().map_err(|error| gone(error.into()))?;
        match owners.fault_of_file(path, found.uid(), found.mode()) {
            Some(fault) => Err(fault),
            None => Ok(file),
        }
    }
}

/// Goes down from the root to the folder above the working folder, over no link. Where it cannot go
/// on, the levels end.
pub(super) fn climb(workspace: &Path, owners: &Owners) -> Vec<FolderLevel> {
    let mut folders: Vec<&Path> = workspace.ancestors().skip(1).collect();
    folders.reverse();
    let mut levels: Vec<FolderLevel> = Vec::new();
    // What speaks against a folder speaks against everything below it.
    let mut fault_on_the_way = None;
    for path in folders {
        let opened = match levels.last().map(|level| &level.folder) {
            None => FolderHandle::open(path).map_err(BeneathError::from),
            Some(Ok(outer)) => outer.open_folder(name(path), LinkPolicy::Refused),
            Some(Err(_)) => break,
        };
        let judged = opened.and_then(|folder| Ok((folder.metadata()?, folder)));
        let (folder, fault) = match judged {
            Ok((found, folder)) => {
                let (owner, mode) = (found.uid(), found.mode());
                let fault = |use_as| owners.fault(path, owner, mode, use_as);
                let as_holder = fault_on_the_way.clone().or_else(|| fault(Use::Holder));
                fault_on_the_way = fault_on_the_way.or_else(|| fault(Use::Passage));
                (Ok(folder), as_holder)
            }
            Err(error) => (Err(error), fault_on_the_way.clone()),
        };
        levels.push(FolderLevel {
            path: path.to_owned(),
            folder,
            fault,
        });
    }
    levels
}

/// The last part of a path.
fn name(path: &Path) -> &Path {
    path.file_name().map_or(path, Path::new)
}

/// A path, quoted for a shell.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
#[path = "above_tests.rs"]
mod tests;
