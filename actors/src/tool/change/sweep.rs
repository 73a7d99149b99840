//! Temporary files that a killed service left beside the files that it changed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use nix::dir::Dir;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::geteuid;
use rustix::fs::{AtFlags, FileType, FlockOperation, flock, statat};

use super::folders::open_folder;
use super::temporary::{is_temporary, remove};
use crate::tool::SeenBefore;

/// Removes what killed services left beside files that a conversation knows. Blocks.
pub(in crate::tool) fn sweep_beside(seen: &SeenBefore) {
    let folders = seen.keys().filter_map(|path| Path::new(path).parent());
    let folders: BTreeSet<&Path> = folders.collect();
    folders.into_iter().for_each(sweep_at);
}

/// Removes what killed services left in the folder of that path. Blocks.
pub(super) fn sweep_at(path: &Path) {
    match open_folder(path) {
        Ok(folder) => sweep(&folder, path),
        // It was removed, has become a link, or cannot be read.
        Err(error) => log::debug!("{} is not swept: {error}", path.display()),
    }
}

/// Removes what killed services left in a folder, if no change is under way there. The path is for the log only.
/// Blocks.
pub(super) fn sweep(folder: &File, path: &Path) {
    if let Err(error) = try_sweep(folder, path) {
        let path = path.display();
        log::warn!("what a killed service may have left in {path} was not looked for: {error}");
    }
}

fn try_sweep(folder: &File, path: &Path) -> io::Result<()> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let entries = Dir::from_fd(openat(folder, c".", flags, Mode::empty())?)?;
    let mut left = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_str().ok();
        left.extend(name.filter(|name| is_temporary(name)).map(str::to_owned));
    }
    if left.is_empty() {
        return Ok(());
    }
    match flock(folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        // A change is under way; the next one looks again.
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    for name in left {
        if is_own_file(folder, &name) {
            log::info!(
                "{} was left by a killed service, and is removed",
                path.join(&name).display()
            );
            remove(folder, &name);
        }
    }
    Ok(())
}

/// True if a name is that of a regular file or a link of this user. The superuser's temporary files have the owner of the file
/// that they replace.
fn is_own_file(folder: &File, name: &str) -> bool {
    let user = geteuid();
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
        let is_own = user.is_root() || found.st_uid == user.as_raw();
        let kind = FileType::from_raw_mode(found.st_mode);
        is_own && matches!(kind, FileType::RegularFile | FileType::Symlink)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::super::temporary::Temporary;
    use super::*;
    use crate::tool::SeenFile;

    const LEFT: &str = ".harness-0123456789abcdef";

    /// A folder by its path without links.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(home.path()).unwrap();
        (home, path)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Spec: [TOOL-63]
    #[test]
    fn what_is_left_is_removed_when_no_change_is_under_way() {
        let (_home, home) = home();
        let folder = File::open(&home).unwrap();
        let other = ".harness-0123456789abcdeg";
        for name in [LEFT, other, ".harness-0123", "file"] {
            fs::write(home.join(name), "x").unwrap();
        }
        let temporary = Temporary::make(&folder).unwrap();
        sweep_at(&home);
        assert_eq!(names(&home).len(), 5, "a change is under way");
        drop(temporary);
        drop(folder);
        sweep_at(&home);
        assert_eq!(names(&home), [".harness-0123", other, "file"]);
    }

    /// Spec: [TOOL-63]
    #[test]
    fn no_folder_is_swept_and_no_link_is_followed() {
        let (_home, home) = home();
        let (work, outside) = (home.join("work"), home.join("outside"));
        for folder in [&work, &outside] {
            fs::create_dir(folder).unwrap();
        }
        fs::create_dir(work.join(LEFT)).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        symlink(outside.join("kept"), work.join(".harness-00000000000000aa")).unwrap();
        sweep_at(&work);
        assert_eq!(names(&work), [LEFT]);
        assert_eq!(names(&outside), ["kept"]);
        fs::write(outside.join(LEFT), "x").unwrap();
        symlink(&outside, home.join("link")).unwrap();
        sweep_at(&home.join("link"));
        assert_eq!(names(&outside), [LEFT, "kept"]);
    }

    /// Spec: [TOOL-623]
    #[test]
    fn the_folders_of_all_files_that_a_conversation_knows_are_swept() {
        let (_home, home) = home();
        let folders = ["a", "a/deep", "b", "unknown"].map(|name| home.join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(LEFT), "x").unwrap();
        }
        let known = ["a/one", "a/two", "a/deep/file", "b/gone", "missing/file"];
        let known = known.map(|name| {
            let path = home.join(name).display().to_string();
            let (hash, lines) = (String::new(), Vec::new());
            (path.clone(), SeenFile { path, hash, lines })
        });
        sweep_beside(&Arc::new(known.into_iter().collect()));
        let left = folders.map(|folder| folder.join(LEFT).exists());
        assert_eq!(left, [false, false, false, true]);
    }
}
