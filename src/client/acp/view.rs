//! The events of a conversation as updates of a session.
//!
//! Invariant: no IO. The same events lead to the same updates when they happen and when they are replayed.

use std::collections::{BTreeMap, HashSet};

use harness_protocol::words::{self, EventWords};
use harness_protocol::{
    ActivityState, Approval, Attachment, ContextWindow, ConversationSnapshot, ConversationState,
    DeltaKind, EndOutcome, Event,
};
use serde_json::{Map, Value, json};

use crate::client::acp::calls::SessionCalls;
use crate::client::acp::messages::{ReplyBlock, SessionMessages};
use crate::client::acp::run_end::{EndedRuns, PromptEnd, lost_run_end, prompt_end};
use crate::visible;

/// The number of the first source of a text.
const FIRST_SOURCE: usize = 1;
/// Maximum length of a notice, in characters.
const MAX_NOTICE: usize = 300;

/// The result of an event for an editor.
#[derive(Debug, PartialEq)]
pub(super) enum SessionOutput {
    /// The `update` of a `session/update`.
    Update(Value),
    /// An operator is asked.
    Asked(Box<Approval>),
    /// An approval is not open any more.
    Closed(u64),
    /// A prompt with this key was taken into a run.
    Taken {
        /// The key.
        key: String,
        /// The run.
        run: u64,
    },
    /// A run has ended.
    Ended {
        /// The run.
        run: u64,
        /// The end for the prompt that started it.
        end: PromptEnd,
    },
    /// The conversation has other settings.
    NewSettings,
    /// Everything up to here was received.
    Attached,
}

/// The results of an event, in their order.
type SessionOutputs = Vec<SessionOutput>;

/// The state of a conversation as an editor was sent it.
pub(super) struct SessionView {
    /// The folder of the conversation.
    folder: String,
    /// True if the editor shows notices.
    has_notices: bool,
    /// True once everything of the past was received.
    is_live: bool,
    /// The keys of prompts of this editor, which shows them itself.
    own: HashSet<String>,
    messages: SessionMessages,
    calls: SessionCalls,
    /// The approvals that are open.
    approvals: BTreeMap<u64, Box<Approval>>,
    /// The run that is going.
    run: Option<u64>,
    /// The last run that has begun.
    last_run: u64,
    ended: EndedRuns,
    /// The reason why the last reply ended, in the API's words.
    stop_reason: String,
}

impl SessionView {
    /// A view that has seen nothing. The names of its messages begin with a prefix. `has_notices` is true if the editor
    /// shows notices.
    pub(super) fn new(prefix: &str, folder: String, has_notices: bool) -> Self {
        Self {
            folder,
            has_notices,
            is_live: false,
            own: HashSet::new(),
            messages: SessionMessages::new(prefix),
            calls: SessionCalls::new(prefix),
            approvals: BTreeMap::new(),
            run: None,
            last_run: 0,
            ended: EndedRuns::default(),
            stop_reason: String::new(),
        }
    }

    /// Remembers the key of a prompt that the editor shows itself.
    pub(super) fn expect(&mut self, key: &str) {
        self.own.insert(key.to_owned());
    }

    /// The run that is going.
    pub(super) fn run(&self) -> Option<u64> {
        self.run
    }

    /// The last run that has begun; 0 if there was none.
    pub(super) fn last_run(&self) -> u64 {
        self.last_run
    }

    /// The approvals that are open.
    pub(super) fn open_approvals(&self) -> Vec<Approval> {
        self.approvals
            .values()
            .map(|open| open.as_ref().clone())
            .collect()
    }

    /// The end of a run, if it is one of the last.
    pub(super) fn end_of_run(&self, run: u64) -> Option<PromptEnd> {
        self.ended.end(run)
    }

    /// True if a running call has written something that was not sent.
    pub(super) fn has_new_output(&self) -> bool {
        self.calls.have_new_output()
    }

    /// The updates with the output of running calls.
    pub(super) fn new_output(&mut self) -> SessionOutputs {
        updates(self.calls.new_output())
    }

    /// Continues from a snapshot.
    pub(super) fn begin(&mut self, snapshot: ConversationSnapshot) -> SessionOutputs {
        let mut outputs = self.forget(&snapshot);
        self.calls.restore(&snapshot.history);
        for approval in snapshot.approvals {
            if !self.approvals.contains_key(&approval.id) {
                outputs.extend(self.asked(Box::new(approval)));
            }
        }
        outputs
    }

    /// The results of an event.
    pub(super) fn outputs(&mut self, event: Event) -> SessionOutputs {
        match event {
            Event::User {
                content,
                run_id,
                key,
                attachments,
                ..
            } => self.user(&content, run_id, key, &attachments),
            Event::Delta { .. }
            | Event::Discarded {}
            | Event::TurnStarted { .. }
            | Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::ReplyEnded { .. } => updates(self.reply(event)),
            Event::ToolCall { .. }
            | Event::EffectBegan { .. }
            | Event::ToolOutput { .. }
            | Event::FilesChanged { .. }
            | Event::ToolResult { .. }
            | Event::CallsSkipped { .. }
            | Event::Block { web: Some(_), .. }
            | Event::CommandRan { .. } => updates(self.call(event)),
            Event::ApprovalAsked { approval, .. } => self.asked(approval).into_iter().collect(),
            Event::ApprovalAnswered { id, .. } | Event::ApprovalWithdrawn { id, .. } => {
                self.approvals.remove(&id);
                vec![SessionOutput::Closed(id)]
            }
            Event::Renamed { title, .. } => {
                let update = json!({"sessionUpdate": "session_info_update", "title": title});
                vec![SessionOutput::Update(update)]
            }
            Event::SettingsChanged { .. } => vec![SessionOutput::NewSettings],
            Event::RunStarted { run_id, .. } => {
                self.run = Some(run_id);
                self.last_run = self.last_run.max(run_id);
                Vec::new()
            }
            Event::RunEnded {
                run_id,
                outcome,
                message,
                ..
            } => vec![self.ended(run_id, outcome, &message)],
            // A conversation that cannot write its journal says this alone.
            Event::Status {
                state: ActivityState::Error,
                message,
                ..
            } if self.run.is_some() => {
                let run = self.run.unwrap_or_default();
                vec![self.ended(run, EndOutcome::Error, &message)]
            }
            Event::Attached { state, run_id, .. } => {
                let is_going = !matches!(state, ActivityState::Idle | ActivityState::Error);
                // A run that waits for an answer since before the service was started again is not named.
                self.attached(run_id.or(self.run.filter(|_| is_going)))
            }
            Event::Reset { snapshot, .. } => self.begin(*snapshot),
            event => updates(self.notice(&event)),
        }
    }

    fn user(
        &mut self,
        content: &str,
        run: Option<u64>,
        key: Option<String>,
        files: &[Attachment],
    ) -> SessionOutputs {
        self.run = run.or(self.run);
        self.last_run = self.last_run.max(self.run.unwrap_or_default());
        let mut outputs = Vec::new();
        if let (Some(key), Some(run)) = (&key, self.run) {
            let key = key.clone();
            outputs.push(SessionOutput::Taken { key, run });
        }
        // The editor shows its own prompts itself.
        if key.is_none_or(|key| !self.own.remove(&key)) {
            let files = files
                .iter()
                .map(|file| format!("\n[{}]", words::attachment(file)));
            let text = [content.to_owned()].into_iter().chain(files);
            let update = self.messages.user(&text.collect::<String>());
            outputs.push(SessionOutput::Update(update));
        }
        outputs
    }

    /// The update of an event about the reply.
    fn reply(&mut self, event: Event) -> Option<Value> {
        match event {
            Event::Delta {
                index,
                kind,
                offset,
                text,
            } => {
                let kind = match kind {
                    DeltaKind::Text => ReplyBlock::Text,
                    DeltaKind::Reasoning => ReplyBlock::Thought,
                    DeltaKind::ToolInput | DeltaKind::Unknown => return None,
                };
                self.messages.add(kind, index, offset, &text)
            }
            Event::Text {
                content, sources, ..
            } if sources.is_empty() => self.messages.finish(ReplyBlock::Text, &content),
            Event::Text {
                content, sources, ..
            } => {
                let sources = words::web_sources(&sources, FIRST_SOURCE);
                let text = format!("{content}\n\n{sources}");
                self.messages.finish(ReplyBlock::Text, &text)
            }
            Event::Reasoning { content, .. } => self.messages.finish(ReplyBlock::Thought, &content),
            Event::ReplyEnded {
                stop_reason,
                usage,
                window,
                ..
            } => {
                self.stop_reason = stop_reason;
                window.map(|window| usage_update(&usage, window))
            }
            // A reply that is void, or the next one.
            _ => {
                self.messages.discard();
                None
            }
        }
    }

    /// The updates of an event about a call.
    fn call(&mut self, event: Event) -> Vec<Value> {
        let update = match event {
            Event::ToolCall {
                id, name, input, ..
            } => Some(self.calls.add(id, name, &input, &self.folder)),
            Event::EffectBegan { call, .. } => self.calls.begin(&call),
            Event::ToolOutput { id, offset, text } => {
                self.calls.add_output(&id, offset, &text);
                None
            }
            Event::FilesChanged { call, changes, .. } => {
                self.calls.add_changes(&call, &changes);
                None
            }
            Event::ToolResult {
                id,
                result,
                is_error,
                ..
            } => self.calls.end(&id, &result, is_error),
            Event::CallsSkipped { reason, .. } => return self.calls.skip(&reason),
            Event::Block {
                web: Some(step), ..
            } => self.calls.web_step(&step),
            Event::CommandRan {
                command,
                result,
                is_error,
                ..
            } => Some(self.calls.shell(&command, &result, is_error)),
            _ => None,
        };
        update.into_iter().collect()
    }

    fn asked(&mut self, approval: Box<Approval>) -> Option<SessionOutput> {
        self.approvals.insert(approval.id, approval.clone());
        self.is_live.then_some(SessionOutput::Asked(approval))
    }

    fn ended(&mut self, run: u64, outcome: EndOutcome, message: &str) -> SessionOutput {
        self.run = None;
        self.messages.discard();
        let stop_reason = std::mem::take(&mut self.stop_reason);
        let end = prompt_end(outcome, message, &stop_reason);
        self.ended.add(run, end.clone());
        SessionOutput::Ended { run, end }
    }

    /// Everything up to here was received, and that run is going.
    fn attached(&mut self, run: Option<u64>) -> SessionOutputs {
        let mut outputs: SessionOutputs = self.lost_run(run).into_iter().collect();
        self.run = run;
        self.is_live = true;
        outputs.push(SessionOutput::Attached);
        outputs
    }

    /// The end of the run that was going, if another one or none is going now: the service died in it.
    fn lost_run(&mut self, now: Option<u64>) -> Option<SessionOutput> {
        let run = self.run.filter(|run| Some(*run) != now)?;
        let end = lost_run_end();
        self.ended.add(run, end.clone());
        Some(SessionOutput::Ended { run, end })
    }

    /// Forgets what a snapshot contradicts.
    fn forget(&mut self, snapshot: &ConversationSnapshot) -> SessionOutputs {
        self.messages.discard();
        let is_open = |id: &u64| snapshot.approvals.iter().any(|open| open.id == *id);
        let closed = self.approvals.extract_if(.., |id, _| !is_open(id));
        let mut outputs: SessionOutputs = closed.map(|(id, _)| SessionOutput::Closed(id)).collect();
        let ended = snapshot
            .history
            .events
            .iter()
            .filter_map(|past| match &past.event {
                Event::RunEnded {
                    run_id,
                    outcome,
                    message,
                    ..
                } => Some((*run_id, *outcome, message)),
                _ => None,
            });
        for (run, outcome, message) in ended {
            if self.ended.end(run).is_none() {
                let end = prompt_end(outcome, message, "");
                self.ended.add(run, end.clone());
                self.last_run = self.last_run.max(run);
                outputs.push(SessionOutput::Ended { run, end });
            }
        }
        self.run = self.run.filter(|run| self.ended.end(*run).is_none());
        let is_going = matches!(
            snapshot.summary.state,
            ConversationState::Running | ConversationState::WaitingApproval
        );
        let now = snapshot.summary.run_id.filter(|_| is_going);
        outputs.extend(self.lost_run(now));
        self.run = now;
        self.last_run = self.last_run.max(now.unwrap_or_default());
        outputs
    }

    /// A remark about what else happened, for editors that show such.
    fn notice(&self, event: &Event) -> Option<Value> {
        let severity = match event {
            Event::ReplyFailed { .. } | Event::CompactionFailed { .. } | Event::Gap { .. } => {
                "warning"
            }
            Event::Status {
                state: ActivityState::Thinking,
                message,
                ..
            } if !message.is_empty() => "info",
            Event::Block {
                fallback: Some(_), ..
            }
            | Event::Compacted { .. }
            | Event::Undone { .. }
            | Event::RulesChanged { .. }
            | Event::ToolsRenewed { .. }
            | Event::JobStarted { .. }
            | Event::JobEnded { .. } => "info",
            _ => return None,
        };
        if !self.has_notices || !self.is_live {
            return None;
        }
        let title = visible::short(&EventWords::for_event(event).sentence(), MAX_NOTICE);
        Some(json!({"sessionUpdate": "notice", "severity": severity, "title": title}))
    }
}

fn updates(updates: impl IntoIterator<Item = Value>) -> SessionOutputs {
    updates.into_iter().map(SessionOutput::Update).collect()
}

/// The size of the conversation after a reply.
fn usage_update(usage: &Map<String, Value>, window: ContextWindow) -> Value {
    let counts = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    ];
    let used: u64 = counts
        .iter()
        .filter_map(|name| usage.get(*name)?.as_u64())
        .sum();
    json!({"sessionUpdate": "usage_update", "used": used, "size": window.tokens})
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
