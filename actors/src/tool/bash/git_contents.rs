//! The contents that files have in the operator's commits. The system's git reads the objects, contained like a command
//! that only reads, and the name of each object is computed from its content: a repository that a command has changed
//! can hide an object, and cannot replace one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use harness_protocol::Access;
use sha1::{Digest as _, Sha1};

use super::environment::DEFAULT_PATH;
use super::git_index::hexadecimal;
use super::known_commits::TrustedCommits;
use super::process::{Lifeline, run_into};
use super::search_path;
use super::temp::TempFolder;
use crate::attachment::sha256;
use crate::start_thread;
use crate::tool::launch::{LaunchOrder, Launcher};

/// Maximum time that git may take for one call.
const LIMIT: Duration = Duration::from_secs(20);
/// Maximum size of all objects that are read at once, in bytes.
pub(super) const MAX_OBJECTS: usize = 64 * 1024 * 1024;
/// Maximum number of files that are looked for.
const MAX_PATHS: usize = 200;
/// Maximum number of folders above a file.
const DEPTH: usize = 16;
/// The number of digits of an object's name by SHA-1.
const SHA1_DIGITS: usize = 40;

/// Prints the objects whose names are in a file.
const OBJECTS: &str = r#"exec git cat-file --batch --buffer <"$1/names" 2>/dev/null"#;
/// Prints those objects and the newest commits that lead to them.
const COMMITS: &str = r#"exec 2>/dev/null <"$1/names"
{ cat "$1/names"; git rev-list --ignore-missing --max-count=1000 --stdin; } | git cat-file --batch --buffer"#;

/// The environment of git, by which it runs no other program, whatever the repository's configuration names.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("PATH", DEFAULT_PATH),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_CONFIG_COUNT", "4"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
    ("GIT_CONFIG_KEY_2", "protocol.allow"),
    ("GIT_CONFIG_VALUE_2", "never"),
    ("GIT_CONFIG_KEY_3", "safe.directory"),
    ("GIT_CONFIG_VALUE_3", "*"),
];

/// Starts git in the folder of a conversation.
#[derive(Clone, Copy)]
pub(super) struct GitReader<'r> {
    pub(super) launcher: &'r dyn Launcher,
    pub(super) workspace: &'r Path,
    /// Folders besides, in which the repository of a linked worktree is.
    pub(super) repositories: &'r [PathBuf],
    /// Places that git does not see.
    pub(super) closed: &'r Arc<[PathBuf]>,
}

/// The contents of files in commits.
#[derive(Debug, Default)]
pub(super) struct GitContents {
    /// The names of the objects that each path has in a trusted commit.
    files: BTreeMap<PathBuf, BTreeSet<GitFile>>,
    /// The paths that HEAD lacks, and with it a trusted commit at a ref.
    absent: BTreeSet<PathBuf>,
}

/// A file or a link in a commit.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GitFile {
    is_link: bool,
    /// The name of the object with its content.
    object: String,
}

/// An object whose name was computed.
#[derive(Debug)]
struct GitObject {
    kind: String,
    content: Vec<u8>,
}

/// The objects that were read, by their names.
type GitObjects = BTreeMap<String, GitObject>;

/// The place of a path in a commit.
#[derive(Debug, PartialEq, Eq)]
enum TreePlace {
    File(GitFile),
    Absent,
    /// A folder or another repository.
    Other,
    /// This folder has to be read first.
    In(String),
}

impl GitContents {
    /// True if the path has that content in a trusted commit: of a file, or the target of a link.
    pub(super) fn has(&self, path: &Path, content: &[u8], is_link: bool) -> bool {
        let Some(files) = self.files.get(path) else {
            return false;
        };
        [SHA1_DIGITS, 0].into_iter().any(|digits| {
            let object = object_name("blob", content, digits);
            files.contains(&GitFile { is_link, object })
        })
    }

    /// True if git has removed what was at a path.
    pub(super) fn lacks(&self, path: &Path) -> bool {
        self.absent.contains(path)
    }
}

impl GitReader<'_> {
    /// Finds the contents of these paths in the newest trusted commits, and the paths that HEAD lacks. Blocks.
    ///
    /// # Errors
    /// If git could not be run, or wrote too much.
    pub(super) fn contents(
        &self,
        commits: &TrustedCommits,
        head: Option<&str>,
        paths: &BTreeSet<PathBuf>,
    ) -> io::Result<GitContents> {
        let named = commits.trusted.iter().map(String::as_str).chain(head);
        let objects = self.read(COMMITS, named)?;
        let reached = reached(&objects, commits);
        let head_tree = head.and_then(|head| tree_of(objects.get(head)?));
        let mut roots: BTreeSet<&str> = reached.values().copied().collect();
        roots.extend(head_tree);
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).take(MAX_PATHS).collect();
        let trees = self.trees(&roots, &paths)?;
        let tips = reached
            .iter()
            .filter(|(commit, _)| commits.trusted.contains(**commit) || Some(**commit) == head);
        let tips: BTreeSet<&str> = tips.map(|(_, tree)| *tree).collect();
        let mut contents = GitContents::default();
        for path in paths {
            let place = |tree: &str| place_in(&trees, tree, path);
            let in_head = head_tree.map(place);
            if in_head == Some(TreePlace::Absent)
                && tips.iter().any(|tree| place(tree) == TreePlace::Absent)
            {
                contents.absent.insert(path.to_owned());
            }
            for tree in reached.values() {
                if let TreePlace::File(file) = place(tree) {
                    contents
                        .files
                        .entry(path.to_owned())
                        .or_default()
                        .insert(file);
                }
            }
        }
        Ok(contents)
    }

    /// The contents of the files with these names of objects; those that are missing are left out. Blocks.
    ///
    /// # Errors
    /// If git could not be run, or wrote too much.
    pub(super) fn blobs(&self, names: &BTreeSet<&str>) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let objects = self.read(OBJECTS, names.iter().copied())?;
        let blobs = objects.into_iter();
        let blobs = blobs.filter(|(_, object)| object.kind == "blob");
        Ok(blobs.map(|(name, object)| (name, object.content)).collect())
    }

    /// Reads the trees on the way to these paths.
    fn trees(&self, roots: &BTreeSet<&str>, paths: &[&Path]) -> io::Result<GitObjects> {
        let mut trees = GitObjects::new();
        let mut asked: BTreeSet<String> = BTreeSet::new();
        for _ in 0..DEPTH {
            let mut wanted = BTreeSet::new();
            for root in roots {
                for path in paths {
                    if let TreePlace::In(tree) = place_in(&trees, root, path)
                        && !asked.contains(&tree)
                    {
                        wanted.insert(tree);
                    }
                }
            }
            if wanted.is_empty() {
                break;
            }
            trees.extend(self.read(OBJECTS, wanted.iter().map(String::as_str))?);
            asked.extend(wanted);
        }
        Ok(trees)
    }

    /// Runs a script that prints the objects of these names.
    fn read<'n>(
        &self,
        script: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> io::Result<GitObjects> {
        let temp = TempFolder::new()?;
        let mut list = String::new();
        for name in names {
            list.push_str(name);
            list.push('\n');
        }
        fs::write(temp.path().join("names"), list)?;
        let folder = temp.path().to_string_lossy().into_owned();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut environment: Vec<(String, String)> = ENVIRONMENT.iter().map(pair).collect();
        for name in ["HOME", "TMPDIR"] {
            environment.push((name.to_owned(), folder.clone()));
        }
        let more = self.launcher.writable();
        let (search_path, _) = search_path::look("git", self.workspace, self.workspace, more);
        search_path.put_into(&mut environment);
        let words = ["sh", "-c", script, "sh", &folder];
        let order = LaunchOrder {
            conversation: None,
            program: words.into_iter().map(str::to_owned).collect(),
            environment,
            folder: self.workspace.to_owned(),
            workspace: self.workspace.to_owned(),
            temp: temp.path().to_owned(),
            access: Access::Read,
            network: false,
            has_pipes: false,
            writable: self.repositories.to_vec(),
            protected: Vec::new(),
            copies: Vec::new(),
            closed: Arc::clone(self.closed),
        };
        let lifeline = Lifeline::default();
        let (end, ended) = mpsc::channel::<()>();
        {
            let lifeline = lifeline.clone();
            start_thread("limit", move || {
                if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                    lifeline.cut();
                }
            })?;
        }
        let mut output = Vec::new();
        let mut is_whole = true;
        run_into(self.launcher, &order, &lifeline, &mut |bytes| {
            is_whole &= output.len() + bytes.len() <= MAX_OBJECTS;
            if is_whole {
                output.extend_from_slice(bytes);
            }
        })?;
        drop(end);
        if !is_whole {
            return Err(io::Error::other("git wrote more than is read"));
        }
        Ok(parse(&output))
    }
}

/// The trees of the commits that trusted ones lead to, by the names of the commits.
fn reached<'o>(objects: &'o GitObjects, commits: &TrustedCommits) -> BTreeMap<&'o str, &'o str> {
    let mut reached = BTreeMap::new();
    let mut next: Vec<&str> = Vec::new();
    for tip in &commits.trusted {
        next.extend(
            objects
                .get_key_value(tip.as_str())
                .map(|(name, _)| name.as_str()),
        );
    }
    while let Some(name) = next.pop() {
        if commits.made.contains(name) {
            continue;
        }
        let Some((name, object)) = objects.get_key_value(name) else {
            continue;
        };
        let mut named = named_objects(object);
        if let Some(tree) = tree_of(object) {
            if reached.insert(name.as_str(), tree).is_none() {
                next.append(&mut named);
            }
        } else {
            next.append(&mut named);
        }
    }
    reached
}

/// The lines at the start of a commit or a tag.
fn lines(object: &GitObject) -> impl Iterator<Item = &str> {
    let lines = object.content.split(|byte| *byte == b'\n');
    let lines = lines.take_while(|line| !line.is_empty());
    lines.filter_map(|line| std::str::from_utf8(line).ok())
}

/// The tree of a commit.
fn tree_of(object: &GitObject) -> Option<&str> {
    let is_commit = object.kind == "commit";
    let tree = lines(object).find_map(|line| line.strip_prefix("tree "));
    tree.filter(|_| is_commit)
}

/// The parents of a commit, or the object of a tag.
fn named_objects(object: &GitObject) -> Vec<&str> {
    let start = match object.kind.as_str() {
        "commit" => "parent ",
        "tag" => "object ",
        _ => return Vec::new(),
    };
    lines(object)
        .filter_map(|line| line.strip_prefix(start))
        .collect()
}

/// The place of a path below a tree, by the trees that were read.
fn place_in(trees: &GitObjects, root: &str, path: &Path) -> TreePlace {
    let mut tree = root.to_owned();
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let Some(object) = trees.get(&tree).filter(|object| object.kind == "tree") else {
            return TreePlace::In(tree);
        };
        let name = name.as_encoded_bytes();
        let Some((mode, object)) = tree_entry(&object.content, name, root.len() / 2) else {
            return TreePlace::Absent;
        };
        let is_folder = mode == b"40000";
        match (names.peek().is_some(), is_folder) {
            (true, true) => tree = object,
            (true, false) => return TreePlace::Absent,
            (false, true) => return TreePlace::Other,
            (false, false) => {
                let is_link = mode == b"120000";
                if !is_link && !mode.starts_with(b"100") {
                    return TreePlace::Other;
                }
                return TreePlace::File(GitFile { is_link, object });
            }
        }
    }
    TreePlace::Other
}

/// The mode and the object of an entry of a tree, whose objects have names of that many bytes.
fn tree_entry<'t>(tree: &'t [u8], wanted: &[u8], length: usize) -> Option<(&'t [u8], String)> {
    let mut rest = tree;
    while !rest.is_empty() {
        let blank = rest.iter().position(|byte| *byte == b' ')?;
        let (mode, tail) = rest.split_at_checked(blank)?;
        let tail = tail.get(1..)?;
        let nul = tail.iter().position(|byte| *byte == 0)?;
        let (name, tail) = tail.split_at_checked(nul)?;
        let (object, tail) = tail.get(1..)?.split_at_checked(length)?;
        if name == wanted {
            return Some((mode, hexadecimal(object)));
        }
        rest = tail;
    }
    None
}

/// Reads the output of `git cat-file --batch`, by the names that the contents have.
fn parse(output: &[u8]) -> GitObjects {
    let mut objects = GitObjects::new();
    let mut rest = output;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, tail) = rest.split_at(end);
        rest = tail.get(1..).unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split(' ').collect();
        let &[name, kind, size] = words.as_slice() else {
            // The object is missing.
            continue;
        };
        let Some((content, tail)) = size
            .parse()
            .ok()
            .and_then(|size| rest.split_at_checked(size))
        else {
            break;
        };
        rest = tail.get(1..).unwrap_or_default();
        let object = GitObject {
            kind: kind.to_owned(),
            content: content.to_owned(),
        };
        objects.insert(object_name(kind, content, name.len()), object);
    }
    objects
}

/// The name of an object, of as many digits: by SHA-1, or else by SHA-256.
fn object_name(kind: &str, content: &[u8], digits: usize) -> String {
    let mut object = format!("{kind} {}\0", content.len()).into_bytes();
    object.extend_from_slice(content);
    match digits == SHA1_DIGITS {
        true => hexadecimal(&Sha1::digest(&object)),
        false => sha256(&object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the blob `hello`, as git computes it.
    const HELLO: &str = "ce013625030ba8dba906f756967f9e9ca394464a";

    /// Spec: [BASH-551]
    #[test]
    fn objects_have_the_names_of_their_contents() {
        assert_eq!(object_name("blob", b"hello\n", SHA1_DIGITS), HELLO);
        assert_eq!(object_name("blob", b"hello\n", 64).len(), 64);
        let (other, missing) = ("0".repeat(40), "1".repeat(40));
        let output = format!("{other} blob 6\nhello\n\n{missing} missing\n{other} tree 7\ncut");
        let objects = parse(output.as_bytes());
        assert_eq!(objects.keys().collect::<Vec<_>>(), [HELLO]);
    }

    /// Spec: [BASH-551]
    #[test]
    fn a_path_is_found_in_the_trees_that_were_read() {
        let mut root = b"100755 a\0".to_vec();
        root.extend([0x11; 20]);
        root.extend(b"120000 b\0");
        root.extend([0x22; 20]);
        root.extend(b"40000 c\0");
        root.extend([0x33; 20]);
        root.extend(b"160000 d\0");
        root.extend([0x44; 20]);
        let tree = |content: Vec<u8>| GitObject {
            kind: "tree".to_owned(),
            content,
        };
        let name = "0".repeat(SHA1_DIGITS);
        let mut trees = GitObjects::new();
        let place = |trees: &GitObjects, path: &str| place_in(trees, &name, Path::new(path));
        assert_eq!(place(&trees, "a"), TreePlace::In(name.clone()));
        trees.insert(name.clone(), tree(root.clone()));
        let file = |is_link, digit: &str| {
            let object = digit.repeat(SHA1_DIGITS);
            TreePlace::File(GitFile { is_link, object })
        };
        assert_eq!(place(&trees, "a"), file(false, "1"));
        assert_eq!(place(&trees, "b"), file(true, "2"));
        assert_eq!(place(&trees, "c"), TreePlace::Other);
        assert_eq!(place(&trees, "d"), TreePlace::Other);
        for absent in ["x", "a/x", "d/x"] {
            assert_eq!(place(&trees, absent), TreePlace::Absent, "{absent}");
        }
        let inner = "3".repeat(SHA1_DIGITS);
        assert_eq!(place(&trees, "c/a"), TreePlace::In(inner.clone()));
        trees.insert(inner, tree(root.clone()));
        assert_eq!(place(&trees, "c/a"), file(false, "1"));
        // A tree that is cut has nothing after the cut.
        assert!(tree_entry(&root[..root.len() - 1], b"d", 20).is_none());
    }
}
