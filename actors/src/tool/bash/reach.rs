//! The places in a conversation's folder that a command may write, and those that it may not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::change::is_protected_name;

/// The files in git's own folder that tell git what to run.
const OF_GIT: &[&str] = &["hooks", "config", "config.worktree", "info/attributes"];
/// How deep folders of submodules are looked for.
const DEPTH: usize = 4;
/// How many places are protected at most; more are in no folder that people work in.
const MOST: usize = 512;

/// The places that a command may write, and the protected ones among them. Paths are absolute and
/// without links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Folders besides that of the conversation: those of the repository of a linked worktree.
    pub(super) writable: Vec<PathBuf>,
    /// Paths that may not be changed, whether they are there or not.
    pub(super) protected: Vec<PathBuf>,
}

/// Finds what a command may write that works in that folder. Blocks.
pub(super) fn find(workspace: &Path) -> Reach {
    let mut reach = Reach::default();
    let own = fs::read_dir(workspace).into_iter().flatten().flatten();
    for entry in own {
        let name = entry.file_name();
        if name != ".git" && is_protected_name(&name) {
            reach.protected.push(entry.path());
        }
    }
    for name in [".cargo/config", ".cargo/config.toml", ".config/fish"] {
        reach.protected.push(workspace.join(name));
    }
    for name in [
        ".envrc",
        ".gitmodules",
        ".gitattributes",
        "AGENTS.md",
        "CLAUDE.md",
        ".vscode",
    ] {
        reach.protected.push(workspace.join(name));
    }
    let git = workspace.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => add_git(&git, &mut reach),
        Ok(found) if found.is_file() => {
            reach.protected.push(git.clone());
            if let Some((own, common)) = linked(&git) {
                add_git(&own, &mut reach);
                add_git(&common, &mut reach);
                reach.writable.push(common);
            }
        }
        Ok(_) => reach.protected.push(git),
        // What makes a repository makes its hooks, too.
        Err(_) => {}
    }
    reach.protected.sort();
    reach.protected.dedup();
    reach.protected.truncate(MOST);
    reach
}

fn add_git(git: &Path, reach: &mut Reach) {
    let own = OF_GIT.iter().map(|name| git.join(name));
    reach.protected.extend(own);
    add_modules(&git.join("modules"), DEPTH, reach);
    for entry in fs::read_dir(git.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten()
    {
        reach.protected.push(entry.path().join("config.worktree"));
    }
}

/// The folders of submodules.
fn add_modules(folder: &Path, depth: usize, reach: &mut Reach) {
    if depth == 0 || reach.protected.len() > MOST {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").is_file() {
            add_git(&path, reach);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_modules(&path, depth - 1, reach);
        }
    }
}

/// The folders of a linked worktree: its own, and the one of its repository. The file `.git` is in the
/// hands of the one who writes in the worktree, so the repository has to name the worktree as well.
///
/// Source: gitrepository-layout(5): `gitdir`, `commondir`.
pub(crate) fn linked(file: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = fs::read_to_string(file).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let own = fs::canonicalize(file.parent()?.join(named)).ok()?;
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    let back = fs::canonicalize(back.trim()).ok()?;
    if back != fs::canonicalize(file).ok()? {
        return None;
    }
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    (own.parent()? == common.join("worktrees") && is_repository).then_some((own, common))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        (home, real)
    }

    fn repository(at: &Path) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::create_dir_all(at.join("hooks")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    /// Spec: [BASH-07]
    #[test]
    fn what_tells_other_programs_what_to_do_is_protected() {
        let (_home, real) = folders();
        repository(&real.join(".git"));
        repository(&real.join(".git/modules/deep/sub"));
        fs::write(real.join(".npmrc"), "").unwrap();
        fs::write(real.join("main.rs"), "").unwrap();
        let reach = find(&real);
        assert!(reach.writable.is_empty());
        for name in [
            ".git/hooks",
            ".git/config",
            ".git/config.worktree",
            ".git/modules/deep/sub/hooks",
            ".npmrc",
            ".envrc",
            "AGENTS.md",
            ".cargo/config.toml",
        ] {
            assert!(reach.protected.contains(&real.join(name)), "{name}");
        }
        for name in [".git", "main.rs", ".git/index", ".cargo"] {
            assert!(!reach.protected.contains(&real.join(name)), "{name}");
        }
    }

    /// Spec: [BASH-07]
    #[test]
    fn the_repository_of_a_worktree_may_be_written_if_it_knows_the_worktree() {
        let (_home, real) = folders();
        let (main, tree) = (real.join("main/.git"), real.join("tree"));
        repository(&main);
        let own = main.join("worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        // The repository knows nothing of it.
        assert!(find(&tree).writable.is_empty());
        let back = format!("{}\n", tree.join(".git").display());
        fs::write(own.join("gitdir"), back).unwrap();
        let reach = find(&tree);
        assert_eq!(reach.writable, std::slice::from_ref(&main));
        for path in [
            tree.join(".git"),
            main.join("hooks"),
            main.join("config"),
            own.join("config.worktree"),
        ] {
            assert!(reach.protected.contains(&path), "{}", path.display());
        }
        // A file that names anything else.
        let other = real.join("other");
        repository(&other);
        fs::write(tree.join(".git"), format!("gitdir: {}\n", other.display())).unwrap();
        assert!(find(&tree).writable.is_empty());
    }
}
