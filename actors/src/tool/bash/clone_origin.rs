//! The repository that a new one was cloned from, if it is on this machine where commands cannot write.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::git_config::parse;
use super::git_contents::GitReader;
use super::git_refs::GitRefs;
use super::held_folder::HeldFolder;
use super::search_path::changeable_places;
use crate::tool::closed;

/// Maximum size of a configuration that is read, in bytes.
const MAX_TEXT: u64 = 256 * 1024;
const ORIGIN: &str = "remote.origin.url";

/// The git folder and the refs of the repository that a new one in `workspace` has as its origin. `None` if it is on
/// another machine, or where a command could have made it. Blocks.
pub(super) fn origin_refs(
    new: &HeldFolder,
    workspace: &Path,
    reader: &GitReader<'_>,
) -> Option<(PathBuf, GitRefs)> {
    let (text, _) = new.read(OsStr::new("config"), MAX_TEXT).ok()??;
    let entries = parse(&text)?;
    let entry = entries.iter().find(|entry| entry.key() == ORIGIN)?;
    let url = entry.value();
    let path = workspace.join(url.strip_prefix("file://").unwrap_or(url));
    let path = fs::canonicalize(path).ok()?;
    closed::check_path(&path, reader.closed).ok()?;
    let changeable = changeable_places(workspace, reader.launcher.writable());
    if changeable.iter().any(|place| path.starts_with(place)) {
        return None;
    }
    let folder = HeldFolder::open(&path).ok()?;
    let (path, git) = match folder.folder(OsStr::new(".git")) {
        Ok(git) => (path.join(".git"), git),
        // A bare repository has its files in the folder.
        Err(_) => (path, folder),
    };
    let refs = GitRefs::read(&git, &git);
    Some((path, refs))
}
