//! The differences between a tree and a commit, by content: nothing that git keeps about files is asked.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::GitError;
use super::program::{Session, path_of};

/// Size of one read of a file, in bytes.
const PIECE: usize = 64 * 1024;

/// An entry of a commit's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) kind: TreeEntryKind,
    pub(super) id: String,
    /// `None` for anything but a file.
    pub(super) size: Option<u64>,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeEntryKind {
    File,
    Program,
    Link,
    /// Another repository.
    Repository,
}

/// The difference of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathDifference {
    /// It is in both, as something else.
    Changed,
    /// It is in the commit alone.
    Gone,
    /// It is in the tree alone.
    New,
}

/// All entries of a commit, by their paths.
pub(super) fn entries(
    session: &Session,
    commit: &str,
) -> Result<BTreeMap<PathBuf, TreeEntry>, GitError> {
    let list = session.call(&["ls-tree", "-r", "-z", "--long", "--full-tree", commit]);
    let records = list.records()?;
    Ok(records.iter().filter_map(|record| entry(record)).collect())
}

/// Reads `<mode> <type> <id> <size>\t<path>`.
fn entry(record: &[u8]) -> Option<(PathBuf, TreeEntry)> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let about = std::str::from_utf8(&record[..tab]).ok()?;
    let mut words = about.split_whitespace();
    let kind = match words.next()? {
        "100755" => TreeEntryKind::Program,
        "120000" => TreeEntryKind::Link,
        "160000" => TreeEntryKind::Repository,
        _ => TreeEntryKind::File,
    };
    let id = words.nth(1)?.to_owned();
    let size = words.next()?.parse().ok();
    Some((path_of(&record[tab + 1..]), TreeEntry { kind, id, size }))
}

/// The differences between the tree and a commit, of the wanted paths, in their order. Blocks.
pub(super) fn differences(
    session: &Session,
    commit: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(PathBuf, PathDifference)>, GitError> {
    let mut entries = entries(session, commit)?;
    let root = &session.place.root;
    let mut found = BTreeMap::new();
    let mut raw = Vec::new();
    for (path, about) in walk(root, &entries)? {
        if !is_wanted(&path.to_string_lossy()) {
            continue;
        }
        match entries.remove(&path) {
            None => drop(found.insert(path, PathDifference::New)),
            Some(entry) => match compared(&root.join(&path), &about, &entry) {
                Same::Yes => {}
                Same::No => drop(found.insert(path, PathDifference::Changed)),
                Same::PerhapsConverted => raw.push((path, entry.id)),
            },
        }
    }
    for path in unequal(session, commit, raw)? {
        found.insert(path, PathDifference::Changed);
    }
    let gone = entries.into_iter().filter(|(path, entry)| {
        entry.kind != TreeEntryKind::Repository && is_wanted(&path.to_string_lossy())
    });
    found.extend(gone.map(|(path, _)| (path, PathDifference::Gone)));
    Ok(found.into_iter().collect())
}

/// All that is in a tree but folders, by paths below its root. Git's own folder is passed over, and so are
/// repositories that the commit names.
fn walk(
    root: &Path,
    entries: &BTreeMap<PathBuf, TreeEntry>,
) -> Result<Vec<(PathBuf, Metadata)>, GitError> {
    let mut folders = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let failed = |error: io::Error| {
            GitError::failed(format!("reading {}", root.join(&folder).display()), &error)
        };
        for entry in fs::read_dir(root.join(&folder)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = folder.join(entry.file_name());
            if path == Path::new(".git") {
                continue;
            }
            let about = entry.metadata().map_err(failed)?;
            if !about.is_dir() {
                found.push((path, about));
            } else if entries
                .get(&path)
                .is_none_or(|entry| entry.kind != TreeEntryKind::Repository)
            {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

/// Result of the comparison of a file with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Same {
    Yes,
    No,
    /// Its content is another one, which may be what git made of the entry's.
    PerhapsConverted,
}

fn compared(place: &Path, about: &Metadata, entry: &TreeEntry) -> Same {
    let is_program = about.permissions().mode() & 0o100 != 0;
    let kind = about.file_type();
    let is_kind = match entry.kind {
        TreeEntryKind::File => kind.is_file() && !is_program,
        TreeEntryKind::Program => kind.is_file() && is_program,
        TreeEntryKind::Link => kind.is_symlink(),
        TreeEntryKind::Repository => false,
    };
    if !is_kind {
        return Same::No;
    }
    let is_sha256 = entry.id.len() > 40;
    let id = if kind.is_symlink() {
        fs::read_link(place).and_then(|target| {
            let target = target.as_os_str().as_bytes();
            blob_id(target, target.len() as u64, is_sha256)
        })
    } else {
        File::open(place).and_then(|file| blob_id(file, about.len(), is_sha256))
    };
    match id {
        Ok(id) if id == entry.id => Same::Yes,
        // What cannot be read is not what it was.
        Err(_) => Same::No,
        Ok(_) if kind.is_symlink() => Same::No,
        Ok(_) => Same::PerhapsConverted,
    }
}

/// The name that git gives to a content.
///
/// Source: gitformat-pack and "Git Objects" of the Git book: the hash of `blob <size>\0` and the content.
fn blob_id(content: impl io::Read, size: u64, is_sha256: bool) -> io::Result<String> {
    let header = format!("blob {size}\0");
    if is_sha256 {
        let mut hash = Sha256::new_with_prefix(header);
        each_piece(content, |piece| hash.update(piece))?;
        return Ok(hex(&hash.finalize()));
    }
    let mut hash = Sha1::new_with_prefix(header);
    each_piece(content, |piece| hash.update(piece))?;
    Ok(hex(&hash.finalize()))
}

fn each_piece(mut content: impl io::Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Those of the files that are not what git makes of their entries, by the attributes of the commit: ends of
/// lines, an encoding.
fn unequal(
    session: &Session,
    commit: &str,
    raw: Vec<(PathBuf, String)>,
) -> Result<Vec<PathBuf>, GitError> {
    // A path with a newline cannot be asked for.
    let is_plain = |path: &Path| {
        let bytes = path.as_os_str().as_bytes();
        !bytes.contains(&b'\n') && !bytes.starts_with(b"\"")
    };
    let (asked, odd): (Vec<_>, Vec<_>) = raw.into_iter().partition(|(path, _)| is_plain(path));
    let mut unequal: Vec<PathBuf> = odd.into_iter().map(|(path, _)| path).collect();
    if asked.is_empty() {
        return Ok(unequal);
    }
    let paths = asked.iter().map(|(path, _)| path.as_os_str().as_bytes());
    let input = paths.collect::<Vec<_>>().join(&b'\n');
    let hashes = session
        .call(&["hash-object", "--stdin-paths"])
        .attributes_of(commit)
        .input(input)
        .text()?;
    let mut hashes = hashes.lines();
    for (path, id) in asked {
        if hashes.next() != Some(id.as_str()) {
            unequal.push(path);
        }
    }
    Ok(unequal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-64]
    #[test]
    fn a_content_has_the_name_that_git_gives_it() {
        let id = |is_sha256| blob_id(&b"hello\n"[..], 6, is_sha256).unwrap();
        assert_eq!(id(false), "ce013625030ba8dba906f756967f9e9ca394464a");
        let sha256 = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4";
        assert_eq!(id(true), sha256);
    }
}
