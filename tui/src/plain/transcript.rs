//! Events as lines.

use std::collections::{HashMap, HashSet};

use harness_protocol::words::{self, Words};
use harness_protocol::{Approval, Event, Family, Queue, State};
use serde_json::{Map, Value};

use super::shows::Shows;
use crate::asked::subject_lines;
use crate::part_view::shown_result;
use crate::text::{Hidden, one_line, sanitize};

/// How many lines of a tool's result are shown.
const MAX_LINES: usize = 100;

/// What was said so far, as far as the next lines depend on it.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The keys of the prompts that were sent from here.
    own: HashSet<String>,
    /// The calls that have no result.
    calls: HashMap<String, Call>,
    /// What the calls that run have shown.
    shows: Shows,
    /// The last status that was said.
    status: String,
    /// The messages that wait: their names, their keys and their first lines.
    waiting: HashMap<u64, (Option<String>, String)>,
}

/// A call that has no result.
#[derive(Debug)]
struct Call {
    name: String,
    /// How it was asked.
    asked: String,
}

impl Transcript {
    /// A prompt with this key is ours.
    pub(super) fn sends(&mut self, key: &str) {
        self.own.insert(key.to_owned());
    }

    /// Whether a prompt is ours.
    pub(super) fn is_own(&self, key: &str) -> bool {
        self.own.contains(key)
    }

    /// Whether a message of this key waits.
    pub(super) fn is_waiting(&self, key: &str) -> bool {
        let mut waiting = self.waiting.values();
        waiting.any(|(known, _)| known.as_deref() == Some(key))
    }

    /// The lines of an approval: what is asked, all of it, and how it is answered.
    pub(super) fn asked(&self, approval: &Approval) -> String {
        let Approval {
            id, tool, subject, ..
        } = approval;
        let head = format!("{tool}: {}: {}", words::subject(subject), approval.because);
        let mut lines = format!(
            "approval {id} {}",
            one_line(&sanitize(&head, Hidden::Pictured))
        );
        for (line, _) in subject_lines(subject) {
            lines += "\n";
            lines += &set_in(&sanitize(&line, Hidden::Pictured));
        }
        lines + "\nstatus: /approve allows it, /deny refuses it"
    }

    /// The lines of an event: those of blocks that are complete, and of what happens meanwhile.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm an event that is more than its sentence, and all of them in one place"
    )]
    pub(super) fn lines(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::User {
                content,
                key,
                by,
                item,
                ..
            } => {
                if let Some(item) = item {
                    self.waiting.remove(item);
                }
                let name = self.name(key.as_deref(), by.as_deref());
                Some(said(&name, content))
            }
            Event::Queued {
                item,
                queue,
                content,
                key,
                by,
                ..
            } => {
                let first = one_line(content.lines().next().unwrap_or_default());
                let name = self.name(key.as_deref(), by.as_deref());
                let what = match queue {
                    Queue::Steer => "before the next request",
                    Queue::FollowUp => "when the run is over",
                };
                self.waiting.insert(*item, (key.clone(), first.clone()));
                self.status(&format!("{name} will say {what}: {first}"))
            }
            Event::Withdrawn { items, by, .. } => {
                let gone: Vec<String> = items
                    .iter()
                    .filter_map(|item| Some(self.waiting.remove(item)?.1))
                    .collect();
                let who = self.name(None, by.as_deref());
                self.status(&format!("{who} withdrew: {}", gone.join(", ")))
            }
            Event::Text {
                content, partial, ..
            } => {
                let who = if *partial {
                    "agent (cut short)"
                } else {
                    "agent"
                };
                Some(said(who, content))
            }
            Event::Reasoning { content, .. } => Some(said("thinking", content)),
            Event::ToolCall {
                id, name, input, ..
            } => {
                let call = Call {
                    name: one_line(name),
                    asked: asked(name, input),
                };
                self.calls.insert(id.clone(), call);
                None
            }
            Event::ToolOutput { id, offset, text } => {
                let call = self.calls.get(id)?;
                self.shows.take(id, &call.name, *offset, text)
            }
            Event::ToolResult {
                id,
                result,
                is_error,
                ..
            } => {
                self.shows.end(id);
                let call = self.calls.remove(id).map(|call| call.asked);
                let call = call.unwrap_or_else(|| "of before".to_owned());
                Some(answered(&call, result, *is_error))
            }
            Event::ApprovalAsked { approval, .. } => Some(self.asked(approval)),
            Event::FilesChanged { changes, .. } => {
                let each = changes.iter().map(|change| {
                    let mut lines = one_line(&words::changed(change));
                    for line in change.diff.split_terminator('\n') {
                        lines += "\n";
                        lines += &set_in(&sanitize(line, Hidden::Pictured));
                    }
                    lines
                });
                Some(each.collect::<Vec<_>>().join("\n"))
            }
            // What is changed is told when it was.
            Event::EffectBegan { .. } => None,
            Event::CallsSkipped { .. } => {
                self.calls.clear();
                self.shows.clear();
                self.told(event)
            }
            Event::Status { state, message, .. } => match (state, one_line(message)) {
                (State::Thinking, message) if message.is_empty() => self.status("thinking"),
                // It was said that the past is being summarized.
                (State::Thinking, message) if message == "compacting" => None,
                (State::Thinking, message) => self.status(&message),
                (State::RunningTool, tool) => self.status(&format!("running {tool}")),
                // The end of the run says more.
                (State::Idle | State::Error | State::WaitingApproval | State::Unknown, _) => None,
            },
            Event::RunEnded {
                run_id,
                outcome,
                message,
                ..
            } => {
                self.shows.clear();
                let why = match one_line(message) {
                    why if why.is_empty() => why,
                    why => format!(": {why}"),
                };
                let outcome = words::outcome(*outcome);
                self.status(&format!("run {run_id} {outcome}{why}"))
            }
            Event::Gap { .. } => self.told(event),
            // Blocks, the end of the run and the status say what there is to it.
            Event::Block { .. }
            | Event::RunStarted { by: None, .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
            | Event::ReplyEnded { .. }
            | Event::ReplyFailed { .. } => None,
            event => match event.family() {
                Family::Fact => self.told(event),
                Family::Passing | Family::Foreign => None,
            },
        }
    }

    /// An event in the words that it has everywhere, with the text that it brings below them.
    fn told(&mut self, event: &Event) -> Option<String> {
        let words = Words::of(event);
        let status = self.status(&one_line(&words.sentence()));
        let body = words.body.map(|body| said("summary", body));
        match (status, body) {
            (Some(status), Some(body)) => Some(format!("{status}\n{body}")),
            (status, body) => status.or(body),
        }
    }

    /// What somebody is called.
    fn name(&self, key: Option<&str>, by: Option<&str>) -> String {
        let is_own = key.is_some_and(|key| self.is_own(key));
        match by.map(one_line) {
            _ if is_own => "you".to_owned(),
            // Nobody else is called what we call ourselves.
            Some(name) if !matches!(name.as_str(), "you" | "agent" | "") => name,
            _ => "somebody".to_owned(),
        }
    }

    /// The line of a status, unless it was the last one too.
    pub(super) fn status(&mut self, status: &str) -> Option<String> {
        if self.status == status {
            return None;
        }
        status.clone_into(&mut self.status);
        Some(format!("status: {status}"))
    }
}

/// What somebody said. Lines behind the first are set in, so that none of them looks like the
/// words of somebody else.
fn said(who: &str, text: &str) -> String {
    let text = sanitize(text, Hidden::Dropped);
    let mut lines = text.trim_end().lines();
    let mut said = format!("{who}: {}", lines.next().unwrap_or_default());
    for line in lines {
        said += "\n";
        said += &set_in(line);
    }
    said
}

/// The approval that an event opens.
pub(super) fn asked_about(event: &Event) -> Option<u64> {
    match event {
        Event::ApprovalAsked { approval, .. } => Some(approval.id),
        _ => None,
    }
}

fn set_in(line: &str) -> String {
    if line.is_empty() {
        String::new()
    } else {
        format!("  {line}")
    }
}

/// How a tool was asked. Nothing of it is hidden.
fn asked(name: &str, input: &Map<String, Value>) -> String {
    let input = serde_json::to_string(input).unwrap_or_default();
    let input = sanitize(&input, Hidden::Pictured);
    format!("{} {}", one_line(name), one_line(&input))
}

/// What a tool answered.
fn answered(call: &str, result: &str, is_error: bool) -> String {
    let shown = shown_result(result);
    let result = sanitize(&shown, Hidden::Dropped);
    let lines: Vec<_> = result.lines().collect();
    let end = if is_error { "error" } else { "ok" };
    let count = match lines.len() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    let mut answered = format!("tool {call} {end} {count}");
    for line in lines.iter().take(MAX_LINES) {
        answered += "\n";
        answered += &set_in(line);
    }
    if let Some(more) = lines.len().checked_sub(MAX_LINES)
        && more > 0
    {
        answered += &format!("\n  ... ({more} more lines)");
    }
    answered
}
