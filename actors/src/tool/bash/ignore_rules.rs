//! The rules by which git ignores files that it does not track.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::git_config::read_git_file;
use super::listing::FolderListing;
use super::own_repository::OwnRepository;

/// The rules of a repository. Those of a user for all repositories are not among them.
///
/// Source: gitignore(5).
pub(super) struct IgnoreRules {
    top: PathBuf,
    /// The rules of the files `.gitignore`, by their folders.
    by_folder: HashMap<PathBuf, Gitignore>,
    exclude: Gitignore,
    /// The folders that were asked about, and whether they are ignored.
    known: HashMap<PathBuf, bool>,
}

impl IgnoreRules {
    /// Reads the rules of a repository that count in a folder of it, which has these files. Blocks.
    pub(super) fn read(repository: &OwnRepository, folder: &Path, listing: &FolderListing) -> Self {
        let files = listing.files_with_name(folder, &repository.top, ".gitignore");
        let rules = |file: PathBuf| {
            let folder = file.parent()?;
            Some((folder.to_owned(), rules(folder, &file)))
        };
        let exclude = repository.common.join("info/exclude");
        Self {
            by_folder: files.into_iter().filter_map(rules).collect(),
            exclude: self::rules(&repository.top, &exclude),
            top: repository.top.clone(),
            known: HashMap::new(),
        }
    }

    /// True if git ignores a file unless it tracks it.
    pub(super) fn ignores(&mut self, file: &Path) -> bool {
        let folder = file.parent().unwrap_or(Path::new("/"));
        self.ignores_folder(folder) || self.matches(file, false)
    }

    fn ignores_folder(&mut self, folder: &Path) -> bool {
        if folder == self.top || !folder.starts_with(&self.top) {
            return false;
        }
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let above = folder.parent().unwrap_or(Path::new("/"));
        let is_ignored = self.ignores_folder(above) || self.matches(folder, true);
        self.known.insert(folder.to_owned(), is_ignored);
        is_ignored
    }

    /// True if the nearest rule about a path ignores it.
    fn matches(&self, path: &Path, is_folder: bool) -> bool {
        let above = path.ancestors().skip(1);
        let above = above.take_while(|folder| folder.starts_with(&self.top));
        let rules = above.filter_map(|folder| self.by_folder.get(folder));
        let mut matched = rules
            .chain([&self.exclude])
            .map(|rules| rules.matched(path, is_folder));
        matched
            .find(|it| !it.is_none())
            .is_some_and(|it| matches!(it, Match::Ignore(_)))
    }
}

/// The rules of a file for a folder. Lines that git does not understand are left out.
fn rules(folder: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in read_git_file(file).unwrap_or_default().lines() {
        if let Err(error) = builder.add_line(None, line) {
            log::debug!("a line of {} is no rule: {error}", file.display());
        }
    }
    builder.build().unwrap_or_else(|error| {
        log::debug!("{} has no rules: {error}", file.display());
        Gitignore::empty()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Spec: [UNDO-780]
    #[test]
    fn files_are_ignored_as_git_ignores_them() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap();
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(&top).args(words);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null");
            command.env("GIT_CONFIG_NOSYSTEM", "1");
            command.output().unwrap()
        };
        git(&["init", "-q"]);
        let files = [
            "a.log",
            "b/keep.log",
            "b/c/other.log",
            "out/x",
            "b/out/x",
            "b/only/x",
            "only/x",
            "dir",
            "b/dir/x",
            "excluded",
            "b/excluded",
            "b/c/again.tmp",
            "out/keep.txt",
            " space",
            "name!",
            "#hash",
        ];
        for name in files {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let ignore = [".gitignore", "b/.gitignore", "b/c/.gitignore"].map(|name| top.join(name));
        fs::write(
            &ignore[0],
            "*.log\nout/\n!out/keep.txt\n/only\ndir/\n*.tmp\n\\#hash\n[\n",
        )
        .unwrap();
        fs::write(&ignore[1], "!keep.log\n").unwrap();
        fs::write(&ignore[2], "!*.tmp\n").unwrap();
        fs::write(top.join(".git/info/exclude"), "excluded\n").unwrap();
        let own = OwnRepository::find_all(&top);
        let mut rules = IgnoreRules::read(&own[0], &top, &FolderListing::look(&top, None));
        for name in files {
            let told = git(&["check-ignore", "-q", "--no-index", name]);
            let is_ignored = told.status.code() == Some(0);
            assert_eq!(rules.ignores(&top.join(name)), is_ignored, "{name}");
        }
    }
}
