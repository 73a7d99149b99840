//! The limits of a command's reach and resources, as the service tells the stages that start it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harness_actors::tool::FileCopy;
use harness_protocol::Backend;
use serde::{Deserialize, Serialize};

/// How one command is started. It crosses two pipes as JSON, behind its length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchPolicy {
    /// The program, by its absolute path, and its arguments.
    pub(crate) program: Vec<String>,
    /// The whole environment of the program.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) folder: PathBuf,
    /// Its containment.
    pub(crate) containment: Containment,
    /// The folder for its temporary files, in which the shell notes where it was at its end.
    pub(crate) temp: Option<PathBuf>,
    /// The resources that it may take, with all that it starts.
    pub(crate) limits: Limits,
    /// True if its standard input and its standard output are pipes that come along, as the last two descriptors.
    #[serde(default)]
    pub(crate) has_pipes: bool,
}

/// The reach of a command. Paths are absolute and without links; those that do not exist are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Containment {
    /// By what means.
    pub(crate) backend: Backend,
    /// Whether all of the file system may be written that its user may write, but for what is hidden.
    pub(crate) full: bool,
    /// Folders that may be written with all that is in them.
    pub(crate) writable: Vec<PathBuf>,
    /// Files and folders in those that may not be written, moved or removed. A folder that is among those as well may
    /// be written, and not moved or removed.
    pub(crate) protected: Vec<PathBuf>,
    /// Folders that stay in sight to be read, also where a folder above them is replaced: the workspace of a
    /// command that only reads. What may be written need not be named.
    #[serde(default)]
    pub(crate) visible: Vec<PathBuf>,
    /// Files and folders that are out of sight.
    pub(crate) hidden: Vec<PathBuf>,
    /// The home folder, which is not changed by what is written there; none if it is in or below what
    /// may be written.
    pub(crate) throw_away: Option<PathBuf>,
    /// Whether it may reach the network.
    pub(crate) network: bool,
    /// True if root reads and writes files of other users, as the folder that it works in is. Mounts and Landlock still
    /// hold what is hidden or protected.
    #[serde(default)]
    pub(crate) overrides_owners: bool,
    /// Files that are seen as links to their copies, which may be written.
    #[serde(default)]
    pub(crate) copies: Vec<FileCopy>,
}

impl Containment {
    /// True if a folder that the command works in may not be written.
    pub(crate) fn only_reads(&self) -> bool {
        let is_written = |folder: &PathBuf| {
            let mut writable = self.writable.iter();
            writable.any(|above| folder.starts_with(above))
        };
        !self.full && !self.visible.iter().all(is_written)
    }

    /// The folders that copies of files are in.
    pub(crate) fn folders_of_copies(&self) -> Vec<PathBuf> {
        let folders = self.copies.iter().filter_map(|file| file.copy.parent());
        let folders: BTreeSet<&Path> = folders.collect();
        folders.into_iter().map(Path::to_owned).collect()
    }

    /// True if the command is in the network of the service. A filter of system calls keeps one by `landlock` that
    /// may not reach the network from making a socket.
    pub(crate) fn shares_network(&self) -> bool {
        match self.backend {
            Backend::Namespaces | Backend::Landlock => self.full || self.network,
            Backend::None | Backend::Unknown => true,
        }
    }
}

/// The resources that a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// How many processes and threads there may be at once.
    pub(crate) processes: u64,
    /// How much memory all of them may hold together, in bytes.
    pub(crate) memory: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-510]
    #[test]
    fn a_command_shares_the_network_unless_it_is_kept_from_it() {
        for (backend, full, network, shares) in [
            (Backend::Namespaces, false, false, false),
            (Backend::Namespaces, false, true, true),
            (Backend::Namespaces, true, false, true),
            (Backend::Landlock, false, false, false),
            (Backend::Landlock, false, true, true),
            (Backend::Landlock, true, false, true),
            (Backend::None, false, false, true),
            (Backend::Unknown, false, false, true),
        ] {
            let containment = Containment {
                backend,
                full,
                writable: vec![],
                protected: vec![],
                visible: vec![],
                hidden: vec![],
                throw_away: None,
                network,
                overrides_owners: false,
                copies: vec![],
            };
            let found = containment.shares_network();
            assert_eq!(found, shares, "{backend:?} {full} {network}");
        }
    }
}
