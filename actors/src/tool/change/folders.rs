//! Folders that come and go with the files in them.

use std::fs;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::stat::{Mode, mkdirat};

use super::replace::open_folder;
use super::temporary::failed;
use crate::tool::EffectError;

/// Makes folders again that a command removed, the uppermost first; those that are there stay as they are.
/// A folder that has become a link since is another place, and refused.
pub(super) fn make_folders<'a>(
    folders: impl Iterator<Item = &'a String>,
) -> Result<(), EffectError> {
    for folder in folders.map(Path::new) {
        let name = folder.file_name().ok_or_else(|| failed(Errno::EISDIR))?;
        let above = open_folder(folder.parent().unwrap_or(Path::new("/")))?;
        match mkdirat(&above, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Removes folders that were made, the uppermost first in the list, as far as they are empty.
pub(super) fn remove_folders<'a>(folders: impl Iterator<Item = &'a String>) {
    let mut folders: Vec<&String> = folders.collect();
    folders.reverse();
    for folder in folders {
        if let Err(error) = fs::remove_dir(folder) {
            // Others have put something there.
            log::debug!("the folder {folder} stays: {error}");
        }
    }
}
