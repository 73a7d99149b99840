//! Starting what tools run, in stages: the service starts the *warden*, which makes what contains the
//! command, watches what it takes and ends it; the warden starts the *init*, which contains itself and starts
//! the command. Both are this program under a hidden subcommand.
//!
//! Both end everything that they have started when their standard input ends, and the system ends it when
//! the one that holds the other side dies: the service for the warden, the warden for the init. If the
//! warden is killed the init ends everything, and if the init is killed the warden does.

mod bound;
pub(crate) mod contain;
mod denial;
mod folder_trial;
mod init;
mod launcher;
mod left_folders;
mod looking;
mod near_commands;
mod owners;
pub(crate) mod policy;
mod stage;
mod tree;
mod trial;
mod usage;
mod warden;
mod world;
mod worlds;

use std::ffi::OsString;
use std::io;

use harness_actors::tool::LaunchReport;

pub(crate) use contain::SandboxSupport;
pub(crate) use folder_trial::can_write;
pub(crate) use launcher::{OwnLauncher, probe};
pub(crate) use left_folders::remove_left_folders;

/// The hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "__launch";

/// Runs a stage if the command line asks for one; tells its exit code. This comes before anything else in
/// the program: a stage that makes namespaces may have one thread only.
pub(crate) fn stage(mut words: impl Iterator<Item = OsString>) -> Option<i32> {
    if words.next()? != SUBCOMMAND {
        return None;
    }
    let name = words.next().unwrap_or_default();
    let done = match name.to_str() {
        Some("warden") => warden::run(),
        Some("init") => init::run(),
        Some("world") => world::run(words.next()),
        Some("looking") => return Some(looking::run(words)),
        Some("probe") => {
            let backend = words.next().unwrap_or_default();
            return Some(contain::probe::attempt(&backend.to_string_lossy()));
        }
        Some("trial") => return Some(trial::run()),
        _ => Err(io::Error::other("this command is not for people")),
    };
    Some(match done {
        Ok(()) => 0,
        Err(error) => {
            stage::report(&LaunchReport::Failed(error.to_string()));
            1
        }
    })
}
