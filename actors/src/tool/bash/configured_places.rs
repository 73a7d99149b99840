//! Places in a folder that git's configuration names: files with more configuration, hooks, and programs.

use std::path::{Path, PathBuf};

use super::git_config::{parse, read_git_file};
use crate::lexical::lexical;

/// Maximum number of files that one configuration may include, directly or not.
const MAX_FILES: usize = 64;
/// Maximum number of words of a program's command line that are looked at.
const MAX_WORDS: usize = 16;

/// The places that the configuration in a git folder names, by relative paths or by absolute ones: included files,
/// whether they exist or not, the folder of hooks, and files that a command line names. The programs of a repository
/// run in its working tree.
pub(super) fn configured_places(git: &Path, worktree: &Path) -> Vec<PathBuf> {
    let mut files = vec![git.join("config"), git.join("config.worktree")];
    let mut places = Vec::new();
    let mut next = 0;
    while let Some(file) = files.get(next).cloned() {
        next += 1;
        let text = read_git_file(&file);
        let entries = text.and_then(|text| parse(text.as_bytes()));
        for entry in entries.unwrap_or_default() {
            let value = entry.value();
            if entry.is_include() {
                let named = lexical(&file.parent().unwrap_or(git).join(value));
                if files.len() < MAX_FILES && !files.contains(&named) {
                    files.push(named.clone());
                }
                places.push(named);
            } else if entry.key() == "core.hookspath" {
                places.push(lexical(&worktree.join(value)));
            } else if entry.runs_program() {
                let words = value.split_whitespace().take(MAX_WORDS);
                let words = words.map(|word| word.trim_matches(['!', '"', '\'', '(', ')', ';']));
                let named = words.filter(|word| !word.is_empty());
                let named = named.map(|word| lexical(&worktree.join(word)));
                // A word may be anything, and what does not exist was named by chance.
                places.extend(named.filter(|path| path.is_file() && path != worktree));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [BASH-208]
    #[test]
    fn included_files_hooks_and_programs_are_found() {
        let home = tempfile::tempdir().unwrap();
        let work = home.path();
        let git = work.join(".git");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(work.join("tools")).unwrap();
        fs::write(work.join("tools/clean.py"), "").unwrap();
        let config = "[include]\n\tpath = ../shared.inc\n[core]\n\thooksPath = .githooks\n\
                      [filter \"x\"]\n\tclean = python3 'tools/clean.py' --all\n[pull]\n\trebase = false\n";
        fs::write(git.join("config"), config).unwrap();
        fs::write(
            work.join("shared.inc"),
            "[include]\n\tpath = more.inc\n\tpath = shared.inc\n",
        )
        .unwrap();
        let mut places = configured_places(&git, work);
        places.sort();
        places.dedup();
        let wanted = [".githooks", "more.inc", "shared.inc", "tools/clean.py"];
        assert_eq!(places, wanted.map(|name| work.join(name)));
    }
}
