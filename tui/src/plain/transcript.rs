//! Events as lines.

use std::collections::{HashMap, HashSet};

use harness_protocol::words::{self, CallEnd, EventWords};
use harness_protocol::{ActivityState, Approval, Event, Family, Queue};

use super::call_output::CallOutput;
use crate::asked::subject_lines;
use crate::part_view::shown_result;
use crate::text::{ANOTHER_CLIENT, Hidden, one_line, sanitize};

/// Maximum number of lines of a tool's result that are shown.
const MAX_LINES: usize = 100;

/// The facts about written lines on which the next lines depend.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The keys of the prompts that were sent from here.
    own: HashSet<String>,
    /// The calls that have no result.
    calls: HashMap<String, UnansweredCall>,
    /// The output of the running calls.
    output: CallOutput,
    /// The last status that was said.
    status: String,
    /// The messages that wait: their names, their keys and their first lines.
    waiting: HashMap<u64, (Option<String>, String)>,
}

/// A call that has no result.
#[derive(Debug)]
struct UnansweredCall {
    name: String,
    /// The question of the call.
    asked: String,
}

impl Transcript {
    /// A prompt with this key is ours.
    pub(super) fn sends(&mut self, key: &str) {
        self.own.insert(key.to_owned());
    }

    /// True if this client sent the prompt.
    pub(super) fn is_own(&self, key: &str) -> bool {
        self.own.contains(key)
    }

    /// True if a message of this key waits.
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
        for line in subject_lines(subject) {
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
                attachments,
                ..
            } => {
                if let Some(item) = item {
                    self.waiting.remove(item);
                }
                let name = self.name(key.as_deref(), by.as_deref());
                let files = attachments.iter().map(words::attachment);
                let files: String = files
                    .map(|file| format!("\n[{}]", one_line(&file)))
                    .collect();
                Some(quoted(&name, &format!("{content}{files}")))
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
                content,
                partial,
                sources,
                ..
            } => {
                let who = if *partial {
                    "agent (cut short)"
                } else {
                    "agent"
                };
                let text = quoted(who, content);
                match words::web_sources(sources, 1) {
                    sources if sources.is_empty() => Some(text),
                    sources => Some(format!("{text}\n{}", quoted("sources", &sources))),
                }
            }
            Event::Block {
                web: Some(step), ..
            } => self.status(&words::web_step(step)),
            Event::Block {
                fallback: Some(change),
                ..
            } => self.status(&words::fallback(change)),
            Event::Reasoning { content, .. } => Some(quoted("thinking", content)),
            Event::ToolCall {
                id, name, input, ..
            } => {
                let call = UnansweredCall {
                    name: one_line(name),
                    asked: on_one_line(&words::call(name, input)),
                };
                self.calls.insert(id.clone(), call);
                None
            }
            Event::ToolOutput { id, offset, text } => {
                let call = self.calls.get(id)?;
                self.output.take(id, &call.name, *offset, text)
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
                let call = self.calls.remove(id);
                let name = call.as_ref().map_or("", |call| call.name.as_str());
                let shown = shown_result(result);
                let end = words::call_end(&CallEnd {
                    name,
                    result: &shown,
                    lines: shown.lines().count(),
                    is_error: *is_error,
                    extent: extent.as_ref(),
                    duration_ms: *duration_ms,
                });
                let asked = call
                    .as_ref()
                    .map_or("of before", |call| call.asked.as_str());
                let heading = format!("tool {asked} · {}", one_line(&end));
                Some(with_lines(heading, &shown))
            }
            Event::CommandRan {
                command,
                result,
                is_error,
                is_hidden,
                by,
                ..
            } => {
                let end = words::call_end(&CallEnd {
                    name: "!",
                    result,
                    lines: result.lines().count(),
                    is_error: *is_error,
                    extent: None,
                    duration_ms: None,
                });
                let hidden = match is_hidden {
                    true => " (the model is not told)",
                    false => "",
                };
                let (command, by) = (on_one_line(command), words::by(by.as_deref()));
                let end = one_line(&format!("{end}{by}{hidden}"));
                Some(with_lines(format!("command {command} · {end}"), result))
            }
            Event::ApprovalAsked { approval, .. } => Some(self.asked(approval)),
            Event::FilesChanged { changes, note, .. } => {
                let named = changes.iter().take(words::MAX_FILES_NAMED);
                let each = named.map(|change| {
                    let mut lines = one_line(&words::changed(change));
                    for line in change.diff.split_terminator('\n') {
                        lines += "\n";
                        lines += &set_in(&sanitize(line, Hidden::Pictured));
                    }
                    lines
                });
                let note = note
                    .iter()
                    .map(|note| one_line(&words::changed_besides(note)));
                let more = words::more_files(changes.len());
                Some(each.chain(more).chain(note).collect::<Vec<_>>().join("\n"))
            }
            // The change is shown when it is recorded.
            Event::EffectBegan { .. }
            | Event::ToolReturned { .. }
            | Event::ProposalDecided { .. }
            | Event::SpendingReserved { .. }
            | Event::SpendingReleased { .. } => None,
            Event::CallsSkipped { .. } => {
                self.calls.clear();
                self.output.clear();
                self.sentence(event)
            }
            Event::Status { state, message, .. } => match (state, one_line(message)) {
                (ActivityState::Thinking, message) if message.is_empty() => self.status("thinking"),
                // It was said that the past is being summarized.
                (ActivityState::Thinking, message) if message == "compacting" => None,
                (ActivityState::Thinking, message) => self.status(&message),
                (ActivityState::RunningTool, tool) => self.status(&format!("running {tool}")),
                // The end of the run has the details.
                (
                    ActivityState::Idle
                    | ActivityState::Error
                    | ActivityState::WaitingApproval
                    | ActivityState::Unknown,
                    _,
                ) => None,
            },
            Event::RunEnded {
                run_id,
                outcome,
                message,
                run_usage,
                duration_ms,
                ..
            } => {
                self.output.clear();
                let facts = match words::run_facts(*duration_ms, run_usage) {
                    facts if facts.is_empty() => facts,
                    facts => format!(" ({facts})"),
                };
                let why = match one_line(message) {
                    why if why.is_empty() => why,
                    why => format!(": {why}"),
                };
                let outcome = words::outcome(*outcome);
                self.status(&format!("run {run_id} {outcome}{facts}{why}"))
            }
            Event::Gap { .. } => self.sentence(event),
            // Blocks, the end of the run and the status say what there is to it.
            Event::Block { .. }
            | Event::RunStarted { by: None, .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
            | Event::ReplyEnded { .. }
            | Event::ReplyFailed { .. } => None,
            event => match event.family() {
                Family::Fact => self.sentence(event),
                Family::Passing | Family::Foreign => None,
            },
        }
    }

    /// An event in the words that it has everywhere, with the text that it brings below them.
    fn sentence(&mut self, event: &Event) -> Option<String> {
        let words = EventWords::for_event(event);
        let status = self.status(&one_line(&words.sentence()));
        let body = words.body.map(|body| quoted("summary", body));
        match (status, body) {
            (Some(status), Some(body)) => Some(format!("{status}\n{body}")),
            (status, body) => status.or(body),
        }
    }

    /// A person's name.
    fn name(&self, key: Option<&str>, by: Option<&str>) -> String {
        let is_own = key.is_some_and(|key| self.is_own(key));
        match by.map(one_line) {
            _ if is_own => "you".to_owned(),
            // A client cannot use the names of this transcript's speakers.
            Some(name) if !matches!(name.as_str(), "you" | "agent" | "") => name,
            _ => ANOTHER_CLIENT.to_owned(),
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

/// A person's words. Lines after the first are indented, so that none of them looks like the words of another person.
fn quoted(who: &str, text: &str) -> String {
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

/// All of a text, on one line.
fn on_one_line(text: &str) -> String {
    sanitize(text, Hidden::Pictured).replace('\n', "␊")
}

/// A heading, and below it the lines of a result.
fn with_lines(heading: String, result: &str) -> String {
    let result = sanitize(result, Hidden::Dropped);
    let lines: Vec<_> = result.lines().collect();
    let mut answered = heading;
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
