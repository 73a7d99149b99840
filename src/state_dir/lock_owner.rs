//! Which process uses a state folder, as the system knows it: a file that names it may be stale.

use std::io;
use std::path::Path;

use crate::state_dir::lock;

/// The user of a state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateHolder {
    /// No process.
    Nobody,
    /// This one.
    Process(u32),
    /// One that the system does not name: it is another system, or another container.
    Unnamed,
}

/// Finds out who uses a state folder. `named` is the process that the folder itself names; it is
/// believed only if the system says so too.
///
/// # Errors
/// If the lock cannot be looked at.
pub(crate) fn holder(home: &Path, named: Option<u32>) -> io::Result<StateHolder> {
    if !lock::is_held(home)? {
        return Ok(StateHolder::Nobody);
    }
    Ok(process(home, named)?.map_or(StateHolder::Unnamed, StateHolder::Process))
}

#[cfg(target_os = "linux")]
fn process(home: &Path, named: Option<u32>) -> io::Result<Option<u32>> {
    use std::os::unix::fs::MetadataExt as _;

    let file = std::fs::symlink_metadata(home.join(lock::LOCK_FILE))?;
    let (major, minor) = (
        nix::sys::stat::major(file.dev()),
        nix::sys::stat::minor(file.dev()),
    );
    let locks = std::fs::read_to_string("/proc/locks")?;
    if let Some(pid) = linux::flock_holder(&locks, (major, minor), file.ino()) {
        return Ok(Some(pid));
    }
    // Some file systems have other numbers in that list than they tell of their files.
    Ok(named.filter(|pid| linux::has_locked(*pid, (file.dev(), file.ino()))))
}

/// Other systems do not list locks.
#[cfg(not(target_os = "linux"))]
fn process(_home: &Path, _named: Option<u32>) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    /// The process that has locked a file for itself alone, as `/proc/locks` lists it.
    pub(super) fn flock_holder(locks: &str, device: (u64, u64), inode: u64) -> Option<u32> {
        locks.lines().find_map(|line| {
            // 1: FLOCK  ADVISORY  WRITE 4242 fd:00:131078 0 EOF
            // 1: -> FLOCK …                  of one that waits for it
            let mut words = line.split_ascii_whitespace().skip(1);
            let kind = [words.next()?, words.next()?, words.next()?];
            let pid: u32 = words.next()?.parse().ok()?;
            let mut file = words.next()?.split(':');
            let mut hexadecimal = || u64::from_str_radix(file.next()?, 16).ok();
            let on = (hexadecimal()?, hexadecimal()?);
            let is_it = file.next()?.parse() == Ok(inode) && on == device;
            (kind == ["FLOCK", "ADVISORY", "WRITE"] && is_it && pid > 0).then_some(pid)
        })
    }

    /// Whether a process has locked that file, as the system says of each of its open files.
    pub(super) fn has_locked(pid: u32, file: (u64, u64)) -> bool {
        let process = Path::new("/proc").join(pid.to_string());
        let Ok(open) = fs::read_dir(process.join("fd")) else {
            return false;
        };
        open.flatten().any(|entry| {
            let is_it = fs::metadata(entry.path()).is_ok_and(|it| (it.dev(), it.ino()) == file);
            let info = fs::read_to_string(process.join("fdinfo").join(entry.file_name()));
            is_it && info.is_ok_and(|info| info.lines().any(is_lock))
        })
    }

    fn is_lock(line: &str) -> bool {
        line.starts_with("lock:") && line.contains("FLOCK") && line.contains("WRITE")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const LOCKS: &str = "\
1: POSIX  ADVISORY  WRITE 11 fd:00:77 0 EOF
2: FLOCK  ADVISORY  READ  12 fd:00:77 0 EOF
3: -> FLOCK  ADVISORY  WRITE 13 fd:00:77 0 EOF
4: FLOCK  ADVISORY  WRITE 14 fd:01:77 0 EOF
5: FLOCK  ADVISORY  WRITE 15 fd:00:78 0 EOF
6: FLOCK  ADVISORY  WRITE 0 fd:00:79 0 EOF
7: FLOCK  ADVISORY  WRITE 16 fd:00:77 0 EOF
broken
8: FLOCK
9: FLOCK  ADVISORY  WRITE -1 fd:00:80 0 EOF
";

        /// Spec: [CLI-94]
        #[test]
        fn the_holder_is_who_has_the_file_itself_locked_for_itself_alone() {
            assert_eq!(flock_holder(LOCKS, (0xfd, 0), 77), Some(16));
            assert_eq!(flock_holder(LOCKS, (0xfd, 1), 77), Some(14));
            for (device, inode) in [((0xfd, 0), 79), ((0xfd, 0), 80), ((0xfd, 2), 77)] {
                assert_eq!(flock_holder(LOCKS, device, inode), None);
            }
            assert_eq!(flock_holder("", (0xfd, 0), 77), None);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::state_dir::StateFolder;

    /// Spec: [CLI-94]
    #[test]
    fn the_process_that_has_the_lock_is_found_in_both_ways() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("state");
        assert_eq!(holder(&home, None).unwrap(), StateHolder::Nobody);
        let state = StateFolder::open(&home).unwrap();
        let lock = state.lock().unwrap();
        let own = std::process::id();
        assert_eq!(holder(&home, Some(own)).unwrap(), StateHolder::Process(own));
        // Whom the folder names does not matter where the system knows better.
        assert_eq!(holder(&home, Some(1)).unwrap(), StateHolder::Process(own));
        let file = std::fs::metadata(home.join(lock::LOCK_FILE)).unwrap();
        assert!(linux::has_locked(own, (file.dev(), file.ino())));
        assert!(!linux::has_locked(own, (file.dev(), file.ino() + 1)));
        drop(lock);
        assert!(!linux::has_locked(own, (file.dev(), file.ino())));
        assert_eq!(holder(&home, Some(own)).unwrap(), StateHolder::Nobody);
    }
}
