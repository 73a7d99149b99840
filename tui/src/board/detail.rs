//! The workflow that is followed: how it is, what its last checks and commits were, what its check shows.

use std::collections::VecDeque;
use std::time::Duration;

use harness_protocol::{Event, WorkflowSnapshot, words};
use serde_json::Value;

use super::noted::{CheckNote, CommitNote};
use crate::conversation::RunningOutput;
use crate::text::one_line;

/// Maximum number of the last checks, and of the last commits, that are kept.
const MAX_NOTES: usize = 20;

/// The workflow that is followed.
#[derive(Debug)]
pub(crate) struct Detail {
    /// The state of the workflow.
    pub(crate) snapshot: WorkflowSnapshot,
    /// The time at which the snapshot came.
    seen_at: Duration,
    /// The checks that ended last, the newest last.
    pub(crate) checks: VecDeque<CheckNote>,
    /// The last commits, the newest last.
    pub(crate) commits: VecDeque<CommitNote>,
    /// The last record, in words.
    pub(crate) last: String,
    /// The conversation of the last attempt.
    conversation: Option<String>,
    /// The output of the running check, if there is any.
    pub(crate) running: Option<RunningCheck>,
    /// The reason for the loss of the stream, if it is lost.
    pub(crate) lost: Option<String>,
}

/// The output of a running check.
#[derive(Debug)]
pub(crate) struct RunningCheck {
    /// The attempt, or the verification.
    place: (u32, u32),
    /// The step.
    step: String,
    /// The end of what it shows.
    pub(crate) output: RunningOutput,
}

impl Detail {
    /// A workflow with its last records.
    pub(super) fn new(snapshot: WorkflowSnapshot, recent: &[Event], now: Duration) -> Self {
        let mut detail = Self {
            snapshot,
            seen_at: now,
            checks: VecDeque::new(),
            commits: VecDeque::new(),
            last: String::new(),
            conversation: None,
            running: None,
            lost: None,
        };
        for event in recent {
            detail.happened(event);
        }
        detail
    }

    /// Takes a newer state.
    pub(super) fn looked(&mut self, snapshot: WorkflowSnapshot, now: Duration) {
        // An answer may be older than what is known, unless the journal began a new life.
        if is_older(&snapshot.position, &self.snapshot.position) {
            return;
        }
        self.snapshot = snapshot;
        self.seen_at = now;
    }

    /// Something happened in it.
    pub(super) fn happened(&mut self, event: &Event) {
        match event {
            Event::Workflow { record, .. } => self.recorded(record),
            Event::StepOutput {
                iteration,
                attempt,
                step,
                offset,
                text,
            } => {
                let place = (*iteration, *attempt);
                let is_known = |it: &RunningCheck| it.place == place && it.step == *step;
                if !self.running.as_ref().is_some_and(is_known) {
                    self.running = None;
                }
                let running = self.running.get_or_insert_with(|| RunningCheck {
                    place,
                    step: step.clone(),
                    output: RunningOutput::default(),
                });
                running.output.grow(*offset, text);
            }
            _ => {}
        }
    }

    fn recorded(&mut self, record: &Value) {
        self.last = one_line(&words::workflow_record(record));
        let data = record.get("data").unwrap_or(&Value::Null);
        match record.get("type").and_then(Value::as_str) {
            Some("step_started" | "step_ended") => self.running = None,
            Some("check_ended") => {
                self.running = None;
                keep(&mut self.checks, CheckNote::from_data(data));
            }
            Some("iteration_ended") => {
                if let Some(commit) = CommitNote::from_data(data) {
                    keep(&mut self.commits, commit);
                }
            }
            Some("conversation_linked") => {
                let conversation = data.get("conversation").and_then(Value::as_str);
                self.conversation = conversation.map(str::to_owned);
            }
            _ => {}
        }
    }

    /// For how long the open step goes, in seconds.
    pub(super) fn step_age(&self, now: Duration) -> Option<u64> {
        let step = self.snapshot.step.as_ref()?;
        let since = now.saturating_sub(self.seen_at);
        Some((Duration::from_millis(step.for_ms) + since).as_secs())
    }

    /// The conversation of the attempt that is under way, or else of the last one.
    pub(crate) fn conversation(&self) -> Option<&str> {
        let step = self.snapshot.step.as_ref();
        let open = step.and_then(|step| step.conversation.as_deref());
        open.or(self.conversation.as_deref())
    }
}

fn keep<T>(notes: &mut VecDeque<T>, note: T) {
    notes.push_back(note);
    if notes.len() > MAX_NOTES {
        notes.pop_front();
    }
}

/// True if a position is before another one in the same life of a journal.
fn is_older(position: &str, known: &str) -> bool {
    let parts = |position: &str| {
        let mut parts = position.split('-');
        let epoch = parts.next()?.to_owned();
        Some((epoch, parts.next()?.parse::<u64>().ok()?))
    };
    match (parts(position), parts(known)) {
        (Some((epoch, seq)), Some((known, end))) => epoch == known && seq < end,
        _ => false,
    }
}
