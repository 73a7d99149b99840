//! The means that contain commands on this machine, and the gaps in them.

use harness_protocol::{Access, Backend};

/// How an attempt says which version of Landlock there is.
pub(super) const LANDLOCK: &str = "landlock ";
/// How it says why the home folder is read-only.
pub(super) const READ_ONLY_HOME: &str = "read-only home ";

const WRITES_ALL: &str = "every file of its user can be written, and the network is open";
const ASKS_OTHERS: &str =
    "another program, such as systemd, cron or docker, can be asked to do what the command cannot";
const ABSTRACT_SOCKETS: &str = "abstract sockets of other programs are in reach";

/// The means found at the start of the service.
#[derive(Debug, Clone)]
pub(crate) struct SandboxSupport {
    /// The strongest backend that works.
    pub(crate) backend: Backend,
    /// The version of Landlock; zero if there is none.
    pub(crate) landlock_abi: u32,
    /// Every backend that was tried, and why one does not work.
    pub(crate) tried: Vec<(Backend, Result<(), String>)>,
    /// Whether the service, and so a command, is root.
    pub(crate) is_root: bool,
    /// Why the home folder is read-only instead of thrown away, where it is.
    pub(crate) home_is_read_only: Option<String>,
}

impl Default for SandboxSupport {
    fn default() -> Self {
        Self {
            backend: Backend::None,
            landlock_abi: 0,
            tried: Vec::new(),
            is_root: false,
            home_is_read_only: None,
        }
    }
}

impl SandboxSupport {
    /// Adds what an attempt said. The strongest backend is tried first.
    pub(super) fn add(&mut self, backend: Backend, result: Result<String, String>) {
        if let Ok(notes) = &result {
            if self.backend == Backend::None {
                self.backend = backend;
            }
            let note = |name| notes.lines().find_map(|line| line.strip_prefix(name));
            let abi = note(LANDLOCK).and_then(|abi| abi.parse().ok()).unwrap_or(0);
            self.landlock_abi = self.landlock_abi.max(abi);
            if backend == Backend::Namespaces {
                self.home_is_read_only = note(READ_ONLY_HOME).map(str::to_owned);
            }
        }
        self.tried.push((backend, result.map(drop)));
    }

    /// Whether `backend` holds all that `access` and `network` promise, so that no operator needs to be asked about
    /// a command that only reads.
    pub(crate) fn contained(&self, backend: Backend, access: Access, network: bool) -> bool {
        match (backend, access) {
            (Backend::Namespaces, Access::Read | Access::Write) => true,
            // With the network, sockets in the file system lead to other programs.
            (Backend::Landlock, Access::Read) => {
                self.landlock_abi >= 6 && (!network || self.landlock_abi >= 9)
            }
            (_, Access::Full) | (Backend::Landlock, _) => false,
            (Backend::None | Backend::Unknown, _) => false,
            (Backend::Namespaces, Access::Unknown) => false,
        }
    }

    /// The gaps in the containment, one line each.
    pub(crate) fn gaps(&self, backend: Backend, access: Access, network: bool) -> Vec<String> {
        let is_full = access == Access::Full;
        let has_network = network || is_full;
        // Each with the condition that it is there on.
        let gaps = match backend {
            Backend::Namespaces => self.gaps_of_namespaces(access, has_network),
            Backend::Landlock => self.gaps_of_landlock(access, has_network),
            Backend::None | Backend::Unknown => {
                vec![(
                    true,
                    "nothing is held: the command reaches what its user reaches",
                )]
            }
        };
        let gaps = gaps.into_iter().filter(|(is_there, _)| *is_there);
        let mut gaps: Vec<String> = gaps.map(|(_, words)| words.to_owned()).collect();
        let reason = self.home_is_read_only.as_ref();
        let reason = reason.filter(|_| backend == Backend::Namespaces && !is_full);
        gaps.extend(
            reason.map(|reason| format!("nothing can be written in the home folder: {reason}")),
        );
        gaps
    }

    fn gaps_of_namespaces(&self, access: Access, has_network: bool) -> Vec<(bool, &'static str)> {
        let is_full = access == Access::Full;
        let has_sockets = access == Access::Write || has_network;
        let abi = self.landlock_abi;
        vec![
            (is_full, WRITES_ALL),
            (is_full, ASKS_OTHERS),
            (
                is_full && self.is_root,
                "as root the command can read the disk itself, and so what is hidden",
            ),
            (
                !is_full && has_sockets && abi < 9,
                "sockets in the file system are in reach, but for those in /run, /tmp and the home folder",
            ),
            (!is_full && has_network && abi < 6, ABSTRACT_SOCKETS),
        ]
    }

    fn gaps_of_landlock(&self, access: Access, has_network: bool) -> Vec<(bool, &'static str)> {
        let is_full = access == Access::Full;
        let abi = self.landlock_abi;
        vec![
            (is_full, WRITES_ALL),
            (is_full, ASKS_OTHERS),
            (
                is_full,
                "files right in a folder that holds something hidden can be neither made nor changed",
            ),
            (
                access == Access::Write,
                "files outside can be chmod-ed, chown-ed and given other times, where their user may",
            ),
            (true, "names and sizes of hidden files can be seen"),
            (true, "other processes can be seen"),
            (
                access == Access::Write,
                "protected files are checked after the command and not during it",
            ),
            (
                !is_full,
                "nothing can be written in the home folder, /tmp and /dev/shm",
            ),
            (
                !has_network,
                "no server can be started, not even on 127.0.0.1",
            ),
            (
                has_network && (is_full || abi < 9),
                "connecting to sockets in the file system is not held",
            ),
            (abi < 6, "a command may signal the service"),
            (has_network && abi < 6, ABSTRACT_SOCKETS),
            (!is_full && abi < 3, "files outside can be cut to nothing"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(abi: u32) -> SandboxSupport {
        let mut found = SandboxSupport::default();
        found.add(Backend::Landlock, Ok(format!("{LANDLOCK}{abi}\n")));
        found
    }

    /// Spec: [BOX-11]
    #[test]
    fn the_strongest_backend_that_works_is_taken() {
        let mut found = SandboxSupport::default();
        found.add(Backend::Namespaces, Err("cannot mount".to_owned()));
        assert_eq!(found.backend, Backend::None);
        found.add(Backend::Landlock, Ok(format!("{LANDLOCK}7\n")));
        assert_eq!((found.backend, found.landlock_abi), (Backend::Landlock, 7));
        let failed = (Backend::Namespaces, Err("cannot mount".to_owned()));
        assert_eq!(found.tried, [failed, (Backend::Landlock, Ok(()))]);

        let mut found = SandboxSupport::default();
        let notes = format!("{LANDLOCK}7\n{READ_ONLY_HOME}no overlay\n");
        found.add(Backend::Namespaces, Ok(notes));
        found.add(Backend::Landlock, Ok(format!("{LANDLOCK}7\n")));
        assert_eq!(found.backend, Backend::Namespaces);
        let gaps = found.gaps(Backend::Namespaces, Access::Write, false);
        let last = "nothing can be written in the home folder: no overlay";
        assert_eq!(gaps.last().unwrap(), last);
    }

    /// Spec: [BOX-12]
    #[test]
    fn nobody_is_asked_only_where_all_is_held() {
        let holds = |abi, backend, access, network| found(abi).contained(backend, access, network);
        for access in [Access::Read, Access::Write] {
            assert!(holds(0, Backend::Namespaces, access, false));
            assert!(holds(0, Backend::Namespaces, access, true));
            assert!(!holds(9, Backend::None, access, false));
        }
        for backend in [Backend::Namespaces, Backend::Landlock, Backend::None] {
            assert!(!holds(9, backend, Access::Full, false));
        }
        assert!(holds(6, Backend::Landlock, Access::Read, false));
        assert!(!holds(5, Backend::Landlock, Access::Read, false));
        assert!(!holds(8, Backend::Landlock, Access::Read, true));
        assert!(holds(9, Backend::Landlock, Access::Read, true));
        assert!(!holds(9, Backend::Landlock, Access::Write, false));
    }

    /// Spec: [BOX-451] [BOX-452]
    #[test]
    fn a_command_that_only_reads_has_fewer_gaps() {
        let has = |backend, access, network, words: &str| {
            let gaps = found(7).gaps(backend, access, network);
            gaps.iter().any(|gap| gap.contains(words))
        };
        let sockets = "sockets in the file system are in reach";
        assert!(!has(Backend::Namespaces, Access::Read, false, sockets));
        assert!(has(Backend::Namespaces, Access::Read, true, sockets));
        assert!(has(Backend::Namespaces, Access::Write, false, sockets));
        let metadata = "files outside can be chmod-ed";
        assert!(!has(Backend::Landlock, Access::Read, false, metadata));
        assert!(has(Backend::Landlock, Access::Write, false, metadata));
    }

    /// Spec: [BOX-12]
    #[test]
    fn what_is_not_held_is_said_in_one_line_each() {
        let gaps = |abi, backend, access, network| found(abi).gaps(backend, access, network);
        let signals = "a command may signal the service".to_owned();
        let sockets = "connecting to sockets in the file system is not held".to_owned();
        let old = gaps(5, Backend::Landlock, Access::Write, true);
        assert!(old.contains(&signals) && old.contains(&sockets), "{old:?}");
        let new = gaps(9, Backend::Landlock, Access::Write, true);
        assert!(
            !new.contains(&signals) && !new.contains(&sockets),
            "{new:?}"
        );
        assert_eq!(gaps(9, Backend::Namespaces, Access::Write, false), [""; 0]);
        for backend in [Backend::Namespaces, Backend::Landlock, Backend::None] {
            let full = gaps(9, backend, Access::Full, true);
            assert!(!full.is_empty() && full.iter().all(|line| !line.contains('\n')));
        }
    }
}
