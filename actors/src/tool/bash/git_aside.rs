//! Puts entries aside that would make git run a program, into one folder that git does not look into.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::git_folders::{GitFolders, GitPlace, GitRoot};
use super::git_look::GitFinding;
use super::held_folder::{HeldFolder, HeldPlace, shown_name};

/// The folder for what is put aside, in the git folder.
struct AsideFolder<'f> {
    folders: &'f GitFolders<'f>,
    made: Option<(OsString, HeldFolder)>,
    /// Number of entries that were put aside.
    count: usize,
    /// True if the index was put aside, without which git knows no submodules.
    has_index: bool,
}

/// Puts each entry aside; a line for each. Blocks.
pub(super) fn put_aside(findings: &[GitFinding], folders: &GitFolders<'_>) -> Vec<String> {
    let mut aside = AsideFolder {
        folders,
        made: None,
        count: 0,
        has_index: false,
    };
    let notes = findings.iter().map(|finding| aside.put(finding));
    notes.collect()
}

impl AsideFolder<'_> {
    fn put(&mut self, finding: &GitFinding) -> String {
        let place = &finding.place;
        let path = self.folders.root(place.root).map(|(path, _)| path);
        let shown = path.unwrap_or(self.folders.path).join(&place.path);
        let begin = format!(
            "{} would make git run a program ({})",
            shown.display(),
            finding.reason
        );
        let index = GitPlace::new(GitRoot::Git, "index");
        match self.move_aside(place) {
            Ok(aside) if *place == index => {
                self.has_index = true;
                format!("{begin}; {}", index_note(&aside))
            }
            Ok(aside) => format!("{begin}; it was put aside as {}", aside.display()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                format!("{begin}; what it was in was put aside")
            }
            Err(error) if !is_of_submodule(place) => {
                format!("{begin}; it could not be put aside: {error}")
            }
            Err(error) if self.has_index => {
                format!("{begin}; it could not be put aside ({error}), the index was")
            }
            Err(error) => match self.move_aside(&index) {
                Ok(aside) => {
                    self.has_index = true;
                    let note = index_note(&aside);
                    format!("{begin}; it could not be put aside ({error}), but {note}")
                }
                Err(_) => format!("{begin}; it could not be put aside: {error}"),
            },
        }
    }

    /// Moves the entry at a place, or the link above it.
    fn move_aside(&mut self, place: &GitPlace) -> io::Result<PathBuf> {
        let (_, root) = self
            .folders
            .root(place.root)
            .ok_or(io::ErrorKind::NotFound)?;
        match root.place(&place.path)? {
            HeldPlace::Entry(above, name) | HeldPlace::Blocked(above, name) => {
                self.move_entry(&above, &name)
            }
            HeldPlace::Absent => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn move_entry(&mut self, above: &HeldFolder, name: &OsStr) -> io::Result<PathBuf> {
        let made = match self.made.take() {
            Some(made) => made,
            None => self.folders.git.make_aside()?,
        };
        let (made, folder) = self.made.insert(made);
        let new = format!("{}-{}", self.count + 1, shown_name(name));
        above.move_into(name, folder, OsStr::new(&new))?;
        self.count += 1;
        Ok(self.folders.git_path.join(made).join(new))
    }
}

/// True if git does not look at a place once it knows no submodules.
fn is_of_submodule(place: &GitPlace) -> bool {
    match place.root {
        GitRoot::Folder => place.path.iter().count() > 1,
        GitRoot::Git => place.path.starts_with("modules"),
        GitRoot::Common => false,
    }
}

fn index_note(aside: &Path) -> String {
    format!(
        "the index was put aside as {}; `git reset` makes it again",
        aside.display()
    )
}
