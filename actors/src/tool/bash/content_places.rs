//! The protected places of content in the folder of a command.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The protected places of content that have files, relative to the folder.
#[derive(Debug, Clone, Default)]
pub(super) struct ContentPlaces {
    pub(super) places: BTreeSet<PathBuf>,
    /// Those among them that are in a repository below the folder.
    pub(super) nested: BTreeSet<PathBuf>,
}

impl ContentPlaces {
    pub(super) fn add(&mut self, place: PathBuf, is_nested: bool) {
        if is_nested {
            self.nested.insert(place.clone());
        }
        self.places.insert(place);
    }
}
