//! A file that a command writes its results to: all of them, or it stays unchanged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use derive_more::{Display, Error};

/// Why a file does not get the results.
#[derive(Debug, Display, Error)]
#[display("cannot write to {}: {source}", path.display())]
pub(super) struct ReplyFileError {
    path: PathBuf,
    source: io::Error,
}

/// A file that is being written. Dropped without [`ReplyFile::keep`], it is unchanged.
#[derive(Debug)]
pub(super) struct ReplyFile {
    /// The name that was given.
    path: PathBuf,
    /// The file that is written to.
    file: Rc<File>,
    /// The file beside it that takes its place; none where that cannot be, as of a device or a pipe.
    beside: Option<ReplyDraft>,
}

#[derive(Debug)]
struct ReplyDraft {
    draft: PathBuf,
    target: PathBuf,
}

impl ReplyFile {
    /// Begins to write a file.
    ///
    /// # Errors
    /// If its folder does not let it.
    pub(super) fn begin(path: &Path) -> Result<Self, ReplyFileError> {
        let failed = |source| ReplyFileError {
            path: path.to_owned(),
            source,
        };
        Self::open(path).map_err(failed)
    }

    fn open(path: &Path) -> io::Result<Self> {
        let found = match fs::metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self {
                path: path.to_owned(),
                file: Rc::new(file),
                beside: None,
            });
        }
        // A link stays one: the file that it leads to is replaced.
        let target = match found {
            Some(_) => path.canonicalize()?,
            None => path.to_owned(),
        };
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut draft = name.to_owned();
        draft.push(format!(".{:08x}.part", fastrand::u32(..)));
        let draft = target.with_file_name(draft);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&draft)?;
        if let Some(found) = found {
            file.set_permissions(found.permissions())?;
        }
        Ok(Self {
            path: path.to_owned(),
            file: Rc::new(file),
            beside: Some(ReplyDraft { draft, target }),
        })
    }

    /// The end of it that results are written to.
    pub(super) fn writer(&self) -> Box<dyn Write> {
        Box::new(Pen(Rc::clone(&self.file)))
    }

    /// Lets the file be what was written.
    ///
    /// # Errors
    /// If the system refuses; then the file is unchanged.
    pub(super) fn keep(mut self) -> Result<(), ReplyFileError> {
        let Some(ReplyDraft { draft, target }) = self.beside.take() else {
            return Ok(());
        };
        let kept = self
            .file
            .sync_all()
            .and_then(|()| fs::rename(&draft, &target));
        kept.map_err(|source| {
            remove(&draft);
            ReplyFileError {
                path: self.path.clone(),
                source,
            }
        })
    }
}

impl Drop for ReplyFile {
    fn drop(&mut self) {
        if let Some(ReplyDraft { draft, .. }) = &self.beside {
            remove(draft);
        }
    }
}

fn remove(draft: &Path) {
    if let Err(error) = fs::remove_file(draft) {
        log::warn!("{} is left: {error}", draft.display());
    }
}

/// Writes to the file.
struct Pen(Rc<File>);

impl Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-350]
    #[test]
    fn a_file_has_the_whole_reply_or_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reply.txt");
        let write = |text: &str| {
            let file = ReplyFile::begin(&path).unwrap();
            file.writer().write_all(text.as_bytes()).unwrap();
            file
        };
        let read = || fs::read_to_string(&path).ok();
        let first = write("first");
        assert_eq!(read(), None);
        first.keep().unwrap();
        assert_eq!(read().as_deref(), Some("first"));
        drop(write("second"));
        assert_eq!(read().as_deref(), Some("first"));
        write("third").keep().unwrap();
        assert_eq!(read().as_deref(), Some("third"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("none").join("reply.txt");
        let told = ReplyFile::begin(&nowhere).unwrap_err().to_string();
        let expected = format!("cannot write to {}: No such file", nowhere.display());
        assert!(told.starts_with(&expected), "{told}");
    }

    /// Spec: [CLI-350]
    #[test]
    fn a_link_stays_one_and_a_device_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let file = ReplyFile::begin(&link).unwrap();
        file.writer().write_all(b"new").unwrap();
        file.keep().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(link.is_symlink());
        let device = ReplyFile::begin(Path::new("/dev/null")).unwrap();
        assert!(device.beside.is_none());
        device.keep().unwrap();
    }
}
