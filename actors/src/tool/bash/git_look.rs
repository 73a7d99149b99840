//! Looks at a repository before and after a command for ways to make git run programs that no mount holds: pointers to
//! other repositories, submodules, todo lists of a rebase, and a folder that became a bare repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::git_config::parse;
use super::git_index::index_links;
use super::held_folder::{EntryKind, HeldFolder, HeldPlace};
use crate::lexical::lexical;

/// Maximum size of an index that is read, in bytes.
const MAX_INDEX: u64 = 256 * 1024 * 1024;
/// Maximum size of any other file of git that is read, in bytes.
const MAX_TEXT: u64 = 256 * 1024;
/// Maximum depth of folders of submodules, and of submodules of submodules.
const DEPTH: usize = 8;
/// Lengths of the names of objects: of SHA-1 and of SHA-256.
const OBJECTS: [usize; 2] = [20, 32];
/// Files that git reads as configuration.
const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// The list of a rebase that is not finished.
const TODO: &str = "rebase-merge/git-rebase-todo";
/// The ways of what cannot be told.
const UNKNOWN: &str = "it cannot be looked at";
const UNREADABLE_INDEX: &str = "its index does not tell its submodules";
/// The entries by which git takes a folder for a repository.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

/// A repository, by its folder and its git folder, both held open.
pub(super) struct GitFolders<'f> {
    pub(super) path: &'f Path,
    pub(super) folder: &'f HeldFolder,
    pub(super) git_path: &'f Path,
    pub(super) git: &'f HeldFolder,
}

/// The ways to run programs that a look found, each as a text that changes when the way does.
#[derive(Debug, Default)]
pub(super) struct GitLook {
    /// By the path of a submodule in the folder.
    links: BTreeMap<PathBuf, BTreeSet<String>>,
    /// By the path of an entry of the git folder: the index, repositories of submodules, linked worktrees, todo lists.
    entries: BTreeMap<PathBuf, BTreeSet<String>>,
    /// True if the folder itself is a repository.
    is_bare: bool,
}

/// An entry that a command left and that git would run a program for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GitFinding {
    /// True if the path is relative to the git folder, else to the conversation's folder.
    pub(super) is_in_git: bool,
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

impl GitLook {
    /// Looks at a repository. Blocks.
    pub(super) fn look_at(folders: &GitFolders<'_>) -> Self {
        let is_bare = is_bare(folders.folder);
        if folders.git_path == folders.path && !is_bare {
            return Self::default();
        }
        let mut look = Self {
            is_bare,
            ..Self::default()
        };
        let todo = Path::new(TODO);
        look.entries
            .insert(todo.to_owned(), todo_commands(folders.git, todo));
        look.add_modules(folders.git, Path::new("modules"), DEPTH);
        look.add_worktrees(folders.git);
        match gitlinks(folders.git) {
            Some(links) => look.add_links(folders, links, Path::new(""), DEPTH),
            None => look.add_entry(Path::new("index"), UNREADABLE_INDEX.to_owned()),
        }
        look
    }

    fn add_entry(&mut self, path: &Path, way: String) {
        self.entries.insert(path.to_owned(), BTreeSet::from([way]));
    }

    /// Adds the submodules of a repository that is checked out at a path, and theirs.
    fn add_links(
        &mut self,
        folders: &GitFolders<'_>,
        links: Vec<PathBuf>,
        at: &Path,
        depth: usize,
    ) {
        for path in links {
            let path = at.join(path);
            let (mut ways, git) = link_programs(folders, &path);
            let inner = git.filter(|_| depth > 0).map(|git| gitlinks(&git));
            if matches!(inner, Some(None)) {
                ways.insert(UNREADABLE_INDEX.to_owned());
            }
            self.links.insert(path.clone(), ways);
            if let Some(inner) = inner.flatten() {
                self.add_links(folders, inner, &path, depth - 1);
            }
        }
    }

    /// The ways that are new. The repositories of submodules come after what leads to them. Blocks.
    pub(super) fn compare(&self, folders: &GitFolders<'_>) -> Vec<GitFinding> {
        let now = Self::look_at(folders);
        let mut findings = Vec::new();
        let mut add = |is_in_git, path: PathBuf, reason: &str| {
            let reason = reason.to_owned();
            findings.push(GitFinding {
                is_in_git,
                path,
                reason,
            });
        };
        for (path, found) in &now.links {
            if let Some(reason) = first_new(self.links.get(path), found) {
                add(false, path.join(".git"), reason);
            }
        }
        for (path, found) in &now.entries {
            if let Some(reason) = first_new(self.entries.get(path), found) {
                add(true, path.clone(), reason);
            }
        }
        if now.is_bare && !self.is_bare {
            add(
                false,
                PathBuf::from("HEAD"),
                "git takes the folder for a bare repository",
            );
        }
        findings
    }

    fn add_modules(&mut self, git: &HeldFolder, relative: &Path, depth: usize) {
        let Ok(HeldPlace::Entry(above, name)) = git.place(relative) else {
            return;
        };
        let folder = match above.kind(&name) {
            Ok(None) => return,
            Ok(Some(EntryKind::Folder)) => above.folder(&name),
            Ok(Some(EntryKind::Link)) => {
                let target = above.link(&name).unwrap_or_default();
                return self.add_entry(relative, format!("it leads to {}", target.display()));
            }
            Ok(Some(EntryKind::File | EntryKind::Other)) | Err(_) => return,
        };
        let Ok((names, folder)) = folder.and_then(|folder| Ok((folder.names()?, folder))) else {
            return self.add_entry(relative, UNKNOWN.to_owned());
        };
        if depth == 0 {
            return self.add_entry(relative, "it is too deep to be looked at".to_owned());
        }
        let is_repository = names
            .iter()
            .any(|name| *name == *"HEAD" || *name == *"config");
        if is_repository && relative != Path::new("modules") {
            let found = repository_programs(&folder);
            self.entries.insert(relative.to_owned(), found);
            self.add_modules(git, &relative.join("modules"), depth - 1);
        } else {
            for name in &names {
                self.add_modules(git, &relative.join(name), depth - 1);
            }
        }
    }

    /// Adds the git folders of linked worktrees.
    fn add_worktrees(&mut self, git: &HeldFolder) {
        let all = Path::new("worktrees");
        let names = match git.kind(all.as_os_str()) {
            Ok(None) => return,
            Ok(Some(_)) | Err(_) => git.folder(all.as_os_str()).and_then(|all| all.names()),
        };
        let Ok(names) = names else {
            return self.add_entry(all, UNKNOWN.to_owned());
        };
        for name in names {
            let path = all.join(name);
            let ways = match git.place(&path) {
                Ok(HeldPlace::Entry(above, name)) => {
                    above.folder(&name).map(|git| worktree_programs(&git))
                }
                Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) | Err(_) => continue,
            };
            let ways = ways.unwrap_or_else(|_| BTreeSet::from([UNKNOWN.to_owned()]));
            self.entries.insert(path, ways);
        }
    }
}

fn first_new<'s>(was: Option<&BTreeSet<String>>, is: &'s BTreeSet<String>) -> Option<&'s str> {
    let is_new = |way: &&String| was.is_none_or(|was| !was.contains(*way));
    is.iter().find(is_new).map(String::as_str)
}

fn is_bare(folder: &HeldFolder) -> bool {
    let exists = |name: &&str| !matches!(folder.kind(OsStr::new(*name)), Ok(None));
    BARE.iter().all(exists)
}

/// The lines of a rebase's todo list that run a command.
///
/// Source: git-rebase(1), "INTERACTIVE MODE".
fn todo_commands(git: &HeldFolder, todo: &Path) -> BTreeSet<String> {
    let text = match git.place(todo) {
        Ok(HeldPlace::Entry(folder, name)) => match folder.kind(&name) {
            Ok(None) => return BTreeSet::new(),
            Ok(Some(_)) | Err(_) => folder.read(&name, MAX_TEXT).ok().flatten(),
        },
        Ok(HeldPlace::Absent) => return BTreeSet::new(),
        Ok(HeldPlace::Blocked(..)) | Err(_) => None,
    };
    let Some((text, _)) = text else {
        return BTreeSet::from([UNKNOWN.to_owned()]);
    };
    let text = String::from_utf8_lossy(&text);
    let runs = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    text.lines()
        .map(str::trim)
        .filter(runs)
        .map(|line| format!("the rebase that it continues would run: {line}"))
        .collect()
}

/// The paths of a repository's submodules. `None` if its index cannot be read.
fn gitlinks(git: &HeldFolder) -> Option<Vec<PathBuf>> {
    let read = |name: &str| git.read(OsStr::new(name), MAX_INDEX).ok().flatten();
    if matches!(git.kind(OsStr::new("index")), Ok(None)) {
        return Some(Vec::new());
    }
    let (index, _) = read("index")?;
    OBJECTS.into_iter().find_map(|object| {
        let mut links = index_links(&index, object)?;
        if let Some(name) = links.shared {
            let (shared, _) = read(&format!("sharedindex.{name}"))?;
            links.paths.extend(index_links(&shared, object)?.paths);
        }
        Some(links.paths)
    })
}

/// The ways to run programs of the repository that is checked out at a submodule's path, and its git folder.
fn link_programs(folders: &GitFolders<'_>, path: &Path) -> (BTreeSet<String>, Option<HeldFolder>) {
    let one = |way: String| (BTreeSet::from([way]), None);
    let unknown = || one(UNKNOWN.to_owned());
    let (folder, name) = match folders.folder.place(&path.join(".git")) {
        Ok(HeldPlace::Entry(folder, name)) => (folder, name),
        // Git follows no link to a submodule.
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) => return (BTreeSet::new(), None),
        Err(_) => return unknown(),
    };
    match folder.kind(&name) {
        Ok(None) => (BTreeSet::new(), None),
        Ok(Some(EntryKind::Folder)) => match folder.folder(&name) {
            Ok(git) => (repository_programs(&git), Some(git)),
            Err(_) => unknown(),
        },
        Ok(Some(EntryKind::File)) => {
            let text = folder.read(&name, MAX_TEXT).ok().flatten();
            let text = text.map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
            let text = text.unwrap_or_default();
            match module_named(folders, path, &text) {
                // The repositories of submodules are looked at where they are.
                Some(git) => (BTreeSet::new(), Some(git)),
                None => one(format!(
                    "it leads to a repository elsewhere: {}",
                    text.trim()
                )),
            }
        }
        Ok(Some(EntryKind::Link | EntryKind::Other)) => {
            let target = folder.link(&name).unwrap_or_default();
            one(format!("it leads to {}", target.display()))
        }
        Err(_) => unknown(),
    }
}

/// The repository of a submodule below the git folder, if the file `.git` at a path names one.
fn module_named(folders: &GitFolders<'_>, path: &Path, text: &str) -> Option<HeldFolder> {
    let target = text.strip_prefix("gitdir:")?.trim();
    let target = lexical(&folders.path.join(path).join(target));
    let inner = target.strip_prefix(folders.git_path).ok()?;
    if !inner.starts_with("modules") {
        return None;
    }
    match folders.git.place(inner) {
        Ok(HeldPlace::Entry(above, name)) => above.folder(&name).ok(),
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) | Err(_) => None,
    }
}

/// The ways by which a repository makes git run a program.
fn repository_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = configuration_programs(git);
    ways.extend(hooks(git));
    ways
}

/// The ways by which the configuration of a repository, or a pointer to another one, makes git run a program.
pub(super) fn configuration_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = BTreeSet::new();
    let commondir = OsStr::new("commondir");
    if !matches!(git.kind(commondir), Ok(None)) {
        let target = git.read(commondir, MAX_TEXT).ok().flatten();
        let target = target.map(|(text, _)| String::from_utf8_lossy(&text).trim().to_owned());
        let target = target.unwrap_or_default();
        ways.insert(format!(
            "its commondir leads to a repository elsewhere: {target}"
        ));
    }
    ways.extend(named_programs(git));
    ways
}

/// The ways by which the git folder of a linked worktree makes git run a program. Git writes the path of the
/// repository into its `commondir`, relative to it.
fn worktree_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = named_programs(git);
    let common = git.read(OsStr::new("commondir"), MAX_TEXT).ok().flatten();
    let common = common.map(|(text, _)| String::from_utf8_lossy(&text).trim().to_owned());
    if common.as_deref() != Some("../..") {
        let target = common.unwrap_or_default();
        ways.insert(format!(
            "its commondir leads to another repository: {target}"
        ));
    }
    ways
}

/// The keys of the configuration in a git folder that name programs.
fn named_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = BTreeSet::new();
    for name in CONFIGURATIONS.map(OsStr::new) {
        if matches!(git.kind(name), Ok(None)) {
            continue;
        }
        let text = git.read(name, MAX_TEXT).ok().flatten();
        match text.and_then(|(text, _)| parse(&text)) {
            Some(entries) => {
                let programs = entries.iter().filter(|entry| entry.runs_program());
                ways.extend(programs.map(|entry| {
                    format!("its configuration names a program: {}", entry.with_value())
                }));
            }
            None => {
                ways.insert("its configuration cannot be read".to_owned());
            }
        }
    }
    ways
}

fn hooks(git: &HeldFolder) -> Vec<String> {
    let name = OsStr::new("hooks");
    match git.kind(name) {
        Ok(None) => Vec::new(),
        Ok(Some(EntryKind::Folder)) => {
            let listed = git
                .folder(name)
                .and_then(|hooks| Ok((hooks.names()?, hooks)));
            let Ok((names, hooks)) = listed else {
                return vec!["its hooks cannot be looked at".to_owned()];
            };
            let is_hook =
                |name: &&std::ffi::OsString| !name.as_encoded_bytes().ends_with(b".sample");
            let ways = names.iter().filter(is_hook).map(|name| {
                let content = hooks.read(name, MAX_TEXT).ok().flatten();
                let content = content.map(|(content, _)| crate::attachment::sha256(&content));
                let digest = content.unwrap_or_default();
                format!("it has a hook: {} {digest}", name.display())
            });
            ways.collect()
        }
        Ok(Some(EntryKind::File | EntryKind::Link | EntryKind::Other)) | Err(_) => {
            let target = git.link(name).unwrap_or_default();
            vec![format!("its hooks are elsewhere: {}", target.display())]
        }
    }
}

#[cfg(test)]
#[path = "git_look_tests.rs"]
mod tests;
