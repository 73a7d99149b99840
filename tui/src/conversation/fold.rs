//! What the events of a conversation add up to: its parts.

use harness_protocol::{DeltaKind, Event, State};

use super::calls::{Calls, Told as Returned};
use super::entries::{Entries, New, sum};
use super::live::Live;
use super::part::{PartId, PartKind, Tool, ToolOutcome};
use super::pending::Pending;
use super::summaries::{self, Told};
use super::{results, words};

/// The parts of a stretch of the record, and what grows behind it.
#[derive(Debug, Default)]
pub(super) struct Fold {
    pub(super) entries: Entries,
    pub(super) calls: Calls,
    pub(super) live: Live,
    /// The reply that failed last, until its run says how it ended.
    failure: Option<(String, Option<u64>, u64)>,
}

/// When something was recorded.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    seq: Option<u64>,
    at: u64,
}

impl Fold {
    /// Begins with these parts.
    pub(super) fn over(entries: Entries) -> Self {
        Self {
            entries,
            ..Self::default()
        }
    }

    /// Takes a lasting event of record `seq`. Whether a part came or changed.
    pub(super) fn take(&mut self, seq: Option<u64>, event: &Event, pending: &Pending) -> bool {
        match event {
            Event::User { timestamp, .. } => {
                let stamp = Stamp {
                    seq,
                    at: *timestamp,
                };
                self.user(stamp, event, pending);
            }
            Event::Text {
                content,
                partial,
                timestamp,
            } => {
                let kind = PartKind::Text {
                    content: content.clone(),
                    is_live: false,
                    is_cut: *partial,
                };
                let made = sum(&("text", content, partial));
                self.finish(Some(DeltaKind::Text), seq, *timestamp, kind, made);
            }
            Event::Reasoning { content, timestamp } => {
                let kind = PartKind::Reasoning {
                    content: content.clone(),
                    is_live: false,
                };
                let made = sum(&("reasoning", content));
                self.finish(Some(DeltaKind::Reasoning), seq, *timestamp, kind, made);
            }
            Event::Block {
                block_type,
                timestamp,
            } => {
                let live = match block_type.as_str() {
                    "thinking" | "redacted_thinking" => Some(DeltaKind::Reasoning),
                    "tool_use" | "server_tool_use" => Some(DeltaKind::ToolInput),
                    _ => None,
                };
                let kind = words::unreadable_block(block_type);
                self.finish(live, seq, *timestamp, kind, sum(&("block", block_type)));
            }
            Event::ToolCall { .. }
            | Event::ToolResult { .. }
            | Event::CallsSkipped { .. }
            | Event::TurnEnded { .. } => self.calls(seq, event),
            Event::SettingsChanged { .. }
            | Event::ReplyLeftOut { .. }
            | Event::CompactionStarted { by: Some(_), .. }
            | Event::Compacted { .. }
            | Event::CompactionFailed { .. }
            | Event::Checkpoint { .. } => self.changed(seq, event),
            event => return self.course(seq, event),
        }
        true
    }

    fn user(&mut self, stamp: Stamp, event: &Event, pending: &Pending) {
        if let Event::User {
            content,
            key,
            by,
            item,
            ..
        } = event
        {
            let made = sum(&("user", content, by));
            let kind = PartKind::User {
                content: content.clone(),
                by: pending.author(key.as_deref(), by.as_deref()),
                is_pending: false,
                is_queued: item.is_some(),
            };
            self.push(stamp, kind, made);
        }
    }

    /// What says of calls that they were made and what came of them.
    fn calls(&mut self, seq: Option<u64>, event: &Event) {
        let number = seq.unwrap_or(0);
        match event {
            Event::ToolCall {
                id: call_id,
                name,
                input,
                timestamp,
            } => {
                let input = serde_json::Value::Object(input.clone()).to_string();
                let made = sum(&("tool", call_id, name, &input));
                let kind = PartKind::Tool(Tool {
                    call_id: call_id.clone(),
                    name: name.clone(),
                    input,
                    outcome: ToolOutcome::Waiting,
                });
                let live = Some(DeltaKind::ToolInput);
                let id = self.finish(live, seq, *timestamp, kind, made);
                self.calls.made(call_id.clone(), id, &mut self.entries);
            }
            Event::ToolResult {
                id,
                result,
                is_error,
                ..
            } => {
                let told = Returned {
                    result: results::cut(result, *is_error, number),
                    sum: sum(&(result, is_error)),
                };
                self.calls.returned(id, told, &mut self.entries);
            }
            Event::CallsSkipped { reason, .. } => {
                self.calls.skipped(reason, number, &mut self.entries);
            }
            Event::TurnEnded { .. } => self.calls.over(number, &mut self.entries),
            _ => {}
        }
    }

    /// What is other from now on: settings, and what the model is told of the past.
    fn changed(&mut self, seq: Option<u64>, event: &Event) {
        if let Some(Told { kind, made, at }) = summaries::told(event) {
            self.push(Stamp { seq, at }, kind, made);
        }
    }

    /// How runs and replies go on and end. Whether a part came or changed.
    fn course(&mut self, seq: Option<u64>, event: &Event) -> bool {
        match event {
            Event::ReplyEnded { .. } => self.live.clear(&mut self.entries),
            Event::ReplyFailed { error, timestamp } => {
                self.failure = Some((error.clone(), seq, *timestamp));
                self.live.clear(&mut self.entries)
            }
            Event::Status { state, .. } => {
                let is_over = matches!(state, State::Idle | State::Error);
                let had_live = is_over && self.live.clear(&mut self.entries);
                self.calls.set_running(!is_over, &mut self.entries);
                had_live
            }
            Event::RunStarted { by, timestamp, .. } => {
                self.calls.over(seq.unwrap_or(0), &mut self.entries);
                let Some(by) = by else {
                    return false;
                };
                let stamp = Stamp {
                    seq,
                    at: *timestamp,
                };
                self.push(stamp, words::continued(by), sum(&("continued", by)));
                true
            }
            // The run goes on without saying what failed.
            Event::TurnStarted { .. } => match self.failure.take() {
                Some((text, seq, at)) => {
                    let made = sum(&("failed", &text));
                    let is_error = true;
                    self.push(Stamp { seq, at }, PartKind::Note { text, is_error }, made);
                    true
                }
                None => false,
            },
            Event::Renamed {
                title,
                by,
                timestamp,
            } => {
                let stamp = Stamp {
                    seq,
                    at: *timestamp,
                };
                let note = words::renamed(title, by.as_deref());
                self.push(stamp, note, sum(&("title", title)));
                true
            }
            Event::RunEnded {
                outcome,
                message,
                by,
                timestamp,
                ..
            } => {
                let had_live = self.live.clear(&mut self.entries);
                self.calls.over(seq.unwrap_or(0), &mut self.entries);
                let failure = self.failure.take().map(|(error, _, _)| error);
                let by = by.as_deref();
                let Some(note) = words::end_of_run(*outcome, message, by, failure.as_deref())
                else {
                    return had_live;
                };
                let made = sum(&("end", format!("{outcome:?}"), message));
                let stamp = Stamp {
                    seq,
                    at: *timestamp,
                };
                self.push(stamp, note, made);
                true
            }
            _ => false,
        }
    }

    /// Adds a remark that no record made.
    pub(super) fn remark(&mut self, kind: PartKind) -> PartId {
        let new = New {
            seq: None,
            at: None,
            kind,
            made: 0,
        };
        self.live.push_before(new, &mut self.entries)
    }

    /// A block is complete: it takes the place of what grew, if it was seen growing.
    fn finish(
        &mut self,
        live: Option<DeltaKind>,
        seq: Option<u64>,
        at: u64,
        kind: PartKind,
        made: u64,
    ) -> PartId {
        let grown = live.and_then(|live| self.live.finish(live, &mut self.entries));
        let Some(id) = grown else {
            return self.push(Stamp { seq, at }, kind, made);
        };
        self.entries.change(id, |entry| {
            entry.part.seq = seq;
            entry.part.at = Some(at);
            entry.part.kind = kind;
            entry.made = made;
        });
        id
    }

    fn push(&mut self, stamp: Stamp, kind: PartKind, made: u64) -> PartId {
        let new = New {
            seq: stamp.seq,
            at: Some(stamp.at),
            kind,
            made,
        };
        self.live.push_before(new, &mut self.entries)
    }
}
