//! Putting a content in the place of a file: all of it or nothing, and only if the file is as it was
//! when the change was planned.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use harness_protocol::FileChange;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, UnlinkatFlags, access, unlinkat};

use crate::attachment::sha256;
use crate::tool::{EffectError, ToolError, path, procfs};

/// The largest file that is changed, in bytes.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct Known {
    /// Without links.
    pub(in crate::tool) path: PathBuf,
    pub(in crate::tool) bytes: Vec<u8>,
    /// Tells its bytes from others.
    pub(in crate::tool) hash: String,
    mode: u32,
    owner: (u32, u32),
    /// How many names it has.
    pub(in crate::tool) names: u64,
}

/// What there is to say of a file that was replaced.
pub(in crate::tool) type Notes = Vec<String>;

/// Reads a file that is to be changed; nothing if there is none.
///
/// # Errors
/// Why it cannot be changed.
pub(in crate::tool) fn read_file(place: &Path) -> Result<Option<Known>, ToolError> {
    let opened = OpenOptions::new()
        .read(true)
        // Without O_NONBLOCK, a FIFO would wait for a writer.
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(place);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match fs::symlink_metadata(place) {
                Ok(_) => Err("the path is a link that leads to nothing".into()),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(path::io_error(&error, "file not found")),
    };
    let failed = |error: &io::Error| path::io_error(error, "file not found");
    let found = file.metadata().map_err(|error| failed(&error))?;
    if found.is_dir() {
        return Err("path is a directory".into());
    }
    if !found.is_file() {
        return Err("not a regular file".into());
    }
    procfs::check_file(&file)?;
    if found.len() > MAX_FILE {
        return Err(too_large(found.len()));
    }
    let real = fs::canonicalize(place).map_err(|error| failed(&error))?;
    let is_read_only = found.mode() & 0o222 == 0;
    if is_read_only || access(&real, AccessFlags::W_OK).is_err() {
        return Err("permission denied: the file is read-only".into());
    }
    let mut bytes = Vec::new();
    let read = (&mut file).take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("the file is UTF-16, which cannot be edited".into());
    }
    if bytes.contains(&0) {
        return Err("the file holds NUL bytes, so it is no text".into());
    }
    Ok(Some(Known {
        path: real,
        hash: sha256(&bytes),
        bytes,
        mode: found.mode() & 0o7777,
        owner: (found.uid(), found.gid()),
        names: found.nlink(),
    }))
}

/// Whether a change that was begun has been made, as far as the file tells. Blocks.
pub(in crate::tool) fn has_happened(change: &FileChange) -> Option<bool> {
    let now = match read_file(Path::new(&change.path)) {
        Ok(now) => now.map(|now| now.hash),
        Err(_) => return None,
    };
    if now.as_ref() == Some(&change.after) {
        return Some(true);
    }
    (now == change.before).then_some(false)
}

fn too_large(bytes: u64) -> ToolError {
    ToolError(format!(
        "the file has {bytes} bytes; at most {MAX_FILE} can be edited"
    ))
}

/// Puts a content in the place of what was read there, or of nothing. The path has no links; one that
/// has become a link since is another place, and refused.
///
/// # Errors
/// [`EffectError::Changed`] if there is something else by now. Nothing is changed then, and nothing is
/// left behind.
pub(in crate::tool) fn replace(
    place: &Path,
    known: Option<&Known>,
    content: &[u8],
) -> Result<Notes, EffectError> {
    let name = place.file_name().ok_or_else(|| failed(Errno::EISDIR))?;
    let folder = open_folder(place.parent().unwrap_or(Path::new("/")))?;
    let temporary = Temporary::make(&folder)?;
    let mut notes = Notes::new();
    fill(&temporary.file, known, content, &mut notes).map_err(|error| failed(error))?;
    // Two changes of ours never meet: one that was taken back could take another along.
    let turn = turn(place);
    if known.is_some_and(|known| !holds(&folder, name, known)) {
        return Err(EffectError::Changed);
    }
    match known {
        None => put(&temporary, name, Exchange::Nothing)?,
        Some(known) => match put(&temporary, name, Exchange::Both) {
            Ok(()) => check_old(&temporary, name, known)?,
            Err(EffectError::Failed(_)) => {
                // The file system does not exchange names. Between the look and the renaming a
                // change by another program is lost.
                if !holds(&folder, name, known) {
                    return Err(EffectError::Changed);
                }
                let renamed = nix::fcntl::renameat(&folder, &*temporary.name, &folder, name);
                renamed.map_err(failed)?;
                notes.push(
                    "this file system cannot exchange files: a change at the very same moment \
                     would be lost"
                        .to_owned(),
                );
            }
            Err(changed) => return Err(changed),
        },
    }
    drop((turn, temporary));
    folder.sync_all().map_err(|error| failed(error))?;
    if known.is_some_and(|known| known.names > 1) {
        notes.push("the file had other names (hard links), which keep the old content".to_owned());
    }
    Ok(notes)
}

/// Waits until no other change of that file is put in its place. Some files share a turn.
fn turn(place: &Path) -> MutexGuard<'static, ()> {
    static TURNS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    let turn = &TURNS[(hasher.finish() % TURNS.len() as u64) as usize];
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a folder by a path without links.
#[cfg(target_os = "linux")]
fn open_folder(folder: &Path) -> Result<File, EffectError> {
    use nix::fcntl::{AT_FDCWD, OpenHow, ResolveFlag, openat2};

    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, folder, how) {
        Ok(handle) => Ok(handle.into()),
        Err(Errno::ELOOP | Errno::ENOENT | Errno::ENOTDIR) => Err(EffectError::Changed),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_folder(folder: &Path) -> Result<File, EffectError> {
    File::open(folder).map_err(failed)
}

/// A file beside the one that is changed. It is removed when it is let go, whatever is behind its name.
struct Temporary<'f> {
    folder: &'f File,
    name: String,
    file: File,
}

impl<'f> Temporary<'f> {
    fn make(folder: &'f File) -> Result<Self, EffectError> {
        let name = format!(".harness-{:016x}", fastrand::u64(..));
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = openat(folder, &*name, flags, mode).map_err(failed)?;
        let file = file.into();
        Ok(Self { folder, name, file })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        match unlinkat(self.folder, &*self.name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(error) => log::warn!("the temporary file {} is left: {error}", self.name),
        }
    }
}

/// Whether a name in a folder leads to a file with the known bytes.
fn holds<P: ?Sized + nix::NixPath>(folder: &File, name: &P, known: &Known) -> bool {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let Ok(file) = openat(folder, name, flags, Mode::empty()) else {
        return false;
    };
    let file = File::from(file);
    let mut bytes = Vec::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    let read = is_file && file.take(MAX_FILE + 1).read_to_end(&mut bytes).is_ok();
    read && bytes == known.bytes
}

/// Writes the content, with the mode and the owner of the file before, and flushes it.
fn fill(
    mut file: &File,
    known: Option<&Known>,
    content: &[u8],
    notes: &mut Notes,
) -> io::Result<()> {
    file.write_all(content)?;
    match known {
        Some(known) => {
            if fchown(file, Some(known.owner.0), Some(known.owner.1)).is_err() {
                notes.push("the file has another owner now: it could not be kept".to_owned());
            }
            file.set_permissions(fs::Permissions::from_mode(known.mode))?;
        }
        None => file.set_permissions(fs::Permissions::from_mode(0o666 & !umask()))?,
    }
    file.sync_all()
}

/// The mode that new files lack. The process has one, and no way to look at it that changes nothing;
/// on Linux it is told by the kernel.
fn umask() -> u32 {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    mask.unwrap_or(0o022)
}

/// What a renaming does with what stands at the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exchange {
    /// There must be nothing.
    Nothing,
    /// It gets the other name.
    Both,
}

/// The old file has the temporary name now: if it is another than was known, it gets its own back.
fn check_old(temporary: &Temporary<'_>, name: &OsStr, known: &Known) -> Result<(), EffectError> {
    if holds(temporary.folder, &*temporary.name, known) {
        return Ok(());
    }
    put(temporary, name, Exchange::Both)?;
    Err(EffectError::Changed)
}

#[cfg(target_os = "linux")]
fn put(temporary: &Temporary<'_>, name: &OsStr, exchange: Exchange) -> Result<(), EffectError> {
    use rustix::fs::{RenameFlags, renameat_with};

    let flags = match exchange {
        Exchange::Nothing => RenameFlags::NOREPLACE,
        Exchange::Both => RenameFlags::EXCHANGE,
    };
    let folder = temporary.folder;
    match renameat_with(folder, &*temporary.name, folder, name, flags) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::EXIST) => Err(EffectError::Changed),
        Err(error) => Err(failed(error)),
    }
}

/// Without an exchange in one step a link that does not replace is the nearest for a new file.
#[cfg(not(target_os = "linux"))]
fn put(temporary: &Temporary<'_>, name: &OsStr, exchange: Exchange) -> Result<(), EffectError> {
    use nix::unistd::{LinkatFlags, linkat};

    let folder = temporary.folder;
    match exchange {
        Exchange::Nothing => {
            match linkat(
                folder,
                &*temporary.name,
                folder,
                name,
                LinkatFlags::AT_EMPTY_PATH,
            ) {
                Ok(()) => Ok(()),
                Err(Errno::EEXIST) => Err(EffectError::Changed),
                Err(error) => Err(failed(error)),
            }
        }
        Exchange::Both => Err(failed(Errno::ENOSYS)),
    }
}

fn failed(error: impl Into<io::Error>) -> EffectError {
    EffectError::Failed(path::io_error(&error.into(), "the folder is gone"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        (home, real)
    }

    /// Spec: [TOOL-58]
    #[test]
    fn a_file_is_replaced_with_its_mode_and_a_link_stays() {
        let (_home, folder) = home();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
        symlink("file", &link).unwrap();
        let known = read_file(&link).unwrap().unwrap();
        assert_eq!(known.path, file);
        assert_eq!(replace(&known.path, Some(&known), b"new").unwrap(), [""; 0]);
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o751);
        assert_eq!(names(&folder), ["file", "link"]);
    }

    /// Spec: [TOOL-58]
    #[test]
    fn what_is_there_by_now_is_not_lost() {
        let (_home, folder) = home();
        let file = folder.join("file");
        fs::write(&file, "old").unwrap();
        let known = read_file(&file).unwrap().unwrap();
        fs::write(&file, "another").unwrap();
        assert_eq!(
            replace(&file, Some(&known), b"new"),
            Err(EffectError::Changed)
        );
        assert_eq!(fs::read(&file).unwrap(), b"another");
        fs::remove_file(&file).unwrap();
        assert_eq!(
            replace(&file, Some(&known), b"new"),
            Err(EffectError::Changed)
        );
        assert_eq!(replace(&file, None, b"new"), Ok(vec![]));
        assert_eq!(replace(&file, None, b"newer"), Err(EffectError::Changed));
        assert_eq!(names(&folder), ["file"]);
        assert_eq!(fs::read(&file).unwrap(), b"new");
        // A folder that has become a link is another place.
        let (real, link) = (folder.join("real"), folder.join("sub"));
        fs::create_dir(&real).unwrap();
        symlink("real", &link).unwrap();
        assert_eq!(
            replace(&link.join("x"), None, b"new"),
            Err(EffectError::Changed)
        );
        assert_eq!(names(&real), [""; 0]);
    }

    /// Spec: [TOOL-58]
    #[test]
    fn a_hard_link_keeps_the_old_content_and_that_is_said() {
        let (_home, folder) = home();
        let (file, other) = (folder.join("file"), folder.join("other"));
        fs::write(&file, "old").unwrap();
        fs::hard_link(&file, &other).unwrap();
        let known = read_file(&file).unwrap().unwrap();
        let notes = replace(&file, Some(&known), b"new").unwrap();
        assert!(notes[0].contains("hard links"), "{notes:?}");
        assert_eq!(
            (fs::read(&file).unwrap(), fs::read(&other).unwrap()),
            (b"new".into(), b"old".into())
        );
    }

    /// Spec: [TOOL-59]
    #[test]
    fn what_cannot_be_edited_is_refused_by_name() {
        let (_home, folder) = home();
        let at = |name: &str| folder.join(name);
        fs::write(at("nul"), b"a\0b").unwrap();
        fs::write(at("utf16"), b"\xff\xfea\0").unwrap();
        fs::write(at("large"), vec![b'x'; 9 * 1024 * 1024]).unwrap();
        fs::write(at("read_only"), "x").unwrap();
        fs::set_permissions(at("read_only"), fs::Permissions::from_mode(0o444)).unwrap();
        nix::unistd::mkfifo(&at("fifo"), Mode::S_IRUSR).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        for (name, reason) in [
            ("nul", "NUL bytes"),
            ("utf16", "UTF-16"),
            ("large", "9437184 bytes"),
            ("read_only", "read-only"),
            ("fifo", "not a regular file"),
            ("dangling", "leads to nothing"),
            ("", "directory"),
        ] {
            let refused = read_file(&at(name)).unwrap_err().to_string();
            assert!(refused.contains(reason), "{name}: {refused}");
        }
        assert_eq!(
            read_file(Path::new("/dev/null")).unwrap_err().to_string(),
            "not a regular file"
        );
        assert_eq!(read_file(&at("none")), Ok(None));
    }
}
