//! Looks through the git folders of submodules and of linked worktrees for ways to make git run a program.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::git_folders::GitPlace;
use super::git_ways::{
    UNKNOWN, configuration_programs, hooks, is_repository, sequence_programs, worktree_programs,
};
use super::held_folder::{EntryKind, HeldFolder};

/// Maximum depth of folders of submodules, and of submodules of submodules.
pub(super) const DEPTH: usize = 32;
/// Maximum number of entries in folders of submodules that are looked at.
const MAX_MODULES: usize = 20_000;
/// The folder with the repositories of submodules.
const MODULES: &str = "modules";
/// The folder with the hooks of a repository.
const HOOKS: &str = "hooks";
/// The folder with the git folders of linked worktrees.
const WORKTREES: &str = "worktrees";
/// The entry by which git takes a folder for a repository, and the one that it writes into folders that are none yet.
const OF_REPOSITORY: [&str; 2] = ["HEAD", "config"];
/// The way of what is too deep.
pub(super) const TOO_DEEP: &str = "it is too deep to be looked at";

/// The ways to make git run a program, by the entry that has to be put aside.
#[derive(Debug, Default)]
pub(super) struct GitWays {
    /// A repository without a way has an empty set.
    pub(super) found: BTreeMap<GitPlace, BTreeSet<String>>,
    /// Number of entries of folders of submodules that were looked at.
    modules: usize,
}

impl GitWays {
    pub(super) fn add(&mut self, place: GitPlace, way: impl Into<String>) {
        self.found.entry(place).or_default().insert(way.into());
    }

    /// Adds the repositories of submodules of the repository in that git folder, and what it is in the middle of.
    pub(super) fn add_inner(&mut self, git: &HeldFolder, place: &GitPlace, depth: usize) {
        for (name, ways) in sequence_programs(git) {
            self.found.insert(place.join(name), ways);
        }
        self.add_modules(git, OsStr::new(MODULES), place.join(MODULES), depth);
    }

    /// Adds a folder that a pointer leads to, or one below `modules`. Git looks for repositories at each depth there,
    /// but not in a repository.
    pub(super) fn add_repository(&mut self, folder: &HeldFolder, place: GitPlace, depth: usize) {
        let Ok(names) = folder.names() else {
            return self.add(place, UNKNOWN);
        };
        if depth == 0 {
            return self.add(place, TOO_DEEP);
        }
        let is_one = |name: &OsString| OF_REPOSITORY.iter().any(|of| *name == **of);
        if names.iter().any(is_one) {
            self.found
                .insert(place.clone(), configuration_programs(folder));
            for (_, way) in hooks(folder, OsStr::new(HOOKS)) {
                self.add(place.join(HOOKS), way);
            }
        }
        if is_repository(folder) {
            return self.add_inner(folder, &place, depth - 1);
        }
        for name in names {
            let place = place.join(&name);
            self.add_modules(folder, &name, place, depth - 1);
        }
    }

    fn add_modules(&mut self, above: &HeldFolder, name: &OsStr, place: GitPlace, depth: usize) {
        self.modules += 1;
        if self.modules > MAX_MODULES {
            if self.modules == MAX_MODULES + 1 {
                self.add(
                    top_module(&place),
                    "it has too many entries to be looked at",
                );
            }
            return;
        }
        match above.kind(name) {
            Ok(None | Some(EntryKind::File | EntryKind::Other)) => {}
            Ok(Some(EntryKind::Folder)) => match above.folder(name) {
                Ok(folder) => self.add_repository(&folder, place, depth),
                Err(_) => self.add(place, UNKNOWN),
            },
            Ok(Some(EntryKind::Link)) => {
                let target = above.link(name).unwrap_or_default();
                self.add(place, format!("it leads to {}", target.display()));
            }
            Err(_) => self.add(place, UNKNOWN),
        }
    }

    /// Adds the git folders of linked worktrees. `own` is that of the conversation's folder, with its name: git looks
    /// there by the name, and it is looked at by its descriptor.
    pub(super) fn add_worktrees(
        &mut self,
        git: &HeldFolder,
        place: &GitPlace,
        own: Option<(&OsStr, &HeldFolder)>,
    ) {
        let place = place.join(WORKTREES);
        let all = match git.kind(OsStr::new(WORKTREES)) {
            Ok(None) => return,
            Ok(Some(_)) | Err(_) => git.folder(OsStr::new(WORKTREES)),
        };
        let Ok((all, names)) = all.and_then(|all| all.names().map(|names| (all, names))) else {
            return self.add(place, UNKNOWN);
        };
        for name in names {
            let place = place.join(&name);
            let Ok(folder) = all.folder(&name) else {
                self.add(place, UNKNOWN);
                continue;
            };
            self.found.insert(place.clone(), worktree_programs(&folder));
            match own.filter(|(own, _)| *own == name) {
                None => self.add_inner(&folder, &place, DEPTH),
                Some((_, own)) if folder.is_same(own).is_ok_and(|is_same| is_same) => {}
                Some(_) => self.add(place, "it is another folder than before"),
            }
        }
    }
}

/// The first folder of submodules on the way to a place.
fn top_module(place: &GitPlace) -> GitPlace {
    let names: Vec<&OsStr> = place.path.iter().collect();
    let end = names.iter().position(|name| *name == MODULES);
    let end = end.map_or(names.len(), |end| end + 1);
    let path: PathBuf = names.into_iter().take(end).collect();
    GitPlace::new(place.root, path)
}
