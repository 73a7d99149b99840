//! The logs in the state folder: of services, and of clients on a screen.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::state_dir::{StateError, StateFolder, io_error, make_private};

/// The folder of the logs in the state folder.
const LOGS: &str = "logs";
/// How large the log of a client may be when it is written on, in bytes; then it is put aside.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Where the log of that name is.
pub(crate) fn path(home: &Path, name: &str) -> PathBuf {
    home.join(LOGS).join(name)
}

/// As [`open`]; one that is large is put aside first.
///
/// # Errors
/// As of [`open`].
pub(crate) fn open_bounded(home: &Path, name: &str) -> Result<(File, PathBuf), StateError> {
    let path = path(home, name);
    if fs::symlink_metadata(&path).is_ok_and(|found| found.len() > MAX_BYTES) {
        let aside = path.with_extension("log.old");
        fs::rename(&path, &aside).map_err(io_error("put aside", &path))?;
    }
    open(home, name)
}

/// The log of that name, to write on; and where it is.
///
/// # Errors
/// If it cannot be written, or another user could lead it elsewhere.
pub(crate) fn open(home: &Path, name: &str) -> Result<(File, PathBuf), StateError> {
    let state = StateFolder::open(home)?;
    let folder = state.path.join(LOGS);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io_error("create", &folder)(error));
        }
        Ok(()) | Err(_) => {}
    }
    // Through the folder's own handle nothing could take its place in between.
    let opened = open_unlinked(&folder, OFlag::O_DIRECTORY, OpenOptions::new().read(true));
    make_private(
        &opened.map_err(io_error("open", &folder))?,
        &folder,
        state.owner,
    )?;
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let log = open_unlinked(&path, OFlag::O_NONBLOCK, &mut options);
    let log = log.map_err(io_error("open", &path))?;
    make_private(&log, &path, state.owner)?;
    Ok((log, path))
}

/// Opens without following a link.
fn open_unlinked(path: &Path, further: OFlag, options: &mut OpenOptions) -> io::Result<File> {
    options
        .custom_flags((OFlag::O_NOFOLLOW | further).bits())
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Spec: [CLI-63] [CLI-65]
    #[test]
    fn a_log_is_private_is_put_aside_when_large_and_never_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("state");
        for name in ["serve.log", "tui.log"] {
            let (_, path) = open(&home, name).unwrap();
            let log = home.canonicalize().unwrap().join("logs").join(name);
            assert_eq!(path.canonicalize().unwrap(), log);
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&log), mode(&home.join("logs"))), (0o600, 0o700));

            fs::remove_file(&log).unwrap();
            let elsewhere = temp.path().join("elsewhere");
            symlink(&elsewhere, &log).unwrap();
            assert!(open(&home, name).is_err());
            assert!(!elsewhere.exists());

            fs::remove_file(&log).unwrap();
            let (file, path) = open_bounded(&home, name).unwrap();
            file.set_len(MAX_BYTES).unwrap();
            let (file, _) = open_bounded(&home, name).unwrap();
            assert_eq!(file.metadata().unwrap().len(), MAX_BYTES);
            file.set_len(MAX_BYTES + 1).unwrap();
            let (file, _) = open_bounded(&home, name).unwrap();
            assert_eq!(file.metadata().unwrap().len(), 0);
            assert!(path.with_extension("log.old").exists());
        }
    }
}
