//! Reads from git's index which paths are repositories of their own (gitlinks), and which objects have the contents of
//! files that are as git last saw them.
//!
//! Git is lenient with an index that no git has written: it takes the length of a name from the flags, and the
//! positions of entries from a table that threads use. An index in which these differ from each other is not read.
//!
//! Source: gitformat-index(5); `read-cache.c` and `split-index.c` of git.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::git_config::parse;
use super::held_folder::HeldFolder;

/// Maximum length of a submodule's path, in bytes: no path of Linux is longer.
const MAX_PATH: usize = 4096;
/// Maximum number of submodules of an index.
const MAX_LINKS: usize = 20_000;
/// Maximum size of an index that is read, in bytes.
const MAX_INDEX: u64 = 256 * 1024 * 1024;
/// Maximum size of a configuration that is read, in bytes.
const MAX_CONFIG: u64 = 256 * 1024;
/// The bits of a mode that tell the kind of an entry. Git ignores the others.
const KIND: u32 = 0o170_000;
/// The kind of an entry that is a regular file.
const REGULAR: u32 = 0o100_000;
/// The kind of an entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// Bytes of an entry before the name of its object: times, device, inode, mode, owner, size.
const STATS: usize = 40;
/// The position of the mode among them.
const MODE: usize = 24;
/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;
/// The bits of the flags that tell the sides of a conflict.
const STAGE: u16 = 0x3000;
/// The bits of the flags that have the length of the name, and the value for any longer name.
const NAME_LENGTH: u16 = 0x0fff;
/// Length of the hash in the extension that has the end of the entries. Older gits use it with longer hashes, too.
const END_HASH: usize = 20;

/// The gitlinks of an index.
#[derive(Debug, Default, PartialEq, Eq)]
struct IndexLinks {
    paths: Vec<PathBuf>,
    shared: Option<SharedIndex>,
    /// True if it names folders whose content it does not tell.
    is_sparse: bool,
}

/// An index that another one continues.
#[derive(Debug, Default, PartialEq, Eq)]
struct SharedIndex {
    name: String,
    /// The positions of its entries that the other one has replaced by gitlinks, without repeating their paths.
    replaced: BTreeSet<usize>,
}

/// The numbers of a file from git's last look at it, as its index has them: larger ones are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexStat {
    /// The time of the last change of the file or of its properties, in seconds and nanoseconds.
    pub(super) changed: (u32, u32),
    /// The time of the last change of its content.
    pub(super) modified: (u32, u32),
    pub(super) inode: u32,
    pub(super) size: u32,
}

#[cfg(test)]
impl IndexStat {
    /// The numbers that a file has now.
    pub(super) fn at(path: &std::path::Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::symlink_metadata(path).unwrap();
        let number = |wide: i64| u32::try_from(wide).unwrap();
        Self {
            changed: (number(found.ctime()), number(found.ctime_nsec())),
            modified: (number(found.mtime()), number(found.mtime_nsec())),
            inode: u32::try_from(found.ino() & 0xffff_ffff).unwrap(),
            size: u32::try_from(found.len()).unwrap(),
        }
    }
}

/// The submodules that a repository's index tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexSubmodules {
    pub(super) paths: Vec<PathBuf>,
    /// True if folders are left out of it.
    pub(super) is_sparse: bool,
}

/// The paths of the submodules of the repository with this git folder, whose configuration is in another folder if it is
/// a linked worktree's. `None` if its index cannot be read.
pub(super) fn gitlinks(git: &HeldFolder, configured: &HeldFolder) -> Option<IndexSubmodules> {
    let read = |name: &str| git.read(OsStr::new(name), MAX_INDEX).ok().flatten();
    if matches!(git.kind(OsStr::new("index")), Ok(None)) {
        return Some(IndexSubmodules::default());
    }
    let object = object_length(configured)?;
    let (index, _) = read("index")?;
    let mut links = index_links(&index, object, &BTreeSet::new())?;
    if let Some(base) = links.shared {
        let (shared, _) = read(&format!("sharedindex.{}", base.name))?;
        let shared = index_links(&shared, object, &base.replaced)?;
        links.paths.extend(shared.paths);
        links.is_sparse |= shared.is_sparse;
    }
    Some(IndexSubmodules {
        paths: links.paths,
        is_sparse: links.is_sparse,
    })
}

/// Visits the regular files of an index without a conflict: the path below the working tree, the numbers that git last saw,
/// and the name of the object with the content. `None` if git has not written the index, or continues another one with it.
pub(super) fn visit_files(
    index: &[u8],
    object: usize,
    mut visit: impl FnMut(&[u8], IndexStat, &[u8]),
) -> Option<()> {
    let mut rest = IndexBytes(index);
    let (version, count) = rest.head()?;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let entry = rest.entry(version, object, &mut name)?;
        if name.is_empty() {
            return None;
        }
        if entry.mode & KIND == REGULAR && entry.flags & STAGE == 0 {
            visit(&name, entry.stat()?, entry.object);
        }
    }
    Some(())
}

/// The name of an object in digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The length of the names of objects. A configuration that cannot be read is reported elsewhere. `None` if git has no
/// such objects.
pub(super) fn object_length(configured: &HeldFolder) -> Option<usize> {
    let config = configured.read(OsStr::new("config"), MAX_CONFIG);
    let entries = config.ok().flatten().and_then(|(text, _)| parse(&text));
    let mut entries = entries.unwrap_or_default().into_iter().rev();
    let format = entries.find(|entry| entry.key() == "extensions.objectformat");
    match format.as_ref().map_or("sha1", |format| format.value()) {
        "sha1" => Some(20),
        "sha256" => Some(32),
        _ => None,
    }
}

/// The gitlinks of an index whose objects have names of that length, and the paths of the entries at other positions
/// that are wanted. `None` if git would not read it, or has not written it.
fn index_links(index: &[u8], object: usize, wanted: &BTreeSet<usize>) -> Option<IndexLinks> {
    let mut rest = IndexBytes(index);
    let (version, count) = rest.head()?;
    let mut links = IndexLinks::default();
    let mut name: Vec<u8> = Vec::new();
    let (mut nameless, mut starts) = (Vec::new(), Vec::new());
    for number in 0..count {
        let start = index.len() - rest.0.len();
        let entry = rest.entry(version, object, &mut name)?;
        if entry.is_whole {
            starts.push((start, number));
        }
        let is_link = entry.mode & KIND == GITLINK;
        if !name.is_empty() {
            if is_link || wanted.contains(&number) {
                // Names share beginnings, so a small index could tell of very many bytes.
                if name.len() > MAX_PATH || links.paths.len() > MAX_LINKS {
                    return None;
                }
                links.paths.push(plain_path(&name)?);
            }
        } else if nameless.len() == number {
            nameless.push(is_link);
        } else {
            return None;
        }
    }
    if wanted.last().is_some_and(|last| *last >= count) {
        return None;
    }
    let end = index.len() - rest.0.len();
    if !ends_there(index, end, object) {
        return None;
    }
    while rest.0.len() > object {
        let kind = rest.split(4)?;
        let length = usize::try_from(rest.number()?).ok()?;
        let content = rest.split(length)?;
        match kind {
            b"link" if links.shared.is_none() => {
                links.shared = Some(shared(content, object, &nameless)?);
            }
            b"sdir" => links.is_sparse = true,
            b"IEOT" if !is_table(content, &starts, count) => return None,
            [b'A'..=b'Z', ..] => {}
            _ => return None,
        }
    }
    // A null name is that of no index, and only another one has the names that are missing.
    links.shared = links
        .shared
        .filter(|base| base.name.bytes().any(|digit| digit != b'0'));
    if links.shared.is_none() && !nameless.is_empty() {
        return None;
    }
    // A hash of the rest ends it. Another length is that of another kind of objects.
    (rest.0.len() == object).then_some(links)
}

/// A path as git writes it. `None` for any other, which could lead out of the folder.
fn plain_path(name: &[u8]) -> Option<PathBuf> {
    let is_plain = |part: &[u8]| {
        !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git")
    };
    let mut parts = name.split(|byte| *byte == b'/');
    parts
        .all(is_plain)
        .then(|| OsString::from_vec(name.to_vec()).into())
}

/// False if the index names another end of its entries, from which git would read it.
fn ends_there(index: &[u8], end: usize, object: usize) -> bool {
    [END_HASH, object].into_iter().all(|hash| {
        let at = index.len().checked_sub(object + hash + 4 + 8);
        let extension = at.and_then(|at| index.get(at..));
        let Some(extension) = extension.filter(|extension| extension.starts_with(b"EOIE")) else {
            return true;
        };
        let mut rest = IndexBytes(extension);
        let named = rest.split(8).and_then(|_| rest.number());
        named.is_some_and(|named| usize::try_from(named) == Ok(end))
    })
}

/// True if a table of blocks of entries leads to the same entries, in the same order.
fn is_table(content: &[u8], starts: &[(usize, usize)], count: usize) -> bool {
    let mut rest = IndexBytes(content);
    if rest.number() != Some(1) {
        return false;
    }
    let mut next = 0;
    while !rest.0.is_empty() {
        let (Some(offset), Some(entries)) = (rest.number(), rest.number()) else {
            return false;
        };
        let (Ok(offset), Ok(entries)) = (usize::try_from(offset), usize::try_from(entries)) else {
            return false;
        };
        let found = starts.binary_search_by_key(&offset, |(start, _)| *start);
        let found = found.ok().and_then(|at| starts.get(at));
        if found.is_none_or(|(_, number)| *number != next) {
            return false;
        }
        next += entries;
    }
    next == count
}

/// The shared index that the content of an extension names. `nameless` has true for each gitlink among the entries that
/// replace one of it, which are the first and have no name.
fn shared(content: &[u8], object: usize, nameless: &[bool]) -> Option<SharedIndex> {
    let mut rest = IndexBytes(content);
    let name = hexadecimal(rest.split(object)?);
    let mut replaced = Vec::new();
    if !rest.0.is_empty() {
        rest.bitmap()?;
        replaced = set_bits(rest.bitmap()?, nameless.len())?;
    }
    if replaced.len() != nameless.len() || !rest.0.is_empty() {
        return None;
    }
    let links = replaced.into_iter().zip(nameless);
    let links = links.filter(|(_, is_link)| **is_link);
    Some(SharedIndex {
        name,
        replaced: links.map(|(position, _)| position).collect(),
    })
}

/// The positions of the bits that are set in a compressed bitmap. `None` if there are more than that.
///
/// Source: `ewah/ewok.h` of git: a word has the bit of a run, its length in words, and the number of words after it that
/// are not compressed.
fn set_bits(words: &[u8], most: usize) -> Option<Vec<usize>> {
    let mut words = words.chunks_exact(8).map(|word| {
        word.iter()
            .fold(0_u64, |all, byte| (all << 8) | u64::from(*byte))
    });
    let mut set = Vec::new();
    let mut position = 0_usize;
    while let Some(word) = words.next() {
        let run = usize::try_from((word >> 1) & 0xffff_ffff).ok()?;
        let run = run.checked_mul(64)?;
        let end = position.checked_add(run)?;
        if word & 1 == 1 {
            if run > most {
                return None;
            }
            set.extend(position..end);
        }
        position = end;
        for _ in 0..word >> 33 {
            let bits = words.next()?;
            let found = (0..64).filter(|bit| (bits >> bit) & 1 == 1);
            set.extend(found.map(|bit| position + bit));
            position = position.checked_add(64)?;
        }
        if set.len() > most {
            return None;
        }
    }
    Some(set)
}

/// An entry of an index, without its name.
struct IndexEntry<'i> {
    stats: &'i [u8],
    mode: u32,
    /// The name of its object.
    object: &'i [u8],
    flags: u16,
    /// True if its name does not continue the one before.
    is_whole: bool,
}

impl IndexEntry<'_> {
    fn stat(&self) -> Option<IndexStat> {
        let mut rest = IndexBytes(self.stats);
        let mut next = || rest.number();
        let changed = (next()?, next()?);
        let modified = (next()?, next()?);
        let (_device, inode) = (next()?, next()?);
        let (_mode, _owner, _group) = (next()?, next()?, next()?);
        Some(IndexStat {
            changed,
            modified,
            inode,
            size: next()?,
        })
    }
}

/// The bytes that were not read yet.
struct IndexBytes<'i>(&'i [u8]);

impl<'i> IndexBytes<'i> {
    fn split(&mut self, count: usize) -> Option<&'i [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    /// The version and the number of entries, with which an index begins.
    fn head(&mut self) -> Option<(u32, usize)> {
        if self.split(4)? != b"DIRC" {
            return None;
        }
        let version = self.number()?;
        let count = usize::try_from(self.number()?).ok()?;
        (2..=4).contains(&version).then_some((version, count))
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.split(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.split(2)?.try_into().ok()?))
    }

    /// The next entry. `name` has the name of the one before, and gets that of this one.
    fn entry(&mut self, version: u32, object: usize, name: &mut Vec<u8>) -> Option<IndexEntry<'i>> {
        let before = self.0.len();
        let stats = self.split(STATS)?;
        let mode = u32::from_be_bytes(stats.get(MODE..MODE + 4)?.try_into().ok()?);
        let object = self.split(object)?;
        let flags = self.short()?;
        if flags & EXTENDED != 0 {
            if version < 3 {
                return None;
            }
            self.short()?;
        }
        let kept = match version {
            4 => name.len().checked_sub(self.varint()?)?,
            _ => 0,
        };
        name.truncate(kept);
        name.extend(self.until_nul()?);
        if version < 4 {
            // One to eight bytes end an entry, to a multiple of eight.
            let length = before - self.0.len() - 1;
            self.split(7 - length % 8)?;
        }
        let length = usize::from(flags & NAME_LENGTH);
        (length == name.len().min(NAME_LENGTH.into())).then_some(IndexEntry {
            stats,
            mode,
            object,
            flags,
            is_whole: kept == 0,
        })
    }

    /// The words of a compressed bitmap.
    fn bitmap(&mut self) -> Option<&'i [u8]> {
        self.number()?;
        let words = usize::try_from(self.number()?).ok()?;
        let words = self.split(words.checked_mul(8)?)?;
        self.number()?;
        Some(words)
    }

    fn until_nul(&mut self) -> Option<&'i [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let head = self.split(end)?;
        self.split(1)?;
        Some(head)
    }

    /// A number in the coding of offsets in packs.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = *self.split(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.split(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, words: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(folder).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.status().unwrap().success(), "{words:?}");
    }

    fn links(index: &[u8], object: usize) -> Option<IndexLinks> {
        index_links(index, object, &BTreeSet::new())
    }

    /// The position of a text in an index.
    fn position(index: &[u8], text: &[u8]) -> usize {
        let found = index.windows(text.len()).position(|part| part == text);
        found.unwrap()
    }

    /// Spec: [BASH-571]
    #[test]
    fn an_index_whose_submodules_have_paths_that_are_too_long_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        git(at, &["init", "-q"]);
        for (length, is_read) in [(MAX_PATH, true), (MAX_PATH + 1, false)] {
            let path = "a/".repeat(length / 2 - 1) + &"b".repeat(2 + length % 2);
            let object = "1234567890123456789012345678901234567890";
            let entry = format!("160000,{object},{path}");
            git(at, &["update-index", "--add", "--cacheinfo", &entry]);
            let index = std::fs::read(at.join(".git/index")).unwrap();
            assert_eq!(links(&index, 20).is_some(), is_read, "{}", path.len());
        }
    }

    /// Spec: [UNDO-778]
    #[test]
    fn the_files_of_an_index_have_the_numbers_that_git_saw_and_their_objects() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        git(at, &["init", "-q"]);
        std::fs::create_dir(at.join("deep")).unwrap();
        std::fs::write(at.join("deep/hello"), "hello\n").unwrap();
        std::os::unix::fs::symlink("hello", at.join("deep/link")).unwrap();
        git(at, &["add", "."]);
        let stat = IndexStat::at(&at.join("deep/hello"));
        let files = |index: &[u8]| {
            let mut files = Vec::new();
            let whole = visit_files(index, 20, |name, stat, object| {
                let name = String::from_utf8(name.to_vec()).unwrap();
                files.push((name, stat, hexadecimal(object)));
            });
            whole.map(|()| files)
        };
        for version in ["2", "3", "4"] {
            git(at, &["update-index", "--index-version", version]);
            let index = std::fs::read(at.join(".git/index")).unwrap();
            let hello = "ce013625030ba8dba906f756967f9e9ca394464a".to_owned();
            let expected = [("deep/hello".to_owned(), stat, hello)];
            assert_eq!(files(&index).unwrap(), expected, "{version}");
            assert_eq!(files(&index[..index.len() / 2]), None);
        }
        git(at, &["update-index", "--split-index"]);
        git(at, &["update-index", "--chmod=+x", "deep/hello"]);
        let split = std::fs::read(at.join(".git/index")).unwrap();
        assert!(files(&split).is_none_or(|files| files.is_empty()));
    }

    /// Spec: [BASH-208]
    #[test]
    fn the_gitlinks_of_an_index_of_each_version_are_found() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        git(at, &["init", "-q"]);
        let object = "1234567890123456789012345678901234567890";
        for path in ["a/b", "a/deep/sub", "a/deep/subs", "z"] {
            let entry = format!("160000,{object},{path}");
            git(at, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        for number in 0..40 {
            let name = format!("a/file{number:0width$}", width = number + 1);
            let entry = format!("100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,{name}");
            git(at, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        for version in ["2", "3", "4"] {
            git(at, &["update-index", "--index-version", version]);
            let index = std::fs::read(at.join(".git/index")).unwrap();
            let found = links(&index, 20).unwrap();
            let wanted = ["a/b", "a/deep/sub", "a/deep/subs", "z"].map(PathBuf::from);
            assert_eq!(found.paths, wanted, "{version}");
            assert_eq!(found.shared, None);
            for length in 0..index.len() {
                assert_eq!(links(&index[..length], 20), None, "{length}");
            }
            assert_eq!(links(&index, 32), None, "{version}");
        }
        git(at, &["update-index", "--split-index"]);
        let index = std::fs::read(at.join(".git/index")).unwrap();
        let shared = links(&index, 20).unwrap().shared.unwrap().name;
        let index = std::fs::read(at.join(format!(".git/sharedindex.{shared}"))).unwrap();
        assert_eq!(links(&index, 20).unwrap().paths.len(), 4);
    }

    /// Spec: [BASH-571]
    #[test]
    fn an_index_that_git_reads_otherwise_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        git(at, &["init", "-q"]);
        git(at, &["config", "index.threads", "2"]);
        for number in 0..6 {
            let object = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
            let entry = format!("100644,{object},folder/file{number}");
            git(at, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        for version in ["2", "4"] {
            git(at, &["update-index", "--index-version", version]);
            let index = std::fs::read(at.join(".git/index")).unwrap();
            let read = |index: &[u8]| links(index, 20).map(|found| found.paths);
            assert_eq!(read(&index), Some(Vec::new()));
            let changed = |at: usize, to: &[u8]| {
                let mut changed = index.clone();
                changed[at..at + to.len()].copy_from_slice(to);
                read(&changed)
            };
            // Bits of the mode that git ignores.
            let mode = 12 + MODE;
            assert_eq!(changed(mode, &[0, 0, 0xe1, 0xa4]).unwrap().len(), 1);
            // Another length of a name, another end of the entries, another block of them.
            assert_eq!(changed(12 + STATS + 20, &[0, 3]), None);
            let end = position(&index, b"EOIE") + 8;
            assert_eq!(changed(end, &[0, 0, 0, 90]), None);
            let table = position(&index, b"IEOT") + 12;
            assert_eq!(changed(table, &[0, 0, 0, 84]), None);
            assert_eq!(changed(table + 4, &[0, 0, 0, 1]), None);
            // An extension that git refuses.
            assert_eq!(changed(position(&index, b"IEOT"), b"ieot"), None);
        }
        for path in [
            "../e", "/e", "e/../r", "./e", "e/./r", "e//r", "e/", ".git/e", "e/.GIT",
        ] {
            assert_eq!(plain_path(path.as_bytes()), None, "{path}");
        }
        assert_eq!(plain_path(b"e/.gitx/r"), Some(PathBuf::from("e/.gitx/r")));
    }

    /// Spec: [BASH-571]
    #[test]
    fn an_entry_that_a_split_index_replaces_has_the_path_of_the_shared_index() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        git(at, &["init", "-q"]);
        for number in 0..200 {
            let entry = format!("100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,f{number:03}");
            git(at, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        git(at, &["update-index", "--split-index"]);
        let object = "1234567890123456789012345678901234567890";
        for path in ["f003", "f150", "new"] {
            let entry = format!("160000,{object},{path}");
            git(at, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        let held = HeldFolder::open(&at.join(".git")).unwrap();
        let mut found = gitlinks(&held, &held).unwrap();
        found.paths.sort();
        assert_eq!(found.paths, ["f003", "f150", "new"].map(PathBuf::from));
    }
}
