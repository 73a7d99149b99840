//! The fold over the events of a conversation: its parts.

use harness_protocol::words::{self, EventWords};
use harness_protocol::{ActivityState, DeltaKind, Event, Family, WebSource};

use super::calls::{Calls, ResultSum as Returned};
use super::entries::{NewPart, PartEntries, sum};
use super::live::Live;
use super::part::{CallOutcome, OperatorCommand, PartId, PartKind, ShownResult, ToolPart};
use super::pending::Pending;
use super::{remarks, results};

/// The parts of a stretch of the record, and the growing parts after them.
#[derive(Debug, Default)]
pub(super) struct StretchFold {
    pub(super) entries: PartEntries,
    pub(super) calls: Calls,
    pub(super) live: Live,
    /// The reply that failed last, until the end of its run is known.
    failure: Option<(String, EventStamp)>,
}

/// The record of an event, and its time.
#[derive(Debug, Clone, Copy)]
struct EventStamp {
    seq: Option<u64>,
    at: Option<u64>,
}

impl StretchFold {
    /// Begins with these parts.
    pub(super) fn over(entries: PartEntries) -> Self {
        Self {
            entries,
            ..Self::default()
        }
    }

    /// Takes a lasting event of record `seq`. Whether a part came or changed.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm an event that makes more than a remark, and all of them in one place"
    )]
    pub(super) fn take(&mut self, seq: Option<u64>, event: &Event, pending: &Pending) -> bool {
        let number = seq.unwrap_or(0);
        let stamp = EventStamp {
            seq,
            at: event.timestamp(),
        };
        match event {
            Event::User {
                content,
                key,
                by,
                item,
                attachments,
                ..
            } => {
                let made = sum(&("user", content, by));
                let kind = PartKind::User {
                    content: content.clone(),
                    by: pending.author(key.as_deref(), by.as_deref()),
                    is_pending: false,
                    is_queued: item.is_some(),
                    files: attachments.iter().map(words::attachment).collect(),
                };
                self.push(stamp, kind, made);
            }
            Event::Text {
                content,
                partial,
                sources,
                ..
            } => {
                let kind = PartKind::Text {
                    content: content.clone(),
                    is_live: false,
                    is_cut: *partial,
                };
                let made = sum(&("text", content, partial, sources));
                self.finish(Some(DeltaKind::Text), stamp, kind, made);
                self.push_sources(stamp, sources);
            }
            Event::Reasoning {
                content,
                duration_ms,
                ..
            } => {
                let kind = PartKind::Reasoning {
                    content: content.clone(),
                    is_live: false,
                    duration_ms: *duration_ms,
                };
                let made = sum(&("reasoning", content));
                self.finish(Some(DeltaKind::Reasoning), stamp, kind, made);
            }
            Event::Block {
                block_type,
                web,
                fallback,
                ..
            } => {
                let live = match block_type.as_str() {
                    "thinking" | "redacted_thinking" => Some(DeltaKind::Reasoning),
                    "tool_use" | "server_tool_use" => Some(DeltaKind::ToolInput),
                    _ => None,
                };
                let kind = PartKind::Note {
                    text: words::block(block_type, web.as_ref(), fallback.as_ref()),
                    is_error: false,
                };
                self.finish(
                    live,
                    stamp,
                    kind,
                    sum(&("block", block_type, web, fallback)),
                );
            }
            Event::ToolCall {
                id: call_id,
                name,
                input,
                ..
            } => {
                let asked = words::asked(name, input);
                let input = serde_json::Value::Object(input.clone()).to_string();
                let made = sum(&("tool", call_id, name, &input));
                let kind = PartKind::Tool(ToolPart {
                    call_id: call_id.clone(),
                    name: name.clone(),
                    asked,
                    input,
                    outcome: CallOutcome::Waiting,
                    output: None,
                });
                let id = self.finish(Some(DeltaKind::ToolInput), stamp, kind, made);
                self.calls.made(call_id.clone(), id, &mut self.entries);
            }
            Event::ToolResult {
                id,
                result,
                is_error,
                duration_ms,
                extent,
                ..
            } => {
                let told = Returned {
                    result: ShownResult {
                        duration_ms: *duration_ms,
                        extent: *extent,
                        ..results::cut(result, *is_error, number)
                    },
                    sum: sum(&(result, is_error)),
                };
                self.calls.returned(id, told, &mut self.entries);
            }
            Event::CallsSkipped { reason, .. } => {
                self.calls.skipped(reason, number, &mut self.entries);
            }
            Event::TurnEnded { .. } => self.calls.over(number, &mut self.entries),
            Event::ReplyEnded { .. } => return self.live.clear(&mut self.entries),
            Event::ReplyFailed { error, .. } => {
                self.failure = Some((error.clone(), stamp));
                return self.live.clear(&mut self.entries);
            }
            Event::Status { state, .. } => {
                let is_over = matches!(state, ActivityState::Idle | ActivityState::Error);
                let had_live = is_over && self.live.clear(&mut self.entries);
                self.calls.set_running(!is_over, &mut self.entries);
                return had_live;
            }
            Event::RunStarted { by, .. } => {
                self.calls.over(number, &mut self.entries);
                if by.is_none() {
                    return false;
                }
                self.tell(stamp, event);
            }
            // The run continues without a remark about the failure.
            Event::TurnStarted { .. } => {
                let Some((text, stamp)) = self.failure.take() else {
                    return false;
                };
                let made = sum(&("failed", &text));
                let is_error = true;
                self.push(stamp, PartKind::Note { text, is_error }, made);
            }
            Event::RunEnded {
                outcome,
                message,
                run_usage,
                duration_ms,
                by,
                ..
            } => {
                let had_live = self.live.clear(&mut self.entries);
                self.calls.over(number, &mut self.entries);
                let failure = self.failure.take().map(|(error, _)| error);
                let by = by.as_deref();
                let note = remarks::end_of_run(*outcome, message, by, failure.as_deref());
                let facts = words::run_facts(*duration_ms, run_usage);
                if note.is_none() && facts.is_empty() {
                    return had_live;
                }
                if let Some(note) = note {
                    let made = sum(&("end", format!("{outcome:?}"), message));
                    self.push(stamp, note, made);
                }
                if !facts.is_empty() {
                    let made = sum(&("facts", &facts));
                    self.push(stamp, PartKind::RunEnd { facts }, made);
                }
            }
            Event::CommandRan {
                command,
                result,
                is_error,
                is_hidden,
                by,
                ..
            } => {
                let made = sum(&("command", command, result, by));
                let kind = PartKind::Command(OperatorCommand {
                    command: command.clone(),
                    result: results::parse_whole(result, *is_error, number),
                    by: by.clone(),
                    is_hidden: *is_hidden,
                });
                self.push(stamp, kind, made);
            }
            // The band shows the rest of it while it waits, and the change itself when it was made.
            Event::ApprovalAsked { .. } => {
                let text = EventWords::for_event(event).sentence();
                let made = sum(&("asked", &text));
                let is_error = false;
                self.push(stamp, PartKind::Note { text, is_error }, made);
            }
            Event::FilesChanged { changes, note, .. } => {
                for change in changes.iter().take(words::MAX_FILES_NAMED) {
                    let title = words::changed(change);
                    let made = sum(&("changed", &title, &change.diff));
                    let kind = PartKind::Change {
                        title,
                        diff: change.diff.clone(),
                        is_cut: change.diff_cut,
                    };
                    self.push(stamp, kind, made);
                }
                let note = note.as_deref().map(words::changed_besides);
                for text in words::more_files(changes.len()).into_iter().chain(note) {
                    let made = sum(&("besides", &text));
                    let is_error = false;
                    self.push(stamp, PartKind::Note { text, is_error }, made);
                }
            }
            // The status and the queue show these.
            Event::EffectBegan { .. }
            | Event::ToolReturned { .. }
            | Event::ProposalDecided { .. }
            | Event::SpendingReserved { .. }
            | Event::SpendingReleased { .. }
            | Event::CompactionStarted { by: None, .. }
            | Event::Queued { .. }
            | Event::Withdrawn { .. } => return false,
            event => match event.family() {
                Family::Fact => self.tell(stamp, event),
                Family::Passing | Family::Foreign => return false,
            },
        }
        true
    }

    /// Adds an event in its common words, and nothing else, so that the part does not depend on what was loaded before
    /// it.
    fn tell(&mut self, stamp: EventStamp, event: &Event) {
        let words = EventWords::for_event(event);
        let text = words.sentence();
        let made = sum(&(&text, words.body));
        let is_error = words.is_error;
        let kind = match words.body {
            Some(body) => PartKind::Summary {
                title: text,
                content: body.to_owned(),
            },
            None => PartKind::Note { text, is_error },
        };
        self.push(stamp, kind, made);
    }

    /// Adds a remark that no record made.
    pub(super) fn remark(&mut self, kind: PartKind) -> PartId {
        let new = NewPart {
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
        stamp: EventStamp,
        kind: PartKind,
        made: u64,
    ) -> PartId {
        let grown = live.and_then(|live| self.live.finish(live, &mut self.entries));
        let Some(id) = grown else {
            return self.push(stamp, kind, made);
        };
        self.entries.change(id, |entry| {
            entry.part.seq = stamp.seq;
            entry.part.at = stamp.at;
            entry.part.kind = kind;
            entry.made = made;
        });
        id
    }

    /// Adds the pages that a text cites.
    fn push_sources(&mut self, stamp: EventStamp, sources: &[WebSource]) {
        if sources.is_empty() {
            return;
        }
        let text = words::web_sources(sources, 1);
        let made = sum(&("sources", &text));
        let kind = PartKind::Note {
            text,
            is_error: false,
        };
        self.push(stamp, kind, made);
    }

    fn push(&mut self, stamp: EventStamp, kind: PartKind, made: u64) -> PartId {
        let new = NewPart {
            seq: stamp.seq,
            at: stamp.at,
            kind,
            made,
        };
        self.live.push_before(new, &mut self.entries)
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
