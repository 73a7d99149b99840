//! The runs of a workflow, read from its records.

use std::collections::BTreeMap;

use super::error::RuntimeError;
use super::result::IterationReport;
use crate::conversation::Reading;
use crate::journal::{Journal, Record};
use crate::workflow::facts::{Checkpoint, ProgressEntry, Rejection};
use crate::workflow::ledger::WorkflowLedger;
use crate::workflow::record::WorkflowRecord;
use crate::workflow::state::{RunErrorKind, RunPhase};

/// The past of a workflow so far.
pub(super) struct WorkflowPast {
    pub(super) ledger: WorkflowLedger,
    runs: Vec<RunNote>,
}

/// One run.
pub(super) struct RunNote {
    key: Option<String>,
    pub(super) phase: RunPhase,
    pub(super) iterations: Vec<IterationReport>,
    /// The end of the run. `None` while it runs or is paused.
    pub(super) end: Option<RunEnded>,
    pub(super) progress: Option<ProgressEntry>,
    pub(super) checkpoint: Option<Checkpoint>,
    /// The conversations of the open iteration, and why its last candidate was rejected.
    conversations: BTreeMap<u32, String>,
    reasons: BTreeMap<u32, Vec<Rejection>>,
}

/// The end of a run.
pub(super) struct RunEnded {
    pub(super) error: Option<RunErrorKind>,
    pub(super) detail: String,
    /// True if the workflow was completed by it.
    pub(super) is_completed: bool,
}

impl WorkflowPast {
    /// Reads it.
    pub(super) async fn read(journal: &dyn Journal) -> Result<Self, RuntimeError> {
        let mut past = Self {
            ledger: WorkflowLedger::default(),
            runs: Vec::new(),
        };
        let mut reading = Reading::new(journal, 0, journal.end().seq);
        while let Some(entries) = reading.next().await? {
            for entry in entries {
                let Record::Workflow(record) = entry.record else {
                    continue;
                };
                // A record of a newer version is unknown to this one.
                if let Ok(record) = serde_json::from_value::<WorkflowRecord>(record) {
                    past.ledger.apply(&record);
                    past.add(record);
                }
            }
        }
        Ok(past)
    }

    /// The run of that key.
    pub(super) fn run(&self, key: &str) -> Option<&RunNote> {
        let mut runs = self.runs.iter().rev();
        runs.find(|run| run.key.as_deref() == Some(key))
    }

    /// The initializer that ended well.
    pub(super) fn initializer(&self) -> Option<&RunNote> {
        let mut runs = self.runs.iter().rev();
        runs.find(|run| run.phase == RunPhase::Initializer && run.checkpoint.is_some())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "watches: what runs and iterations came to"
    )]
    fn add(&mut self, record: WorkflowRecord) {
        if let WorkflowRecord::PhaseStarted { phase, order } = record {
            self.runs.push(RunNote {
                key: order.key,
                phase,
                iterations: Vec::new(),
                end: None,
                progress: None,
                checkpoint: None,
                conversations: BTreeMap::new(),
                reasons: BTreeMap::new(),
            });
            return;
        }
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        let ended = |error, detail: &str| {
            Some(RunEnded {
                error,
                detail: detail.to_owned(),
                is_completed: false,
            })
        };
        match record {
            WorkflowRecord::ConversationLinked {
                n, conversation, ..
            } => {
                run.conversations.insert(n, conversation);
            }
            WorkflowRecord::Verdict(verdict) => {
                run.reasons.insert(verdict.n, verdict.reasons);
            }
            WorkflowRecord::IterationEnded(ended) => run.iterations.push(IterationReport {
                n: ended.n,
                feature: ended.feature.feature,
                status: ended.status,
                commit: ended.commit.map(|head| head.commit),
                reasons: run.reasons.remove(&ended.n).unwrap_or_default(),
                conversation: run.conversations.remove(&ended.n),
                note: ended.note,
                usage: ended.usage,
                progress: ended.progress,
                checkpoint: ended.checkpoint,
            }),
            WorkflowRecord::PhaseEnded {
                error,
                detail,
                progress,
                checkpoint,
                ..
            } => {
                run.end = ended(error, &detail);
                run.progress = progress;
                run.checkpoint = checkpoint;
            }
            WorkflowRecord::Completed { .. } => {
                run.end = Some(RunEnded {
                    error: None,
                    detail: "completed".to_owned(),
                    is_completed: true,
                });
            }
            WorkflowRecord::Cancelled { detail } => {
                run.end = ended(Some(RunErrorKind::NotReady), &detail);
            }
            WorkflowRecord::Failed { detail } => {
                run.end = ended(Some(RunErrorKind::Memory), &detail);
            }
            _ => {}
        }
    }
}
