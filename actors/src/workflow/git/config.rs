//! The part of a repository's configuration that makes git run something or overlook files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::program::Session;
use super::{GitConfig, GitError};
use crate::attachment::sha256;

/// The sections of keys that count.
const SECTIONS: &[&str] = &["core.", "extensions.", "filter.", "include.", "includeif."];
/// Folders and files in git's folders that count.
const FILES: &[&str] = &["hooks", "info", "objects/info/alternates"];
/// The keys that git itself writes there.
const OF_GIT: &[&str] = &["info/refs"];
/// Maximum depth of the search in those folders.
const DEPTH: usize = 4;

/// The configuration now. Blocks.
pub(super) fn config(session: &Session) -> Result<GitConfig, GitError> {
    let mut found = BTreeMap::new();
    let list = session.call(&["config", "--includes", "--null", "--list", "--show-scope"]);
    let records = list.records()?;
    // The scope, and then the key with its value after a newline.
    for pair in records.chunks_exact(2) {
        let text = String::from_utf8_lossy(&pair[1]);
        let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
        let is_own = pair[0] == b"command";
        if !is_own && SECTIONS.iter().any(|section| key.starts_with(section)) {
            // A key may be there more than once.
            let values: &mut String = found.entry(key.to_owned()).or_default();
            *values = sha256(format!("{values}\n{value}").as_bytes());
        }
    }
    let place = &session.place;
    add_files("", &place.common, &mut found)?;
    if let Some(git) = place.git.as_ref().filter(|git| **git != place.common) {
        add_files("worktree/", git, &mut found)?;
    }
    Ok(GitConfig(found))
}

fn add_files(
    prefix: &str,
    folder: &Path,
    found: &mut BTreeMap<String, String>,
) -> Result<(), GitError> {
    for name in FILES {
        let place = folder.join(name);
        add(&place, name, prefix, DEPTH, found)
            .map_err(|error| GitError::failed(format!("reading {}", place.display()), &error))?;
    }
    Ok(())
}

fn add(
    place: &Path,
    name: &str,
    prefix: &str,
    depth: usize,
    found: &mut BTreeMap<String, String>,
) -> io::Result<()> {
    let about = match fs::symlink_metadata(place) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if about.is_dir() && depth > 0 {
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            add(&entry.path(), &name, prefix, depth - 1, found)?;
        }
        return Ok(());
    }
    if OF_GIT.contains(&name) {
        return Ok(());
    }
    let kind = about.file_type();
    let mut content = format!("{:o}\n", about.permissions().mode()).into_bytes();
    if kind.is_symlink() {
        content.extend_from_slice(fs::read_link(place)?.as_os_str().as_bytes());
    }
    if kind.is_file() || (kind.is_symlink() && place.is_file()) {
        content.extend(fs::read(place)?);
    }
    found.insert(format!("{prefix}{name}"), sha256(&content));
    Ok(())
}
