//! The folders of a repository that a command may write, and places in them.

use std::path::{Path, PathBuf};

use super::held_folder::HeldFolder;

/// A repository, by its folder and its git folder, both held open.
pub(super) struct GitFolders<'f> {
    pub(super) path: &'f Path,
    pub(super) folder: &'f HeldFolder,
    pub(super) git_path: &'f Path,
    pub(super) git: &'f HeldFolder,
    /// The git folder of the repository, if the folder is a linked worktree.
    pub(super) common: Option<(&'f Path, &'f HeldFolder)>,
}

/// The folders in which an entry can make git run a program. What leads to a repository comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GitRoot {
    /// The conversation's folder.
    Folder,
    /// Its git folder.
    Git,
    /// The git folder of the repository of a linked worktree.
    Common,
}

/// An entry in one of the folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GitPlace {
    pub(super) root: GitRoot,
    pub(super) path: PathBuf,
}

impl<'f> GitFolders<'f> {
    /// A folder with its path. `None` if the repository has none of that kind.
    pub(super) fn root(&self, root: GitRoot) -> Option<(&'f Path, &'f HeldFolder)> {
        match root {
            GitRoot::Folder => Some((self.path, self.folder)),
            GitRoot::Git => Some((self.git_path, self.git)),
            GitRoot::Common => self.common,
        }
    }

    /// The git folder with the configuration.
    pub(super) fn configured(&self) -> &'f HeldFolder {
        self.common.map_or(self.git, |(_, common)| common)
    }
}

impl GitPlace {
    pub(super) fn new(root: GitRoot, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { root, path }
    }

    /// An entry below this one.
    pub(super) fn join(&self, below: impl AsRef<Path>) -> Self {
        Self::new(self.root, self.path.join(below))
    }

    /// True if this entry is in another one.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.root == other.root && self.path.starts_with(&other.path)
    }
}
