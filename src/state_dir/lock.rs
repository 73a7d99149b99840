//! Which service uses a state folder, and where it is found.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_protocol::Discovery;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use crate::state_dir::{StateError, StateFolder, io_error, make_private, write_new};

/// The file by which programs find the running service.
pub(crate) const DISCOVERY_FILE: &str = "service.json";
/// The file that a service logs to, in the folder of the logs.
pub(crate) const LOG_FILE: &str = "serve.log";
/// The file that a running service has locked.
pub(crate) const LOCK_FILE: &str = "lock";
/// How often a lock that another process holds is asked for again,
const LOOKS: u32 = 5;
/// and the time between two tries.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

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
        match lock_patiently(file) {
            Ok(file) => Ok(ServiceLock {
                _file: file,
                state: self.clone(),
                discovery: self.path.join(DISCOVERY_FILE),
            }),
            Err(Errno::EWOULDBLOCK) => Err(StateError::InUse {
                holder: discovery(&self.path).map_or_else(
                    || "another service".to_owned(),
                    |found| format!("process {} on http://{}", found.pid, found.address),
                ),
                path: self.path.clone(),
            }),
            Err(error) => Err(io_error("lock", &path)(error.into())),
        }
    }
}

/// Takes the lock. A client that looks whether it is held has it for a moment, so that it is asked
/// for more than once.
fn lock_patiently(mut file: File) -> Result<Flock<File>, Errno> {
    for _ in 0..LOOKS {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Err((given_back, Errno::EWOULDBLOCK)) => file = given_back,
            Ok(locked) => return Ok(locked),
            Err((_, error)) => return Err(error),
        }
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
    let last = Flock::lock(file, FlockArg::LockExclusiveNonblock);
    last.map_err(|(_, error)| error)
}

/// Whether a service uses a state folder. What it says of itself may be stale; this is not.
///
/// # Errors
/// If the lock cannot be looked at.
pub(crate) fn is_held(home: &Path) -> io::Result<bool> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(home.join(LOCK_FILE));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Ok(_) => Ok(false),
        Err((_, Errno::EWOULDBLOCK)) => Ok(true),
        Err((_, error)) => Err(error.into()),
    }
}

/// The one service that may use a state folder. A process that dies gives it up.
#[derive(Debug)]
pub(crate) struct ServiceLock {
    _file: Flock<File>,
    state: StateFolder,
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

    /// Says that no service listens any more. In another state folder another service may.
    pub(crate) fn withdraw(&self) {
        if !self.state.is_there() {
            log::warn!(
                "the state folder is away, so that {} stays",
                self.discovery.display()
            );
            return;
        }
        if let Err(error) = fs::remove_file(&self.discovery) {
            log::warn!("cannot remove {}: {error}", self.discovery.display());
        }
    }
}

/// The service that uses a state folder, as the folder tells it.
pub(crate) fn discovery(home: &Path) -> Option<Discovery> {
    let text = fs::read_to_string(home.join(DISCOVERY_FILE)).ok()?;
    serde_json::from_str(&text).ok()
}
