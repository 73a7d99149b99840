//! The containment of a command: namespaces, mounts, Landlock, capabilities and a filter of system
//! calls.
//!
//! Two stages take part, both with one thread: the warden calls `enter` and starts the init, and the init
//! calls `apply` and starts the command.

mod capabilities;
mod error;
mod found;
mod landlock;
mod mounting;
mod mounts;
mod namespaces;
mod network;
mod new_world;
mod places;
mod plan;
pub(crate) mod probe;
mod rules;
mod seccomp;
mod view;
pub(crate) mod world;

use std::path::{Path, PathBuf};

use harness_protocol::Backend;
use nix::sys::prctl;

pub(crate) use self::error::ContainError;
use self::error::system;
pub(crate) use self::found::SandboxSupport;
pub(crate) use self::new_world::new_world;
use self::seccomp::{CallFilter, Sockets};
pub(crate) use self::world::SharedWorld;
use crate::launch::policy::Containment;

/// Files that no command needs and that root would be able to read.
const NEVER_SHOWN: [&str; 6] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/security/opasswd",
];

/// The facts that `apply` found out on its way.
#[derive(Debug, Default)]
struct AppliedContainment {
    /// The version of Landlock that holds the command; zero if there is none.
    landlock_abi: u32,
    /// Why what is written in the home folder does not vanish but is refused.
    home_is_read_only: Option<String>,
}

/// Takes this process and what it starts out of the namespaces of the service. Called in the warden before it
/// starts the init, which is the first process of the new process namespace. `world` is what the command shares with
/// others of its conversation.
///
/// # Errors
/// The step that failed. What was entered before stays entered, so the process has to end.
pub(crate) fn enter(
    containment: &Containment,
    world: Option<&SharedWorld>,
) -> Result<(), ContainError> {
    match containment.backend {
        Backend::Namespaces => namespaces::enter(containment, world),
        Backend::Landlock | Backend::None => Ok(()),
        Backend::Unknown => Err(ContainError::unknown()),
    }
}

/// Contains this process and what it starts from now on. Called in the init before it starts the command;
/// the working folder is `/` after it, since the one before may be out of sight.
///
/// # Errors
/// The step that failed. The process is contained in part then and has to end.
pub(crate) fn apply(
    containment: &Containment,
    world: Option<&SharedWorld>,
) -> Result<(), ContainError> {
    apply_and_tell(containment, world).map(drop)
}

/// From now on this process, and what it becomes, can write no file. Where there is no Landlock it can what
/// its user can.
///
/// # Errors
/// The step that failed.
pub(crate) fn write_nothing() -> Result<(), ContainError> {
    landlock::restrict(&rules::looking(), landlock::Network::Free)?;
    prctl::set_no_new_privs().map_err(system("give up gaining rights"))
}

/// The same, and says what it found.
fn apply_and_tell(
    containment: &Containment,
    world: Option<&SharedWorld>,
) -> Result<AppliedContainment, ContainError> {
    let mut containment = containment.clone();
    if !containment.full {
        let never = NEVER_SHOWN.iter().map(PathBuf::from);
        containment
            .hidden
            .extend(never.filter(|path| path.exists()));
    }
    match containment.backend {
        Backend::Namespaces => apply_namespaces(&containment, world),
        Backend::Landlock => apply_landlock(&containment),
        // An operator who switched the containment off means it.
        Backend::None => Ok(AppliedContainment::default()),
        Backend::Unknown => Err(ContainError::unknown()),
    }
}

fn apply_namespaces(
    containment: &Containment,
    world: Option<&SharedWorld>,
) -> Result<AppliedContainment, ContainError> {
    let home_is_read_only = mounts::build(containment, world)?;
    let mut landlock_abi = 0;
    if containment.full {
        capabilities::drop_most(containment)?;
    } else {
        if !containment.network {
            network::raise_loopback()?;
        }
        let home = containment.throw_away.as_deref();
        let home = home.filter(|_| home_is_read_only.is_none());
        let grants = rules::within_namespaces(containment, home);
        landlock_abi = landlock::restrict(&grants, landlock::Network::Free)?;
        capabilities::drop_most(containment)?;
        // A socket in the folder leads to another program.
        let sockets = match containment.only_reads() && !containment.network {
            true => Sockets::Pairs,
            false => Sockets::Ordinary,
        };
        seccomp::filter(CallFilter {
            sockets,
            traces: true,
            // The mounts hold it elsewhere.
            changes_metadata: true,
        })?;
    }
    close()?;
    Ok(AppliedContainment {
        landlock_abi,
        home_is_read_only,
    })
}

fn apply_landlock(containment: &Containment) -> Result<AppliedContainment, ContainError> {
    let grants = rules::alone(containment, &rules::children);
    let (network, sockets) = if containment.network || containment.full {
        (landlock::Network::Free, Sockets::Ordinary)
    } else {
        (landlock::Network::NoTcp, Sockets::Pairs)
    };
    let landlock_abi = landlock::restrict(&grants, network)?;
    if landlock_abi < landlock::LEAST_ABI {
        return Err(ContainError::refused(
            "contain by Landlock",
            format!("its version is {landlock_abi}, and 2 is the first that lets files be renamed"),
        ));
    }
    capabilities::drop_most(containment)?;
    if !containment.full {
        seccomp::filter(CallFilter {
            sockets,
            // The processes of the machine are in reach.
            traces: false,
            changes_metadata: !containment.only_reads(),
        })?;
    }
    close()?;
    nix::unistd::chdir(Path::new("/")).map_err(system("go to the root folder"))?;
    Ok(AppliedContainment {
        landlock_abi,
        home_is_read_only: None,
    })
}

/// Nothing that the command starts may look into this process.
fn close() -> Result<(), ContainError> {
    prctl::set_dumpable(false).map_err(system("close the memory"))
}
