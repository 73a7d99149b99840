//! The state folder and the token in it: private to their owner, or not used at all.

pub(crate) mod lock;
pub(crate) mod lock_owner;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use derive_more::{Display, Error};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::Uid;

use crate::config::{Secret, as_token};
use crate::os::user_ns;

/// The name of the token file.
pub(crate) const TOKEN_FILE: &str = "token";
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
        /// The attempt, as a verb.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's error.
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
        /// The path.
        path: PathBuf,
        /// The kind of file that should be there.
        wanted: &'static str,
    },
    /// Another user could change what is there.
    #[display("{} belongs to another user (uid {owner}); set HARNESS_HOME to a folder of your own", path.display())]
    OtherOwner {
        /// The path that they own.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// It cannot be told whose it is.
    #[display(
        "{} belongs to a user that has no number here, as in a container without that user, so its owner is unknown; run the service as a user of its own and set HARNESS_HOME to a folder of that user", path.display()
    )]
    UnknownOwner {
        /// The path that they own.
        path: PathBuf,
    },
    /// Every user could put another folder in its place.
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
        /// The process that uses it.
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
        /// The system's error.
        reason: getrandom::Error,
    },
}

impl StateError {
    /// Whether the same may work a moment later: the system lacked an open file or memory.
    pub(crate) fn is_passing(&self) -> bool {
        let Self::Io { source, .. } = self else {
            return false;
        };
        let errno = source.raw_os_error().map(Errno::from_raw);
        matches!(
            errno,
            Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::EAGAIN)
        )
    }
}

/// The folder that holds everything the service keeps; exists and is private.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder {
    pub(crate) path: PathBuf,
    pub(crate) owner: Uid,
    /// It is open, so that no other folder gets its number.
    folder: Arc<File>,
}

impl StateFolder {
    /// Creates the folder if needed and makes it private.
    ///
    /// # Errors
    /// If the folder cannot be created or another user could change what is in it.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        Self::open_as(path, Uid::effective())
    }

    /// The token that clients send, created on first use.
    ///
    /// # Errors
    /// If the token file cannot be read or created, or another user could have written it.
    pub(crate) fn token(&self) -> Result<Secret, StateError> {
        if let Some(token) = self.read_token()? {
            return Ok(token);
        }
        self.create_token()?;
        let path = self.path.join(TOKEN_FILE);
        self.read_token()?
            .ok_or_else(|| io_error("read", &path)(io::Error::from(io::ErrorKind::NotFound)))
    }

    /// The token that is kept, even where another one is in use; nothing if there is none, or what
    /// is there is no token.
    pub(crate) fn kept_token(&self) -> Option<Secret> {
        self.read_token().ok().flatten()
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
        let folder = Arc::new(opened);
        Ok(Self {
            path,
            owner,
            folder,
        })
    }

    /// Whether the folder is at its path, and not away with another one in its place.
    pub(crate) fn is_there(&self) -> bool {
        is_at(&self.folder, &self.path)
    }

    /// The stamp of the token file; nothing if there is none that can be looked at.
    pub(crate) fn token_stamp(&self) -> Option<TokenStamp> {
        let found = fs::symlink_metadata(self.path.join(TOKEN_FILE)).ok()?;
        Some(TokenStamp {
            number: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// The token in the file; nothing if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no token.
    pub(crate) fn read_token(&self) -> Result<Option<Secret>, StateError> {
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

/// By what it is seen whether the token file is the one from before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenStamp {
    number: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Whether an open file or folder is the one at a path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let number = |found: fs::Metadata| (found.dev(), found.ino());
    let (ours, found) = (file.metadata(), fs::symlink_metadata(path));
    ours.is_ok_and(|ours| found.is_ok_and(|found| number(found) == number(ours)))
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
pub(crate) fn make_private(file: &File, path: &Path, owner: Uid) -> Result<(), StateError> {
    let found = file.metadata().map_err(io_error("look at", path))?;
    if !user_ns::can_be_told(found.uid()) {
        return Err(StateError::UnknownOwner {
            path: path.to_owned(),
        });
    }
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
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, StateError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|reason| StateError::NoRandomness { reason })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::Io {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests;
