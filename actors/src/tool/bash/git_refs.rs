//! Reads the refs of a repository by descriptors, without git.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use super::held_folder::{EntryKind, HeldFolder, HeldPlace};

/// Maximum size of a file with one ref, in bytes.
const MAX_REF: u64 = 4096;
/// Maximum size of the file with packed refs that is read, in bytes.
const MAX_PACKED: u64 = 16 * 1024 * 1024;
/// Maximum number of refs that are read.
const MAX_REFS: usize = 50_000;
/// Maximum depth of the names of refs.
const DEPTH: usize = 8;
/// Candidates of workflows, of which a model made some that were rejected. They are not the operator's.
const CANDIDATES: &str = "harness";
const HEAD: &str = "HEAD";
const REFS: &str = "refs";
const PACKED: &str = "packed-refs";

/// The objects that the refs of a repository name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GitRefs {
    /// The objects of all refs and of HEAD: commits, and tags that name one.
    pub(super) tips: BTreeSet<String>,
    /// The commit of HEAD.
    pub(super) head: Option<String>,
    /// True if there are more refs than are read.
    pub(super) is_cut: bool,
}

impl GitRefs {
    /// Reads the refs of a repository, with the HEAD of a git folder, which is another one in a linked worktree.
    /// Leaves out refs that it cannot read. Blocks.
    pub(super) fn read(git: &HeldFolder, common: &HeldFolder) -> Self {
        let packed = common.read(OsStr::new(PACKED), MAX_PACKED);
        let packed = packed.ok().flatten().map(|(text, _)| text);
        let packed = packed.unwrap_or_default();
        let packed = String::from_utf8_lossy(&packed);
        let mut tips = BTreeSet::new();
        for line in packed.lines() {
            let (name, of) = line.split_once(' ').unwrap_or((line, ""));
            // The commit of a tag is on the next line, after this sign.
            let name = name.trim_start_matches('^');
            let is_candidate = of.starts_with(&format!("{REFS}/{CANDIDATES}/"));
            if !is_candidate && is_object_name(name) && tips.len() < MAX_REFS {
                tips.insert(name.to_owned());
            }
        }
        if let Ok(refs) = common.folder(OsStr::new(REFS)) {
            let names = refs.names().unwrap_or_default();
            for name in names.iter().filter(|name| *name != CANDIDATES) {
                add_loose(&refs, name, DEPTH, &mut tips);
            }
        }
        let is_cut = tips.len() >= MAX_REFS;
        let head = head(git, common, &packed);
        tips.extend(head.clone());
        Self { tips, head, is_cut }
    }
}

/// Adds the objects of the refs in a folder, or of one ref.
fn add_loose(folder: &HeldFolder, name: &OsStr, depth: usize, tips: &mut BTreeSet<String>) {
    if tips.len() >= MAX_REFS {
        return;
    }
    match folder.kind(name) {
        Ok(Some(EntryKind::File)) => tips.extend(object_in(folder, name)),
        Ok(Some(EntryKind::Folder)) if depth > 0 => {
            let Ok(inner) = folder.folder(name) else {
                return;
            };
            for name in inner.names().unwrap_or_default() {
                add_loose(&inner, &name, depth - 1, tips);
            }
        }
        Ok(Some(EntryKind::Folder | EntryKind::Link | EntryKind::Other) | None) | Err(_) => {}
    }
}

/// The commit of HEAD, which names it or a branch.
fn head(git: &HeldFolder, common: &HeldFolder, packed: &str) -> Option<String> {
    match head_target(git)? {
        HeadTarget::Commit(commit) => Some(commit),
        HeadTarget::Branch(branch) => {
            loose_commit(&branch, common).or_else(|| packed_commit(&branch, packed))
        }
    }
}

/// The ref or commit that HEAD names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeadTarget {
    Commit(String),
    /// A ref by its whole name, which there may not be yet.
    Branch(String),
}

/// The ref or commit that the HEAD of a git folder names. Blocks.
pub(super) fn head_target(git: &HeldFolder) -> Option<HeadTarget> {
    let (text, _) = git.read(OsStr::new(HEAD), MAX_REF).ok()??;
    let text = String::from_utf8(text).ok()?;
    match text.trim().strip_prefix("ref:") {
        Some(branch) => Some(HeadTarget::Branch(branch.trim().to_owned())),
        None => object_name(&text).map(HeadTarget::Commit),
    }
}

/// The commit of a ref, by its whole name. Blocks.
pub(super) fn commit_of_ref(name: &str, common: &HeldFolder) -> Option<String> {
    loose_commit(name, common).or_else(|| {
        let (packed, _) = common.read(OsStr::new(PACKED), MAX_PACKED).ok()??;
        packed_commit(name, &String::from_utf8_lossy(&packed))
    })
}

/// The commit of a ref that has a file of its own.
fn loose_commit(name: &str, common: &HeldFolder) -> Option<String> {
    match common.place(Path::new(name)) {
        Ok(HeldPlace::Entry(folder, name)) => object_in(&folder, &name),
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) | Err(_) => None,
    }
}

/// The commit of a ref in the text of packed refs.
fn packed_commit(name: &str, packed: &str) -> Option<String> {
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    let (object, _) = lines.find(|(_, of)| *of == name)?;
    object_name(object)
}

/// The object that a file names.
fn object_in(folder: &HeldFolder, name: &OsStr) -> Option<String> {
    let (text, _) = folder.read(name, MAX_REF).ok()??;
    object_name(std::str::from_utf8(&text).ok()?)
}

fn object_name(text: &str) -> Option<String> {
    let text = text.trim();
    is_object_name(text).then(|| text.to_owned())
}

/// True for the name of an object by SHA-1 or SHA-256.
fn is_object_name(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    matches!(text.len(), 40 | 64) && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [BASH-551]
    #[test]
    fn loose_and_packed_refs_are_read_but_for_candidates() {
        let home = tempfile::tempdir().unwrap();
        let object = |digit: char| digit.to_string().repeat(40);
        let put = |path: &str, text: String| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("HEAD", "ref: refs/heads/main\n".to_owned());
        put("refs/heads/deep/one", format!("{}\n", object('a')));
        put("refs/harness/w/1", format!("{}\n", object('b')));
        put("refs/heads/broken", "evil\n".to_owned());
        let packed = format!(
            "# pack-refs with: peeled fully-peeled sorted\n{} refs/harness/w/2\n{} refs/heads/main\n\
             {} refs/tags/v1\n^{}\n",
            object('c'),
            object('d'),
            object('e'),
            object('f')
        );
        put("packed-refs", packed);
        let held = HeldFolder::open(home.path()).unwrap();
        let refs = GitRefs::read(&held, &held);
        assert_eq!(refs.head, Some(object('d')));
        assert_eq!(refs.tips, BTreeSet::from(['a', 'd', 'e', 'f'].map(object)));
        put("refs/heads/main", format!("{}\n", object('1')));
        assert_eq!(GitRefs::read(&held, &held).head, Some(object('1')));
        put("HEAD", object('2'));
        assert_eq!(GitRefs::read(&held, &held).head, Some(object('2')));
    }
}
