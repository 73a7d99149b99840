//! The view of a run for the client that sent its prompt.
//!
//! Invariant: no IO; every way in which a run can end, or be gone, is an end.

use std::collections::HashMap;

use harness_protocol::words::{self, CallEnd, EventWords};
use harness_protocol::{
    ActivityState, Approval, ConversationSnapshot, ConversationState, DeltaKind, EndOutcome, Event,
    Verdict, WebStep, Withdrawal,
};

use harness_tui::CallOutput;

use crate::client::reply_text::ReplyText;
use crate::visible;

/// How many characters of a tool's input or result are shown.
const MAX_TOOL: usize = 100;

/// Something to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShownItem {
    /// A piece of the reply.
    Text(String),
    /// A remark beside it.
    Note(String),
}

/// The result of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SeenEvent {
    /// The texts to show.
    pub(super) shown: Vec<ShownItem>,
    /// Whether the event is one of the run.
    pub(super) of_the_run: bool,
    /// The approval that waits for an answer since now.
    pub(super) asked: Option<Box<Approval>>,
    /// How the run ended, if it did.
    pub(super) end: Option<ShownEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShownEnd {
    pub(super) outcome: EndOutcome,
    /// Whether a tool was denied what it wanted.
    pub(super) is_denied: bool,
    /// Whether a limit cut it off.
    pub(super) is_limited: bool,
    /// True if it ended with a remark: the model declined, or the reply was cut.
    pub(super) is_cut: bool,
}

/// A run, from its prompt to its end.
pub(super) struct RunView {
    run_id: u64,
    begun: bool,
    text: ReplyText,
    /// How many texts were finished.
    texts: usize,
    /// The names of the tools of calls that have no result, by the call.
    tools: HashMap<String, String>,
    /// The output of those calls.
    output: CallOutput,
    /// Whether a tool was denied what it wanted.
    is_denied: bool,
    /// The text of the last reply. `None` if it is not known.
    reply: Option<String>,
}

impl RunView {
    /// Of this run nothing was seen.
    pub(super) fn new(run_id: u64) -> Self {
        Self {
            run_id,
            begun: false,
            text: ReplyText::default(),
            texts: 0,
            tools: HashMap::new(),
            output: CallOutput::default(),
            is_denied: false,
            reply: Some(String::new()),
        }
    }

    /// The text of the last reply, behind the last tool that the API ran. `None` if it is not known.
    pub(super) fn reply(&self) -> Option<&str> {
        self.reply.as_deref()
    }

    /// Takes the next event of the conversation.
    pub(super) fn take(&mut self, event: &Event) -> SeenEvent {
        let mut seen = SeenEvent::default();
        match event {
            Event::User {
                run_id: Some(run_id),
                ..
            }
            | Event::RunStarted { run_id, .. } => {
                if *run_id == self.run_id {
                    self.begun = true;
                    seen.shown.extend(remark_line(event).map(ShownItem::Note));
                } else if self.begun && *run_id > self.run_id {
                    self.lost(&mut seen, "another run began");
                }
            }
            // The client has everything up to here, so the run ended without saying how: the
            // service died in it.
            Event::Attached { state, run_id, .. } => {
                let is_going = *run_id == Some(self.run_id)
                    && !matches!(state, ActivityState::Idle | ActivityState::Error);
                if !is_going {
                    self.lost(&mut seen, "the service was stopped in it");
                }
                return seen;
            }
            Event::Reset { reason, snapshot } => {
                let remark = format!("harness: a part of the run may be missing: {reason}");
                seen.shown.push(ShownItem::Note(remark));
                self.start_again(snapshot, &mut seen);
            }
            Event::Presence { .. } => return seen,
            event if self.begun => self.show(event, &mut seen),
            _ => {}
        }
        seen.of_the_run = self.begun;
        seen
    }

    fn show(&mut self, event: &Event, seen: &mut SeenEvent) {
        add_reply(&mut self.reply, event);
        let mut text = |text: String| seen.shown.push(ShownItem::Text(text));
        match event {
            Event::Delta {
                index,
                kind: DeltaKind::Text,
                offset,
                text: piece,
            } => text(self.text.piece(*index, *offset, piece)),
            Event::Text {
                content,
                partial,
                sources,
                ..
            } => {
                self.texts += 1;
                text(if *partial {
                    self.text.cut_short(content)
                } else {
                    self.text.finished(content)
                });
                let sources = words::web_sources(sources, 1);
                let sources = sources.lines().map(|line| visible::short(line, MAX_TOOL));
                seen.shown.extend(sources.map(ShownItem::Note));
            }
            Event::RunEnded {
                run_id,
                outcome,
                message,
                ..
            } if *run_id == self.run_id => self.end(*outcome, message, seen),
            Event::Discarded {} | Event::ReplyFailed { .. } if self.text.is_open() => {
                text(self.text.close().to_owned());
                let remark = "harness: the reply broke off; what was shown of it is void";
                seen.shown.push(ShownItem::Note(remark.to_owned()));
            }
            Event::ApprovalAsked { approval, .. } => seen.asked = Some(approval.clone()),
            Event::ToolOutput {
                id,
                offset,
                text: piece,
            } => {
                let lines = self.output_lines(id, *offset, piece);
                seen.shown.extend(lines.into_iter().map(ShownItem::Note));
            }
            event => {
                self.is_denied |= is_denial(event);
                seen.shown.extend(self.note(event).map(ShownItem::Note));
            }
        }
    }

    /// The lines that a running call has written.
    fn output_lines(&mut self, id: &str, offset: u64, piece: &str) -> Vec<String> {
        let Some(name) = self.tools.get(id) else {
            return Vec::new();
        };
        let lines = self.output.take(id, name, offset, piece);
        let lines = lines.unwrap_or_default();
        lines.lines().map(str::to_owned).collect()
    }

    /// The remark about an event that is not the reply's text.
    fn note(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::ToolCall {
                id, name, input, ..
            } => {
                self.tools.insert(id.clone(), name.clone());
                Some(format!(
                    "> {}",
                    visible::short(&words::call(name, input), MAX_TOOL)
                ))
            }
            Event::ToolResult {
                id,
                result,
                is_error,
                duration_ms,
                extent,
                ..
            } => {
                self.output.end(id);
                let name = self.tools.remove(id);
                let name = name.as_deref().unwrap_or("tool");
                let end = words::call_end(&CallEnd {
                    name,
                    result,
                    lines: result.lines().count(),
                    is_error: *is_error,
                    extent: extent.as_ref(),
                    duration_ms: *duration_ms,
                });
                Some(format!("< {name}: {}", visible::short(&end, MAX_TOOL)))
            }
            Event::CallsSkipped { reason, .. } => Some(format!("< {reason}")),
            Event::Block {
                web: Some(step), ..
            } => {
                let mark = match step {
                    WebStep::Called { .. } => '>',
                    WebStep::Found { .. } | WebStep::Failed { .. } => '<',
                };
                let line = words::web_step(step).replace("\n ", ";");
                Some(format!("{mark} {}", visible::short(&line, MAX_TOOL)))
            }
            Event::Block {
                fallback: Some(change),
                ..
            } => Some(visible::short(&words::fallback(change), MAX_TOOL)),
            Event::Status {
                state: ActivityState::Thinking,
                message,
                ..
            } if !message.is_empty() => Some(format!("harness: {message}")),
            Event::CompactionStarted { .. }
            | Event::Compacted { .. }
            | Event::CompactionFailed { .. }
            | Event::ApprovalAnswered { .. }
            | Event::ApprovalWithdrawn { .. }
            | Event::FilesChanged { .. }
            | Event::Gap { .. } => Some(format!(
                "harness: {}",
                EventWords::for_event(event).sentence()
            )),
            _ => None,
        }
    }

    /// Continues from a snapshot: with the texts and the end that it has and that were not seen.
    fn start_again(&mut self, snapshot: &ConversationSnapshot, seen: &mut SeenEvent) {
        let events = || snapshot.history.events.iter().map(|past| &past.event);
        let run = self.run_id;
        let is_start = |event: &Event| match event {
            Event::User { run_id, .. } => *run_id == Some(run),
            Event::RunStarted { run_id, .. } => *run_id == run,
            _ => false,
        };
        if let Some(start) = events().position(is_start) {
            self.begun = true;
            let unseen = events()
                .skip(start)
                .filter(|event| matches!(event, Event::Text { .. }))
                .skip(self.texts);
            for text in unseen {
                self.show(text, seen);
            }
            self.reply = Some(String::new());
            let is_going =
                |event: &&Event| !matches!(event, Event::RunEnded { run_id, .. } if *run_id == run);
            events()
                .skip(start)
                .take_while(is_going)
                .for_each(|event| add_reply(&mut self.reply, event));
        } else {
            self.reply = None;
        }
        let end = events().find_map(|event| match event {
            Event::RunEnded {
                run_id,
                outcome,
                message,
                ..
            } if *run_id == self.run_id => Some((*outcome, message)),
            _ => None,
        });
        let is_going = snapshot.summary.run_id == Some(self.run_id)
            && matches!(
                snapshot.summary.state,
                ConversationState::Running | ConversationState::WaitingApproval
            );
        match end {
            Some((outcome, message)) => self.end(outcome, message, seen),
            None if is_going => {}
            None => self.lost(seen, "its end is not in the history"),
        }
    }

    fn lost(&mut self, seen: &mut SeenEvent, reason: &str) {
        self.end(EndOutcome::Interrupted, reason, seen);
    }

    fn end(&mut self, outcome: EndOutcome, message: &str, seen: &mut SeenEvent) {
        seen.shown
            .push(ShownItem::Text(self.text.close().to_owned()));
        let name = words::outcome(outcome);
        let remark = match outcome {
            EndOutcome::Completed if message.is_empty() => None,
            EndOutcome::Completed | EndOutcome::Error | EndOutcome::Unknown
                if !message.is_empty() =>
            {
                Some(format!("harness: {}", words::with_way_on(message)))
            }
            // The service's words may begin with the outcome.
            _ if message.starts_with(name) => Some(format!("harness: the run ended: {message}")),
            _ if message.is_empty() => Some(format!("harness: the run ended: {name}")),
            _ => Some(format!("harness: the run ended: {name}: {message}")),
        };
        seen.shown.extend(remark.map(ShownItem::Note));
        seen.end = Some(ShownEnd {
            outcome,
            is_denied: self.is_denied,
            is_limited: words::is_limit(message),
            is_cut: !message.is_empty(),
        });
    }
}

/// Adds an event to the text of the last reply.
fn add_reply(reply: &mut Option<String>, event: &Event) {
    match event {
        Event::TurnStarted { .. } | Event::Block { web: Some(_), .. } => {
            *reply = Some(String::new());
        }
        Event::Text { content, .. } => {
            if let Some(reply) = reply {
                reply.push_str(content);
            }
        }
        _ => {}
    }
}

/// Whether a tool did not get what it waited for: an operator denied it, or did not answer in time.
fn is_denial(event: &Event) -> bool {
    match event {
        Event::ApprovalAnswered { answer, .. } => *answer == Verdict::Deny,
        Event::ApprovalWithdrawn { reason, .. } => *reason == Withdrawal::Expired,
        _ => false,
    }
}

/// The remark about a message that waited and is said now.
fn remark_line(event: &Event) -> Option<String> {
    let Event::User {
        content,
        by,
        queue: Some(queue),
        ..
    } = event
    else {
        return None;
    };
    let by = words::by(by.as_deref());
    let content = visible::short(content, MAX_TOOL);
    Some(format!("harness: {}{by}: {content}", words::queue(*queue)))
}

#[cfg(test)]
#[path = "run_view_tests.rs"]
mod tests;
