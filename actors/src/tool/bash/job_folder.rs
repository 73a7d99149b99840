//! The folder of a job: the files that changed while the job ran, and those of them that others changed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use harness_protocol::{JobChange, JobChanges};

use super::earlier_contents::EarlierContents;
use super::git_head::GitHead;
use super::inventory::{ChangedFiles, Inventory};

/// Maximum number of files of a job that a record names.
const MAX_FILES: usize = 256;

/// The folder of a command in the background that may write.
#[derive(Default)]
pub(super) struct JobFolder {
    /// The state before the command, while that runs.
    before: Option<Arc<Inventory>>,
    /// The contents from before the command, as long as that is no job: those of a job would be kept for hours.
    contents: Option<EarlierContents>,
    /// HEAD of the folder's repository before the command, or where calls have moved it since.
    head: Option<GitHead>,
    /// The files that calls and undo changed meanwhile.
    changed_by_others: HashSet<String>,
}

impl JobFolder {
    /// Keeps the state before the command.
    pub(super) fn begin(&mut self, before: &Arc<Inventory>, contents: Option<EarlierContents>) {
        self.before = Some(Arc::clone(before));
        self.head = before.head().cloned();
        self.contents = contents;
    }

    /// Forgets the contents: the command is a job.
    pub(super) fn forget_contents(&mut self) {
        self.contents = None;
    }

    /// The state before the command, while that runs.
    pub(super) fn before(&self) -> Option<Arc<Inventory>> {
        self.before.clone()
    }

    /// HEAD before the command, or where calls have moved it since.
    pub(super) fn head(&self) -> Option<GitHead> {
        self.head.clone()
    }

    /// Notes that a call moved HEAD.
    pub(super) fn note_head(&mut self, before: &GitHead, now: &GitHead) {
        if self.head.as_ref() == Some(before) {
            self.head = Some(now.clone());
        }
    }

    /// Ends the watch. Returns the contents, if they are kept.
    pub(super) fn end(&mut self) -> Option<EarlierContents> {
        self.before = None;
        self.contents.take()
    }

    /// Notes files that a call or an undo changed.
    pub(super) fn note<'p>(&mut self, paths: impl Iterator<Item = &'p str>) {
        let Some(before) = &self.before else { return };
        let inside = paths.filter(|path| before.contains(Path::new(path)));
        self.changed_by_others.extend(inside.map(str::to_owned));
    }

    /// The files, without those that others changed, and how HEAD moved.
    pub(super) fn changes(&self, files: &ChangedFiles, head: Option<String>) -> JobChanges {
        let named = files.iter().map(|(path, action)| JobChange {
            path: path.to_string_lossy().into_owned(),
            action: *action,
        });
        let mut own = named.filter(|file| !self.changed_by_others.contains(&file.path));
        let mut files: Vec<JobChange> = own.by_ref().take(MAX_FILES).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        JobChanges {
            files,
            more: own.count() as u64,
            head,
        }
    }
}
