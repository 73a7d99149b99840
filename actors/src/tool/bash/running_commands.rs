//! The commands that run and may write, and which of them may move protected files.
//!
//! A mount that holds a file goes when another command replaces that file. So files are moved only while no other command
//! runs in their folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All commands that run. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCommands(Arc<Mutex<Vec<RunningEntry>>>);

#[derive(Debug)]
struct RunningEntry {
    number: u64,
    workspace: PathBuf,
    may_move: bool,
}

/// A command that may write, from before its start until it was judged.
#[derive(Debug)]
pub(super) struct RunningCommand {
    all: RunningCommands,
    number: u64,
    /// True if git may replace protected files while it runs.
    pub(super) may_move: bool,
    /// True if another command that ran at its start may do so.
    pub(super) is_beside_mover: bool,
}

impl RunningCommands {
    /// Notes that a command begins. One that wants to move files may do so if no other command runs in its folder, or in
    /// one above or below it.
    pub(super) fn begin(&self, workspace: &Path, wants_to_move: bool) -> RunningCommand {
        let mut all = self.lock();
        let is_near = |entry: &&RunningEntry| {
            entry.workspace.starts_with(workspace) || workspace.starts_with(&entry.workspace)
        };
        let near = all.iter().filter(is_near).map(|entry| entry.may_move);
        let near: Vec<bool> = near.collect();
        let may_move = wants_to_move && near.is_empty();
        let number = all.last().map_or(0, |entry| entry.number + 1);
        all.push(RunningEntry {
            number,
            workspace: workspace.to_owned(),
            may_move,
        });
        RunningCommand {
            all: self.clone(),
            number,
            may_move,
            is_beside_mover: near.contains(&true),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RunningEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let number = self.number;
        self.all.lock().retain(|entry| entry.number != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-551]
    #[test]
    fn files_are_moved_only_while_no_other_command_runs_there() {
        let all = RunningCommands::default();
        let begin = |workspace: &str, wants| all.begin(Path::new(workspace), wants);
        let job = begin("/project", false);
        assert!(!job.may_move && !job.is_beside_mover);
        for near in ["/project", "/project/sub", "/"] {
            assert!(!begin(near, true).may_move, "{near}");
        }
        let other = begin("/projecter", true);
        assert!(other.may_move && !other.is_beside_mover);
        drop(job);
        let mover = begin("/project", true);
        assert!(mover.may_move);
        assert!(begin("/project", false).is_beside_mover);
        assert!(!begin("/else", false).is_beside_mover);
        drop(mover);
        assert!(!begin("/project", false).is_beside_mover);
    }
}
