//! Restricts this process, and what it starts, by Landlock.

use std::os::fd::OwnedFd;
use std::path::Path;

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
    make_bitflags,
};
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};

use super::error::ContainError;
use super::rules::{Grant, Right};

/// Before it, files cannot be renamed between folders, which breaks git and cargo.
pub(super) const LEAST_ABI: u32 = 2;
/// The version whose rights are all held, if the kernel knows them.
const HANDLED: ABI = ABI::V9;

/// Whether the network is held as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Free,
    NoTcp,
}

/// Restricts the process; the version that the kernel has, or zero if it has none.
pub(super) fn restrict(grants: &[Grant], network: Network) -> Result<u32, ContainError> {
    let status = try_restrict(grants, network)
        .map_err(|error| ContainError::refused("contain by Landlock", error.to_string()))?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => number(effective_abi),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

fn number(abi: ABI) -> u32 {
    abi.to_string().parse().unwrap_or(0)
}

fn try_restrict(grants: &[Grant], network: Network) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(HANDLED))?
        .scope(Scope::from_all(HANDLED))?;
    if network == Network::NoTcp {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let mut rules = rules.create()?;
    for grant in grants {
        // What is not there, or out of reach, gets no right.
        if let Some(found) = find(&grant.path) {
            rules = rules.add_rule(PathBeneath::new(found, rights(grant.right)))?;
        }
    }
    rules.restrict_self()
}

fn rights(right: Right) -> BitFlags<AccessFs> {
    match right {
        Right::List => AccessFs::ReadDir.into(),
        Right::Read => AccessFs::from_read(HANDLED),
        Right::Write => AccessFs::from_all(HANDLED),
        Right::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev}),
    }
}

/// Looks a path up with no link in it: a right would go to what the link leads to.
fn find(path: &Path) -> Option<OwnedFd> {
    let links = ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(links);
    openat2(AT_FDCWD, path, how).ok()
}
