//! Takes a process out of the namespaces of the service.
//!
//! Root keeps its user namespace: what it lacks in one of its own, such as an overlay above other mounts, is
//! missed, and what would be won is lost already, since all capabilities are dropped before the command starts.

use std::fs;
use std::io;
use std::path::Path;

use caps::{CapSet, Capability};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::unistd::{getegid, geteuid};

use super::capabilities;
use super::error::{ContainError, at_path, system};
use super::world::SharedWorld;
use crate::launch::policy::Containment;

/// A setting, the value that forbids namespaces, and the words for it.
const SWITCHES: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "user namespaces are switched off by user.max_user_namespaces",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are switched off by kernel.unprivileged_userns_clone",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns)",
    ),
];

/// Whether this process may make namespaces without one for users.
fn is_privileged() -> bool {
    caps::has_cap(None, CapSet::Effective, Capability::CAP_SYS_ADMIN).unwrap_or(false)
}

/// Enters all namespaces but the one of mounts, which the init makes, so that the warden sees the files and
/// the processes of the machine. Those of `world` are entered, and the others made.
pub(super) fn enter(
    containment: &Containment,
    world: Option<&SharedWorld>,
) -> Result<(), ContainError> {
    let mut flags = CloneFlags::CLONE_NEWPID;
    if !containment.full {
        flags |= CloneFlags::CLONE_NEWIPC;
    }
    let is_apart = !containment.full && !containment.network;
    match world {
        Some(world) => {
            if !is_privileged() {
                world.enter_users()?;
            }
            if is_apart {
                world.enter_network()?;
            }
            unshare(flags).map_err(system("make namespaces"))?;
        }
        None if is_apart => make(flags | CloneFlags::CLONE_NEWNET)?,
        None => make(flags)?,
    }
    capabilities::keep_over_exec()
}

/// Makes namespaces and enters them, with one for users if the process may make no others without.
pub(super) fn make(flags: CloneFlags) -> Result<(), ContainError> {
    if is_privileged() {
        return unshare(flags).map_err(system("make namespaces"));
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(flags | CloneFlags::CLONE_NEWUSER).map_err(system("make a user namespace"))?;
    // The maps belong to root while the process keeps its memory closed.
    prctl::set_dumpable(true).map_err(system("open the process to itself"))?;
    let written = write_maps(&format!("{uid} {uid} 1"), &format!("{gid} {gid} 1"));
    prctl::set_dumpable(false).map_err(system("close the memory"))?;
    written
}

fn write_maps(users: &str, groups: &str) -> Result<(), ContainError> {
    for (path, text) in [
        ("/proc/self/uid_map", users),
        // Without it a group that only takes rights away could be left.
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/gid_map", groups),
    ] {
        fs::write(path, text).map_err(at_path::<io::Error>("write", Path::new(path)))?;
    }
    Ok(())
}

/// The setting that forbids user namespaces on this machine, if one does.
pub(super) fn what_forbids() -> Option<&'static str> {
    SWITCHES.iter().find_map(|(path, value, words)| {
        let text = fs::read_to_string(path).ok()?;
        (text.trim() == *value).then_some(*words)
    })
}
