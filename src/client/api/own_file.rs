//! Files of the state folder, read only if no other user can have written them.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use derive_more::{Display, Error};
use nix::fcntl::OFlag;
use nix::unistd::Uid;

use crate::os::user_ns;

/// More than any of these files needs; what is longer is something else.
const MAX_BYTES: u64 = 64 * 1024;
/// The permission bits by which others can write.
const OTHERS_WRITE: u32 = 0o022;

/// Why a file is not used.
#[derive(Debug, Display, Error)]
pub(crate) enum FileError {
    /// The operating system refused.
    #[display("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another user can have written it.
    #[display("{} could have been written by another user; remove it or set HARNESS_HOME", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

/// The content of a file that only we can have written; nothing if there is none.
///
/// # Errors
/// If it cannot be read or another user can have written it.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    read_as(path, Uid::effective())
}

fn read_as(path: &Path, owner: Uid) -> Result<Option<Vec<u8>>, FileError> {
    let failed = |source| FileError::Io {
        path: path.to_owned(),
        source,
    };
    // A link could lead to a file of somebody else; a named pipe would hold us up for ever.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    let is_ours = found.uid() == owner.as_raw() && user_ns::can_be_told(found.uid());
    if !is_ours || found.mode() & OTHERS_WRITE != 0 {
        return Err(FileError::Foreign {
            path: path.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Spec: [CLI-03]
    #[test]
    fn a_file_that_somebody_else_can_have_written_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("service.json");
        assert!(read(&path).unwrap().is_none());
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"{}");

        let somebody_else = Uid::from_raw(Uid::effective().as_raw() + 1);
        let refusal = read_as(&path, somebody_else).unwrap_err().to_string();
        assert!(refusal.contains("by another user"), "{refusal}");
        fs::set_permissions(&path, Permissions::from_mode(0o620)).unwrap();
        assert!(matches!(read(&path), Err(FileError::Foreign { .. })));

        let link = temp.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(read(&link), Err(FileError::Io { .. })));
        assert!(matches!(read(temp.path()), Err(FileError::Io { .. })));
    }
}
