//! The launcher that the service gives to its tools.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness_actors::tool::{Contained, Launch, LaunchOrder, Launcher};
use harness_protocol::{Access, Backend};

use super::SUBCOMMAND;
use crate::config::Sandbox;

use super::policy::{Containment, Limits, Policy};
use super::stage::told;

/// How many processes and threads a command may have.
const MAX_PROCESSES: u64 = 1024;
/// How much memory it may hold where the size of the machine's is not known, in bytes.
const MAX_MEMORY: u64 = 4 * 1024 * 1024 * 1024;

/// Starts commands as this program under its hidden subcommand.
#[derive(Debug, Clone)]
pub(crate) struct OwnLauncher {
    sandbox: Sandbox,
    /// More folders that commands may write.
    more: Vec<PathBuf>,
    limits: Limits,
}

impl OwnLauncher {
    /// Finds what contains commands on this machine. Blocks.
    pub(crate) fn find(sandbox: Sandbox, more: Vec<PathBuf>) -> Self {
        Self {
            sandbox,
            more,
            limits: Limits {
                processes: MAX_PROCESSES,
                memory: memory().map_or(MAX_MEMORY, |memory| memory / 2),
            },
        }
    }

    fn policy(&self, order: &LaunchOrder) -> Policy {
        let LaunchOrder {
            program,
            environment,
            folder,
            workspace,
            temp,
            access,
            network,
            writable: repository,
            protected,
            closed,
        } = order.clone();
        let writable = match access {
            Access::Write => {
                let more = self.more.iter().cloned();
                let own = [workspace, temp.clone()];
                own.into_iter().chain(repository).chain(more).collect()
            }
            Access::Read | Access::Full | Access::Unknown => vec![temp.clone()],
        };
        Policy {
            program,
            environment,
            folder,
            containment: Containment {
                backend: Backend::None,
                full: access == Access::Full,
                writable,
                protected,
                hidden: closed.to_vec(),
                throw_away: None,
                network,
            },
            temp: Some(temp),
            limits: self.limits,
        }
    }
}

impl Launcher for OwnLauncher {
    fn containment(&self, _: Access, _: bool, _: &Path) -> Result<Contained, String> {
        if self.sandbox == Sandbox::Required {
            return Err("no command is run: the setting sandbox is required, and nothing on this machine contains commands; harness doctor --sandbox says why".to_owned());
        }
        Ok(Contained {
            backend: Backend::None,
            is_held: false,
            gaps: vec!["nothing is held".to_owned()],
            answers_itself: true,
        })
    }

    fn launch(&self, order: &LaunchOrder) -> io::Result<Launch> {
        let policy = serde_json::to_vec(&self.policy(order))?;
        // The program as it was started, also when another version took its place since.
        let mut process = Command::new(PathBuf::from("/proc/self/exe"));
        process
            .args([SUBCOMMAND, "warden"])
            .env_clear()
            .process_group(0);
        Ok(Launch {
            process,
            order: told(&policy),
        })
    }
}

/// How much memory the machine has, in bytes.
///
/// Source: `proc(5)`: `MemTotal` in `/proc/meminfo` is in KiB.
fn memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
