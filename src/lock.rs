//! Which service uses a state folder, and where it is found.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use harness_protocol::Discovery;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use crate::state::{StateError, StateFolder, io_error, make_private, write_new};

/// The file by which programs find the running service.
pub(crate) const DISCOVERY_FILE: &str = "service.json";
/// The file that a running service has locked.
const LOCK_FILE: &str = "lock";

impl StateFolder {
    /// Takes the folder for this process alone.
    ///
    /// # Errors
    /// If another service uses it.
    pub(crate) fn lock(&self) -> Result<ServiceLock, StateError> {
        let path = self.path.join(LOCK_FILE);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(&path)
            .map_err(io_error("open", &path))?;
        make_private(&file, &path, self.owner)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(ServiceLock {
                _file: file,
                discovery: self.path.join(DISCOVERY_FILE),
            }),
            Err((_, Errno::EWOULDBLOCK)) => Err(StateError::InUse {
                holder: discovery(&self.path).map_or_else(
                    || "another service".to_owned(),
                    |found| format!("process {} on http://{}", found.pid, found.address),
                ),
                path: self.path.clone(),
            }),
            Err((_, error)) => Err(io_error("lock", &path)(error.into())),
        }
    }
}

/// The one service that may use a state folder. A process that dies gives it up.
#[derive(Debug)]
pub(crate) struct ServiceLock {
    _file: Flock<File>,
    discovery: PathBuf,
}

impl ServiceLock {
    /// Writes down where the service listens, so that programs find it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn publish(&self, found_by: &Discovery) -> Result<(), StateError> {
        let path = &self.discovery;
        let unfinished = path.with_extension("json.new");
        let text = serde_json::to_string(found_by).unwrap_or_default();
        // What a service left that died in between.
        drop(fs::remove_file(&unfinished));
        write_new(&unfinished, &text).map_err(io_error("write", &unfinished))?;
        fs::rename(&unfinished, path).map_err(io_error("write", path))
    }

    /// Says that no service listens any more.
    pub(crate) fn withdraw(&self) {
        if let Err(error) = fs::remove_file(&self.discovery) {
            log::warn!("cannot remove {}: {error}", self.discovery.display());
        }
    }
}

/// What a state folder says of the service that uses it.
pub(crate) fn discovery(home: &Path) -> Option<Discovery> {
    let text = fs::read_to_string(home.join(DISCOVERY_FILE)).ok()?;
    serde_json::from_str(&text).ok()
}
