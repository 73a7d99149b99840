//! Which capabilities a stage keeps, and that a command has none.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::unistd::geteuid;

use super::error::ContainError;

/// The capabilities that a command of root with `full` keeps. None of these uncovers a place that is hidden
/// by a mount, but root owns the disks.
const OF_FULL: [Capability; 11] = [
    Capability::CAP_AUDIT_WRITE,
    Capability::CAP_CHOWN,
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_FOWNER,
    Capability::CAP_FSETID,
    Capability::CAP_KILL,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_RAW,
    Capability::CAP_SETFCAP,
    Capability::CAP_SETGID,
    Capability::CAP_SETUID,
];

/// Lets the next program have what this process has: the start of a program takes the capabilities of a user
/// who is not root.
pub(super) fn keep_over_exec() -> Result<(), ContainError> {
    let keep = || {
        let permitted = caps::read(None, CapSet::Permitted)?;
        caps::set(None, CapSet::Inheritable, &permitted)?;
        caps::set(None, CapSet::Ambient, &permitted)
    };
    keep().map_err(refused("keep the capabilities"))
}

/// Drops all of them, for good.
pub(super) fn drop_all() -> Result<(), ContainError> {
    drop_but(&CapsHashSet::new())
}

/// Drops all of a user, and of root those that would uncover what is hidden.
pub(super) fn drop_for_full() -> Result<(), ContainError> {
    if geteuid().is_root() {
        drop_but(&OF_FULL.into_iter().collect())
    } else {
        drop_all()
    }
}

fn drop_but(kept: &CapsHashSet) -> Result<(), ContainError> {
    let drop = || {
        caps::clear(None, CapSet::Ambient)?;
        // Who may not narrow the bound gets none by no_new_privs all the same.
        if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
            for one in caps::read(None, CapSet::Bounding)?.difference(kept) {
                caps::drop(None, CapSet::Bounding, *one)?;
            }
        }
        caps::clear(None, CapSet::Inheritable)?;
        let permitted = caps::read(None, CapSet::Permitted)?;
        let left: CapsHashSet = permitted.intersection(kept).copied().collect();
        caps::set(None, CapSet::Effective, &left)?;
        caps::set(None, CapSet::Permitted, &left)
    };
    drop().map_err(refused("drop the capabilities"))
}

fn refused(step: &'static str) -> impl FnOnce(CapsError) -> ContainError {
    move |error| ContainError::refused(step, error.to_string())
}
