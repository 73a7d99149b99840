//! Reads from git's index which paths are repositories of their own (gitlinks).
//!
//! Source: gitformat-index(5).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// The mode of an entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// IndexBytes of an entry before the name of its object: times, device, inode, mode, owner, size.
const STATS: usize = 40;
/// The position of the mode among them.
const MODE: usize = 24;
/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// The gitlinks of an index, and the name of the shared index that it continues.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexLinks {
    pub(super) paths: Vec<PathBuf>,
    pub(super) shared: Option<String>,
}

/// The gitlinks of an index whose objects have names of that length. `None` if git would not read it.
pub(super) fn index_links(index: &[u8], object: usize) -> Option<IndexLinks> {
    let mut rest = IndexBytes(index);
    if rest.split(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = rest.number()?;
    let mut links = IndexLinks::default();
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let before = rest.0.len();
        let stats = rest.split(STATS)?;
        let mode = u32::from_be_bytes(stats.get(MODE..MODE + 4)?.try_into().ok()?);
        rest.split(object)?;
        let flags = rest.short()?;
        if version >= 3 && flags & EXTENDED != 0 {
            rest.short()?;
        }
        if version == 4 {
            let kept = name.len().checked_sub(rest.varint()?)?;
            name.truncate(kept);
            name.extend(rest.until_nul()?);
        } else {
            name = rest.until_nul()?.to_vec();
            // One to eight bytes end an entry, to a multiple of eight.
            let length = before - rest.0.len() - 1;
            rest.split(7 - length % 8)?;
        }
        if mode == GITLINK && !name.is_empty() {
            links.paths.push(OsString::from_vec(name.clone()).into());
        }
    }
    while rest.0.len() > object {
        let kind = rest.split(4)?;
        let length = usize::try_from(rest.number()?).ok()?;
        let content = rest.split(length)?;
        if kind == b"link" {
            let name = content.get(..object)?;
            links.shared = Some(name.iter().map(|byte| format!("{byte:02x}")).collect());
        }
    }
    // A hash of the rest ends it. Another length is that of another kind of objects.
    (rest.0.len() == object).then_some(links)
}

/// The bytes that were not read yet.
struct IndexBytes<'i>(&'i [u8]);

impl<'i> IndexBytes<'i> {
    fn split(&mut self, count: usize) -> Option<&'i [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.split(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.split(2)?.try_into().ok()?))
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
            let links = index_links(&index, 20).unwrap();
            let wanted = ["a/b", "a/deep/sub", "a/deep/subs", "z"].map(PathBuf::from);
            assert_eq!(links.paths, wanted, "{version}");
            assert_eq!(links.shared, None);
            for length in 0..index.len() {
                assert_eq!(index_links(&index[..length], 20), None, "{length}");
            }
            assert_eq!(index_links(&index, 32), None, "{version}");
        }
        git(at, &["update-index", "--split-index"]);
        let index = std::fs::read(at.join(".git/index")).unwrap();
        let shared = index_links(&index, 20).unwrap().shared.unwrap();
        let index = std::fs::read(at.join(format!(".git/sharedindex.{shared}"))).unwrap();
        assert_eq!(index_links(&index, 20).unwrap().paths.len(), 4);
    }
}
