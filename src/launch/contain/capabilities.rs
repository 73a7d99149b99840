//! The capabilities that a stage keeps, and the few that a command of root may have.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::unistd::geteuid;

use super::error::ContainError;
use crate::launch::policy::Containment;

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

/// The capabilities of a command of root in a folder of another user: they lift the permissions of files, and neither a
/// read-only mount nor one that hides something, nor Landlock. `CAP_DAC_READ_SEARCH` would lift the latter by handles.
const OF_FOREIGN_FOLDER: [Capability; 2] = [Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];

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

/// Drops those that a command must not have, for good: all of a user, and of root most.
pub(super) fn drop_most(containment: &Containment) -> Result<(), ContainError> {
    drop_but(&kept(containment, geteuid().is_root()))
}

/// The capabilities that a command keeps.
fn kept(containment: &Containment, is_root: bool) -> CapsHashSet {
    let kept: &[Capability] = match (is_root, containment.full) {
        (false, _) => &[],
        (true, true) => &OF_FULL,
        (true, false) if containment.overrides_owners => &OF_FOREIGN_FOLDER,
        (true, false) => &[],
    };
    kept.iter().copied().collect()
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

#[cfg(test)]
mod tests {
    use harness_protocol::Backend;

    use super::*;

    /// Spec: [BOX-07] [BOX-614]
    #[test]
    fn only_root_keeps_capabilities_and_most_only_with_full() {
        let kept = |is_root, full, overrides_owners| {
            let containment = Containment {
                backend: Backend::Namespaces,
                full,
                writable: vec![],
                protected: vec![],
                visible: vec![],
                hidden: vec![],
                throw_away: None,
                network: false,
                overrides_owners,
                copies: vec![],
            };
            kept(&containment, is_root)
        };
        for (full, overrides_owners) in [(false, false), (false, true), (true, true)] {
            assert!(kept(false, full, overrides_owners).is_empty());
        }
        assert!(kept(true, false, false).is_empty());
        let expected = [Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];
        assert_eq!(kept(true, false, true), expected.into_iter().collect());
        assert!(kept(true, true, false).len() > expected.len());
        for capability in [
            Capability::CAP_SYS_ADMIN,
            Capability::CAP_DAC_READ_SEARCH,
            Capability::CAP_SYS_PTRACE,
            Capability::CAP_MKNOD,
        ] {
            assert!(!kept(true, true, true).contains(&capability));
        }
    }
}
