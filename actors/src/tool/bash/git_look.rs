//! Looks at a repository before and after a command for ways to make git run programs that no mount holds: pointers to
//! other repositories, submodules, what a rebase is in the middle of, and a folder that became a bare repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::git_config::parse;
pub(super) use super::git_folders::GitFolders;
use super::git_folders::{GitPlace, GitRoot};
use super::git_index::{IndexSubmodules, gitlinks};
use super::git_modules::{DEPTH, GitWays, TOO_DEEP};
pub(super) use super::git_ways::configuration_programs;
use super::git_ways::{CONFIGURATIONS, MAX_TEXT, UNKNOWN, hooks, may_be_repository};
use super::held_folder::{EntryKind, HeldFolder, HeldPlace};
use crate::lexical::lexical;

/// Maximum number of submodules, and of submodules of submodules, that are looked at.
const MAX_LINKS: usize = 10_000;
/// The ways of an index.
const UNREADABLE_INDEX: &str = "its index does not tell its submodules";
const SPARSE_INDEX: &str = "its index leaves folders out, which may have submodules";
const LONG_INDEX: &str = "its index has too many submodules to be looked at";

/// The ways to run programs that a look found.
#[derive(Debug, Default)]
pub(super) struct GitLook(GitWays);

/// An entry that a command left and that git would run a program for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GitFinding {
    pub(super) place: GitPlace,
    pub(super) reason: String,
}

/// A repository of a submodule, or the one that is looked at.
struct GitRepository {
    place: GitPlace,
    git: HeldFolder,
}

/// A walk through the submodules that are checked out.
struct LinkWalk<'f> {
    folders: &'f GitFolders<'f>,
    ways: GitWays,
    /// The submodules that the indexes of repositories name, so that each index is read once.
    indexes: BTreeMap<GitPlace, Option<Rc<IndexSubmodules>>>,
    /// Number of submodules that may still be looked at.
    room: usize,
}

impl GitLook {
    /// Looks at a repository. Blocks.
    pub(super) fn look_at(folders: &GitFolders<'_>) -> Self {
        let mut ways = GitWays::default();
        if may_be_repository(folders.folder) {
            let head = GitPlace::new(GitRoot::Folder, "HEAD");
            ways.add(head, "git takes the folder for a bare repository");
        } else if folders.git_path == folders.path {
            return Self::default();
        }
        let own = GitPlace::new(GitRoot::Git, "");
        ways.add_inner(folders.git, &own, DEPTH);
        ways.add_worktrees(folders.git, &own, None);
        if let Some((path, common)) = folders.common {
            add_common(folders, path, common, &mut ways);
        }
        let mut walk = LinkWalk {
            folders,
            ways,
            indexes: BTreeMap::new(),
            room: MAX_LINKS,
        };
        walk.add_links(
            &own,
            folders.git,
            folders.configured(),
            Path::new(""),
            DEPTH,
        );
        Self(walk.ways)
    }

    /// The ways that are new, sorted. The repositories of submodules come after what leads to them. Blocks.
    pub(super) fn compare(&self, folders: &GitFolders<'_>) -> Vec<GitFinding> {
        let Self(now) = Self::look_at(folders);
        let mut findings: Vec<GitFinding> = Vec::new();
        for (place, found) in now.found {
            // What is put aside takes all that is in it along.
            let last = findings.last();
            if last.is_some_and(|last| place.is_within(&last.place)) {
                continue;
            }
            if let Some(reason) = first_new(self.0.found.get(&place), found) {
                findings.push(GitFinding { place, reason });
            }
        }
        findings
    }
}

fn first_new(was: Option<&BTreeSet<String>>, is: BTreeSet<String>) -> Option<String> {
    is.into_iter()
        .find(|way| was.is_none_or(|was| !was.contains(way)))
}

/// Adds the repository of a linked worktree, and the other worktrees.
fn add_common(folders: &GitFolders<'_>, path: &Path, common: &HeldFolder, ways: &mut GitWays) {
    let place = GitPlace::new(GitRoot::Common, "");
    ways.add_inner(common, &place, DEPTH);
    let commondir = OsStr::new("commondir");
    if !matches!(common.kind(commondir), Ok(None)) {
        ways.add(place.join(commondir), "it leads to a repository elsewhere");
    }
    let own = folders.git_path.strip_prefix(path.join("worktrees")).ok();
    let own = own.map(|own| (own.as_os_str(), folders.git));
    ways.add_worktrees(common, &place, own);
}

impl LinkWalk<'_> {
    /// Adds the submodules of a repository that is checked out at a path, and theirs.
    fn add_links(
        &mut self,
        place: &GitPlace,
        git: &HeldFolder,
        configured: &HeldFolder,
        at: &Path,
        depth: usize,
    ) {
        let index = place.join("index");
        let links = self.indexes.entry(place.clone());
        let links = links.or_insert_with(|| gitlinks(git, configured).map(Rc::new));
        let Some(links) = links.clone() else {
            return self.ways.add(index, UNREADABLE_INDEX);
        };
        if links.is_sparse {
            self.ways.add(index.clone(), SPARSE_INDEX);
        }
        for path in &links.paths {
            let path = at.join(path);
            if self.room == 0 {
                return self.ways.add(index, LONG_INDEX);
            }
            self.room -= 1;
            let pointer = GitPlace::new(GitRoot::Folder, path.join(".git"));
            let inner = match self.repository_at(place, git, &path) {
                Ok(Some(inner)) => inner,
                Ok(None) => continue,
                Err(way) => {
                    self.ways.add(pointer, way);
                    continue;
                }
            };
            if !self.ways.found.contains_key(&inner.place) {
                let place = inner.place.clone();
                self.ways.add_repository(&inner.git, place, DEPTH);
            }
            self.add_named_hooks(&inner.git, &path);
            if depth == 0 {
                self.ways.add(pointer, TOO_DEEP);
            } else {
                self.add_links(&inner.place, &inner.git, &inner.git, &path, depth - 1);
            }
        }
    }

    /// The repository that is checked out at a submodule's path, of the repository with that git folder.
    ///
    /// # Errors
    /// The way by which git would find another one.
    fn repository_at(
        &self,
        place: &GitPlace,
        git: &HeldFolder,
        path: &Path,
    ) -> Result<Option<GitRepository>, String> {
        let pointer = path.join(".git");
        let (folder, name) = match self.folders.folder.place(&pointer) {
            Ok(HeldPlace::Entry(folder, name)) => (folder, name),
            // Git follows no link to a submodule.
            Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) => return Ok(None),
            Err(_) => return Err(UNKNOWN.to_owned()),
        };
        match folder.kind(&name) {
            Ok(None) => Ok(None),
            Ok(Some(EntryKind::Folder)) => match folder.folder(&name) {
                Ok(git) => Ok(Some(GitRepository {
                    place: GitPlace::new(GitRoot::Folder, pointer),
                    git,
                })),
                Err(_) => Err(UNKNOWN.to_owned()),
            },
            Ok(Some(EntryKind::File)) => {
                let text = folder.read(&name, MAX_TEXT).ok().flatten();
                let text = text.map(|(text, _)| text).unwrap_or_default();
                // The repositories of submodules are looked at where they are.
                self.module_named(place, git, path, &text)
                    .map(Some)
                    .ok_or_else(|| {
                        let text = String::from_utf8_lossy(&text);
                        format!("it leads to a repository elsewhere: {}", text.trim())
                    })
            }
            Ok(Some(EntryKind::Link | EntryKind::Other)) => {
                let target = folder.link(&name).unwrap_or_default();
                Err(format!("it leads to {}", target.display()))
            }
            Err(_) => Err(UNKNOWN.to_owned()),
        }
    }

    /// The repository of a submodule, if the file `.git` at a path names one below `modules` of the git folder that it
    /// belongs to.
    fn module_named(
        &self,
        place: &GitPlace,
        git: &HeldFolder,
        path: &Path,
        text: &[u8],
    ) -> Option<GitRepository> {
        let (root, _) = self.folders.root(place.root)?;
        let target = pointer_target(text)?;
        let target = plain_target(&self.folders.path.join(path), &target)?;
        let inner = target.strip_prefix(root.join(&place.path)).ok()?;
        if !inner.starts_with("modules") {
            return None;
        }
        match git.place(inner) {
            Ok(HeldPlace::Entry(above, name)) => Some(GitRepository {
                place: place.join(inner),
                git: above.folder(&name).ok()?,
            }),
            Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) | Err(_) => None,
        }
    }

    /// Adds the hooks in the folder that a submodule's configuration names by a path in the conversation's folder.
    fn add_named_hooks(&mut self, git: &HeldFolder, path: &Path) {
        let entries = CONFIGURATIONS.into_iter().flat_map(|name| {
            let text = git.read(OsStr::new(name), MAX_TEXT).ok().flatten();
            text.and_then(|(text, _)| parse(&text)).unwrap_or_default()
        });
        for entry in entries {
            if entry.key() != "core.hookspath" {
                continue;
            }
            let named = self.folders.path.join(path).join(entry.value());
            let named = lexical(&named);
            let Ok(named) = named.strip_prefix(self.folders.path) else {
                continue;
            };
            let place = GitPlace::new(GitRoot::Folder, named);
            let found = match self.folders.folder.place(named) {
                Ok(HeldPlace::Entry(above, name)) => hooks(&above, &name),
                Ok(HeldPlace::Absent) => continue,
                Ok(HeldPlace::Blocked(..)) | Err(_) => vec![(None, UNKNOWN.to_owned())],
            };
            for (name, way) in found {
                let at = name.map_or_else(|| place.clone(), |name| place.join(name));
                self.ways.add(at, way);
            }
        }
    }
}

/// The path in a file `.git`, as git reads it.
///
/// Source: `read_gitfile_gently` in `setup.c` of git.
fn pointer_target(text: &[u8]) -> Option<PathBuf> {
    let mut target = text.strip_prefix(b"gitdir: ")?;
    while let Some(shorter) = target.strip_suffix(b"\n").or(target.strip_suffix(b"\r")) {
        target = shorter;
    }
    // The system reads a path up to its NUL.
    let is_path = !target.is_empty() && !target.contains(&0);
    is_path.then(|| OsString::from_vec(target.to_vec()).into())
}

/// The path that another one leads to from a folder. `None` if a `..` in it comes after a name, which may be a link.
fn plain_target(from: &Path, named: &Path) -> Option<PathBuf> {
    let mut target = from.to_owned();
    let mut is_below = false;
    for part in named.components() {
        match part {
            Component::Prefix(_) => return None,
            Component::ParentDir if is_below => return None,
            Component::ParentDir => {
                target.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) => {
                is_below = true;
                target.push(part);
            }
        }
    }
    Some(target)
}

#[cfg(test)]
#[path = "git_look_tests.rs"]
mod tests;
