//! The repositories that git finds from the conversation's folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::git_config::{ConfigEntry, parse, read_git_file};
use crate::lexical::lexical;

/// The entry by which git finds a repository: its folder, or a file or a link that leads there.
pub(super) const GIT: &str = ".git";

/// Maximum number of submodules that are looked for.
const MAX_SUBMODULES: usize = 512;

/// A repository, with paths that have no links unless they lead to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnRepository {
    /// The folder with the entry `.git`, where git runs the programs of the repository.
    pub(super) top: PathBuf,
    pub(super) git: PathBuf,
    /// The git folder that all working trees of the repository share.
    pub(super) common: PathBuf,
}

impl OwnRepository {
    /// Finds those of a folder and of the folders above it, the nearest first. Git takes the first one that it can read,
    /// and a command can make that another one. Blocks.
    pub(super) fn find_all(workspace: &Path) -> Vec<Self> {
        workspace.ancestors().filter_map(Self::at).collect()
    }

    /// The submodules that `.gitmodules` names and whose git folders are not in that of the repository. Blocks.
    pub(super) fn submodules_elsewhere(&self) -> Vec<Self> {
        let text = read_git_file(&self.top.join(".gitmodules"));
        let entries = text.and_then(|text| parse(text.as_bytes()));
        let entries = entries.unwrap_or_default();
        let is_path = |entry: &&ConfigEntry| {
            let key = entry.key();
            key.starts_with("submodule.") && key.ends_with(".path")
        };
        let paths = entries.iter().filter(is_path).take(MAX_SUBMODULES);
        let paths: BTreeSet<_> = paths.map(|entry| self.top.join(entry.value())).collect();
        let found = paths.iter().filter_map(|path| Self::at(path));
        let is_within = |found: &Self| {
            let mut own = self.git_folders();
            own.any(|git| found.git.starts_with(git.join("modules")))
        };
        found.filter(|found| !is_within(found)).collect()
    }

    /// True if the entry `.git` is the git folder itself, without links.
    pub(super) fn has_git_inside(&self) -> bool {
        self.git == self.top.join(GIT)
    }

    fn at(top: &Path) -> Option<Self> {
        let git = git_folder(&top.join(GIT))?;
        let common = read_git_file(&git.join("commondir"));
        let common = common.and_then(|named| fs::canonicalize(git.join(named.trim())).ok());
        Some(Self {
            top: top.to_owned(),
            common: common.unwrap_or_else(|| git.clone()),
            git,
        })
    }

    /// The git folder, and the shared one if that is another.
    pub(super) fn git_folders(&self) -> impl Iterator<Item = &Path> {
        let common = (self.common != self.git).then_some(&*self.common);
        std::iter::once(&*self.git).chain(common)
    }
}

/// The git folder that an entry is or leads to, whether it exists or not.
///
/// Source: gitrepository-layout(5).
fn git_folder(entry: &Path) -> Option<PathBuf> {
    if entry.is_dir() {
        return fs::canonicalize(entry).ok();
    }
    let above = entry.parent()?;
    let named = match read_git_file(entry) {
        Some(text) => above.join(text.strip_prefix("gitdir:")?.trim()),
        None => above.join(fs::read_link(entry).ok()?),
    };
    Some(fs::canonicalize(&named).unwrap_or_else(|_| lexical(&named)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Spec: [BASH-586]
    #[test]
    fn submodules_with_git_folders_elsewhere_are_found() {
        let home = tempfile::tempdir().unwrap();
        let work = fs::canonicalize(home.path()).unwrap();
        for folder in [".git/modules/a", "a", "b", "c/.git", "store"] {
            fs::create_dir_all(work.join(folder)).unwrap();
        }
        fs::write(work.join("a/.git"), "gitdir: ../.git/modules/a").unwrap();
        fs::write(work.join("b/.git"), "gitdir: ../store").unwrap();
        let modules = ["a", "b", "c", "none"]
            .map(|name| format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = x\n"));
        fs::write(work.join(".gitmodules"), modules.concat()).unwrap();
        let all = OwnRepository::find_all(&work);
        let found = all[0].submodules_elsewhere();
        let git: Vec<_> = found.iter().map(|found| found.git.clone()).collect();
        assert_eq!(git, [work.join("store"), work.join("c/.git")]);
        assert!(!found[0].has_git_inside() && found[1].has_git_inside());
    }

    /// Spec: [BASH-580]
    #[test]
    fn each_entry_that_leads_to_a_git_folder_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let work = real.join("work/deep");
        fs::create_dir_all(&work).unwrap();
        fs::create_dir_all(real.join("store/worktrees/x")).unwrap();
        let found = || {
            let all = OwnRepository::find_all(&work);
            let near = all.into_iter().filter(|found| found.top.starts_with(&real));
            let near = near.map(|found| (found.top, found.git, found.common));
            near.collect::<Vec<_>>()
        };
        assert_eq!(found(), []);
        fs::create_dir(real.join("work/.git")).unwrap();
        let above = real.join("work/.git");
        let above = (real.join("work"), above.clone(), above);
        assert_eq!(found(), std::slice::from_ref(&above));
        let store = real.join("store");
        let entry = work.join(GIT);
        for (text, git) in [
            ("gitdir: ../../store\n", store.clone()),
            ("gitdir: ./gd", work.join("gd")),
        ] {
            fs::write(&entry, text).unwrap();
            assert_eq!(found(), [(work.clone(), git.clone(), git), above.clone()]);
        }
        let own = store.join("worktrees/x");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(&entry, format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(found()[0], (work.clone(), own, store.clone()));
        fs::remove_file(&entry).unwrap();
        for (target, git) in [("../../store", store), ("gd", work.join("gd"))] {
            symlink(target, &entry).unwrap();
            assert_eq!(found()[0], (work.clone(), git.clone(), git));
            fs::remove_file(&entry).unwrap();
        }
    }
}
