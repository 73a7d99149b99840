//! The steps that everything that mounts is made of. A path is looked up without following a link, and what was found is
//! then named by its descriptor.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use nix::mount::{MsFlags, mount};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use super::error::{ContainError, at_path};

/// The flags that all file systems that are made here have in common.
pub(super) const PLAIN: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);
/// No name, kind or option of a mount.
pub(super) const NOTHING: Option<&str> = None;

/// A mount of what is at a path, which is nowhere yet.
pub(super) fn tree(path: &Path) -> Result<OwnedFd, ContainError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(rustix::fs::CWD, path, flags).map_err(at_path("take the mount of", path))
}

/// A mount of the link at a path, which is nowhere yet.
pub(super) fn link_tree(path: &Path) -> Result<OwnedFd, ContainError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(rustix::fs::CWD, path, flags).map_err(at_path("take the mount of", path))
}

/// Looks a path up, with no link in it.
pub(super) fn find(path: &Path) -> Result<OwnedFd, ContainError> {
    look_up(path).map_err(at_path("find", path))
}

pub(super) fn look_up(path: &Path) -> nix::Result<OwnedFd> {
    let links = ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(links);
    openat2(AT_FDCWD, path, how)
}

/// The name of what a descriptor is of.
pub(super) fn named(descriptor: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
}

/// Puts a mount that is nowhere yet over what a descriptor is of, which is at that path.
pub(super) fn attach(tree: &OwnedFd, target: &OwnedFd, path: &Path) -> Result<(), ContainError> {
    let own = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", target, "", own).map_err(at_path("mount on", path))
}

/// A folder that everybody may write in.
pub(super) fn make_temporary(made: &Path) -> io::Result<()> {
    DirBuilder::new().create(made)?;
    fs::set_permissions(made, Permissions::from_mode(0o1777))
}

/// Makes a folder with the owner and the mode of another one.
pub(super) fn folder_like(made: &Path, old: &OwnedFd) -> io::Result<()> {
    DirBuilder::new().create(made)?;
    let old = fs::metadata(named(old))?;
    // Only root may give the folder away, and only root's home folder can be somebody else's.
    drop(std::os::unix::fs::chown(
        made,
        Some(old.uid()),
        Some(old.gid()),
    ));
    fs::set_permissions(made, Permissions::from_mode(old.mode() & 0o7777))
}

/// Mounts an overlay. Folders that are in a lower layer cannot be renamed in it: what is hidden below one would be in
/// sight under another name.
pub(super) fn lay_layers(layers: &str, target: &Path) -> nix::Result<()> {
    let lay = |options: &str| {
        let overlay = Some("overlay");
        mount(overlay, target, overlay, PLAIN, Some(options))
    };
    // Marks of the overlay that need no right on the whole machine; older kernels do not know the word.
    lay(&format!("{layers},userxattr")).or_else(|_| lay(&format!("{layers},redirect_dir=off")))
}
