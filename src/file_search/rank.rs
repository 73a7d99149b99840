//! Which files fit what is known of their names, the best first.

use std::cmp::Reverse;
use std::path::Path;

use harness_actors::beneath::{FolderHandle, LinkPolicy};
use harness_protocol::FoundFiles;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::listing::PathListing;

/// The files that fit best, at most so many: a file of exactly that path first, even one that is not
/// listed, then by their names before their paths, then the short ones. Blocks.
pub(super) fn best(
    listing: &PathListing,
    folder: &Path,
    left_out: &Path,
    query: &str,
    limit: usize,
) -> FoundFiles {
    let mut files = fitting(listing, query, limit);
    if !query.is_empty() && is_file(folder, left_out, query) {
        files.retain(|path| path != query);
        files.insert(0, query.to_owned());
        files.truncate(limit);
    }
    FoundFiles {
        query: query.to_owned(),
        files,
        known: listing.len(),
        is_whole: listing.is_whole,
    }
}

fn fitting(listing: &PathListing, query: &str, limit: usize) -> Vec<String> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::new(
        query,
        CaseMatching::Smart,
        Normalization::Smart,
        AtomKind::Fuzzy,
    );
    let mut buffer = Vec::new();
    let mut score = |text: &str| pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher);
    let mut found: Vec<_> = listing
        .paths()
        .filter_map(|path| {
            let of_path = score(path)?;
            let name = path.rsplit('/').next().unwrap_or(path);
            let of_name = score(name).unwrap_or(0);
            Some((Reverse((of_name, of_path)), path.len(), path))
        })
        .collect();
    found.sort_unstable();
    let best = found.into_iter().take(limit);
    best.map(|(_, _, path)| path.to_owned()).collect()
}

/// Whether that is the path of a file which may be attached.
fn is_file(folder: &Path, left_out: &Path, path: &str) -> bool {
    let opened = FolderHandle::open(folder);
    opened.is_ok_and(|folder| {
        let folder = folder.without(left_out);
        folder.look(Path::new(path), LinkPolicy::Inside).is_ok()
    })
}
