//! The commands that run in the background: which there are, what they have written, and how they end.
//!
//! Invariant: jobs belong to no conversation's actor. They outlive those, and end with their
//! conversation's deletion or with the service.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use harness_protocol::{Job, JobChanges, JobEnd};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::capture::Capture;
use super::earlier_contents::EarlierContents;
use super::git_head::GitHead;
use super::held::{HeldEnd, HeldJobs, JobEntry, JobKey, LeftByJob, MAX_LEFT, Stopper, finish, how};
use super::inventory::{ChangedFiles, Inventory};
use super::job_folder::JobFolder;
use super::process::{Lifeline, ProcessEnd};
use super::put_aside::GuardNotes;
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::tool::{EndedJob, ToolError};

/// How much of a command is held to name it, in bytes.
const MAX_COMMAND: usize = 1024;

/// The jobs of all conversations. Clones share them.
#[derive(Clone)]
pub struct Jobs(Arc<JobsShared>);

struct JobsShared {
    clock: Clock,
    held: Mutex<HeldJobs>,
    /// Tells that a conversation has a job that ended.
    news: Notify,
}

/// A command that is about to be a job.
pub(super) struct NewJob {
    pub(super) conversation: ConversationId,
    pub(super) call: String,
    pub(super) command: String,
    /// The last job that the conversation had before.
    pub(super) last: u64,
    pub(super) lifeline: Lifeline,
    pub(super) capture: Arc<Mutex<Capture>>,
}

/// A command that was started and is no job yet. If this is dropped before, the command is ended.
pub(super) struct StartingCommand {
    jobs: Jobs,
    key: JobKey,
    lifeline: Lifeline,
    end: watch::Receiver<Option<HeldEnd>>,
}

/// Has to be told how the command ended; what is dropped before was a panic.
pub(super) struct CommandWatch {
    jobs: Jobs,
    key: JobKey,
}

/// The result of a look at a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobLook {
    pub(super) job: Job,
    /// How it ended; it runs if none.
    pub(super) end: Option<JobEnd>,
    /// For how long it has run.
    pub(super) took: Duration,
    /// How much was written.
    pub(super) total: u64,
    /// How much of that since the last look.
    pub(super) new: u64,
    /// The end of it.
    pub(super) tail: String,
}

impl Jobs {
    /// No jobs yet.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(JobsShared {
            clock,
            held: Mutex::default(),
            news: Notify::new(),
        }))
    }

    /// The jobs of a conversation that run, the oldest first.
    #[must_use]
    pub fn running(&self, conversation: &ConversationId) -> Vec<Job> {
        let held = self.lock();
        let running = held
            .entries_of(conversation)
            .filter(|entry| entry.is_running());
        running.map(|entry| entry.job.clone()).collect()
    }

    /// Number of jobs that run, in all conversations.
    #[must_use]
    pub fn count(&self) -> usize {
        let held = self.lock();
        let running = held.entries.iter().filter(|entry| entry.is_running());
        running.count()
    }

    /// Returns the ends of the given jobs of a conversation that have ended. The caller puts the ends on record; until
    /// then the jobs are kept.
    #[must_use]
    pub fn ended(&self, conversation: &ConversationId, open: &[u64]) -> Vec<EndedJob> {
        let mut held = self.lock();
        let ended = held.ended(conversation, open);
        for EndedJob { job, .. } in &ended {
            let key = JobKey {
                conversation: conversation.clone(),
                job: *job,
            };
            if let Some(entry) = held.find(&key) {
                entry.is_noted = true;
            }
        }
        held.forget_old();
        ended
    }

    /// The same of a look that puts nothing on record, with those that are not known: they ran in a
    /// service that has ended.
    #[must_use]
    pub fn gone(&self, conversation: &ConversationId, open: &[u64]) -> Vec<EndedJob> {
        let running = self.running(conversation);
        let ended = self.lock().ended(conversation, open);
        let runs = |job: u64| running.iter().any(|running| running.job == job);
        let end = |job: u64| {
            let ended = ended.iter().find(|ended| ended.job == job).cloned();
            ended.unwrap_or(EndedJob {
                job,
                end: JobEnd::WithService,
                changes: None,
            })
        };
        let gone = open.iter().filter(|job| !runs(**job));
        gone.map(|job| end(*job)).collect()
    }

    /// Notes files that calls or undo changed, of any conversation. They are left out of the changes of jobs.
    pub fn note_changes<'p>(&self, paths: &(impl Iterator<Item = &'p str> + Clone)) {
        for entry in &mut self.lock().entries {
            entry.folder.note(paths.clone());
        }
    }

    /// The next conversation of which a job has ended. For one listener.
    pub async fn next_ended(&self) -> ConversationId {
        loop {
            if let Some(conversation) = self.lock().news.pop_front() {
                return conversation;
            }
            self.0.news.notified().await;
        }
    }

    /// Asks a job to end, and ends it if it does not; tells how it ended. None if there is none of that
    /// number.
    pub async fn stop(
        &self,
        conversation: &ConversationId,
        job: u64,
        by: Option<&str>,
    ) -> Option<JobEnd> {
        let (lifeline, end) = {
            let mut held = self.lock();
            let entry = held.find(&JobKey {
                conversation: conversation.clone(),
                job,
            });
            let entry = entry.filter(|entry| entry.is_begun)?;
            entry.stopped_by(Stopper::Somebody(by.map(str::to_owned)));
            (entry.lifeline.clone(), entry.end.subscribe())
        };
        finish(lifeline, end).await
    }

    /// Ends the jobs of a conversation that is gone, and forgets them.
    pub async fn remove(&self, conversation: &ConversationId) {
        let ending = {
            let mut held = self.lock();
            held.news.retain(|other| other != conversation);
            held.end(&|entry| {
                let is_meant = entry.conversation == *conversation;
                // No client is told of its end any more.
                entry.is_begun &= !is_meant;
                is_meant
            })
        };
        join_all(ending).await;
        let mut held = self.lock();
        held.entries
            .retain(|entry| entry.conversation != *conversation);
        held.left.retain(|left| left.conversation != *conversation);
    }

    /// Asks all jobs to end, and ends them if they do not. None begins any more.
    pub async fn end_all(&self) {
        let ending = {
            let mut held = self.lock();
            held.is_closed = true;
            held.end(&|_| true)
        };
        join_all(ending).await;
    }

    /// Whether another job of that conversation may begin.
    ///
    /// # Errors
    /// How many there may be, and which of the conversation run.
    pub(super) fn check(&self, conversation: &ConversationId) -> Result<(), ToolError> {
        self.lock().check(conversation)
    }

    /// Holds a command that is started in the background.
    ///
    /// # Errors
    /// If there are as many as there may be.
    pub(super) fn begin(&self, new: NewJob) -> Result<(StartingCommand, CommandWatch), ToolError> {
        let NewJob {
            conversation,
            call,
            mut command,
            last,
            lifeline,
            capture,
        } = new;
        let mut held = self.lock();
        held.check(&conversation)?;
        let known = held
            .entries_of(&conversation)
            .map(|entry| entry.job.job)
            .max();
        let job = known.unwrap_or_default().max(last) + 1;
        command.truncate(command.floor_char_boundary(MAX_COMMAND));
        let (end, ended) = watch::channel(None);
        let key = JobKey {
            conversation: conversation.clone(),
            job,
        };
        held.entries.push(JobEntry {
            conversation,
            job: Job {
                job,
                call,
                command,
                since: self.0.clock.unix_seconds(),
            },
            began: Instant::now(),
            lifeline: lifeline.clone(),
            capture,
            folder: JobFolder::default(),
            end,
            stopper: None,
            is_begun: false,
            is_noted: false,
            looked_at: 0,
        });
        drop(held);
        let starting = StartingCommand {
            jobs: self.clone(),
            key: key.clone(),
            lifeline,
            end: ended,
        };
        let jobs = self.clone();
        Ok((starting, CommandWatch { jobs, key }))
    }

    /// Looks at a job: how it is, and at most so many bytes of the end of what it has written. None if
    /// there is none of that number. Blocks while the output is written down.
    pub(super) fn look(
        &self,
        conversation: &ConversationId,
        job: u64,
        most: usize,
    ) -> Option<JobLook> {
        let key = JobKey {
            conversation: conversation.clone(),
            job,
        };
        let (job, capture, took, end) = {
            let mut held = self.lock();
            let entry = held.find(&key).filter(|entry| entry.is_begun)?;
            let end = entry.end.borrow().clone();
            let took = end.as_ref().map_or(entry.began.elapsed(), |end| end.took);
            (
                entry.job.clone(),
                Arc::clone(&entry.capture),
                took,
                end.map(|end| end.how),
            )
        };
        let (total, tail) = {
            let capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            let tail = match end {
                None => capture.growing_tail(most),
                Some(_) => capture.tail(most),
            };
            (capture.total(), tail)
        };
        let mut held = self.lock();
        let seen = held.find(&key).map_or(total, |entry| {
            let seen = entry.looked_at;
            entry.looked_at = seen.max(total);
            seen
        });
        Some(JobLook {
            job,
            end,
            took,
            total,
            new: total.saturating_sub(seen),
            tail,
        })
    }

    /// The files that changed since a job began, or while it ran. `None` if that is not known, or if it cannot write. Blocks
    /// while the folder is looked at.
    pub(super) fn changes(&self, conversation: &ConversationId, job: u64) -> Option<JobChanges> {
        let key = JobKey {
            conversation: conversation.clone(),
            job,
        };
        let (before, head) = {
            let mut held = self.lock();
            let entry = held.find(&key).filter(|entry| entry.is_begun)?;
            if let Some(end) = entry.end.borrow().as_ref() {
                return end.changes.clone();
            }
            (entry.folder.before()?, entry.folder.head())
        };
        let files = before.files_changed()?;
        let head = head.and_then(|head| head.movement());
        let mut held = self.lock();
        let entry = held.find(&key);
        entry.map(|entry| entry.folder.changes(&files, head))
    }

    /// Notes that a call has ended, before which HEAD of its repository was this one. Blocks.
    pub(super) fn note_head(&self, before: &GitHead) {
        let Some(now) = before.moved() else { return };
        for entry in &mut self.lock().entries {
            entry.folder.note_head(before, &now);
        }
    }

    /// Keeps what a job left at protected places, until operators are asked about it.
    pub(super) fn leave(
        &self,
        conversation: &ConversationId,
        workspace: &Path,
        changes: GuardNotes,
    ) {
        if !changes.has_open() {
            return;
        }
        let left = &mut self.lock().left;
        if left.len() == MAX_LEFT {
            left.remove(0);
        }
        left.push(LeftByJob {
            conversation: conversation.clone(),
            workspace: workspace.to_owned(),
            changes,
        });
    }

    /// Takes what the jobs of a conversation left at protected places of its folder.
    pub(super) fn take_left(
        &self,
        conversation: &ConversationId,
        workspace: &Path,
    ) -> Vec<GuardNotes> {
        let is_meant = |left: &mut LeftByJob| {
            left.conversation == *conversation && left.workspace == *workspace
        };
        let taken = self
            .lock()
            .left
            .extract_if(.., is_meant)
            .collect::<Vec<_>>();
        taken.into_iter().map(|left| left.changes).collect()
    }

    /// The jobs of a conversation that are known, those that have ended with how.
    pub(super) fn known(&self, conversation: &ConversationId) -> Vec<(Job, Option<JobEnd>)> {
        let held = self.lock();
        let begun = held.entries_of(conversation).filter(|entry| entry.is_begun);
        let known = begun.map(|entry| {
            let end = entry.end.borrow().as_ref().map(|end| end.how.clone());
            (entry.job.clone(), end)
        });
        known.collect()
    }

    /// Notes that a command has ended. Returns the contents from before it, if they are kept.
    fn note_end(
        &self,
        key: &JobKey,
        ended: JobEnd,
        changed: Option<&ChangedFiles>,
    ) -> Option<EarlierContents> {
        let head = || self.lock().find(key)?.folder.head()?.movement();
        let head = changed.and_then(|_| head());
        let mut held = self.lock();
        // It may have been given up.
        let entry = held.find(key)?;
        let how = match (entry.stopper.take(), ended) {
            // It was ended before for another reason, or by itself.
            (_, own @ JobEnd::OverLimit { .. }) | (None, own) => own,
            // What is ended by force reports no end of its own.
            (Some(Stopper::Somebody(by)), _) => JobEnd::Stopped { by },
            (Some(Stopper::Service), _) => JobEnd::WithService,
        };
        let took = entry.began.elapsed();
        let changes = changed.map(|files| entry.folder.changes(files, head));
        let contents = entry.folder.end();
        entry.end.send_replace(Some(HeldEnd { how, took, changes }));
        if entry.is_begun {
            if !held.news.contains(&key.conversation) {
                held.news.push_back(key.conversation.clone());
            }
            drop(held);
            self.0.news.notify_one();
        }
        contents
    }

    fn lock(&self) -> MutexGuard<'_, HeldJobs> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Jobs {
    fn default() -> Self {
        Self::new(Clock::system())
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.lock();
        let jobs = held.entries.iter().map(|entry| &entry.job);
        f.debug_list().entries(jobs).finish()
    }
}

impl StartingCommand {
    /// Waits for the end of the command.
    pub(super) async fn ended(&mut self) {
        // An error means that it is forgotten, which is an end as well.
        drop(self.end.wait_for(Option::is_some).await);
    }

    /// Makes it a job; none if it has ended, and then it is forgotten.
    pub(super) fn settle(self) -> Option<Job> {
        let mut held = self.jobs.lock();
        let entry = held.find(&self.key).filter(|entry| entry.is_alive())?;
        entry.is_begun = true;
        entry.folder.forget_contents();
        Some(entry.job.clone())
    }
}

impl Drop for StartingCommand {
    fn drop(&mut self) {
        let mut held = self.jobs.lock();
        let is_ours = |entry: &JobEntry| !entry.is_begun && entry.is(&self.key);
        let before = held.entries.len();
        held.entries.retain(|entry| !is_ours(entry));
        if held.entries.len() < before {
            self.lifeline.cut();
        }
    }
}

impl CommandWatch {
    /// Keeps the state of the folder before the command, and its contents as long as the command is no job.
    pub(super) fn begin_writing(&self, mut before: Inventory) -> Arc<Inventory> {
        let contents = before.take_contents();
        let before = Arc::new(before);
        if let Some(entry) = self.jobs.lock().find(&self.key) {
            entry
                .folder
                .begin(&before, (!entry.is_begun).then_some(contents));
        }
        before
    }

    /// Says how the command ended, and which files changed if that is known. Returns the contents from before the command if
    /// it was no job.
    pub(super) fn end(
        &self,
        ended: &io::Result<ProcessEnd>,
        changed: Option<&ChangedFiles>,
    ) -> Option<EarlierContents> {
        self.jobs.note_end(&self.key, how(ended), changed)
    }
}

impl Drop for CommandWatch {
    fn drop(&mut self) {
        let is_open = {
            let mut held = self.jobs.lock();
            held.find(&self.key).is_some_and(|entry| entry.is_alive())
        };
        if is_open {
            let reason = "what held it panicked; this is a bug".to_owned();
            self.jobs
                .note_end(&self.key, JobEnd::Failed { reason }, None);
        }
    }
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
