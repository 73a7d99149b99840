//! The namespaces that all commands of one conversation share, and how a command takes part in them: a network with
//! nothing but the loopback interface, and a file system in memory, which bounds all that the commands leave in temporary
//! folders and in the home folder. The mounts of a command stay the machine's own: a command takes those of the file
//! system in memory out of the namespace that holds them, and lays them over its own.

use std::fs::{self, DirBuilder, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns};
use nix::unistd::{chroot, fchdir};

use super::error::{ContainError, at_path, system};
use super::mounting::{NOTHING, PLAIN, find, tree};
use crate::launch::policy::{Containment, LaunchPolicy};

/// The number of descriptors that a world is known by.
pub(crate) const NUMBER: usize = 4;
/// Folders of everybody, and those that take their place.
pub(super) const TEMPORARY: [(&str, &str); 2] = [("/tmp", "/tmp"), ("/var/tmp", "/var-tmp")];
pub(super) const MEMORY: &str = "/shm";
/// A folder for each command that runs, for its own temporary files.
pub(super) const CALLS: &str = "/calls";
/// The home folder as each kind of command sees it.
pub(super) const HOMES: &str = "/home";

/// The kinds of commands, each of which sees in the home folder what it and those behind it have written. So none runs
/// what a command has put there that was allowed less. They are mounted in this order: a layer is used by itself last.
pub(super) const KINDS: [CommandKind; 3] = [
    CommandKind::Reads,
    CommandKind::Writes,
    CommandKind::HasNetwork,
];

/// A kind of commands, by what it may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CommandKind {
    Reads,
    Writes,
    HasNetwork,
}

impl CommandKind {
    const fn with_reach(reads: bool, network: bool) -> Self {
        match (network, reads) {
            (true, _) => Self::HasNetwork,
            (false, true) => Self::Reads,
            (false, false) => Self::Writes,
        }
    }

    /// The name of its folders.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::HasNetwork => "network",
        }
    }

    /// The kinds below it, the upmost first.
    pub(super) fn below(self) -> impl Iterator<Item = Self> {
        KINDS.into_iter().filter(move |kind| *kind > self)
    }
}

/// The world of a conversation, as a command's stage knows it.
#[derive(Debug)]
pub(crate) struct SharedWorld {
    /// Of the users, the network, the mounts, and the root of the file system, in this order.
    descriptors: [OwnedFd; NUMBER],
    /// The command's folder for temporary files.
    temp: Option<PathBuf>,
    /// More folders of the command's own.
    more: Vec<PathBuf>,
}

/// The mounts that a command takes from it, each of which is nowhere yet.
#[derive(Debug)]
pub(super) struct SharedMounts {
    temporary: Vec<(&'static str, OwnedFd)>,
    /// For `/dev/shm`.
    pub(super) memory: OwnedFd,
    /// None if no layer could be laid over the home folder.
    pub(super) home: Option<OwnedFd>,
    /// The command's folder for temporary files, by its path.
    pub(super) call: Option<(PathBuf, OwnedFd)>,
}

impl SharedMounts {
    /// The mount for a folder of everybody.
    pub(super) fn temporary(&self, path: &Path) -> Option<&OwnedFd> {
        let mut all = self.temporary.iter();
        all.find_map(|(own, tree)| (path == Path::new(own)).then_some(tree))
    }
}

impl SharedWorld {
    /// The world that descriptors are of, in their order; none if there are none.
    pub(crate) fn from_descriptors(
        descriptors: Vec<OwnedFd>,
        policy: &LaunchPolicy,
    ) -> Option<Self> {
        Some(Self {
            descriptors: descriptors.try_into().ok()?,
            temp: policy.temp.clone(),
            more: policy.containment.folders_of_copies(),
        })
    }

    pub(crate) fn descriptors(&self) -> &[OwnedFd] {
        &self.descriptors
    }

    /// Makes this process one of its users.
    pub(super) fn enter_users(&self) -> Result<(), ContainError> {
        let [users, ..] = &self.descriptors;
        setns(users, CloneFlags::CLONE_NEWUSER).map_err(system("enter the user namespace"))
    }

    pub(super) fn enter_network(&self) -> Result<(), ContainError> {
        let [_, network, ..] = &self.descriptors;
        setns(network, CloneFlags::CLONE_NEWNET).map_err(system("enter the network namespace"))
    }

    fn enter_mounts(&self) -> Result<(), ContainError> {
        let [_, _, mounts, _] = &self.descriptors;
        setns(mounts, CloneFlags::CLONE_NEWNS).map_err(system("enter the mounts that are shared"))
    }

    /// Takes what a command needs of it. This process has to have mounts of its own, and has them afterwards.
    pub(super) fn trees(&self, containment: &Containment) -> Result<SharedMounts, ContainError> {
        // The root folder may be another one than that of the mounts.
        let root = find(Path::new("/"))?;
        let own = namespace("mnt")?;
        self.enter_mounts()?;
        let trees = self.clone_mounts(containment);
        setns(&own, CloneFlags::CLONE_NEWNS).map_err(system("enter the own mounts again"))?;
        fchdir(&root).map_err(system("go to the root folder"))?;
        chroot(".").map_err(system("take the root folder again"))?;
        trees
    }

    fn clone_mounts(&self, containment: &Containment) -> Result<SharedMounts, ContainError> {
        let temporary =
            TEMPORARY.map(|(path, folder)| Ok::<_, ContainError>((path, tree(Path::new(folder))?)));
        let kind = CommandKind::with_reach(containment.only_reads(), containment.network);
        let home = Path::new(HOMES).join(kind.name());
        let call = match &self.temp {
            None => None,
            Some(temp) => {
                let folder = call_folder(temp);
                let made = DirBuilder::new().mode(0o700).create(&folder);
                made.map_err(at_path("make", &folder))?;
                Some((temp.clone(), tree(&folder)?))
            }
        };
        Ok(SharedMounts {
            temporary: temporary.into_iter().collect::<Result<_, _>>()?,
            memory: tree(Path::new(MEMORY))?,
            home: match home.is_dir() {
                true => {
                    // What is remembered of the folders below is old: their owner may have changed something.
                    let flags = MsFlags::MS_REMOUNT | PLAIN;
                    mount(NOTHING, &home, NOTHING, flags, NOTHING).unwrap_or_default();
                    Some(tree(&home)?)
                }
                false => None,
            },
            call,
        })
    }

    /// Removes what the command had there for itself. This process has no other use for its mounts any more.
    pub(crate) fn clear(&self) {
        let Some(temp) = &self.temp else {
            return;
        };
        if self.enter_mounts().is_err() {
            return;
        }
        drop(fs::remove_dir_all(call_folder(temp)));
        // Over these places they were laid.
        for own in std::iter::once(temp).chain(&self.more) {
            for (path, folder) in TEMPORARY {
                if let Ok(rest) = own.strip_prefix(path) {
                    drop(fs::remove_dir(Path::new(folder).join(rest)));
                }
            }
        }
    }
}

/// The folder of a command. Its name is as random as that of the folder whose place it takes.
fn call_folder(temp: &Path) -> PathBuf {
    Path::new(CALLS).join(temp.file_name().unwrap_or_default())
}

/// A descriptor of a namespace of this process.
pub(super) fn namespace(name: &str) -> Result<OwnedFd, ContainError> {
    let path = Path::new("/proc/self/ns").join(name);
    let opened = File::open(&path).map(OwnedFd::from);
    opened.map_err(at_path("open", &path))
}

#[cfg(test)]
mod tests {
    use harness_protocol::Backend;

    use super::*;
    use crate::launch::policy::Limits;

    /// Spec: [BOX-543]
    #[test]
    fn a_command_sees_in_the_home_folder_what_those_have_written_that_reach_as_much() {
        let seen = |kind: CommandKind| kind.below().collect::<Vec<_>>();
        assert_eq!(
            seen(CommandKind::with_reach(true, false)),
            [CommandKind::Writes, CommandKind::HasNetwork]
        );
        assert_eq!(
            seen(CommandKind::with_reach(false, false)),
            [CommandKind::HasNetwork]
        );
        for reads in [true, false] {
            assert!(seen(CommandKind::with_reach(reads, true)).is_empty());
        }
    }

    /// Spec: [BOX-540]
    #[test]
    fn other_than_four_descriptors_are_no_world() {
        let policy = LaunchPolicy {
            has_pipes: false,
            program: vec![],
            environment: vec![],
            folder: "/".into(),
            containment: Containment {
                backend: Backend::Namespaces,
                full: false,
                writable: vec![],
                protected: vec![],
                visible: vec![],
                hidden: vec![],
                throw_away: None,
                network: false,
                overrides_owners: false,
                copies: vec![],
            },
            temp: None,
            limits: Limits {
                processes: 1,
                memory: 1,
            },
        };
        assert!(SharedWorld::from_descriptors(Vec::new(), &policy).is_none());
    }

    /// Spec: [BOX-541]
    #[test]
    fn the_folder_of_a_command_has_the_name_of_the_one_whose_place_it_takes() {
        assert_eq!(
            call_folder(Path::new("/a/b/harness-1")),
            Path::new("/calls/harness-1")
        );
    }
}
