//! A conversation that a test holds with a machine. It answers whatever call is under way, checks
//! every request, and checks at each step that the records add up to what the machine knows.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use harness_protocol::{FileChange, SettingsPatch, Subject, Verdict};
use harness_standin::{Endpoint, MessagesRequest, strict_roles, validate};
use serde_json::{Value, json};

use super::super::plan::Defaults;
use super::testing::*;
use super::*;
use crate::conversation::messages::{
    ChangeConversationSettings, ChangeError, CompactConversation, ContinueRun, QueueMessage,
    Resumption, WithdrawMessages,
};
use crate::ids::ItemId;
use crate::model::{Caching, HeadSettings, ModelChoice, ModelInfo, RequestHead};

/// A machine and what is known of it from outside.
pub(super) struct Talk {
    pub(super) machine: Machine,
    /// The call of the model that is under way.
    pub(super) call: Option<CallId>,
    /// The effect that made the last one.
    pub(super) asked: Option<Effect>,
    /// The tools that run, in the order of their begin.
    pub(super) tools: VecDeque<CallId>,
    pub(super) records: Vec<Record>,
    /// The effects of the last step.
    pub(super) last: Vec<Effect>,
    /// How many requests for a summary were answered.
    pub(super) pieces: u64,
    ledger: Ledger,
    blocks: u64,
}

impl Talk {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// One with other defaults.
    pub(super) fn with(change: impl FnOnce(&mut Defaults)) -> Self {
        let mut defaults = (*planner(10).defaults).clone();
        change(&mut defaults);
        Self::of(Planner::new(defaults))
    }

    pub(super) fn of(planner: Planner) -> Self {
        Self::revived(planner, Vec::new())
    }

    /// One that comes back from these records.
    pub(super) fn revived(planner: Planner, records: Vec<Record>) -> Self {
        let fold = || {
            let mut ledger = Ledger::default();
            records.iter().for_each(|record| ledger.apply(record));
            ledger
        };
        Self {
            machine: Machine::new(ConversationId::new("c"), planner, fold(), 1000),
            call: None,
            asked: None,
            tools: VecDeque::new(),
            ledger: fold(),
            records,
            last: Vec::new(),
            pieces: 0,
            blocks: 0,
        }
    }

    /// Takes what a step came to, and tells it in short.
    pub(super) fn take(&mut self, effects: Vec<Effect>) -> Vec<String> {
        let effects: Vec<Effect> = effects.into_iter().flat_map(|it| self.told(it)).collect();
        for effect in &effects {
            match effect {
                Effect::Record(record) => {
                    self.ledger.apply(record);
                    self.records.push(record.clone());
                }
                Effect::CallModel(call_id) => {
                    assert_eq!(self.call, None, "two calls of the model at a time");
                    self.call = Some(call_id.clone());
                    self.asked = Some(effect.clone());
                    valid_request(&self.machine);
                }
                Effect::DescribeModel { call_id, .. } | Effect::Summarize(call_id, _) => {
                    assert_eq!(self.call, None, "two calls of the model at a time");
                    self.call = Some(call_id.clone());
                    self.asked = Some(effect.clone());
                }
                Effect::RunTool(call_id, _, _) | Effect::KeepChange(call_id, _, _) => {
                    self.tools.push_back(call_id.clone());
                }
                Effect::EndRun(..) => {
                    assert_eq!(self.call, None, "a call outlives its run");
                    assert!(self.tools.is_empty(), "a tool outlives its run");
                }
                _ => {}
            }
        }
        let known = self.machine.ledger();
        assert_eq!(self.ledger.history().messages(), known.history().messages());
        assert_eq!(self.ledger.totals(), known.totals());
        assert_eq!(self.ledger.has_failed(), known.has_failed());
        let told = effects.iter().filter_map(brief).collect();
        self.last = effects;
        told
    }

    /// An effect; in place of the order to tell what is dropped, what follows when it is told.
    fn told(&mut self, effect: Effect) -> Vec<Effect> {
        let Effect::TellDropped(call_id, dropped) = effect else {
            return vec![effect];
        };
        let told = dropped.tell();
        self.machine.handle(Input::Told { call_id, told })
    }

    pub(super) fn handle(&mut self, input: Input) -> Vec<String> {
        let effects = self.machine.handle(input);
        self.take(effects)
    }

    /// Gives an order where there is room for all of them.
    pub(super) fn obey<O: ConversationOrder>(
        &mut self,
        order: O,
    ) -> Result<Vec<String>, O::Refusal> {
        let (_, effects) = self.machine.obey(order)?;
        Ok(self.take(effects))
    }

    pub(super) fn try_prompt(&mut self, prompt: SubmitPrompt) -> Result<Vec<String>, SubmitError> {
        let (run, effects) = self.machine.obey(prompt)?;
        if effects.is_empty() {
            return Ok(vec![format!("repeated {}", run.0)]);
        }
        Ok(self.take(effects))
    }

    pub(super) fn prompt(&mut self, content: &str) -> Vec<String> {
        self.try_prompt(prompt(content)).unwrap()
    }

    pub(super) fn queue(&mut self, message: QueueMessage) -> Result<ItemId, SubmitError> {
        let (item, effects) = self.machine.obey(message)?;
        self.take(effects);
        Ok(item)
    }

    pub(super) fn steer(&mut self, content: &str) -> ItemId {
        self.queue(message(Queue::Steer, content)).unwrap()
    }

    pub(super) fn follow_up(&mut self, content: &str) -> ItemId {
        self.queue(message(Queue::FollowUp, content)).unwrap()
    }

    pub(super) fn withdraw(&mut self, item: Option<ItemId>) -> Vec<ItemId> {
        let by = Some("ann".to_owned());
        let order = WithdrawMessages { item, by };
        let (items, effects) = self.machine.obey(order).unwrap();
        self.take(effects);
        items
    }

    /// The waiting messages, by their text.
    pub(super) fn waiting(&self) -> Vec<String> {
        let queue = self.machine.ledger().totals().queue.iter();
        queue.map(|item| item.content.clone()).collect()
    }

    pub(super) fn resume(&mut self, resumption: Resumption) -> Result<Vec<String>, SubmitError> {
        let by = Some("ann".to_owned());
        self.obey(ContinueRun {
            spending_limit_micro_usd: None,
            resumption,
            by,
            rules: harness_protocol::RunRules::default(),
        })
    }

    pub(super) fn compact(&mut self, force: bool) -> Result<Vec<String>, SubmitError> {
        self.obey(CompactConversation {
            force,
            instructions: Some("mind the gap".to_owned()),
            by: Some("ann".to_owned()),
        })
    }

    pub(super) fn change(&mut self, patch: &Value) -> Result<Vec<String>, ChangeError> {
        let patch = SettingsPatch::parse(object(patch)).map_err(ChangeError::Invalid)?;
        self.obey(ChangeConversationSettings { patch, by: None })
    }

    pub(super) fn cancel(&mut self) -> Vec<String> {
        self.handle(cancel())
    }

    // What the model says.

    pub(super) fn block(&mut self, block: Block) -> Vec<String> {
        let call_id = self.call.clone().unwrap();
        self.blocks += 1;
        let index = self.blocks;
        self.handle(Input::Model(ModelEvent::BlockFinished {
            call_id,
            index,
            block,
        }))
    }

    /// Ends a reply of which the API counted so many tokens.
    pub(super) fn end(&mut self, stop_reason: StopReason, tokens: u64) -> Vec<String> {
        let call_id = self.call.take().unwrap();
        let usage = json!({"input_tokens": tokens, "output_tokens": 1});
        let end = ReplyEnd {
            stop_reason,
            model: "m".to_owned(),
            usage: object(&usage).into(),
            ..ReplyEnd::default()
        };
        self.handle(Input::Model(ModelEvent::Finished { call_id, end }))
    }

    /// Replies with a text.
    pub(super) fn say(&mut self, text: &str) -> Vec<String> {
        self.block(Block::text(text));
        self.end(StopReason::EndTurn, 0)
    }

    /// Replies with calls of `read`, or of what is named behind a colon.
    pub(super) fn ask_for(&mut self, calls: &[&str]) -> Vec<String> {
        for call in calls {
            let (id, name) = call.split_once(':').unwrap_or((call, "read"));
            self.block(Block::tool_call(id, name, crate::reply::Object::new()));
        }
        self.end(StopReason::ToolUse, 0)
    }

    pub(super) fn fail(&mut self, error: ModelError) -> Vec<String> {
        self.fail_behind(error, Vec::new())
    }

    /// Fails behind these blocks, the last of which was cut.
    pub(super) fn fail_behind(
        &mut self,
        error: ModelError,
        partial: Vec<(u64, Block)>,
    ) -> Vec<String> {
        let call_id = self.call.take().unwrap();
        self.handle(Input::Model(ModelEvent::Failed {
            call_id,
            failure: ModelFailure {
                error,
                interrupted: false,
            },
            partial,
        }))
    }

    pub(super) fn lose(&mut self) -> Vec<String> {
        let call_id = self.call.take().unwrap();
        self.handle(Input::CallLost(call_id))
    }

    /// The model takes so many tokens.
    pub(super) fn described(&mut self, window: Option<u64>) -> Vec<String> {
        let call_id = self.call.take().unwrap();
        let info = window.map(|window| {
            Arc::new(ModelInfo {
                id: "m".to_owned(),
                max_input_tokens: Some(window),
                ..ModelInfo::default()
            })
        });
        self.handle(Input::Model(ModelEvent::Described { call_id, info }))
    }

    /// Ends a summary with all of its pieces.
    pub(super) fn summary(&mut self, text: &str) -> Vec<String> {
        let mut next = self.piece(text);
        while next == ["summarize"] {
            next = self.piece(text);
        }
        next
    }

    /// Ends one request for a summary, which the API counts as 7 tokens.
    pub(super) fn piece(&mut self, text: &str) -> Vec<String> {
        self.pieces += 1;
        self.block(Block::text(text));
        self.end(StopReason::EndTurn, 7)
    }

    /// Ends a summary at the limit of its output.
    pub(super) fn cut_summary(&mut self, text: &str) -> Vec<String> {
        self.pieces += 1;
        self.block(Block::text(text));
        self.end(StopReason::MaxTokens, 7)
    }

    // What the tools say.

    pub(super) fn tool(&mut self, place: usize, outcome: ToolOutcome) -> Vec<String> {
        let call_id = self.tools.remove(place).unwrap();
        self.handle(Input::Tool(ToolEvent::Finished { call_id, outcome }))
    }

    /// The tool at that place of those that run has a result.
    pub(super) fn ok(&mut self, place: usize, result: &str) -> Vec<String> {
        let outcome = ToolOutcome {
            result: result.to_owned(),
            is_error: false,
            changes: Vec::new(),
            changes_note: None,
            proposals: Vec::new(),
            seen: Vec::new(),
            folder: None,
            job: None,
            extent: None,
            took: None,
        };
        self.tool(place, outcome)
    }

    pub(super) fn error(&mut self, place: usize) -> Vec<String> {
        self.tool(place, ToolOutcome::failed("no"))
    }

    /// The tool that runs would make that change.
    pub(super) fn planned(&mut self, change: FileChange) -> Vec<String> {
        self.planned_action(Subject::Change(change))
    }

    /// The tool that runs would do that.
    pub(super) fn planned_action(&mut self, subject: Subject) -> Vec<String> {
        let call_id = self.tools.pop_front().unwrap();
        self.handle(Input::Tool(ToolEvent::Planned {
            call_id,
            subject: Box::new(subject),
            folder_inode: Some(1),
        }))
    }

    /// The tool that runs has made that change.
    pub(super) fn changed(&mut self, change: FileChange) -> Vec<String> {
        let outcome = ToolOutcome {
            changes: vec![change],
            changes_note: None,
            ..ToolOutcome::from(Ok("done".to_owned()))
        };
        self.tool(0, outcome)
    }

    /// The actions of a conversation that comes back.
    pub(super) fn revive(&mut self) -> Vec<String> {
        let effects = self.machine.resume();
        self.take(effects)
    }

    // What the next request says.

    /// The texts and results of the last message.
    pub(super) fn last_message(&self) -> Vec<String> {
        let messages = messages(&self.machine);
        let last = messages.as_array().unwrap().last().unwrap();
        texts(last)
    }

    /// The texts of all messages.
    pub(super) fn all_texts(&self) -> Vec<String> {
        let messages = messages(&self.machine);
        messages
            .as_array()
            .unwrap()
            .iter()
            .flat_map(texts)
            .collect()
    }
}

fn texts(message: &Value) -> Vec<String> {
    let text = |block: &Value| {
        let text = block["text"].as_str().or(block["content"].as_str());
        text.unwrap_or("?").to_owned()
    };
    message["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .collect()
}

pub(super) fn message(queue: Queue, content: &str) -> QueueMessage {
    QueueMessage {
        queue,
        content: content.to_owned(),
        key: None,
        by: Some("bob".to_owned()),
        attachments: Vec::new(),
    }
}

/// Each message that was to wait is in the queue, or was said or withdrawn, exactly once.
pub(super) fn check_fates(records: &[Record], waiting: &[harness_protocol::QueueItem]) {
    let mut fates: BTreeMap<ItemId, Vec<&str>> = BTreeMap::new();
    for record in records {
        match record {
            Record::Queued { item, .. } => fates.entry(*item).or_default().push("queued"),
            Record::Prompt {
                item: Some(item), ..
            } => fates.entry(*item).or_default().push("ended"),
            Record::Withdrawn { items, .. } => {
                for item in items {
                    fates.entry(*item).or_default().push("ended");
                }
            }
            _ => {}
        }
    }
    for item in waiting {
        fates.entry(ItemId(item.item)).or_default().push("ended");
    }
    for (item, fate) in fates {
        assert_eq!(fate, ["queued", "ended"], "{item:?}");
    }
}

/// An effect in short. Blocks, deltas and a bare `thinking` or `running_tool` are left out.
fn brief(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Record(record) => return brief_record(record),
        Effect::Show(_) => return None,
        Effect::CallModel(_) => "ask".to_owned(),
        Effect::DescribeModel { .. } => "describe".to_owned(),
        Effect::TellDropped(..) => "tell".to_owned(),
        Effect::Summarize(..) => "summarize".to_owned(),
        Effect::Rewrite { .. } => "rewrite".to_owned(),
        Effect::EndCompaction(result) => match result {
            Ok(compacted) => format!("compaction ended {}", compacted.compacted),
            Err(error) => format!("compaction ended: {error}"),
        },
        Effect::CancelModel(_) => "cancel model".to_owned(),
        Effect::RunTool(_, call, _) => format!("run {}", call.id),
        Effect::KeepChange(_, _, change) => format!("keep {}", change.path),
        Effect::CancelTool(_) => "cancel tool".to_owned(),
        Effect::EndRun(run, _) => format!("end {}", run.0),
    })
}

fn brief_record(record: &Record) -> Option<String> {
    Some(match record {
        Record::RunStarted { run, .. } => format!("run {}", run.0),
        Record::Prompt { content, .. } => {
            let begin: String = content.chars().take(9).collect();
            format!("prompt {begin}")
        }
        Record::Status { activity, message } => match activity {
            Activity::Idle => format!("idle {message}").trim_end().to_owned(),
            Activity::Error => format!("error {message}"),
            Activity::Thinking if !message.is_empty() => format!("thinking {message}"),
            _ => return None,
        },
        Record::TurnStarted { turn, .. } => format!("turn {turn}"),
        Record::Block { .. } => return None,
        Record::ReplyEnded { .. } => "replied".to_owned(),
        Record::ReplyFailed { refused, .. } => {
            if *refused { "refused" } else { "failed" }.to_owned()
        }
        Record::ToolResult { id, is_error, .. } => {
            format!("{} {id}", if *is_error { "error of" } else { "result of" })
        }
        Record::CallsSkipped { .. } => "skipped".to_owned(),
        Record::TurnEnded { .. } => "turn ended".to_owned(),
        Record::RunEnded { .. } => "run ended".to_owned(),
        Record::Renamed { .. } => "renamed".to_owned(),
        Record::Queued { item, .. } => format!("queued {}", item.0),
        Record::Withdrawn { items, .. } => format!("withdrawn {}", items.len()),
        Record::SettingsChanged { .. } => "settings".to_owned(),
        Record::ToolsRenewed { .. } => "tools renewed".to_owned(),
        Record::ReplyLeftOut { .. } => "left out".to_owned(),
        Record::CompactionStarted { reason, .. } => format!("compacting {reason:?}"),
        Record::Compacted { kept, .. } => format!("compacted, {kept} kept"),
        Record::CompactionFailed { error, .. } => format!("not compacted: {error}"),
        Record::ApprovalAsked(approval) => format!("asked {}", approval.id),
        Record::ApprovalAnswered { id, answer, .. } => match answer {
            Verdict::Allow => format!("allowed {id}"),
            Verdict::Deny | Verdict::Unknown => format!("denied {id}"),
        },
        Record::ApprovalWithdrawn { id, .. } => format!("withdrawn approval {id}"),
        Record::EffectBegan { call, .. } => format!("began {call}"),
        Record::FilesChanged { call, .. } => format!("changed by {call}"),
        Record::ToolReturned { call, .. } => format!("returned {call}"),
        Record::ProposalDecided { path, .. } => format!("decided {path}"),
        Record::SpendingReserved { micro_usd, .. } => format!("reserved {micro_usd}"),
        Record::SpendingReleased { micro_usd, .. } => format!("released {micro_usd}"),
        Record::JobStarted { job, call, .. } => format!("job {job} by {call}"),
        Record::JobEnded { job, .. } => format!("ended job {job}"),
        Record::CommandRan { command, .. } => format!("ran {command}"),
        Record::Branched { conversation, .. } => format!("branched {conversation}"),
        Record::Undone { files, .. } => format!("undone {}", files.len()),
        Record::RulesChanged { added, removed, .. } => {
            format!("rules +{} -{}", added.len(), removed.len())
        }
        Record::Checkpoint { .. } | Record::Workflow(_) | Record::Unknown { .. } => {
            panic!("{record:?}")
        }
    })
}

/// A text of so many tokens, by the estimate.
pub(super) fn long(name: &str, tokens: usize) -> String {
    let mut text = name.to_owned();
    while text.len() < tokens * 4 {
        write!(text, " {}", text.len()).unwrap();
    }
    text.truncate(tokens * 4);
    text
}

/// The request that is made now, which the API takes.
pub(super) fn valid_request(machine: &Machine) -> MessagesRequest {
    let model = "claude-sonnet-5-5";
    let choice = ModelChoice {
        id: model.into(),
        chosen: true,
    };
    let read = json!({"name": "read", "description": "d", "input_schema": {"type": "object"}});
    let head = RequestHead::new(HeadSettings {
        tools: &[read],
        ..HeadSettings::plain(choice, 100)
    });
    let history = machine.history();
    let request = head.request(history.pieces(Caching::Off), history.lacks_thinking());
    let headers = [
        ("x-api-key", "k"),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let body = request.body(model).concat();
    let request = match validate(Endpoint::Messages, &headers, &body) {
        Ok(request) => request,
        Err(error) => panic!("{error:?} in {}", String::from_utf8_lossy(&body)),
    };
    assert_eq!(strict_roles(&request), [""; 0]);
    request
}
