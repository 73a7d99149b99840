//! What the records of a conversation add up to. The same fold serves a conversation that goes
//! on, one that comes back after a crash, and a look at the end of its journal.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::history::History;
use crate::ids::RunId;
use crate::journal::{Activity, Outcome, Record, Totals, Unanswered};
use crate::reply::{Block, BlockKind, Object};
use crate::tool::{ToolCall, ToolOutcome};

/// The largest number of a run that is counted on from; a journal may say anything.
const MAX_RUN: u64 = 1 << 53;

/// The sums of a conversation's records. Takes records in any order and combination: a damaged
/// journal lacks some.
#[derive(Debug, Default)]
pub struct Ledger {
    history: History,
    /// The finished blocks of the reply that is under way, by their place in it.
    reply: Vec<(u64, Block)>,
    /// Whether the model was asked and the reply has not ended.
    replying: bool,
    /// The keys of the prompts so far.
    keys: HashMap<String, Keyed>,
    totals: Totals,
    /// The run that has not ended.
    run: Option<RunId>,
    /// The turn that has not ended.
    turn: Option<u32>,
    status: Status,
}

/// The prompt that a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    /// Its run.
    pub run: RunId,
    /// Tells its text from another; of use within one process only.
    digest: u64,
}

impl Keyed {
    /// Whether it has that text.
    #[must_use]
    pub fn is_of(&self, content: &str) -> bool {
        self.digest == digest(content)
    }
}

/// What a conversation is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What.
    pub activity: Activity,
    /// What it is about.
    pub message: String,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            activity: Activity::Idle,
            message: String::new(),
        }
    }
}

impl Ledger {
    /// Adds a record.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::RunStarted { run } => {
                self.totals.runs = self.totals.runs.max(run.0).min(MAX_RUN);
                self.run = Some(*run);
            }
            Record::Prompt {
                run, content, key, ..
            } => {
                self.end_reply(Unanswered::Interrupted);
                self.history.push_prompt(content);
                self.totals.prompts = self.totals.prompts.saturating_add(1);
                self.totals.runs = self.totals.runs.max(run.0).min(MAX_RUN);
                if let Some(key) = key {
                    let keyed = Keyed {
                        run: *run,
                        digest: digest(content),
                    };
                    self.keys.insert(key.clone(), keyed);
                }
            }
            Record::Status { activity, message } => {
                self.status = Status {
                    activity: *activity,
                    message: message.clone(),
                };
            }
            Record::TurnStarted { turn, .. } => {
                self.end_reply(Unanswered::Interrupted);
                self.totals.turns = self.totals.turns.saturating_add(1);
                self.turn = Some(*turn);
                self.replying = true;
            }
            Record::Block { index, block, .. } => self.add_block(*index, block.clone()),
            Record::ReplyEnded {
                usage,
                paused,
                unanswered,
                ..
            } => {
                self.totals.add(usage);
                self.replying = false;
                if *paused {
                    let blocks = self.take_reply();
                    self.history.push_paused(blocks);
                } else {
                    self.push_reply(*unanswered);
                }
            }
            Record::ReplyFailed {
                unanswered,
                refused,
                ..
            } => {
                self.replying = false;
                if *refused {
                    self.history.leave_out_refused();
                }
                self.push_reply(*unanswered);
            }
            Record::ToolResult {
                id,
                result,
                is_error,
            } => {
                self.end_reply(Unanswered::Interrupted);
                self.history.push_result(id, result, *is_error);
            }
            Record::CallsSkipped { reason } => {
                self.end_reply(Unanswered::Interrupted);
                self.history.leave_unanswered(*reason);
            }
            Record::TurnEnded { .. } => self.turn = None,
            Record::RunEnded {
                run,
                outcome,
                message,
                totals,
                ..
            } => {
                self.end_reply(Unanswered::Interrupted);
                self.history.settle();
                self.run = None;
                self.turn = None;
                self.totals = totals.clone();
                self.totals.runs = self.totals.runs.max(run.0).min(MAX_RUN);
                // The status that follows says the same; a torn journal may lack it.
                self.status = Status {
                    activity: match outcome {
                        Outcome::Completed | Outcome::Cancelled => Activity::Idle,
                        Outcome::Error | Outcome::Interrupted => Activity::Error,
                    },
                    message: message.clone(),
                };
            }
            Record::Renamed { title, .. } => self.totals.title = Some(title.clone()),
            Record::Unknown { .. } => {}
        }
    }

    /// The past, which the next request is made of.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The sums so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The run that has not ended.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// The turn that has not ended.
    #[must_use]
    pub fn turn(&self) -> Option<u32> {
        self.turn
    }

    /// What the conversation is doing, as the last status said.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The prompt that a key stands for.
    #[must_use]
    pub fn keyed(&self, key: &str) -> Option<Keyed> {
        self.keys.get(key).copied()
    }

    /// The calls of the reply that is under way, in its order.
    #[must_use]
    pub fn calls(&self) -> Vec<ToolCall> {
        let mut blocks: Vec<_> = self.reply.iter().collect();
        blocks.sort_by_key(|(index, _)| *index);
        blocks
            .into_iter()
            .filter_map(|(_, block)| call(block))
            .collect()
    }

    /// Whether the reply that is under way has a finished block.
    #[must_use]
    pub fn has_block(&self) -> bool {
        !self.reply.is_empty()
    }

    /// An id for a call: the given one if the API takes it and it is new, else one made from it.
    #[must_use]
    pub fn unique_id(&self, given: &str) -> String {
        self.history.unique_id(given)
    }

    /// The records that end what a service left open when it died; none if nothing is open.
    #[must_use]
    pub fn closing(&self) -> Vec<Record> {
        let Some(run) = self.run else {
            return Vec::new();
        };
        let mut records = Vec::new();
        let dangling = if self.replying {
            records.push(Record::ReplyFailed {
                error: INTERRUPTED.to_owned(),
                unanswered: Unanswered::Interrupted,
                refused: false,
            });
            self.calls().into_iter().map(|call| call.id).collect()
        } else {
            self.history.dangling()
        };
        let outcome = ToolOutcome::failed("interrupted, effect unknown");
        records.extend(dangling.into_iter().map(|id| Record::ToolResult {
            id,
            result: outcome.result.clone(),
            is_error: true,
        }));
        records.extend(self.turn.map(|turn| Record::TurnEnded {
            run,
            turn,
            outcome: Outcome::Interrupted,
        }));
        records.push(Record::RunEnded {
            run,
            outcome: Outcome::Interrupted,
            message: INTERRUPTED.to_owned(),
            totals: self.totals.clone(),
            by: None,
        });
        records.push(Record::Status {
            activity: Activity::Error,
            message: INTERRUPTED.to_owned(),
        });
        records
    }

    fn add_block(&mut self, index: u64, mut block: Block) {
        if let BlockKind::ToolCall { id, .. } = block.kind() {
            // Recorded ids are unique already, unless somebody else wrote them.
            let unique = self.history.unique_id(id);
            self.history.note_id(&unique);
            block.set_id(unique);
        }
        self.reply.push((index, block));
    }

    fn take_reply(&mut self) -> Vec<Block> {
        let mut blocks = std::mem::take(&mut self.reply);
        blocks.sort_by_key(|(index, _)| *index);
        blocks.into_iter().map(|(_, block)| block).collect()
    }

    fn push_reply(&mut self, unanswered: Unanswered) {
        let blocks = self.take_reply();
        self.history.push_reply(blocks, unanswered);
    }

    /// Ends a reply whose end is missing.
    fn end_reply(&mut self, unanswered: Unanswered) {
        self.replying = false;
        if !self.reply.is_empty() {
            self.push_reply(unanswered);
        }
    }
}

/// What is said of a run that a dead service left.
pub const INTERRUPTED: &str = "interrupted: the service ended before the run did";

impl Totals {
    /// Adds what the API counted for one reply.
    fn add(&mut self, usage: &Object) {
        let usage = crate::reply::Usage::from(usage.clone());
        for (sum, name) in [
            (&mut self.input_tokens, "input_tokens"),
            (&mut self.output_tokens, "output_tokens"),
            (
                &mut self.cache_creation_input_tokens,
                "cache_creation_input_tokens",
            ),
            (&mut self.cache_read_input_tokens, "cache_read_input_tokens"),
        ] {
            *sum = sum.saturating_add(usage.count(name));
        }
    }
}

fn call(block: &Block) -> Option<ToolCall> {
    let BlockKind::ToolCall { id, name, input } = block.kind() else {
        return None;
    };
    Some(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input: input.clone(),
    })
}

fn digest(content: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
