//! The sum of the records of a conversation. The same fold serves a conversation that continues, one
//! that comes back after a crash, and a look at the end of its journal.

use std::collections::HashMap;
use std::sync::Arc;

use harness_protocol::words;
use harness_protocol::{
    Approval, Attachment, FileChange, HeldRule, QueueItem, Settings, TokenUsage,
};
use serde_json::Value;

use super::approvals::ApprovalHistory;
use super::digest::Digest;
use super::history::History;
use super::jobs;
use super::proposals::{ReturnedCall, decision};
use super::unknown_changes::unknown_changes;
use crate::budget::RunBudget;
use crate::ids::{ItemId, RunId};
use crate::journal::{
    Activity, BlockPiece, ModelTotals, Outcome, Record, Status, Totals, Unanswered,
};
use crate::reply::{Block, BlockKind, StopReason, Usage};
use crate::tool::{EndedJob, JobNote, SeenBefore, SeenFile, ToolCall, ToolOutcome, defined_name};

/// Of how many commands of operators the next prompt tells, the last ones.
const MAX_COMMANDS: usize = 16;
/// The largest number of a run that is counted on from; a journal may say anything.
const MAX_RUN: u64 = 1 << 53;
/// Maximum number of models with token counts of their own.
const MAX_MODELS: usize = 64;

/// The sums of a conversation's records. Takes records in any order and combination: a damaged
/// journal lacks some.
#[derive(Debug, Default)]
pub struct Ledger {
    history: History,
    /// The finished blocks of the reply that is under way, by their place in it.
    reply: Vec<(u64, Block)>,
    /// The blocks of it that a service left unfinished when it died.
    unfinished: Vec<BlockPiece>,
    /// Whether the model was asked and the reply has not ended.
    replying: bool,
    /// The keys of the prompts so far.
    keys: HashMap<String, Keyed>,
    totals: Totals,
    /// The run that has not ended.
    run: Option<RunId>,
    /// The turn that has not ended.
    turn: Option<u32>,
    /// The number of requests since the last prompt.
    asked: u32,
    /// True if the last run had a mode or rules of its own.
    has_run_rules: bool,
    status: Status,
    /// The head of the last request.
    head: Option<String>,
    /// The tools that the conversation is offered, in the API's format.
    tools: Option<Arc<[Value]>>,
    /// Whether the last reply failed or was cut short, and nothing was said since.
    failed: bool,
    /// The tokens of the run that is going, or of the last one.
    run_usage: TokenUsage,
    /// The spending limit of the run that has not ended.
    budget: Option<RunBudget>,
    /// The schema that the replies of the run that has not ended are to fit.
    schema: Option<Arc<Value>>,
    approvals: ApprovalHistory,
    /// The call whose tool has returned and that has no result yet.
    returned: Option<ReturnedCall>,
    /// The calls of the last whole reply, until its turn ends.
    last_calls: Vec<ToolCall>,
    /// Whether the change that was begun when the service died has happened, as the file says.
    has_happened: Option<bool>,
    /// How jobs have ended that were found to be gone.
    lost_jobs: Vec<EndedJob>,
    /// The last content of each file that the model has seen whole.
    seen: SeenBefore,
    /// Whether summaries take nothing out of the history.
    keeps_all: bool,
}

/// The message of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    /// The run of the prompt, or the message that was queued.
    pub named: KeyedState,
    /// Tells its text and its files from others. None if they are gone, as behind a checkpoint of
    /// a version that kept none.
    digest: Option<Digest>,
}

/// The state of a message with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyedState {
    /// It started this run.
    Run(RunId),
    /// It was queued under this name.
    Item(ItemId),
}

impl Keyed {
    fn new(named: KeyedState, content: &str, attachments: &[Attachment]) -> Self {
        let digest = Some(Digest::from_message(content, attachments));
        Self { named, digest }
    }

    /// True if it has that text and those files, or if its own are not known.
    #[must_use]
    pub fn is_of(&self, content: &str, attachments: &[Attachment]) -> bool {
        let digest = Digest::from_message(content, attachments);
        self.digest.is_none_or(|known| known == digest)
    }
}

impl Ledger {
    /// A ledger of all that was said: what was summarized stays in its history as it was, unless the
    /// journal begins behind it, and so does thinking. Not for making requests of.
    #[must_use]
    pub fn keeping_all() -> Self {
        Self {
            keeps_all: true,
            ..Self::default()
        }
    }

    /// Adds a record.
    #[expect(
        clippy::too_many_lines,
        reason = "one short arm for each kind of record; together they are the whole fold"
    )]
    pub fn apply(&mut self, record: &Record) {
        if record.ends_block() {
            self.unfinished.clear();
        }
        self.approvals.apply(record, &mut self.totals);
        ReturnedCall::apply(&mut self.returned, record);
        match record {
            Record::RunStarted {
                run,
                rules,
                spending_limit_micro_usd: limit,
                schema,
                ..
            } => {
                self.schema = schema.as_deref().cloned().map(Arc::new);
                self.budget = limit.map(|limit| RunBudget::new(limit, &self.totals));
                self.has_run_rules = !rules.is_empty();
                self.totals.runs = self.totals.runs.max(run.0).min(MAX_RUN);
                self.run = Some(*run);
                self.run_usage = TokenUsage::default();
            }
            Record::Prompt {
                run,
                content,
                key,
                item,
                attachments,
                ..
            } => self.add_prompt(*run, content, key.as_deref(), *item, attachments),
            Record::Status { activity, message } => {
                self.status = Status {
                    activity: *activity,
                    message: message.clone(),
                };
            }
            Record::TurnStarted {
                turn,
                head,
                tools,
                jobs,
                ..
            } => {
                self.end_reply(Unanswered::Interrupted);
                self.offer(tools.as_deref());
                if *head != self.head {
                    // The API answers an open call of its own with the tools that it was made with.
                    self.history.drop_server_calls();
                    if !self.keeps_all {
                        self.history.strip_thinking();
                    }
                    self.head.clone_from(head);
                }
                self.totals.turns = self.totals.turns.saturating_add(1);
                self.turn = Some(*turn);
                self.asked = self.asked.saturating_add(1);
                self.send_job_ends(*turn, jobs);
                self.replying = true;
            }
            Record::SpendingReserved { micro_usd, .. } => {
                let unsettled = &mut self.totals.unsettled_micro_usd;
                *unsettled = unsettled.saturating_add(*micro_usd);
            }
            Record::SpendingReleased { micro_usd, .. } => {
                let unsettled = &mut self.totals.unsettled_micro_usd;
                *unsettled = unsettled.saturating_sub(*micro_usd);
            }
            Record::Block { index, block, .. } => self.add_block(*index, block.clone()),
            Record::ReplyEnded {
                model,
                stop_reason,
                usage,
                paused,
                unanswered,
                overflow,
                refused,
                ..
            } => {
                let usage = Usage::from(usage.clone());
                self.count(model, &usage);
                self.last_calls = self.calls();
                self.replying = false;
                self.failed = *refused;
                if *overflow {
                    self.reply.clear();
                } else if *refused {
                    self.reply.clear();
                    let left_out = self.history.leave_out_refused();
                    jobs::mark_sent(&mut self.totals.jobs, &left_out, false);
                } else if *paused {
                    let blocks = self.take_reply();
                    self.history.push_paused(blocks);
                } else if StopReason::from(stop_reason.as_str()).awaits_results() {
                    let blocks = self.take_reply();
                    let is_one_round = !has_server_results(&blocks);
                    self.history.push_tool_use(blocks, *unanswered);
                    self.anchor(&usage, is_one_round);
                } else {
                    let blocks = self.take_reply();
                    let is_one_round = !has_server_results(&blocks);
                    self.history.push_reply(blocks, *unanswered);
                    self.anchor(&usage, is_one_round);
                }
            }
            Record::ReplyFailed {
                unanswered,
                refused,
                overflow,
                ..
            } => {
                self.replying = false;
                if *refused {
                    let left_out = self.history.leave_out_refused();
                    jobs::mark_sent(&mut self.totals.jobs, &left_out, false);
                }
                self.failed = true;
                if *overflow && self.history.is_paused() {
                    // The summary that follows was planned with the pause, and the reply goes on behind it.
                    self.reply.clear();
                } else {
                    self.push_reply(*unanswered);
                }
            }
            Record::ToolResult {
                id,
                result,
                is_error,
                seen,
                folder,
                ..
            } => {
                self.see(seen);
                if folder.is_some() {
                    self.totals.command_folder.clone_from(folder);
                }
                self.end_reply(Unanswered::Interrupted);
                self.history.push_result(id, result, *is_error);
            }
            Record::FilesChanged { changes, .. } => {
                // What a command made of a file the model has not seen.
                let own = changes.iter().filter(|change| !change.by_command);
                let seen = |change: &FileChange| {
                    let (path, hash) = (change.path.clone(), change.after.clone()?);
                    let lines = Vec::new();
                    Some(SeenFile { path, hash, lines })
                };
                self.see(&own.filter_map(seen).collect::<Vec<_>>());
            }
            Record::Undone { files, .. } => {
                self.end_reply(Unanswered::Interrupted);
                if let Some(text) = words::undone_for_model(files) {
                    self.totals.repeats_others = true;
                    self.history.push_prompt(&text, &[]);
                }
            }
            Record::CommandRan {
                command,
                result,
                is_hidden,
                ..
            } => {
                if !is_hidden {
                    let told = words::command_for_model(command, result);
                    self.totals.commands.push(told);
                    let too_many = self.totals.commands.len().saturating_sub(MAX_COMMANDS);
                    self.totals.commands.drain(..too_many);
                }
            }
            Record::JobStarted { job, call, command } => {
                jobs::start(&mut self.totals.jobs, *job, call, command);
            }
            Record::JobEnded { job, end, changes } => {
                jobs::end(&mut self.totals.jobs, *job, end, changes.as_ref());
                jobs::forget_old(&mut self.totals.jobs, self.history.open_job_ends());
            }
            Record::CallsSkipped { reason } => {
                self.end_reply(Unanswered::Interrupted);
                self.history.leave_unanswered(*reason);
            }
            Record::TurnEnded { .. } => {
                self.turn = None;
                self.last_calls.clear();
            }
            Record::RunEnded {
                run,
                outcome,
                message,
                totals,
                ..
            } => self.end_run(*run, *outcome, message, totals),
            Record::Renamed { title, .. } => self.totals.title = Some(title.clone()),
            Record::Queued {
                item,
                queue,
                content,
                attachments,
                key,
                by,
            } => self.add_queued(QueueItem {
                item: item.0,
                queue: *queue,
                content: content.clone(),
                attachments: attachments.clone(),
                key: key.clone(),
                by: by.clone(),
            }),
            Record::Withdrawn { items, .. } => self.unqueue(items),
            Record::SettingsChanged { settings, .. } => {
                self.totals.settings = Some(Box::new(settings.clone()));
            }
            Record::ToolsRenewed { tools, .. } => self.offer(Some(tools)),
            Record::ReplyLeftOut { .. } => {
                self.end_reply(Unanswered::Interrupted);
                self.history.take_back_reply();
                // What was left out since the API refused it is sent again.
                let open = self.history.open_job_ends();
                jobs::mark_sent(&mut self.totals.jobs, open, true);
                self.failed = false;
            }
            Record::Compacted {
                summary,
                kept,
                model,
                usage,
                ..
            } => {
                self.end_reply(Unanswered::Interrupted);
                self.count(model, &usage.clone().into());
                if !self.keeps_all {
                    self.history.compact(summary, *kept);
                }
                self.totals.compacted = true;
                self.failed = false;
            }
            Record::CompactionFailed { model, usage, .. } => {
                self.count(model, &usage.clone().into());
            }
            Record::Checkpoint {
                summary,
                totals,
                keys,
                item_keys,
                digests,
                tools,
                ..
            } => {
                self.begin_at(summary, totals);
                self.offer(tools.as_deref());
                let known =
                    |(key, digits): &(String, String)| Some((key.clone(), Digest::parse(digits)?));
                let digests = digests.iter().filter_map(known).collect();
                self.add_keys(keys, &digests, |run| KeyedState::Run(*run));
                self.add_keys(item_keys, &digests, |item| KeyedState::Item(*item));
            }
            Record::CompactionStarted { .. }
            | Record::Branched { .. }
            | Record::ApprovalAsked(_)
            | Record::ApprovalAnswered { .. }
            | Record::ApprovalWithdrawn { .. }
            | Record::EffectBegan { .. }
            | Record::ToolReturned { .. }
            | Record::ProposalDecided { .. }
            | Record::RulesChanged { .. }
            | Record::Workflow(_)
            | Record::Unknown { .. } => {}
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

    /// The number of requests since the last prompt.
    #[must_use]
    pub fn asked_since_prompt(&self) -> u32 {
        self.asked
    }

    /// True if the last run had a mode or rules of its own.
    #[must_use]
    pub fn has_run_rules(&self) -> bool {
        self.has_run_rules
    }

    /// The conversation's status, as in the last status record.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The same while it is idle: a service that died while it summarized for good has
    /// left a status that no end of a run takes back.
    #[must_use]
    pub fn resting_status(&self) -> Status {
        match self.status.activity {
            Activity::Thinking | Activity::RunningTool if self.run.is_none() => Status::default(),
            Activity::Idle | Activity::Error | Activity::Thinking | Activity::RunningTool => {
                self.status.clone()
            }
        }
    }

    /// The approvals.
    #[must_use]
    pub fn approvals(&self) -> &ApprovalHistory {
        &self.approvals
    }

    /// A call whose tool has returned, until it has its result.
    pub(in crate::conversation) fn returned(&self, call: &str) -> Option<&ReturnedCall> {
        let returned = self.returned.as_ref();
        returned.filter(|returned| returned.call() == call)
    }

    /// The approval that waits for an answer.
    #[must_use]
    pub fn open_approval(&self) -> Option<Box<Approval>> {
        self.approvals.open().cloned().map(Box::new)
    }

    /// The rules of the run and of the conversation.
    #[must_use]
    pub fn rules(&self) -> Vec<HeldRule> {
        let of_run = self.approvals.run_rules().iter();
        of_run.chain(&self.totals.rules).cloned().collect()
    }

    /// The calls of the last reply that have no result, in its order.
    #[must_use]
    pub fn unanswered(&self) -> Vec<ToolCall> {
        let dangling = self.history.dangling();
        let calls = self.last_calls.iter();
        let unanswered = calls.filter(|call| dangling.contains(&call.id));
        unanswered.cloned().collect()
    }

    /// Notes whether the change that was begun when the service died has happened.
    pub fn note_happened(&mut self, has_happened: Option<bool>) {
        self.has_happened = has_happened;
    }

    /// The last content of each file that the model has seen, by its path.
    #[must_use]
    pub fn seen(&self) -> SeenBefore {
        Arc::clone(&self.seen)
    }

    /// The jobs that run, those whose ends no request has had, and the last ones of the others.
    #[must_use]
    pub fn jobs(&self) -> &[JobNote] {
        &self.totals.jobs
    }

    /// The jobs that no record has ended.
    pub fn open_jobs(&self) -> impl Iterator<Item = u64> {
        jobs::open(&self.totals.jobs)
    }

    /// The jobs whose ends the next request is to have, as many as one request may.
    #[must_use]
    pub fn due_job_ends(&self) -> Vec<u64> {
        jobs::due(&self.totals.jobs)
    }

    /// Notes how jobs have ended that do not run and that no record has ended.
    pub fn note_lost_jobs(&mut self, lost: Vec<EndedJob>) {
        self.lost_jobs = lost;
    }

    /// Takes those out.
    pub fn take_lost_jobs(&mut self) -> Vec<EndedJob> {
        std::mem::take(&mut self.lost_jobs)
    }

    /// Where the last command was at its end.
    #[must_use]
    pub fn command_folder(&self) -> Option<&str> {
        self.totals.command_folder.as_deref()
    }

    fn see(&mut self, files: &[SeenFile]) {
        for file in files {
            let seen = Arc::make_mut(&mut self.seen);
            seen.insert(file.path.clone(), file.clone());
        }
    }

    /// The message of a key.
    #[must_use]
    pub fn keyed(&self, key: &str) -> Option<Keyed> {
        self.keys.get(key).copied()
    }

    /// The settings that were changed last, if any were.
    #[must_use]
    pub fn settings(&self) -> Option<&Settings> {
        self.totals.settings.as_deref()
    }

    /// The tools that the conversation is offered, in the API's format, if they are on record.
    #[must_use]
    pub fn tools(&self) -> Option<&Arc<[Value]>> {
        self.tools.as_ref()
    }

    /// True if the last reply failed or was cut short, and can be left out and requested again.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed && self.history.may_take_back()
    }

    /// Whether the last word is the model's, once what a dead service left open has ended as
    /// [`Self::closing`] has it.
    #[must_use]
    pub fn ends_with_reply(&self) -> bool {
        if !self.is_replying() {
            return self.history.ends_with_reply();
        }
        if self.keeps_reply() {
            // Calls get results.
            self.calls().is_empty()
        } else {
            !self.history.has_unanswered()
        }
    }

    /// Whether the last reply failed or was cut short, once what a dead service left open has
    /// ended, and can be left out to be asked for again.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        if self.is_replying() {
            self.keeps_reply() && self.calls().is_empty()
        } else {
            self.has_failed()
        }
    }

    /// Whether all that there is of the last reply is what a crash cut, which can be asked for again.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.reply.is_empty() && !self.unfinished.is_empty() && self.may_retry()
    }

    /// Whether the reply of a turn has not ended.
    pub(super) fn is_replying(&self) -> bool {
        self.replying || self.has_block()
    }

    /// True if something of the reply that is under way is sent back.
    #[must_use]
    pub fn keeps_reply(&self) -> bool {
        let mut blocks: Vec<_> = self.reply.iter().collect();
        blocks.sort_by_key(|(index, _)| *index);
        let blocks = blocks.into_iter().map(|(_, block)| block.clone());
        let unfinished = self.unfinished.iter().filter_map(BlockPiece::block);
        self.history.is_kept(blocks.chain(unfinished).collect())
    }

    /// The token counts of the run that is going, or of the last one.
    #[must_use]
    pub fn run_usage(&self) -> TokenUsage {
        self.run_usage
    }

    /// The spending limit of the run that has not ended.
    #[must_use]
    pub fn budget(&self) -> Option<&RunBudget> {
        self.budget.as_ref()
    }

    /// The schema that the replies of the run that has not ended are to fit.
    #[must_use]
    pub fn schema(&self) -> Option<&Arc<Value>> {
        self.schema.as_ref()
    }

    /// The keys of prompts, each with its run, for a new journal.
    pub fn run_keys(&self) -> impl Iterator<Item = (&str, RunId)> {
        self.keys
            .iter()
            .filter_map(|(key, keyed)| match keyed.named {
                KeyedState::Run(run) => Some((key.as_str(), run)),
                KeyedState::Item(_) => None,
            })
    }

    /// The keys of messages that were queued, each with its name there, for a journal that begins
    /// anew.
    pub fn item_keys(&self) -> impl Iterator<Item = (&str, ItemId)> {
        self.keys
            .iter()
            .filter_map(|(key, keyed)| match keyed.named {
                KeyedState::Item(item) => Some((key.as_str(), item)),
                KeyedState::Run(_) => None,
            })
    }

    /// The digests of the messages that had a key, each behind its key, in the order of the keys.
    #[must_use]
    pub fn digests(&self) -> Vec<(String, String)> {
        let told = |(key, keyed): (&String, &Keyed)| Some((key.clone(), keyed.digest?.digits()));
        let mut digests: Vec<_> = self.keys.iter().filter_map(told).collect();
        digests.sort_unstable();
        digests
    }

    /// The calls of the reply that is under way, in its order.
    #[must_use]
    pub fn calls(&self) -> Vec<ToolCall> {
        let mut blocks: Vec<_> = self.reply.iter().collect();
        blocks.sort_by_key(|(index, _)| *index);
        let fallback = blocks.iter().rposition(|(_, block)| block.is_fallback());
        let serving = blocks.split_off(fallback.unwrap_or(0));
        serving
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

    /// Adds the blocks that a service left unfinished when it died.
    pub fn leave_unfinished(&mut self, blocks: Vec<BlockPiece>) {
        self.unfinished = blocks;
    }

    /// The blocks that a service left unfinished when it died, until a record ends them.
    #[must_use]
    pub fn unfinished(&self) -> &[BlockPiece] {
        &self.unfinished
    }

    /// The records that seal those blocks.
    pub fn sealing(&self) -> impl Iterator<Item = Record> {
        self.unfinished.iter().filter_map(BlockPiece::sealed)
    }

    /// The records that end what a service left open when it died; none if nothing is open.
    #[must_use]
    pub fn closing(&self) -> Vec<Record> {
        let Some(run) = self.run else {
            return Vec::new();
        };
        let mut records = Vec::new();
        let dangling = if self.replying {
            records.extend(self.sealing());
            records.push(Record::ReplyFailed {
                error: INTERRUPTED.to_owned(),
                unanswered: Unanswered::Interrupted,
                refused: false,
                overflow: false,
            });
            self.calls().into_iter().map(|call| call.id).collect()
        } else {
            self.history.dangling()
        };
        for id in dangling {
            let (changes, outcome) = self.outcome_of(&id);
            let outcome = self.with_decisions(&id, outcome);
            let note = self.unknown_changes_of(&id);
            if !changes.is_empty() || note.is_some() {
                let call = id.clone();
                records.push(Record::FilesChanged {
                    call,
                    changes,
                    note,
                });
            }
            records.push(Record::ToolResult {
                id,
                result: outcome.result,
                is_error: outcome.is_error,
                seen: outcome.seen,
                folder: outcome.folder,
                duration_ms: None,
                extent: None,
            });
        }
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
            run_usage: self.run_usage,
            duration_ms: None,
            by: None,
        });
        records.push(Record::Status {
            activity: Activity::Error,
            message: INTERRUPTED.to_owned(),
        });
        records
    }

    /// The outcome of a call that has no result, and the files that it changed.
    fn outcome_of(&self, id: &str) -> (Vec<FileChange>, ToolOutcome) {
        let unknown = || ToolOutcome::failed("interrupted, effect unknown");
        let began = self.approvals.began().filter(|(call, _)| call == id);
        let began = began.and_then(|(_, subject)| subject.change());
        // What is on record already is not recorded again, whatever became of the file since.
        let is_made = self.approvals.is_made();
        match (began, self.has_happened) {
            (Some(change), happened) if is_made || happened == Some(true) => {
                let path = &change.path;
                let done = format!("{path} was changed; the service ended before it could say so");
                let changes = (!is_made).then(|| change.clone()).into_iter().collect();
                (changes, ToolOutcome::from(Ok(done)))
            }
            (Some(change), Some(false)) => {
                let text = format!("interrupted: {} was not changed", change.path);
                (Vec::new(), ToolOutcome::failed(&text))
            }
            (Some(_), _) | (None, _) => (Vec::new(), unknown()),
        }
    }

    /// The note on the changes of a call that has no result, if it began a command or a call of an MCP server and they
    /// are not on record.
    fn unknown_changes_of(&self, id: &str) -> Option<String> {
        let began = self.approvals.began().filter(|(call, _)| call == id);
        let is_open = !self.approvals.is_made() && self.returned(id).is_none();
        let began = began.filter(|_| is_open);
        began.and_then(|(_, subject)| unknown_changes(subject))
    }

    /// The outcome of a call without a result: of one whose tool has returned, that with what was decided. `outcome` is
    /// that of the change that was begun.
    fn with_decisions(&self, id: &str, outcome: ToolOutcome) -> ToolOutcome {
        let Some(mut returned) = self.returned(id).cloned() else {
            return outcome;
        };
        let mut began = self.approvals.began().map(|_| outcome);
        let interrupted = || ToolOutcome::failed("interrupted before an operator decided");
        while let Some(change) = returned.first_open() {
            let decided = decision(change, &began.take().unwrap_or_else(interrupted));
            returned.decide(&decided);
        }
        returned.outcome()
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

    fn add_prompt(
        &mut self,
        run: RunId,
        content: &str,
        key: Option<&str>,
        item: Option<ItemId>,
        attachments: &[Attachment],
    ) {
        self.end_reply(Unanswered::Interrupted);
        for command in std::mem::take(&mut self.totals.commands) {
            self.totals.repeats_others = true;
            self.history.push_prompt(&command, &[]);
        }
        self.history.push_prompt(content, attachments);
        self.asked = 0;
        self.failed = false;
        self.totals.prompts = self.totals.prompts.saturating_add(1);
        if self.totals.prompt_title.is_none() {
            self.totals.prompt_title = words::title_of_prompt(content);
        }
        self.totals.runs = self.totals.runs.max(run.0).min(MAX_RUN);
        if let Some(item) = item {
            self.unqueue(&[item]);
        }
        if let Some(key) = key {
            let keyed = Keyed::new(KeyedState::Run(run), content, attachments);
            // A message that was queued goes by its name there.
            self.keys.entry(key.to_owned()).or_insert(keyed);
        }
    }

    fn end_run(&mut self, run: RunId, outcome: Outcome, message: &str, totals: &Totals) {
        self.end_reply(Unanswered::Interrupted);
        self.history.settle();
        if outcome == Outcome::Cancelled {
            self.history.drop_server_calls();
        }
        self.run = None;
        self.budget = None;
        self.schema = None;
        self.turn = None;
        self.last_calls.clear();
        // A run that ended under an older version has no such title on record.
        let title = self.totals.prompt_title.take();
        self.totals = totals.clone();
        self.totals.prompt_title = self.totals.prompt_title.take().or(title);
        self.totals.runs = self.totals.runs.max(run.0).min(MAX_RUN);
        // The status that follows says the same; a torn journal may lack it.
        self.status = Status {
            activity: match outcome {
                Outcome::Completed | Outcome::Cancelled => Activity::Idle,
                Outcome::Error | Outcome::Interrupted => Activity::Error,
            },
            message: message.to_owned(),
        };
    }

    /// The conversation is offered these tools from now on, unless none are said.
    fn offer(&mut self, tools: Option<&[Value]>) {
        let Some(tools) = tools else { return };
        let names = tools.iter().map(defined_name).map(str::to_owned);
        self.totals.tools = Some(names.collect());
        self.tools = Some(tools.into());
    }

    /// Adds the ends of jobs that a request has on record. In a journal of an older version the
    /// first request of a run has all of them.
    fn send_job_ends(&mut self, turn: u32, ends: &[u64]) {
        jobs::forget_old(&mut self.totals.jobs, self.history.open_job_ends());
        let ends: Vec<u64> = match (ends, turn) {
            ([], 1) => jobs::unsent(&self.totals.jobs).collect(),
            (ends, _) => ends.to_vec(),
        };
        if let Some(text) = jobs::send(&mut self.totals.jobs, &ends) {
            self.totals.repeats_others = true;
            self.history.push_job_ends(&text, &ends);
        }
    }

    fn add_queued(&mut self, item: QueueItem) {
        self.totals.items = self.totals.items.max(item.item).min(MAX_RUN);
        if let Some(key) = &item.key {
            let named = KeyedState::Item(ItemId(item.item));
            let keyed = Keyed::new(named, &item.content, &item.attachments);
            self.keys.insert(key.clone(), keyed);
        }
        self.totals.queue.push(item);
    }

    /// Adds the keys of a checkpoint.
    fn add_keys<T>(
        &mut self,
        keys: &[(String, T)],
        digests: &HashMap<String, Digest>,
        named: impl Fn(&T) -> KeyedState,
    ) {
        let keyed = |(key, of): &(String, T)| {
            let digest = digests.get(key).copied();
            let named = named(of);
            (key.clone(), Keyed { named, digest })
        };
        self.keys.extend(keys.iter().map(keyed));
    }

    /// These messages wait no more.
    fn unqueue(&mut self, items: &[ItemId]) {
        let waits = |item: &QueueItem| !items.contains(&ItemId(item.item));
        self.totals.queue.retain(waits);
    }

    /// A journal that begins with a summary of what was before.
    fn begin_at(&mut self, summary: &str, totals: &Totals) {
        if !summary.is_empty() {
            self.history.compact(summary, 0);
        }
        self.totals = totals.clone();
    }

    /// Adds what the API counted for one reply.
    fn count(&mut self, model: &str, usage: &Usage) {
        for (model, counts) in usage.by_model(model) {
            self.totals.add(&model, &counts);
            add(&mut self.run_usage, &counts);
        }
    }

    fn take_reply(&mut self) -> Vec<Block> {
        let mut blocks = std::mem::take(&mut self.reply);
        blocks.sort_by_key(|(index, _)| *index);
        blocks.into_iter().map(|(_, block)| block).collect()
    }

    /// Notes what the API counted for the request and the reply. Where its own tools ran in between and it does not tell
    /// the rounds apart, the sum of them says nothing of the size of the next request.
    fn anchor(&mut self, usage: &Usage, is_one_round: bool) {
        if is_one_round || usage.has_rounds() {
            self.history
                .anchor_cleared(usage.context(), usage.cleared());
        }
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

/// The message of a run that a dead service left.
pub const INTERRUPTED: &str = "interrupted: the service ended before the run did";

impl Totals {
    /// Adds what the API counted for one reply.
    fn add(&mut self, model: &str, usage: &TokenUsage) {
        for (sum, count) in [
            (&mut self.input_tokens, usage.input_tokens),
            (&mut self.output_tokens, usage.output_tokens),
            (
                &mut self.cache_creation_input_tokens,
                usage.cache_creation_input_tokens,
            ),
            (
                &mut self.cache_read_input_tokens,
                usage.cache_read_input_tokens,
            ),
            (&mut self.web_search_requests, usage.web_search_requests),
        ] {
            *sum = sum.saturating_add(count);
        }
        if *usage == TokenUsage::default() {
            return;
        }
        // A server may name a new model in every reply.
        let is_known = self.models.contains_key(model);
        let name = if is_known || self.models.len() < MAX_MODELS {
            model
        } else {
            ""
        };
        let sums = self.models.entry(name.to_owned()).or_default();
        let counted = ModelTotals::of_reply(usage);
        add(&mut sums.usage, &counted.usage);
        add(&mut sums.long, &counted.long);
    }
}

/// Adds token counts.
pub(in crate::conversation) fn add(sum: &mut TokenUsage, usage: &TokenUsage) {
    *sum = sum.plus(*usage);
}

/// True if the API's own tools ran in a reply.
fn has_server_results(blocks: &[Block]) -> bool {
    let is_result = |block: &Block| matches!(block.kind(), BlockKind::ServerToolResult { .. });
    blocks.iter().any(is_result)
}

fn call(block: &Block) -> Option<ToolCall> {
    let BlockKind::ToolCall { id, name, input } = block.kind() else {
        return None;
    };
    Some(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input: input.clone(),
        input_error: block.input_error().map(str::to_owned),
    })
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
