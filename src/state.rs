//! The state folder and the token in it: private to their owner, or not used at all.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use derive_more::{Display, Error};
use harness_protocol::Discovery;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::Uid;

use crate::config::{Secret, as_token};

/// The name of the token file.
const TOKEN_FILE: &str = "token";
/// The file by which programs find the running service.
pub(crate) const DISCOVERY_FILE: &str = "service.json";
/// The file that a running service has locked.
const LOCK_FILE: &str = "lock";
/// How many random bytes a new token holds.
const TOKEN_BYTES: usize = 32;
/// More than any token needs; what is longer is something else.
const MAX_TOKEN_FILE: u64 = 4096;
/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// Why the state folder or its token cannot be used; says what to do about it.
#[derive(Debug, Display, Error)]
pub(crate) enum StateError {
    /// The operating system refused.
    #[display("cannot {doing} {}: {source}; check the path and its permissions", path.display())]
    Io {
        /// What was tried, as a verb.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The path leads elsewhere.
    #[display("{} is a symbolic link; remove it or name the place it leads to", path.display())]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// The path is taken by something of another kind.
    #[display("{} is not a {wanted}; move it away", path.display())]
    WrongKind {
        /// What lies there.
        path: PathBuf,
        /// What should.
        wanted: &'static str,
    },
    /// Somebody else could change what lies there.
    #[display("{} belongs to another user (uid {owner}); set HARNESS_HOME to a folder of your own", path.display())]
    OtherOwner {
        /// What they own.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
    },
    /// Anybody could put another folder in its place.
    #[display("{} lies in a folder that every user can change; run `chmod o-w` on that folder or set HARNESS_HOME", path.display())]
    OpenParent {
        /// The state folder.
        path: PathBuf,
    },
    /// Two services on one folder would write into each other's journals.
    #[display("{} is used by {holder}; stop that service first, or set HARNESS_HOME to another folder", path.display())]
    InUse {
        /// The state folder.
        path: PathBuf,
        /// Who uses it.
        holder: String,
    },
    /// The token file holds no token.
    #[display("{} does not hold a token of at least 16 visible ASCII characters; remove the file to get a new one", path.display())]
    BadToken {
        /// The token file.
        path: PathBuf,
    },
    /// The operating system gives no random bytes.
    #[display("cannot make a token: {reason}; set HARNESS_TOKEN")]
    NoRandomness {
        /// What the operating system said.
        reason: getrandom::Error,
    },
}

/// The folder that holds everything the service keeps; exists and is private.
#[derive(Debug)]
pub(crate) struct StateFolder {
    path: PathBuf,
    owner: Uid,
}

impl StateFolder {
    /// Creates the folder if needed and makes it private.
    ///
    /// # Errors
    /// If the folder cannot be created or somebody else could change what is in it.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        Self::open_as(path, Uid::effective())
    }

    /// The token that clients send, created on first use.
    ///
    /// # Errors
    /// If the token file cannot be read or created, or somebody else could have written it.
    pub(crate) fn token(&self) -> Result<Secret, StateError> {
        if let Some(token) = self.read_token()? {
            return Ok(token);
        }
        self.create_token()?;
        let path = self.path.join(TOKEN_FILE);
        self.read_token()?
            .ok_or_else(|| io_error("read", &path)(io::Error::from(io::ErrorKind::NotFound)))
    }

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

    fn open_as(path: &Path, owner: Uid) -> Result<Self, StateError> {
        // A slash at the end would make the system follow a link before we can see it.
        let path: PathBuf = path.components().collect();
        create_private(&path)?;
        refuse_link(&path)?;
        if !path.is_dir() {
            return Err(StateError::WrongKind {
                path,
                wanted: "folder",
            });
        }
        let parent = path.join("..");
        let mode = fs::metadata(&parent)
            .map_err(io_error("look at", &parent))?
            .mode();
        if mode & 0o002 != 0 && mode & 0o1000 == 0 {
            return Err(StateError::OpenParent { path });
        }
        let opened = open(&path, OFlag::O_DIRECTORY).map_err(io_error("open", &path))?;
        make_private(&opened, &path, owner)?;
        Ok(Self { path, owner })
    }

    /// The token in the file; nothing if there is no file.
    fn read_token(&self) -> Result<Option<Secret>, StateError> {
        let path = self.path.join(TOKEN_FILE);
        refuse_link(&path)?;
        // Without O_NONBLOCK a named pipe would hold us up for ever.
        let file = match open(&path, OFlag::O_NONBLOCK) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("open", &path)(error)),
        };
        if !file
            .metadata()
            .map_err(io_error("look at", &path))?
            .is_file()
        {
            return Err(StateError::WrongKind {
                path,
                wanted: "file",
            });
        }
        make_private(&file, &path, self.owner)?;
        let mut bytes = Vec::new();
        file.take(MAX_TOKEN_FILE)
            .read_to_end(&mut bytes)
            .map_err(io_error("read", &path))?;
        let token = str::from_utf8(&bytes)
            .ok()
            .and_then(|text| as_token(text.trim_end()));
        token.map(Some).ok_or(StateError::BadToken { path })
    }

    fn create_token(&self) -> Result<(), StateError> {
        let path = self.path.join(TOKEN_FILE);
        let unfinished = self
            .path
            .join(format!(".{TOKEN_FILE}.{}", random_hex::<8>()?));
        let token = random_hex::<TOKEN_BYTES>()?;
        let written = write_new(&unfinished, &token).map_err(io_error("write", &unfinished));
        // Unlike a rename, a link never replaces the token that another process just made.
        let linked = written.and_then(|()| match fs::hard_link(&unfinished, &path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(io_error("create", &path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        });
        let removed = fs::remove_file(&unfinished).map_err(io_error("remove", &unfinished));
        linked.and(removed)
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

/// Creates the folder and the folders above it that are missing, all private.
fn create_private(path: &Path) -> Result<(), StateError> {
    let missing =
        |folder: &&Path| !folder.as_os_str().is_empty() && fs::symlink_metadata(folder).is_err();
    let mut folders: Vec<&Path> = path.ancestors().take_while(missing).collect();
    folders.reverse();
    for folder in folders {
        match DirBuilder::new().mode(0o700).create(folder) {
            // The umask may have taken bits away from the owner.
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700))
                .map_err(io_error("make private", folder))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create", folder)(error)),
        }
    }
    Ok(())
}

fn refuse_link(path: &Path) -> Result<(), StateError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(StateError::SymbolicLink {
            path: path.to_owned(),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Opens without following a link, so that a link put there after our look fails.
fn open(path: &Path, further: OFlag) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | further;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
}

/// Takes away what others may do; refuses what they own.
fn make_private(file: &File, path: &Path, owner: Uid) -> Result<(), StateError> {
    let found = file.metadata().map_err(io_error("look at", path))?;
    if found.uid() != owner.as_raw() {
        return Err(StateError::OtherOwner {
            path: path.to_owned(),
            owner: found.uid(),
        });
    }
    if found.mode() & OTHERS == 0 {
        return Ok(());
    }
    let private = Permissions::from_mode(found.mode() & 0o7777 & !OTHERS);
    file.set_permissions(private)
        .map_err(io_error("make private", path))
}

/// Writes a private file that must not exist yet, through to the disk.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

fn random_hex<const BYTES: usize>() -> Result<String, StateError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|reason| StateError::NoRandomness { reason })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::Io {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::Barrier;
    use std::thread;

    use tempfile::{TempDir, tempdir};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn refusal<T>(result: Result<T, StateError>) -> String {
        result.err().unwrap().to_string()
    }

    fn somebody_else() -> Uid {
        Uid::from_raw(Uid::effective().as_raw() + 1)
    }

    /// A state folder with this content in its token file.
    fn with_token(content: &[u8]) -> (TempDir, StateFolder, PathBuf) {
        let temp = tempdir().unwrap();
        let state = StateFolder::open(&temp.path().join("home")).unwrap();
        let path = state.path.join("token");
        fs::write(&path, content).unwrap();
        (temp, state, path)
    }

    /// Spec: [CONF-37]
    #[test]
    fn a_missing_folder_is_created_private_with_the_folders_above_it() {
        let temp = tempdir().unwrap();
        let path = temp.path().join("a/b/home");
        let state = StateFolder::open(&path).unwrap();
        assert_eq!(state.path, path);
        for folder in ["a", "a/b", "a/b/home"] {
            assert_eq!(mode(&temp.path().join(folder)), 0o700, "{folder}");
        }
        StateFolder::open(&path).unwrap();
    }

    /// Spec: [CONF-38]
    #[test]
    fn a_link_a_file_or_a_folder_of_another_user_is_refused() {
        let temp = tempdir().unwrap();
        let [real, link, file] = ["real", "link", "file"].map(|name| temp.path().join(name));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        fs::write(&file, "").unwrap();
        let fix = "is a symbolic link; remove it or name the place it leads to";
        for path in [&link, &link.join(""), &link.join(".")] {
            assert_eq!(
                refusal(StateFolder::open(path)),
                format!("{} {fix}", link.display())
            );
        }
        assert_eq!(
            refusal(StateFolder::open(&file)),
            format!("{} is not a folder; move it away", file.display())
        );
        assert_eq!(
            refusal(StateFolder::open_as(&real, somebody_else())),
            format!(
                "{} belongs to another user (uid {}); set HARNESS_HOME to a folder of your own",
                real.display(),
                Uid::effective()
            )
        );
    }

    /// Spec: [CONF-39]
    #[test]
    fn a_folder_that_anybody_could_swap_is_refused() {
        let temp = tempdir().unwrap();
        let path = temp.path().join("home");
        set_mode(temp.path(), 0o777);
        assert_eq!(
            refusal(StateFolder::open(&path)),
            format!(
                "{} lies in a folder that every user can change; \
                 run `chmod o-w` on that folder or set HARNESS_HOME",
                path.display()
            )
        );
        set_mode(temp.path(), 0o1777);
        StateFolder::open(&path).unwrap();
    }

    /// Spec: [CONF-40]
    #[test]
    fn a_folder_and_a_token_that_others_may_read_are_made_private() {
        let (_temp, state, path) = with_token(b"0123456789abcdef\n");
        set_mode(&state.path, 0o755);
        set_mode(&path, 0o644);
        let state = StateFolder::open(&state.path).unwrap();
        assert_eq!(mode(&state.path), 0o700);
        assert_eq!(state.token().unwrap().expose(), "0123456789abcdef");
        assert_eq!(mode(&path), 0o600);
    }

    /// Spec: [CONF-41]
    #[test]
    fn a_new_token_is_random_private_and_kept() {
        let temp = tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|n| StateFolder::open(&temp.path().join(n)).unwrap());
        let token = one.token().unwrap();
        assert_eq!(token.expose().len(), 64);
        assert!(token.expose().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(one.token().unwrap().expose(), token.expose());
        assert_ne!(two.token().unwrap().expose(), token.expose());
        assert_eq!(mode(&one.path.join("token")), 0o600);
        assert_eq!(fs::read_dir(one.path).unwrap().count(), 1);
    }

    /// Spec: [CONF-42]
    #[test]
    fn a_token_file_that_cannot_be_trusted_is_refused() {
        let (_temp, state, path) = with_token(b"0123456789abcdef");
        let theirs = StateFolder {
            path: state.path.clone(),
            owner: somebody_else(),
        };
        assert!(refusal(theirs.token()).contains("belongs to another user"));

        let elsewhere = state.path.join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(refusal(state.token()).contains("token is a symbolic link"));

        fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(refusal(state.token()).contains("token is not a file; move it away"));
    }

    /// Spec: [CONF-42]
    #[test]
    fn an_empty_or_malformed_token_file_is_refused_without_its_content() {
        for content in [
            &b""[..],
            b"\n",
            b"SEEN",
            b"SEEN-0123456789 abcdef",
            b"SEEN\xff3456789abcdef",
        ] {
            let (_temp, state, path) = with_token(content);
            assert_eq!(
                refusal(state.token()),
                format!(
                    "{} does not hold a token of at least 16 visible ASCII characters; \
                     remove the file to get a new one",
                    path.display()
                )
            );
        }
    }

    /// Spec: [CONF-43]
    #[test]
    fn those_who_create_the_token_at_once_get_the_same() {
        let temp = tempdir().unwrap();
        let state = StateFolder::open(&temp.path().join("home")).unwrap();
        let barrier = Barrier::new(8);
        let create = || {
            barrier.wait();
            state.token().unwrap().expose().to_owned()
        };
        let tokens: Vec<String> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
        assert_eq!(fs::read_dir(state.path).unwrap().count(), 1);
    }
}
