//! A folder of another user, in which root needs more than root's own rights: a container of root often has a folder of
//! the machine's user.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use harness_protocol::Backend;
use nix::unistd::geteuid;

/// The file with the users of the machine, and the folder that has most of their home folders.
const USERS: &str = "/etc/passwd";
const HOMES: &str = "/home";
/// Place of the home folder among the fields of a line.
///
/// Source: passwd(5).
const HOME_FIELD: usize = 5;
/// The gap in what holds a command that overrides owners.
pub(super) const GAP: &str = "as root, in a folder of another user, the command reads the files of all users that are not \
                              hidden, and reaches their sockets";

/// True if commands in a folder override the permissions of files: this process is root, another user owns the folder,
/// and mounts hold what has to stay out of reach.
pub(super) fn are_overridden(backend: Backend, folder: &Path) -> bool {
    backend == Backend::Namespaces && is_foreign(folder)
}

/// True if this process is root, and another user owns a folder.
fn is_foreign(folder: &Path) -> bool {
    let is_other = |found: Metadata| found.uid() != 0;
    geteuid().is_root() && fs::metadata(folder).is_ok_and(is_other)
}

/// The paths that are closed in one home folder, in those of all other users. The permissions of the files there do not
/// keep a command out that overrides owners.
pub(super) fn in_other_homes(closed: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let listed = users
        .lines()
        .filter_map(|line| line.split(':').nth(HOME_FIELD));
    let listed = listed.map(PathBuf::from);
    let found = fs::read_dir(HOMES).into_iter().flatten().flatten();
    let homes: BTreeSet<PathBuf> = listed
        .chain(found.map(|entry| entry.path()))
        .filter_map(|path| fs::canonicalize(path).ok())
        .filter(|other| other.parent().is_some() && other != home)
        .collect();
    homes
        .iter()
        .flat_map(|other| in_other_home(closed, home, other))
        .collect()
}

/// The paths that are closed in one home folder, in another one.
fn in_other_home(closed: &[PathBuf], home: &Path, other: &Path) -> Vec<PathBuf> {
    let below = closed
        .iter()
        .filter_map(|path| path.strip_prefix(home).ok());
    let below = below.filter(|rest| rest.parent().is_some());
    below.map(|rest| other.join(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BOX-614]
    #[test]
    fn what_is_closed_at_home_is_closed_in_the_home_of_the_owner() {
        let closed = ["/root/.ssh", "/root/.config/gh", "/root", "/srv/keys"].map(PathBuf::from);
        let found = in_other_home(&closed, Path::new("/root"), Path::new("/home/ana"));
        let expected = ["/home/ana/.ssh", "/home/ana/.config/gh"].map(PathBuf::from);
        assert_eq!(found, expected);
    }

    /// Spec: [BOX-614]
    #[test]
    fn a_folder_of_this_user_is_not_a_foreign_one() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_foreign(home.path()));
        assert!(!is_foreign(&home.path().join("gone")));
        if geteuid().is_root() {
            nix::unistd::chown(home.path(), Some(47110.into()), None).unwrap();
            assert!(is_foreign(home.path()));
            assert!(are_overridden(Backend::Namespaces, home.path()));
            assert!(!are_overridden(Backend::Landlock, home.path()));
        }
    }
}
