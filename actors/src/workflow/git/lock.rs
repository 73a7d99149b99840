//! One running workflow per repository: a lock that the system releases when the process that holds it exits.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use derive_more::{Display, Error};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use serde::{Deserialize, Serialize};

/// The file in the folder of git that all worktrees share.
const NAME: &str = "harness-workflow.lock";
/// Maximum size that is read of it, in bytes.
const MAX_HOLDER: u64 = 16 * 1024;
/// Maximum number of times that a file is opened again that was replaced meanwhile.
const TRIES: usize = 8;

/// The holder of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Display)]
#[display("the workflow {workflow} of process {pid} with the state folder {}", state.display())]
pub struct RepositoryHolder {
    /// The process.
    pub pid: u32,
    /// The state folder of its service.
    pub state: PathBuf,
    /// The workflow.
    pub workflow: String,
}

/// The reason why a repository is not held.
#[derive(Debug, Display, Error)]
pub enum LockError {
    /// Another one holds it.
    #[display("the repository is used by {}; wait for its end or cancel it", holder_name(holder.as_ref()))]
    Held {
        /// The holder, if that can be read.
        holder: Option<RepositoryHolder>,
    },
    /// The disk failed.
    #[display("the lock {} cannot be taken: {source}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The disk's error.
        source: io::Error,
    },
}

fn holder_name(holder: Option<&RepositoryHolder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), ToString::to_string)
}

/// Holds a repository until it is dropped, or the process ends.
#[derive(Debug)]
pub struct RepositoryLock {
    _file: Flock<File>,
}

impl RepositoryLock {
    /// Takes the lock of the repository whose shared git folder that is. Does not wait. Blocks for the disk.
    ///
    /// # Errors
    /// [`LockError::Held`] with the name of the holder; or the system's error.
    pub fn take(common: &Path, holder: &RepositoryHolder) -> Result<Self, LockError> {
        let path = common.join(NAME);
        let failed = |source: io::Error| LockError::Disk {
            path: path.clone(),
            source,
        };
        for _ in 0..TRIES {
            let file = open(&path).map_err(failed)?;
            let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) => file,
                Err((file, Errno::EWOULDBLOCK)) => {
                    return Err(LockError::Held {
                        holder: read(&file),
                    });
                }
                Err((_, error)) => return Err(failed(error.into())),
            };
            // A lock on a file that no longer has a name keeps no other process out.
            if is_at(&file, &path) {
                write(&mut file, holder).map_err(failed)?;
                return Ok(Self { _file: file });
            }
        }
        Err(failed(io::Error::other(
            "the file is replaced again and again",
        )))
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), std::fs::symlink_metadata(path)) else {
        return false;
    };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

fn write(file: &mut File, holder: &RepositoryHolder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    serde_json::to_writer(&mut *file, holder)?;
    file.flush()
}

/// The holder; the file may be written right now.
fn read(file: &File) -> Option<RepositoryHolder> {
    let mut text = String::new();
    file.take(MAX_HOLDER).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn holder(workflow: &str) -> RepositoryHolder {
        RepositoryHolder {
            pid: 7,
            state: "/state".into(),
            workflow: workflow.to_owned(),
        }
    }

    /// Spec: [FLOW-69]
    #[test]
    fn case_37_a_second_workflow_is_refused_and_told_who_holds_the_repository() {
        let home = tempfile::tempdir().unwrap();
        let first = RepositoryLock::take(home.path(), &holder("long-named-first")).unwrap();
        let refused = RepositoryLock::take(home.path(), &holder("second")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the repository is used by the workflow long-named-first of process 7 with the state \
             folder /state; wait for its end or cancel it"
        );
        drop(first);
        let _second = RepositoryLock::take(home.path(), &holder("second")).unwrap();
        let LockError::Held { holder } =
            RepositoryLock::take(home.path(), &holder("third")).unwrap_err()
        else {
            panic!("it is held");
        };
        assert_eq!(holder.unwrap().workflow, "second");
    }

    /// Spec: [FLOW-69]
    #[test]
    fn case_37_a_holder_that_is_killed_holds_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(NAME);
        let mut other = Command::new("flock")
            .args([
                "--no-fork",
                path.to_str().unwrap(),
                "sh",
                "-c",
                "echo held; exec sleep 600",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 5];
        other.stdout.take().unwrap().read_exact(&mut said).unwrap();
        let refused = RepositoryLock::take(home.path(), &holder("second")).unwrap_err();
        assert!(refused.to_string().contains("another process"), "{refused}");
        other.kill().unwrap();
        other.wait().unwrap();
        RepositoryLock::take(home.path(), &holder("second")).unwrap();
    }

    /// Spec: [FLOW-69]
    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("theirs"), "text").unwrap();
        std::os::unix::fs::symlink("theirs", home.path().join(NAME)).unwrap();
        let refused = RepositoryLock::take(home.path(), &holder("first")).unwrap_err();
        assert!(matches!(refused, LockError::Disk { .. }));
        assert_eq!(std::fs::read(home.path().join("theirs")).unwrap(), b"text");
    }
}
