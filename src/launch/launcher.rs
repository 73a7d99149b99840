//! The launcher that the service gives to its tools.

use std::any::Any;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use harness_actors::ConversationId;
use harness_actors::tool::{Contained, Denial, Launch, LaunchOrder, Launcher};
use harness_protocol::{Access, Backend};

use super::SUBCOMMAND;
use super::contain::{self, SandboxSupport};
use super::denial::denial;
use super::near_commands::NearCommands;
use super::owners;
use super::policy::{Containment, LaunchPolicy, Limits};
use super::stage::encode;
use super::worlds::{self, EnteredWorld, WorldStore};
use crate::config::SandboxSetting;

/// This program at its start, also when another version took its place since.
const PROGRAM: &str = "/proc/self/exe";
/// The refusal where nothing contains commands and something has to.
const REFUSED: &str = "no command is run: the setting sandbox is \"required\", and nothing on this machine \
                       contains commands; `harness doctor --sandbox` says why";
/// How many processes and threads a command may have.
const MAX_PROCESSES: u64 = 1024;
/// How much memory it may hold where the size of the machine's is not known, in bytes.
const MAX_MEMORY: u64 = 4 * 1024 * 1024 * 1024;

/// Starts commands as this program under its hidden subcommand. Clones share what was found.
#[derive(Debug, Clone)]
pub(crate) struct OwnLauncher {
    sandbox: SandboxSetting,
    /// More folders that commands may write.
    more: Arc<[PathBuf]>,
    limits: Limits,
    found: Arc<OnceLock<SandboxSupport>>,
    /// The worlds that the commands of each conversation share.
    worlds: Arc<WorldStore>,
    near: NearCommands,
}

impl OwnLauncher {
    /// A launcher that finds what contains commands on this machine when it is asked first.
    pub(crate) fn new(sandbox: SandboxSetting, more: &[PathBuf]) -> Self {
        Self {
            sandbox,
            more: more.into(),
            limits: Limits {
                processes: MAX_PROCESSES,
                memory: memory().map_or(MAX_MEMORY, |memory| memory / 2),
            },
            found: Arc::default(),
            worlds: Arc::new(WorldStore::new(memory().unwrap_or(MAX_MEMORY) / 4)),
            near: NearCommands::default(),
        }
    }

    /// A launcher for one look at this machine, by what was found to contain commands.
    pub(super) fn with_found(found: SandboxSupport) -> Self {
        Self {
            found: Arc::new(OnceLock::from(found)),
            ..Self::new(SandboxSetting::Auto, &[])
        }
    }

    /// The means that contain commands on this machine. Blocks the first time, for a few
    /// milliseconds.
    pub(crate) fn found(&self) -> &SandboxSupport {
        self.found.get_or_init(|| match self.sandbox {
            SandboxSetting::Off => SandboxSupport::default(),
            SandboxSetting::Auto | SandboxSetting::Required => {
                let found = probe();
                log::info!("commands are contained by: {}", found.backend.name());
                found
            }
        })
    }

    /// The name of what contains commands, once it was found. Does not block.
    pub(crate) fn contained_by(&self) -> Option<&'static str> {
        self.found.get().map(|found| found.backend.name())
    }

    /// The commands of this launcher that can reach the service.
    pub(crate) fn near_commands(&self) -> &NearCommands {
        &self.near
    }

    pub(super) fn policy(&self, order: &LaunchOrder) -> LaunchPolicy {
        let LaunchOrder {
            program,
            environment,
            conversation: _,
            folder,
            workspace,
            temp,
            access,
            network,
            has_pipes,
            writable: repository,
            protected,
            copies,
            closed,
        } = order.clone();
        let home = home();
        let more = self
            .more
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok());
        let visible = [&workspace].into_iter().chain(&repository).cloned();
        let visible = visible.collect();
        let writable: Vec<PathBuf> = match access {
            Access::Write => {
                let own = [workspace.clone(), temp.clone()];
                own.into_iter().chain(repository).chain(more).collect()
            }
            Access::Read | Access::Full | Access::Unknown => vec![temp.clone()],
        };
        let is_written = |home: &PathBuf| writable.iter().any(|path| home.starts_with(path));
        let backend = self.found().backend;
        let overrides_owners = owners::are_overridden(backend, &workspace);
        let others = home.iter().filter(|_| overrides_owners);
        let others = others.flat_map(|home| owners::in_other_homes(&closed, home));
        let others: Vec<PathBuf> = others.collect();
        // A history that is a link to `/dev/null` keeps nothing, and commands need the device.
        let hidden = closed
            .iter()
            .chain(&others)
            .filter_map(|path| fs::canonicalize(path).ok())
            .filter(|path| path.is_file() || path.is_dir());
        LaunchPolicy {
            program,
            environment,
            folder,
            containment: Containment {
                backend,
                full: access == Access::Full,
                protected: protected.into_iter().filter(|path| path.exists()).collect(),
                visible,
                hidden: hidden.collect(),
                throw_away: home.filter(|home| can_be_covered(home) && !is_written(home)),
                network,
                writable,
                overrides_owners,
                copies,
            },
            temp: Some(temp),
            limits: self.limits,
            has_pipes,
        }
    }

    /// The world that a command shares with others of its conversation; no descriptors if there is none. Where the system
    /// refuses to make it, each command has its own temporary files and network.
    fn enter_world(&self, order: &LaunchOrder) -> EnteredWorld {
        let alone = || (Arc::default(), false);
        let shares = self.found().backend == Backend::Namespaces && order.access != Access::Full;
        let Some(conversation) = order.conversation.as_ref().filter(|_| shares) else {
            return alone();
        };
        let home = home().filter(|home| can_be_covered(home));
        let make = || worlds::make(PROGRAM, home.as_deref());
        self.worlds
            .enter(conversation, make)
            .unwrap_or_else(|error| {
                log::warn!("commands of {conversation} share no /tmp and no network: {error}");
                alone()
            })
    }
}

/// The home folder, by its real path.
fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok())
}

/// No layer can be laid over the root, which some containers have as the home folder.
fn can_be_covered(home: &Path) -> bool {
    home.is_dir() && home.parent().is_some()
}

impl Launcher for OwnLauncher {
    fn containment(
        &self,
        access: Access,
        network: bool,
        folder: &Path,
    ) -> Result<Contained, String> {
        let found = self.found();
        let backend = found.backend;
        if self.sandbox == SandboxSetting::Required && backend == Backend::None {
            return Err(REFUSED.to_owned());
        }
        let home = home();
        let holds_home = home.is_some_and(|home| home.starts_with(folder));
        let mut gaps = found.gaps(backend, access, network);
        if holds_home && access == Access::Write {
            gaps.push("the home folder can be written: the conversation works in it".to_owned());
        }
        let reads_all = access != Access::Full && owners::are_overridden(backend, folder);
        if reads_all {
            gaps.push(owners::GAP.to_owned());
        }
        let is_full_root = access == Access::Full && found.is_root;
        Ok(Contained {
            backend,
            is_held: found.contained(backend, access, network)
                && !reads_all
                && !(holds_home && access == Access::Write),
            gaps,
            answers_itself: backend == Backend::None || is_full_root,
        })
    }

    fn writable(&self) -> Vec<PathBuf> {
        self.more.to_vec()
    }

    fn denial(&self, order: &LaunchOrder, place: &Path) -> Option<Denial> {
        let writing = LaunchOrder {
            access: Access::Write,
            ..order.clone()
        };
        let mut own = self.policy(order).containment;
        if self.found().home_is_read_only.is_some() {
            own.throw_away = None;
        }
        denial(&own, &self.policy(&writing).containment, place)
    }

    fn looking(&self) -> Option<Command> {
        let mut starter = Command::new(PROGRAM);
        starter.args([SUBCOMMAND, "looking"]);
        starter.arg(std::process::id().to_string());
        Some(starter)
    }

    fn forget(&self, conversation: &ConversationId) {
        self.worlds.forget(conversation);
    }

    fn launch(&self, order: &LaunchOrder) -> io::Result<Launch> {
        let policy = self.policy(order);
        let is_near = policy.containment.shares_network();
        let policy = serde_json::to_vec(&policy)?;
        let mut process = Command::new(PROGRAM);
        process
            .args([SUBCOMMAND, "warden"])
            .env_clear()
            .process_group(0);
        let (descriptors, is_emptied) = self.enter_world(order);
        Ok(Launch {
            process,
            order: encode(&policy),
            descriptors,
            is_emptied,
            running: is_near.then(|| -> Box<dyn Any + Send + Sync> { Box::new(self.near.begin()) }),
        })
    }
}

/// Tries what contains commands on this machine, in processes of their own. Blocks.
pub(crate) fn probe() -> SandboxSupport {
    contain::probe::probe(Path::new(PROGRAM))
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
