//! Putting a content in the place of a file: all of it or nothing, and only if the file is what it was
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
use nix::unistd::{AccessFlags, access};

use super::attributes::copy_attributes;
use super::folders::open_folder;
use super::in_place::{hindrance, write_in_place};
use super::sweep::{sweep, sweep_at};
use super::temporary::{Temporary, failed};
use crate::attachment::sha256;
use crate::tool::{EffectError, ToolError, path, procfs};

/// The largest file that is changed, and the largest that a change makes, in bytes.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct KnownFile {
    /// Without links.
    pub(in crate::tool) path: PathBuf,
    pub(in crate::tool) bytes: Vec<u8>,
    /// Tells its bytes from others.
    pub(in crate::tool) hash: String,
    pub(in crate::tool) mode: u32,
    owner: (u32, u32),
    /// How many names it has.
    pub(in crate::tool) names: u64,
}

/// Remarks about a file that was replaced.
pub(in crate::tool) type Notes = Vec<String>;

/// Reads a text file that is to be changed; nothing if there is none.
///
/// # Errors
/// Why it cannot be changed.
pub(in crate::tool) fn read_file(place: &Path) -> Result<Option<KnownFile>, ToolError> {
    let known = read_known(place)?;
    let bytes = known.as_ref().map_or(&[][..], |known| &known.bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("the file is UTF-16, which cannot be edited".into());
    }
    if bytes.contains(&0) {
        return Err("the file holds NUL bytes, so it is no text".into());
    }
    check_writable(known)
}

/// Reads a file that is to get another content; nothing if there is none.
///
/// # Errors
/// If it cannot be read, or is read-only.
pub(super) fn read_writable(place: &Path) -> Result<Option<KnownFile>, ToolError> {
    check_writable(read_known(place)?)
}

fn check_writable(known: Option<KnownFile>) -> Result<Option<KnownFile>, ToolError> {
    let is_read_only = |known: &KnownFile| {
        known.mode & 0o222 == 0 || access(&known.path, AccessFlags::W_OK).is_err()
    };
    if known.as_ref().is_some_and(is_read_only) {
        return Err("permission denied: the file is read-only".into());
    }
    Ok(known)
}

/// Reads a file that may be read-only; nothing if there is none.
///
/// # Errors
/// If it cannot be read, or is no regular file.
pub(super) fn read_known(place: &Path) -> Result<Option<KnownFile>, ToolError> {
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
    let mut bytes = Vec::new();
    let read = (&mut file).take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(Some(KnownFile {
        path: real,
        hash: sha256(&bytes),
        bytes,
        mode: found.mode() & 0o7777,
        owner: (found.uid(), found.gid()),
        names: found.nlink(),
    }))
}

/// The bytes of a regular file of at most so many; none if it is a link, larger, or cannot be read.
pub(in crate::tool) fn read_bytes(place: &Path, most: u64) -> Option<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits());
    let file = options.open(place).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > most || procfs::check_file(&file).is_err() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// True if a change that was begun has been made, by the look of the file. What it left beside the file is
/// removed. Blocks.
pub(in crate::tool) fn has_happened(change: &FileChange) -> Option<bool> {
    let place = Path::new(&change.path);
    if let Some(folder) = place.parent() {
        sweep_at(folder);
    }
    let now = match read_known(place) {
        Ok(now) => now.map(|now| now.hash),
        Err(_) => return None,
    };
    if now == change.after {
        return Some(true);
    }
    (now == change.before).then_some(false)
}

/// Whether a content is one that a change may make.
pub(in crate::tool) fn check_size(bytes: usize) -> Result<(), ToolError> {
    if bytes as u64 > MAX_FILE {
        return Err(ToolError(format!(
            "the file would have more than {MAX_FILE} bytes, which could not be edited again"
        )));
    }
    Ok(())
}

fn too_large(bytes: u64) -> ToolError {
    ToolError(format!(
        "the file has {bytes} bytes; at most {MAX_FILE} can be edited"
    ))
}

/// Puts a content in the place of what was read there, or of nothing. The path has no links; one that
/// has become a link since is another place, and refused. A file that may be written and not be replaced is
/// written in place, if its content from before is kept.
///
/// # Errors
/// [`EffectError::Changed`] if there is something else by now. Nothing is changed then, and nothing is
/// left behind.
pub(super) fn replace(
    place: &Path,
    known: Option<&KnownFile>,
    content: &[u8],
    is_kept: bool,
) -> Result<Notes, EffectError> {
    replace_with_mode(place, known, content, is_kept, None)
}

/// Does the same, and gives the file these permissions in the same step unless it is written in place.
///
/// # Errors
/// Those of [`replace`].
pub(super) fn replace_with_mode(
    place: &Path,
    known: Option<&KnownFile>,
    content: &[u8],
    is_kept: bool,
    mode: Option<u32>,
) -> Result<Notes, EffectError> {
    let name = place.file_name().ok_or_else(|| failed(Errno::EISDIR))?;
    let above = place.parent().unwrap_or(Path::new("/"));
    let folder = open_folder(above)?;
    sweep(&folder, above);
    let mut notes = Notes::new();
    let hindered = match Temporary::make(&folder) {
        Ok(temporary) => {
            let old = match known {
                Some(known) => {
                    let file = open_at(&folder, name, OFlag::O_RDONLY);
                    Some((known, file.map_err(|_| EffectError::Changed)?))
                }
                None => None,
            };
            fill(&temporary.file, old.as_ref(), content, mode, &mut notes)?;
            exchange(&temporary, place, name, known, &mut notes)?
        }
        Err(error) => Some(error),
    };
    if let Some(error) = hindered {
        let (Some(reason), Some(known)) = (hindrance(error), known) else {
            return Err(failed(error));
        };
        if !is_kept {
            return Err(EffectError::Failed(ToolError(format!(
                "the file cannot be replaced, since {reason}, and is not written in place, since its \
                 content from before could not be kept"
            ))));
        }
        let _turn = turn(place);
        let file = open_at(&folder, name, OFlag::O_RDWR).map_err(failed)?;
        if !is_known(&file, known) {
            return Err(EffectError::Changed);
        }
        write_in_place(&file, &known.bytes, content)?;
        return Ok(vec![format!("written in place, since {reason}")]);
    }
    folder.sync_all().map_err(failed)?;
    if known.is_some_and(|known| known.names > 1) {
        notes.push("the file had other names (hard links), which keep the old content".to_owned());
    }
    Ok(notes)
}

/// Gives the new file the name of what was read, or of nothing; the error by which the folder or a mount
/// hinders that.
fn exchange(
    temporary: &Temporary<'_>,
    place: &Path,
    name: &OsStr,
    known: Option<&KnownFile>,
    notes: &mut Notes,
) -> Result<Option<Errno>, EffectError> {
    let folder = temporary.folder;
    // Two changes of ours never meet: one that was taken back could take another along.
    let _turn = turn(place);
    if known.is_some_and(|known| !holds(folder, name, known)) {
        return Err(EffectError::Changed);
    }
    let Some(known) = known else {
        temporary.become_new(name)?;
        return Ok(None);
    };
    match temporary.exchange(name) {
        Ok(()) => check_old(temporary, name, known)?,
        Err(EffectError::Failed(_)) => {
            // The file system does not exchange names. Between the look and the renaming a
            // change by another program is lost.
            if !holds(folder, name, known) {
                return Err(EffectError::Changed);
            }
            if let Err(error) = nix::fcntl::renameat(folder, &*temporary.name, folder, name) {
                return Ok(Some(error));
            }
            notes.push(
                "this file system cannot exchange files: a change at the very same moment would \
                 be lost"
                    .to_owned(),
            );
        }
        Err(changed) => return Err(changed),
    }
    Ok(None)
}

/// Removes a file, if it is unchanged since it was read.
///
/// # Errors
/// [`EffectError::Changed`] if there is something else by now. It stays then.
pub(super) fn remove(place: &Path, known: &KnownFile) -> Result<(), EffectError> {
    let name = place.file_name().ok_or_else(|| failed(Errno::EISDIR))?;
    let folder = open_folder(place.parent().unwrap_or(Path::new("/")))?;
    let temporary = Temporary::make(&folder).map_err(failed)?;
    let turn = turn(place);
    if !holds(&folder, name, known) {
        return Err(EffectError::Changed);
    }
    // Under the temporary name it is looked at once more. What was put in its place meanwhile stays.
    temporary.displace(name)?;
    if !holds(&folder, &*temporary.name, known) {
        temporary.become_new(name)?;
        return Err(EffectError::Changed);
    }
    drop((turn, temporary));
    folder.sync_all().map_err(failed)
}

/// Gives a file of ours those permissions, if its path leads to it without links.
pub(super) fn set_mode(place: &Path, mode: u32) -> Result<(), EffectError> {
    let name = place.file_name().ok_or_else(|| failed(Errno::EISDIR))?;
    let folder = open_folder(place.parent().unwrap_or(Path::new("/")))?;
    let file = open_at(&folder, name, OFlag::O_RDONLY).map_err(failed)?;
    let mode = fs::Permissions::from_mode(mode & 0o777);
    file.set_permissions(mode).map_err(failed)
}

/// Waits until no other change of that file is put in its place. Some files share a turn.
pub(super) fn turn(place: &Path) -> MutexGuard<'static, ()> {
    static TURNS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    let turn = &TURNS[(hasher.finish() % TURNS.len() as u64) as usize];
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a name in a folder leads to a file with the known bytes and mode.
pub(super) fn holds<P: ?Sized + nix::NixPath>(folder: &File, name: &P, known: &KnownFile) -> bool {
    open_at(folder, name, OFlag::O_RDONLY).is_ok_and(|file| is_known(&file, known))
}

/// Opens what has a name in a folder, and is no link.
fn open_at<P: ?Sized + nix::NixPath>(folder: &File, name: &P, access: OFlag) -> nix::Result<File> {
    let flags = access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    openat(folder, name, flags, Mode::empty()).map(File::from)
}

/// True if a file has the known bytes and mode.
fn is_known(file: &File, known: &KnownFile) -> bool {
    let mut bytes = Vec::new();
    let is_as_known = |found: fs::Metadata| found.is_file() && found.mode() & 0o7777 == known.mode;
    let is_as_known = file.metadata().is_ok_and(is_as_known);
    let read = is_as_known && file.take(MAX_FILE + 1).read_to_end(&mut bytes).is_ok();
    read && bytes == known.bytes
}

/// Writes the content, with owner and attributes of the file before, and its mode unless another is given, and flushes it.
fn fill(
    mut file: &File,
    old: Option<&(&KnownFile, File)>,
    content: &[u8],
    mode: Option<u32>,
    notes: &mut Notes,
) -> Result<(), EffectError> {
    file.write_all(content).map_err(failed)?;
    let own = match old {
        Some((known, old)) => {
            if fchown(file, Some(known.owner.0), Some(known.owner.1)).is_err() {
                notes.push("the file has another owner now: it could not be kept".to_owned());
            }
            // Before the mode: it would give users of a list that the folder gives more than they had.
            notes.extend(copy_attributes(old, file)?);
            known.mode
        }
        None => 0o666 & !umask(),
    };
    let mode = mode.map_or(own, |mode| mode & 0o777);
    let mode = fs::Permissions::from_mode(mode);
    file.set_permissions(mode).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// The mode that new files lack. The process has one, and no way to look at it that changes nothing;
/// on Linux the kernel names it.
pub(in crate::tool) fn umask() -> u32 {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    mask.unwrap_or(0o022)
}

/// The old file has the temporary name now: if it is another than was known, it gets its own back.
fn check_old(
    temporary: &Temporary<'_>,
    name: &OsStr,
    known: &KnownFile,
) -> Result<(), EffectError> {
    if holds(temporary.folder, &*temporary.name, known) {
        return Ok(());
    }
    temporary.take_back(name)?;
    Err(EffectError::Changed)
}
#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
