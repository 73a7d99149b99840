//! The contents that files had before a command: of those that the model has seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use harness_protocol::ChangeAction;

use crate::tool::change::read_bytes;

/// The largest file whose content is held, in bytes.
pub(super) const MAX_FILE: u64 = 8 * 1024 * 1024;
/// How many bytes are held in all.
const MAX_HELD: u64 = 16 * 1024 * 1024;
/// How many files are held.
const MAX_FILES: usize = 2_000;

/// Contents of files.
pub(super) struct HeldContents(BTreeMap<PathBuf, Vec<u8>>);

impl HeldContents {
    /// Those of these files, the smallest first while there is room. Blocks.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        let size = |path: &'a PathBuf| Some((fs::symlink_metadata(path).ok()?.len(), path));
        let mut sizes: Vec<(u64, &PathBuf)> = paths.take(MAX_FILES).filter_map(size).collect();
        sizes.sort();
        let mut room = MAX_HELD;
        let mut held = BTreeMap::new();
        for (_, path) in sizes {
            let Some(bytes) = read_bytes(path, MAX_FILE.min(room)) else {
                continue;
            };
            room -= bytes.len() as u64;
            held.insert(path.clone(), bytes);
        }
        Self(held)
    }

    /// The content that a file had.
    pub(super) fn content(&self, path: &Path) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// The files that have another content now, or none. Blocks.
    pub(super) fn changed(&self) -> Vec<(PathBuf, ChangeAction)> {
        let change = |(path, was): (&PathBuf, &Vec<u8>)| {
            let action = match fs::symlink_metadata(path) {
                Err(_) => ChangeAction::Removed,
                Ok(_) if read_bytes(path, MAX_FILE).as_ref() == Some(was) => return None,
                Ok(_) => ChangeAction::Changed,
            };
            Some((path.clone(), action))
        };
        self.0.iter().filter_map(change).collect()
    }
}
