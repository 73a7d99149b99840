//! A folder of another user, in which root needs more than root's own rights: a container of root often has a folder of
//! the machine's user.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};

/// The gap in what holds a command that overrides owners.
pub(super) const GAP: &str = "as root, in a folder of another user, the command reads the files of all users that are not \
                              hidden";

/// The user who owns a folder, if this process is root and that is another user.
pub(super) fn foreign_owner(folder: &Path) -> Option<Uid> {
    if !geteuid().is_root() {
        return None;
    }
    let owner = Uid::from_raw(fs::metadata(folder).ok()?.uid());
    (!owner.is_root()).then_some(owner)
}

/// The home folder of a user, if it is known and there.
pub(super) fn home_of(owner: Uid) -> Option<PathBuf> {
    let user = User::from_uid(owner).ok().flatten()?;
    fs::canonicalize(user.dir).ok()
}

/// What is closed in one home folder, by its path in another one. The permissions of the files there no longer keep a
/// command out that overrides owners.
pub(super) fn in_other_home(closed: &[PathBuf], home: &Path, other: &Path) -> Vec<PathBuf> {
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
        assert_eq!(foreign_owner(home.path()), None);
        assert_eq!(foreign_owner(&home.path().join("gone")), None);
        if geteuid().is_root() {
            let owner = Uid::from_raw(47110);
            nix::unistd::chown(home.path(), Some(owner), None).unwrap();
            assert_eq!(foreign_owner(home.path()), Some(owner));
        }
    }
}
