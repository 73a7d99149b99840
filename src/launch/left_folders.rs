//! Folders for temporary files that a killed service, or a killed attempt to contain, has left.
//!
//! The process that uses such a folder has it locked, so that a folder without a lock is left. Where a file system has no
//! locks nothing is removed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;

/// The beginning of a name of the folder of a command; 16 hexadecimal digits follow.
const OF_COMMANDS: &str = "harness-";
/// The beginning of a name of the folder of an attempt; 6 letters or digits follow.
pub(super) const OF_ATTEMPTS: &str = "harness-probe-";
/// The rights of such a folder: its owner alone may use it.
const OWN_ALONE: u32 = 0o700;

/// Removes what is left in the folder for temporary files. Blocks.
pub(crate) fn remove_left_folders() {
    remove_left_in(&std::env::temp_dir());
}

fn remove_left_in(above: &Path) {
    let entries = match fs::read_dir(above) {
        Ok(entries) => entries,
        Err(error) => {
            log::debug!("{} cannot be listed: {error}", above.display());
            return;
        }
    };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(has_own_shape) {
            continue;
        }
        let path = entry.path();
        // The lock is held until the folder is removed.
        let Some(_lock) = lock_of_left(&path) else {
            continue;
        };
        match fs::remove_dir_all(&path) {
            Ok(()) => log::info!("the folder {} was left and is removed", path.display()),
            Err(error) => log::warn!("the folder {} stays: {error}", path.display()),
        }
    }
}

/// Locks a folder for the process that has just made it. The lock lasts until it is dropped.
///
/// # Errors
/// If a service that starts has taken the folder for one that is left.
pub(super) fn lock_new(folder: &Path) -> io::Result<Option<Flock<File>>> {
    match Flock::lock(File::open(folder)?, FlockArg::LockSharedNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Err(Errno::EWOULDBLOCK.into()),
        Err(_) => Ok(None),
    }
}

fn has_own_shape(name: &str) -> bool {
    let of_attempt = name.strip_prefix(OF_ATTEMPTS);
    let is_of_attempt =
        |rest: &str| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let of_command = name.strip_prefix(OF_COMMANDS);
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_of_command = |rest: &str| rest.len() == 16 && rest.bytes().all(is_hex);
    of_attempt.is_some_and(is_of_attempt) || of_command.is_some_and(is_of_command)
}

/// The lock of a folder of this user that no process uses.
fn lock_of_left(path: &Path) -> Option<Flock<File>> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let mut options = OpenOptions::new();
    let folder = options.read(true).custom_flags(flags.bits()).open(path);
    let folder = folder.ok()?;
    let found = folder.metadata().ok()?;
    let is_own = found.uid() == geteuid().as_raw() && found.mode() & 0o7777 == OWN_ALONE;
    let lock = || Flock::lock(folder, FlockArg::LockExclusiveNonblock).ok();
    is_own.then(lock).flatten()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Spec: [BASH-534]
    #[test]
    fn folders_that_no_process_uses_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let above = fs::canonicalize(home.path()).unwrap();
        let make = |name: &str, mode| {
            let path = above.join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "text").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        make("harness-00ff00ff00ff00ff", OWN_ALONE);
        make("harness-probe-aB3xYz", OWN_ALONE);
        let used = make("harness-11ff00ff00ff00ff", OWN_ALONE);
        let lock = lock_new(&used).unwrap();
        assert!(lock.is_some());
        for name in [
            "harness-",
            "harness-00ff",
            "harness-00FF00FF00FF00FF",
            "harness-probe-aB3xY",
            "harness-probe-aB3xY-",
            "my-harness-00ff00ff00ff00ff",
        ] {
            make(name, OWN_ALONE);
        }
        make("harness-22ff00ff00ff00ff", 0o755);
        std::os::unix::fs::symlink(&used, above.join("harness-33ff00ff00ff00ff")).unwrap();
        fs::write(above.join("harness-44ff00ff00ff00ff"), "text").unwrap();

        let before = fs::read_dir(&above).unwrap().count();
        remove_left_in(&above);
        assert_eq!(fs::read_dir(&above).unwrap().count(), before - 2);
        assert!(used.join("file").exists());
        assert!(!above.join("harness-00ff00ff00ff00ff").exists());
        assert!(!above.join("harness-probe-aB3xYz").exists());

        drop(lock);
        remove_left_in(&above);
        assert!(!used.exists());
    }
}
