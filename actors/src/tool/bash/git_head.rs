//! The branch and the commit that a repository is at, and how a command's change of them is taken back.

use super::git_refs::{HeadTarget, commit_of_ref, head_target};
use super::held_folder::HeldFolder;
use super::own_repository::OwnRepository;

/// Number of digits of an object's name that are shown.
const SHOWN: usize = 10;
/// The refs of branches.
const BRANCHES: &str = "refs/heads/";

/// HEAD of a repository before a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitHead {
    repository: OwnRepository,
    target: HeadTarget,
    /// `None` before the first commit.
    commit: Option<String>,
}

impl GitHead {
    /// Reads HEAD. `None` if it cannot be read. Blocks.
    pub(super) fn read(repository: &OwnRepository) -> Option<Self> {
        let target = head_target(&HeldFolder::open(&repository.git).ok()?)?;
        let commit = match &target {
            HeadTarget::Commit(commit) => Some(commit.clone()),
            HeadTarget::Branch(name) => commit_at(repository, name),
        };
        Some(Self {
            repository: repository.clone(),
            target,
            commit,
        })
    }

    /// HEAD of the repository now, if it is another one. Blocks.
    pub(super) fn moved(&self) -> Option<Self> {
        Self::read(&self.repository).filter(|now| now != self)
    }

    /// From where to where HEAD moved, with the git commands that move it back and change no file: `from main (1a2b) to main
    /// (3c4d): ...`. Blocks.
    pub(super) fn movement(&self) -> Option<String> {
        let now = self.moved()?;
        let moved = format!("from {} to {}", self.position(), now.position());
        if !self.target.is_plain() {
            return Some(format!("{moved}: `git reflog` tells where it was"));
        }
        let mut commands = Vec::new();
        if now.target != self.target {
            commands.push(match &self.target {
                HeadTarget::Commit(commit) => {
                    format!("git update-ref --no-deref HEAD {}", short(commit))
                }
                HeadTarget::Branch(name) => format!("git symbolic-ref HEAD {name}"),
            });
        }
        commands.push(match &self.commit {
            Some(commit) => format!("git reset {}", short(commit)),
            None => "git update-ref -d HEAD && git rm -rq --cached .".to_owned(),
        });
        let commands = commands.join(" && ");
        Some(format!(
            "{moved}: `{commands}` moves it back and changes no file"
        ))
    }

    fn position(&self) -> String {
        let commit = self.commit.as_deref().map_or("no commit", short);
        match &self.target {
            HeadTarget::Commit(_) => commit.to_owned(),
            HeadTarget::Branch(name) if is_plain(name) => {
                let branch = name.strip_prefix(BRANCHES).unwrap_or(name);
                format!("{branch} ({commit})")
            }
            HeadTarget::Branch(_) => format!("a branch ({commit})"),
        }
    }
}

impl HeadTarget {
    /// True if a shell takes it as one word, and a person reads it as what it is: commands name branches as they like.
    fn is_plain(&self) -> bool {
        match self {
            Self::Commit(_) => true,
            Self::Branch(name) => is_plain(name),
        }
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    name.starts_with(BRANCHES) && name.bytes().all(is_plain)
}

fn commit_at(repository: &OwnRepository, name: &str) -> Option<String> {
    commit_of_ref(name, &HeldFolder::open(&repository.common).ok()?)
}

fn short(commit: &str) -> &str {
    commit.get(..SHOWN).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(folder).args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@localhost",
            "-c",
            "advice.detachedHead=false",
        ]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = command.args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// The state that a person sees: what HEAD is, and what git says of the files.
    fn state(folder: &Path) -> (String, String) {
        let head = fs::read_to_string(folder.join(".git/HEAD")).unwrap();
        let commit = Command::new("git")
            .current_dir(folder)
            .args(["rev-parse", "-q", "--verify", "HEAD"])
            .output();
        let commit = String::from_utf8(commit.unwrap().stdout).unwrap();
        (head + &commit, git(folder, &["status", "--porcelain"]))
    }

    /// Spec: [UNDO-787]
    #[test]
    fn the_commands_of_the_note_move_head_back_and_change_no_file() {
        let cases: [(&[&str], &[&[&str]]); 6] = [
            (&[], &[&["commit", "-qam", "two"]]),
            (
                &[],
                &[&["switch", "-qc", "other"], &["commit", "-qam", "two"]],
            ),
            (
                &[],
                &[&["commit", "-qam", "two"], &["switch", "-q", "--detach"]],
            ),
            (&["switch", "-q", "--detach"], &[&["commit", "-qam", "two"]]),
            (
                &["switch", "-q", "--detach"],
                &[&["switch", "-qc", "other"], &["commit", "-qam", "two"]],
            ),
            (
                &["pack-refs", "--all"],
                &[&["commit", "-q", "--allow-empty", "-m", "two"]],
            ),
        ];
        for (before, commands) in cases {
            let home = tempfile::tempdir().unwrap();
            let folder = &home.path().canonicalize().unwrap();
            git(folder, &["init", "-q", "-b", "main"]);
            fs::write(folder.join("f"), "one\n").unwrap();
            git(folder, &["add", "."]);
            git(folder, &["commit", "-qm", "one"]);
            fs::write(folder.join("f"), "two\n").unwrap();
            if !before.is_empty() {
                git(folder, before);
            }
            moves_back(folder, |folder| {
                for words in commands {
                    git(folder, words);
                }
            });
        }
    }

    /// Spec: [UNDO-787]
    #[test]
    fn a_first_commit_is_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let folder = &home.path().canonicalize().unwrap();
        git(folder, &["init", "-q", "-b", "main"]);
        fs::write(folder.join("f"), "one\n").unwrap();
        let note = moves_back(folder, |folder| {
            git(folder, &["add", "."]);
            git(folder, &["commit", "-qm", "one"]);
        });
        assert!(note.contains("from main (no commit) to main ("), "{note}");
    }

    /// Spec: [UNDO-787]
    #[test]
    fn a_branch_is_no_command() {
        let home = tempfile::tempdir().unwrap();
        let folder = &home.path().canonicalize().unwrap();
        git(folder, &["init", "-q", "-b", "x;touch${IFS}evil`"]);
        let head = GitHead::read(&OwnRepository::find_all(folder)[0]).unwrap();
        git(folder, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let note = head.movement().unwrap();
        assert!(!note.contains("evil"), "{note}");
        assert!(note.ends_with("`git reflog` tells where it was"), "{note}");
    }

    /// Moves HEAD, and back by the commands of the note. Returns the note.
    fn moves_back(folder: &Path, command: impl FnOnce(&Path)) -> String {
        let repositories = OwnRepository::find_all(folder);
        let head = GitHead::read(&repositories[0]).unwrap();
        assert_eq!(head.movement(), None);
        let before = state(folder);
        command(folder);
        let note = head.movement().unwrap();
        let commands = note.split('`').nth(1).unwrap();
        let mut shell = Command::new("sh");
        let done = shell
            .current_dir(folder)
            .args(["-c", commands])
            .output()
            .unwrap();
        assert!(done.status.success(), "{note}: {done:?}");
        assert_eq!(state(folder), before, "{note}");
        assert_eq!(head.movement(), None);
        note
    }
}
