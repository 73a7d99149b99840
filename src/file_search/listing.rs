//! The files below a folder, but for those that git ignores.

use std::path::Path;
use std::time::Duration;

use ignore::{DirEntry, WalkBuilder};
use tokio::time::Instant;

/// How many files are kept of a folder.
const MAX_FILES: usize = 200_000;
/// How long a folder is looked through.
const MAX_TIME: Duration = Duration::from_secs(2);
/// After how many entries the time is looked at.
const LOOK: usize = 256;

/// The paths of files below a folder, as one text.
#[derive(Debug, Default)]
pub(super) struct PathListing {
    /// All paths, one behind the other.
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
    /// Whether it has all files: there were not too many, and there was time.
    pub(super) is_whole: bool,
}

impl PathListing {
    /// Looks through a folder. What is in `left_out` is not listed. Blocks.
    pub(super) fn read(folder: &Path, left_out: &Path) -> Self {
        let listing = Self::walk(folder, left_out, true);
        // The folder may itself lie in one that git ignores.
        if listing.len() == 0 && listing.is_whole {
            return Self::walk(folder, left_out, false);
        }
        listing
    }

    fn walk(folder: &Path, left_out: &Path, heeds_parents: bool) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (folder, left_out) = (real(folder), real(left_out));
        let is_wanted =
            move |entry: &DirEntry| entry.file_name() != ".git" && entry.path() != left_out;
        let entries = WalkBuilder::new(&folder)
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .parents(heeds_parents)
            .filter_entry(is_wanted)
            .build();
        let until = Instant::now() + MAX_TIME;
        let mut listing = Self {
            is_whole: true,
            ..Self::default()
        };
        for (number, entry) in entries.enumerate() {
            let is_late = number % LOOK == 0 && number > 0 && Instant::now() >= until;
            if is_late || listing.len() >= MAX_FILES {
                listing.is_whole = false;
                break;
            }
            // What cannot be read is not offered.
            let Ok(entry) = entry else { continue };
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path().strip_prefix(&folder).ok();
            if let Some(path) = path.and_then(Path::to_str).filter(|_| is_file) {
                listing.push(path);
            }
        }
        listing
    }

    pub(super) fn push(&mut self, path: &str) {
        let end = u32::try_from(self.text.len() + path.len());
        match end {
            Ok(end) => {
                self.text.push_str(path);
                self.ends.push(end);
            }
            Err(_) => self.is_whole = false,
        }
    }

    /// How many files it has.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().filter_map(move |end| {
            let end = usize::try_from(*end).ok()?;
            let path = self.text.get(start..end);
            start = end;
            path
        })
    }
}
