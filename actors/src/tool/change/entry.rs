//! Symbolic links and files that take each other's place in one step.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use harness_protocol::PathKind;
use nix::errno::Errno;

use super::folders::open_folder;
use super::replace::{KnownFile, holds, turn};
use super::temporary::{Temporary, failed};
use crate::attachment::sha256;
use crate::tool::{EffectError, path};

/// A file or a link that was read.
#[derive(Debug)]
pub(super) enum PathEntry {
    File(KnownFile),
    /// A link, with its target.
    Link(Vec<u8>),
}

/// A file or a link that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewPathEntry {
    pub(super) kind: PathKind,
    /// Of a link, its target.
    pub(super) content: Vec<u8>,
}

impl PathEntry {
    /// The link at a path; nothing if there is something else, or nothing.
    ///
    /// # Errors
    /// If the folder cannot be read, or its path has links.
    pub(super) fn link_at(place: &Path) -> Result<Option<Self>, EffectError> {
        let target = match fs::read_link(place) {
            Ok(target) => target,
            Err(error) => {
                let is_none = [
                    ErrorKind::NotFound,
                    ErrorKind::InvalidInput,
                    ErrorKind::NotADirectory,
                ];
                return match is_none.contains(&error.kind()) {
                    true => Ok(None),
                    false => Err(EffectError::Failed(path::io_error(
                        &error,
                        "the folder is gone",
                    ))),
                };
            }
        };
        open_folder(place.parent().unwrap_or(Path::new("/")))?;
        Ok(Some(Self::Link(target.into_os_string().into_vec())))
    }

    pub(super) const fn kind(&self) -> PathKind {
        match self {
            Self::File(_) => PathKind::Regular,
            Self::Link(_) => PathKind::Link,
        }
    }

    /// The content of the file, or the target of the link.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::File(known) => &known.bytes,
            Self::Link(target) => target,
        }
    }

    pub(super) fn hash(&self) -> String {
        match self {
            Self::File(known) => known.hash.clone(),
            Self::Link(target) => sha256(target),
        }
    }

    pub(super) const fn file(&self) -> Option<&KnownFile> {
        match self {
            Self::File(known) => Some(known),
            Self::Link(_) => None,
        }
    }

    fn is_at(&self, temporary: &Temporary<'_>) -> bool {
        match self {
            Self::File(known) => holds(temporary.folder, &*temporary.name, known),
            Self::Link(target) => {
                let found = temporary.target();
                found.is_ok_and(|found| found.as_bytes() == target)
            }
        }
    }
}

/// Puts a link or a file in the place of what was read at a path, or of nothing, or removes that. A new file gets these
/// permissions.
///
/// # Errors
/// [`EffectError::Changed`] if there is something else by now. It stays then.
pub(super) fn put_entry(
    place: &Path,
    old: Option<&PathEntry>,
    new: Option<&NewPathEntry>,
    mode: u32,
) -> Result<(), EffectError> {
    let name = place.file_name().ok_or_else(|| failed(Errno::EISDIR))?;
    let folder = open_folder(place.parent().unwrap_or(Path::new("/")))?;
    let temporary = match new {
        Some(new) if new.kind == PathKind::Link => {
            Temporary::make_link(&folder, OsStr::from_bytes(&new.content)).map_err(failed)?
        }
        Some(new) => {
            let temporary = Temporary::make(&folder).map_err(failed)?;
            (&temporary.file).write_all(&new.content).map_err(failed)?;
            let mode = fs::Permissions::from_mode(mode & 0o777);
            temporary.file.set_permissions(mode).map_err(failed)?;
            temporary.file.sync_all().map_err(failed)?;
            temporary
        }
        None => Temporary::make(&folder).map_err(failed)?,
    };
    let turn = turn(place);
    match old {
        None if new.is_none() => {}
        None => temporary.become_new(name)?,
        Some(old) if new.is_none() => {
            temporary.displace(name)?;
            if !old.is_at(&temporary) {
                // What was put there meanwhile stays.
                temporary.become_new(name)?;
                return Err(EffectError::Changed);
            }
        }
        Some(old) => {
            temporary.exchange(name)?;
            if !old.is_at(&temporary) {
                temporary.take_back(name)?;
                return Err(EffectError::Changed);
            }
        }
    }
    drop((turn, temporary));
    folder.sync_all().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::replace::read_known;
    use super::*;

    fn new(kind: PathKind, content: &str) -> NewPathEntry {
        NewPathEntry {
            kind,
            content: content.into(),
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// Spec: [UNDO-781]
    #[test]
    fn links_and_files_take_each_others_places_and_what_changed_meanwhile_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        let place = folder.join("entry");
        let link = || PathEntry::link_at(&place).unwrap().unwrap();
        put_entry(&place, None, Some(&new(PathKind::Link, "one")), 0).unwrap();
        let one = link();
        assert_eq!(one.bytes(), b"one");
        put_entry(&place, Some(&one), Some(&new(PathKind::Link, "two")), 0).unwrap();
        let two = link();
        for order in [
            Some(new(PathKind::Link, "three")),
            Some(new(PathKind::Regular, "x")),
            None,
        ] {
            let put = put_entry(&place, Some(&one), order.as_ref(), 0o644);
            assert_eq!(put, Err(EffectError::Changed));
            assert_eq!(link().bytes(), b"two");
        }
        let again = put_entry(&place, None, Some(&new(PathKind::Link, "one")), 0);
        assert_eq!(again, Err(EffectError::Changed));
        put_entry(
            &place,
            Some(&two),
            Some(&new(PathKind::Regular, "text")),
            0o640,
        )
        .unwrap();
        let known = read_known(&place).unwrap().unwrap();
        assert_eq!((&*known.bytes, known.mode), (&b"text"[..], 0o640));
        let file = PathEntry::File(known);
        fs::write(&place, "other").unwrap();
        let put = put_entry(&place, Some(&file), Some(&new(PathKind::Link, "one")), 0);
        assert_eq!(put, Err(EffectError::Changed));
        fs::write(&place, "text").unwrap();
        put_entry(&place, Some(&file), Some(&new(PathKind::Link, "one")), 0).unwrap();
        put_entry(&place, Some(&link()), None, 0).unwrap();
        assert_eq!(names(&folder), 0);
    }

    /// Spec: [UNDO-781]
    #[test]
    fn no_link_is_put_behind_another_link() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        fs::create_dir(folder.join("there")).unwrap();
        symlink("there", folder.join("link")).unwrap();
        symlink("x", folder.join("there/entry")).unwrap();
        let place = folder.join("link/entry");
        assert!(PathEntry::link_at(&place).is_err());
        let new = new(PathKind::Link, "y");
        assert_eq!(
            put_entry(&place, None, Some(&new), 0),
            Err(EffectError::Changed)
        );
        assert_eq!(names(&folder.join("there")), 1);
    }
}
