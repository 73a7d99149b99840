//! The jobs that a service holds: how many there may be, and how one is ended.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness_protocol::{Job, JobChanges, JobEnd, words};
use tokio::sync::watch;
use tokio::time::Instant;

use super::capture::Capture;
use super::job_folder::JobFolder;
use super::process::{GRACE, Lifeline, ProcessEnd};
use super::put_aside::GuardNotes;
use crate::ids::ConversationId;
use crate::tool::{EndedJob, ToolError};

/// Maximum number of jobs of one conversation that run.
const MAX_OF_CONVERSATION: usize = 8;
/// Maximum number of jobs of the service that run.
const MAX_RUNNING: usize = 32;
/// Maximum number of ended jobs that are kept with the last of their output. Their ends are on record.
pub(super) const MAX_ENDED: usize = 32;
/// Maximum number of ended jobs of which operators can still be asked what they left at protected places.
pub(super) const MAX_LEFT: usize = 8;
/// Time within which a job that was ended must have exited.
const END_LIMIT: Duration = Duration::from_millis(1000);
#[derive(Default)]
pub(super) struct HeldJobs {
    pub(super) entries: Vec<JobEntry>,
    /// The conversations whose jobs have ended, for the directory.
    pub(super) news: VecDeque<ConversationId>,
    /// True if the service begins no job any longer.
    pub(super) is_closed: bool,
    /// The changes at protected places that operators have yet to be asked about, the oldest first.
    pub(super) left: Vec<LeftByJob>,
}

/// The changes of a job at protected places of its conversation's folder.
pub(super) struct LeftByJob {
    pub(super) conversation: ConversationId,
    pub(super) workspace: PathBuf,
    pub(super) changes: GuardNotes,
}

pub(super) struct JobEntry {
    pub(super) conversation: ConversationId,
    pub(super) job: Job,
    pub(super) began: Instant,
    pub(super) lifeline: Lifeline,
    pub(super) capture: Arc<Mutex<Capture>>,
    pub(super) folder: JobFolder,
    pub(super) end: watch::Sender<Option<HeldEnd>>,
    /// The first who asked to end it.
    pub(super) stopper: Option<Stopper>,
    /// Whether it is a job by now: what ends at once is none.
    pub(super) is_begun: bool,
    /// True if its conversation has its end, to put it on record.
    pub(super) is_noted: bool,
    /// How much was written at the last look.
    pub(super) looked_at: u64,
}

/// The kind of actor that ends a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stopper {
    /// An operator, or the model.
    Somebody(Option<String>),
    Service,
}

#[derive(Debug, Clone)]
pub(super) struct HeldEnd {
    pub(super) how: JobEnd,
    pub(super) took: Duration,
    /// The files that changed while it ran, if that is known.
    pub(super) changes: Option<JobChanges>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobKey {
    pub(super) conversation: ConversationId,
    pub(super) job: u64,
}

impl HeldJobs {
    pub(super) fn entries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> impl Iterator<Item = &'a JobEntry> {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.conversation == *conversation)
    }

    /// The ends of those of these jobs of a conversation that have ended.
    pub(super) fn ended(&self, conversation: &ConversationId, jobs: &[u64]) -> Vec<EndedJob> {
        let ended = |job: &u64| {
            let found = self
                .entries_of(conversation)
                .find(|entry| entry.job.job == *job);
            let end = found?.end.borrow().clone()?;
            Some(EndedJob {
                job: *job,
                end: end.how,
                changes: end.changes,
            })
        };
        jobs.iter().filter_map(ended).collect()
    }

    /// Ends those that are meant, for the service.
    pub(super) fn end(
        &mut self,
        is_meant: &dyn Fn(&mut JobEntry) -> bool,
    ) -> Vec<impl Future<Output = Option<JobEnd>> + use<>> {
        let mut ending = Vec::new();
        for entry in &mut self.entries {
            if is_meant(entry) && entry.is_alive() {
                entry.stopped_by(Stopper::Service);
                ending.push(finish(entry.lifeline.clone(), entry.end.subscribe()));
            }
        }
        ending
    }

    pub(super) fn find(&mut self, key: &JobKey) -> Option<&mut JobEntry> {
        self.entries.iter_mut().find(|entry| entry.is(key))
    }

    pub(super) fn check(&self, conversation: &ConversationId) -> Result<(), ToolError> {
        if self.is_closed {
            return Err("the service is stopping".into());
        }
        let own: Vec<String> = self
            .entries_of(conversation)
            .filter(|entry| entry.is_alive())
            .map(|entry| named(&entry.job))
            .collect();
        let all = self.entries.iter().filter(|entry| entry.is_alive()).count();
        let most = if own.len() >= MAX_OF_CONVERSATION {
            format!("a conversation has at most {MAX_OF_CONVERSATION} jobs at once")
        } else if all >= MAX_RUNNING {
            format!("the service has at most {MAX_RUNNING} jobs at once")
        } else {
            return Ok(());
        };
        let own = match own.is_empty() {
            true => "none of them is this conversation's".to_owned(),
            false => format!("stop one with job: {}", own.join(", ")),
        };
        Err(ToolError(format!("{most}; {own}")))
    }

    /// Forgets the first of the jobs whose ends are on record when there are too many of them.
    pub(super) fn forget_old(&mut self) {
        let over = self.entries.iter().filter(|entry| entry.is_noted);
        let mut over = over.count().saturating_sub(MAX_ENDED);
        self.entries.retain(|entry| {
            let stays = over == 0 || !entry.is_noted;
            over -= usize::from(!stays);
            stays
        });
    }
}

impl JobEntry {
    pub(super) fn is(&self, key: &JobKey) -> bool {
        self.job.job == key.job && self.conversation == key.conversation
    }

    /// Whether its command has not ended.
    pub(super) fn is_alive(&self) -> bool {
        self.end.borrow().is_none()
    }

    /// Whether it is a job that has not ended.
    pub(super) fn is_running(&self) -> bool {
        self.is_begun && self.is_alive()
    }

    pub(super) fn stopped_by(&mut self, stopper: Stopper) {
        if self.is_alive() {
            self.stopper.get_or_insert(stopper);
        }
    }
}

/// Asks a command to end and waits for that; ends it when it takes too long. Tells how it ended.
pub(super) async fn finish(
    lifeline: Lifeline,
    mut end: watch::Receiver<Option<HeldEnd>>,
) -> Option<JobEnd> {
    if end.borrow().is_none() {
        lifeline.stop();
        if !ends_within(GRACE, &mut end).await {
            lifeline.cut();
            if !ends_within(END_LIMIT, &mut end).await {
                log::warn!("a job does not end");
            }
        }
    }
    let how = end.borrow().as_ref().map(|end| end.how.clone());
    let slow = || JobEnd::Failed {
        reason: "it was ended, and that takes long".to_owned(),
    };
    Some(how.unwrap_or_else(slow))
}

async fn ends_within(limit: Duration, end: &mut watch::Receiver<Option<HeldEnd>>) -> bool {
    let ended = end.wait_for(Option::is_some);
    tokio::time::timeout(limit, ended).await.is_ok()
}

/// The end of a command that no client stopped.
pub(super) fn how(ended: &io::Result<ProcessEnd>) -> JobEnd {
    match ended {
        Err(error) => JobEnd::Failed {
            reason: error.to_string(),
        },
        Ok(ProcessEnd {
            over: Some(what), ..
        }) => JobEnd::OverLimit { what: what.clone() },
        Ok(ProcessEnd {
            code: Some(code), ..
        }) => JobEnd::Exited { code: *code },
        Ok(ProcessEnd {
            signal: Some(signal),
            ..
        }) => JobEnd::Killed { signal: *signal },
        Ok(ProcessEnd { .. }) => JobEnd::Failed {
            reason: "from outside".to_owned(),
        },
    }
}

/// A job in the words for the model: `1 (cargo watch)`.
fn named(job: &Job) -> String {
    format!("{} ({})", job.job, words::short_command(&job.command))
}
