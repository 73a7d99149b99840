//! The rights of a command under Landlock, and their places: a value that `landlock` carries out.
//!
//! A right counts for a folder with all that is in it and cannot be taken back further down. So where
//! something is hidden, each folder above it gives its rights to its other entries, one by one, and none to
//! itself but to list names.

use std::fs;
use std::path::{Path, PathBuf};

use super::view::{MountedKind, kind_of};
use crate::launch::policy::Containment;

/// A right at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// Names may be listed.
    List,
    /// Files may be read and run, and folders listed.
    Read,
    /// Everything.
    Write,
    /// The actions that a device is there for.
    Device,
}

/// A right at a path and below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) path: PathBuf,
    pub(super) right: Right,
}

/// Devices that hold nothing and lead nowhere, and the terminal, which a command has none of.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
/// The places where the mounts of `namespaces` replace the machine's own.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"];
const RANDOM: [&str; 2] = ["/dev/random", "/dev/urandom"];

fn grant(path: impl Into<PathBuf>, right: Right) -> Grant {
    Grant {
        path: path.into(),
        right,
    }
}

/// On top of the mounts, which hide and protect: reading everywhere, and writing where they let it.
pub(super) fn within_namespaces(containment: &Containment, home: Option<&Path>) -> Vec<Grant> {
    let mut grants = vec![grant("/", Right::Read)];
    let devices = DEVICES.into_iter().chain(RANDOM);
    grants.extend(devices.map(|path| grant(path, Right::Device)));
    grants.extend(PRIVATE.map(|path| grant(path, Right::Write)));
    let writable = containment
        .writable
        .iter()
        .map(PathBuf::as_path)
        .chain(home);
    grants.extend(writable.map(|path| grant(path, Right::Write)));
    grants
}

/// For a program that only looks.
pub(super) fn looking() -> Vec<Grant> {
    let devices = DEVICES.map(|path| grant(path, Right::Device));
    [grant("/", Right::Read)]
        .into_iter()
        .chain(devices)
        .collect()
}

/// With nothing but Landlock.
pub(super) fn alone(
    containment: &Containment,
    children: &dyn Fn(&Path) -> Vec<(PathBuf, MountedKind)>,
) -> Vec<Grant> {
    let root = Path::new("/");
    if containment.full {
        let mut grants = carve(root, Right::Write, &containment.hidden, children);
        grants.push(grant(root, Right::List));
        grants.extend(shown_below_hidden(containment));
        return grants;
    }
    // A device is a disk or the memory of the machine, and root owns those.
    let mut unread = containment.hidden.clone();
    unread.push(PathBuf::from("/dev"));
    let mut grants = carve(root, Right::Read, &unread, children);
    grants.push(grant(root, Right::List));
    let devices = DEVICES.into_iter().chain(RANDOM);
    grants.extend(devices.map(|path| grant(path, Right::Device)));
    for path in &containment.writable {
        grants.extend(carve(path, Right::Write, &containment.hidden, children));
    }
    grants.extend(shown_below_hidden(containment));
    grants
}

/// Folders that are to be used although one above them is hidden, such as a private one for temporary files.
fn shown_below_hidden(containment: &Containment) -> Vec<Grant> {
    let is_below = |path: &&PathBuf| {
        let mut hidden = containment.hidden.iter();
        hidden.any(|hidden| *path != hidden && path.starts_with(hidden))
    };
    let shown = containment.visible.iter().filter(is_below);
    let shown = shown.map(|path| grant(path, Right::Read));
    let written = containment.writable.iter().filter(is_below);
    shown
        .chain(written.map(|path| grant(path, Right::Write)))
        .collect()
}

/// Gives a right below a folder to all but what is hidden.
fn carve(
    folder: &Path,
    right: Right,
    hidden: &[PathBuf],
    children: &dyn Fn(&Path) -> Vec<(PathBuf, MountedKind)>,
) -> Vec<Grant> {
    if hidden.iter().any(|hidden| folder.starts_with(hidden)) {
        return vec![];
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(folder)) {
        return vec![grant(folder, right)];
    }
    let entries = children(folder).into_iter();
    // A right of a link would be one of what it leads to.
    let entries = entries.filter(|(_, kind)| *kind != MountedKind::Link);
    entries
        .flat_map(|(path, _)| carve(&path, right, hidden, children))
        .collect()
}

/// The entries of a folder; none of one that may not be listed.
pub(super) fn children(folder: &Path) -> Vec<(PathBuf, MountedKind)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter_map(|path| kind_of(&path).map(|kind| (path, kind)))
        .collect()
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
