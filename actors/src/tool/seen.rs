//! The contents of files that the model knows, whole or in part.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Maximum number of separate parts that are noted of a file.
const MAX_PARTS: usize = 32;

/// A file as the model saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Its absolute path, without links.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub hash: String,
    /// The lines that it saw, the first and the last of each part; empty if it saw the file whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u64, u64)>,
}

/// The contents that are on record: the last one of each file, by its path.
pub type SeenBefore = Arc<HashMap<String, SeenFile>>;

/// The last content of each file that the model has read or written. Clones share what they learn.
#[derive(Debug, Clone, Default)]
pub struct SeenFiles {
    before: SeenBefore,
    /// The files that the call has shown the model, the latest last.
    new: Arc<Mutex<Vec<SeenFile>>>,
}

impl SeenFiles {
    /// The files on record, for one call.
    pub(crate) fn from_before(before: SeenBefore) -> Self {
        Self {
            before,
            new: Arc::default(),
        }
    }

    /// Notes that the model knows a file with that SHA-256, in hexadecimal digits.
    pub fn note(&self, path: &Path, hash: String) {
        self.push(path, hash, Vec::new());
    }

    /// Notes that the model knows the lines from the first to the last one of a file that has `all` lines.
    /// Parts of the same content add up.
    pub fn note_lines(&self, path: &Path, hash: String, (first, last): (u64, u64), all: u64) {
        let known = self.last_of(path).filter(|known| known.hash == hash);
        if known.as_ref().is_some_and(|known| known.lines.is_empty()) {
            return;
        }
        let before = known.map(|known| known.lines).unwrap_or_default();
        let mut lines = joined(before.iter().copied().chain([(first, last)]).collect());
        if lines == before {
            return;
        }
        if all == 0 || lines == [(1, all)] {
            lines.clear();
        }
        self.push(path, hash, lines);
    }

    /// True if the model knows the whole file with that content.
    #[must_use]
    pub fn knows(&self, path: &Path, hash: &str) -> bool {
        let known = self.last_of(path);
        known.is_some_and(|known| known.hash == hash && known.lines.is_empty())
    }

    /// True if the model knows the file with another content.
    #[must_use]
    pub fn is_another(&self, path: &Path, hash: &str) -> bool {
        self.last_of(path).is_some_and(|known| known.hash != hash)
    }

    /// The files that the model has seen, in the order of their names.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let learned = self.learned();
        let new = learned.iter().map(|seen| &seen.path);
        let all: BTreeSet<&String> = self.before.keys().chain(new).collect();
        all.into_iter().map(PathBuf::from).collect()
    }

    /// The files that were noted since the call began.
    pub(crate) fn take(&self) -> Vec<SeenFile> {
        std::mem::take(&mut self.learned())
    }

    fn push(&self, path: &Path, hash: String, lines: Vec<(u64, u64)>) {
        let path = path.to_string_lossy().into_owned();
        self.learned().push(SeenFile { path, hash, lines });
    }

    fn last_of(&self, path: &Path) -> Option<SeenFile> {
        let path = path.to_string_lossy();
        let learned = self.learned();
        let new = learned.iter().rev().find(|seen| seen.path == path);
        new.or_else(|| self.before.get(&*path)).cloned()
    }

    fn learned(&self) -> MutexGuard<'_, Vec<SeenFile>> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts in their order, those that meet as one. Of more than [`MAX_PARTS`] the shortest are dropped.
fn joined(mut parts: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    parts.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(parts.len());
    for (first, last) in parts {
        if let Some(before) = joined.last_mut()
            && first <= before.1.saturating_add(1)
        {
            before.1 = before.1.max(last);
        } else {
            joined.push((first, last));
        }
    }
    while joined.len() > MAX_PARTS {
        let lengths = joined.iter().map(|(first, last)| last - first).enumerate();
        let Some((shortest, _)) = lengths.min_by_key(|(_, length)| *length) else {
            break;
        };
        joined.remove(shortest);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-444]
    #[test]
    fn parts_of_one_content_add_up_to_the_whole() {
        let path = Path::new("/f");
        let seen = SeenFiles::default();
        let note = |hash: &str, first: u64, last: u64| {
            seen.note_lines(path, hash.to_owned(), (first, last), 9);
        };
        note("a", 1, 4);
        note("a", 7, 9);
        assert!(!seen.knows(path, "a") && !seen.is_another(path, "a"));
        assert!(seen.is_another(path, "b"));
        let noted = seen.take();
        assert_eq!(noted.last().unwrap().lines, [(1, 4), (7, 9)]);
        // As in a later call, with what is on record.
        let before = noted.into_iter().map(|file| (file.path.clone(), file));
        let seen = SeenFiles::from_before(Arc::new(before.collect()));
        seen.note_lines(path, "a".to_owned(), (2, 3), 9);
        assert!(seen.take().is_empty(), "it adds nothing");
        seen.note_lines(path, "a".to_owned(), (5, 7), 9);
        assert!(seen.knows(path, "a"));
        // A part of what is known whole takes nothing away, and one of another content all.
        seen.note_lines(path, "a".to_owned(), (5, 7), 9);
        assert!(seen.knows(path, "a"));
        seen.note_lines(path, "b".to_owned(), (5, 7), 9);
        assert!(!seen.knows(path, "a") && !seen.knows(path, "b"));
        seen.note_lines(path, "c".to_owned(), (1, 0), 0);
        assert!(seen.knows(path, "c"), "an empty file");
    }

    /// Spec: [TOOL-444]
    #[test]
    fn the_parts_of_a_file_are_bounded() {
        let part = |number: u64| (10 * number, 10 * number + 1 + u64::from(number > 50));
        let kept = joined((0..100).map(part).collect());
        assert_eq!(kept.len(), MAX_PARTS);
        assert!(kept.is_sorted());
        assert!(kept.iter().all(|(first, last)| last - first == 2));
    }
}
