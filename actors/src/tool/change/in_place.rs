//! Writing into a file itself, where no other file can get its name: at a mount, and in a folder that lets
//! nothing be made or renamed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use nix::errno::Errno;

use super::temporary::failed;
use crate::tool::{EffectError, ToolError};

/// The reason why a file that may be written cannot be replaced; `None` if the error is of another kind.
pub(super) fn hindrance(error: Errno) -> Option<&'static str> {
    let reasons = [
        (Errno::EBUSY, "it is a mount"),
        (Errno::EACCES, "its folder lets no file be replaced"),
        (Errno::EPERM, "its folder lets no file be replaced"),
        (Errno::EROFS, "its folder is read-only"),
    ];
    let found = reasons.into_iter().find(|(errno, _)| *errno == error);
    found.map(|(_, reason)| reason)
}

/// Puts a content into a file in place of the one before, flushed. If that fails, the file gets the one from
/// before again.
pub(super) fn write_in_place(
    file: &File,
    before: &[u8],
    content: &[u8],
) -> Result<(), EffectError> {
    let Err(error) = overwrite(file, content) else {
        return Ok(());
    };
    match overwrite(file, before) {
        Ok(()) => Err(failed(error)),
        Err(again) => Err(EffectError::Failed(ToolError(format!(
            "the file was written in part only ({error}), and did not take its old content again \
             ({again}); that is kept in the folder `before` of the service's state folder"
        )))),
    }
}

fn overwrite(file: &File, content: &[u8]) -> io::Result<()> {
    let held = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let (inside, behind) = content.split_at(held.min(content.len()));
    // A full disk is found before any byte of the old content is lost.
    file.write_all_at(behind, inside.len() as u64)?;
    file.write_all_at(inside, 0)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [TOOL-445]
    #[test]
    fn a_file_is_written_in_place_whatever_its_length() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        for (before, content) in [("old", "newer"), ("older", "new"), ("old", ""), ("", "new")] {
            fs::write(&path, before).unwrap();
            let options = File::options().read(true).write(true).open(&path);
            write_in_place(&options.unwrap(), before.as_bytes(), content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        // What cannot be written stays, and both errors are named.
        let reading = File::open(&path).unwrap();
        let error = write_in_place(&reading, b"new", b"newest").unwrap_err();
        assert!(error.to_string().contains("in part only"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(hindrance(Errno::ENOSPC), None);
    }
}
