//! An event on one line.

use harness_protocol::{CompactionReason, DeltaKind, Event, Outcome, State};
use serde::Serialize as _;

use crate::client::names::{named, queue_name};
use crate::client::visible;

/// How many characters of an event are shown.
const MAX_SHOWN: usize = 400;

/// The event: when it happened, in UTC, its type, and what there is to it.
pub(super) fn event_line(event: &Event) -> String {
    let (kind, timestamp, text) = parts(event);
    let time = timestamp.map_or_else(|| " ".repeat(9), time_of_day);
    let text = visible::short(&text, MAX_SHOWN);
    format!("{time} {kind:12} {text}").trim_end().to_owned()
}

/// What a conversation is doing, in a word or two.
pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Idle => "idle",
        State::Thinking => "thinking",
        State::RunningTool => "running tool",
        State::Error => "error",
        State::Unknown => "unknown",
    }
}

/// How a run or a turn ended, in a word.
pub(super) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Cancelled => "cancelled",
        Outcome::Error => "error",
        Outcome::Interrupted => "interrupted",
        Outcome::Unknown => "unknown",
    }
}

fn time_of_day(timestamp: u64) -> String {
    let second = timestamp % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{hour:02}:{minute:02}:{second:02}Z")
}

fn parts(event: &Event) -> (&'static str, Option<u64>, String) {
    match event {
        Event::User { .. }
        | Event::Text { .. }
        | Event::Reasoning { .. }
        | Event::Block { .. }
        | Event::ToolCall { .. }
        | Event::ToolResult { .. }
        | Event::CallsSkipped { .. } => content(event),
        Event::Status {
            state,
            message,
            timestamp,
        } => {
            let text = remark(state_name(*state), message);
            ("status", Some(*timestamp), text)
        }
        Event::RunStarted {
            run_id,
            by,
            timestamp,
        } => {
            let text = format!("{}{run_id}", by_whom(by.as_ref()));
            ("run started", Some(*timestamp), text)
        }
        Event::RunEnded {
            run_id,
            outcome,
            message,
            by,
            timestamp,
            ..
        } => {
            let ended = format!(
                "{}{run_id} {}",
                by_whom(by.as_ref()),
                outcome_name(*outcome)
            );
            let text = remark(&ended, message);
            ("run ended", Some(*timestamp), text)
        }
        Event::TurnStarted {
            run_id,
            turn,
            timestamp,
        } => ("turn started", Some(*timestamp), format!("{run_id}.{turn}")),
        Event::TurnEnded {
            run_id,
            turn,
            outcome,
            timestamp,
        } => {
            let text = format!("{run_id}.{turn} {}", outcome_name(*outcome));
            ("turn ended", Some(*timestamp), text)
        }
        Event::ReplyEnded {
            model,
            stop_reason,
            timestamp,
            ..
        } => {
            let text = remark(stop_reason, model);
            ("reply ended", Some(*timestamp), text)
        }
        Event::ReplyFailed { error, timestamp } => {
            ("reply failed", Some(*timestamp), error.clone())
        }
        Event::Renamed {
            title,
            by,
            timestamp,
        } => {
            let text = format!("{}{title}", by_whom(by.as_ref()));
            ("renamed", Some(*timestamp), text)
        }
        Event::Record {
            record_type,
            timestamp,
        } => ("record", Some(*timestamp), record_type.clone()),
        Event::Queued { .. }
        | Event::Withdrawn { .. }
        | Event::SettingsChanged { .. }
        | Event::ReplyLeftOut { .. }
        | Event::CompactionStarted { .. }
        | Event::Compacted { .. }
        | Event::CompactionFailed { .. }
        | Event::Checkpoint { .. } => order(event),
        passing => passing_parts(passing),
    }
}

/// What was told besides prompts, and what became of the past.
fn order(event: &Event) -> (&'static str, Option<u64>, String) {
    match event {
        Event::Queued {
            item,
            queue,
            content,
            by,
            timestamp,
            ..
        } => {
            let (queue, by) = (queue_name(*queue), by_whom(by.as_ref()));
            let text = format!("{item} {queue} {by}{content}");
            ("queued", Some(*timestamp), text)
        }
        Event::Withdrawn {
            items,
            by,
            timestamp,
        } => {
            let items: Vec<String> = items.iter().map(u64::to_string).collect();
            let text = format!("{}{}", by_whom(by.as_ref()), items.join(", "));
            ("withdrawn", Some(*timestamp), text)
        }
        Event::SettingsChanged {
            settings,
            by,
            timestamp,
        } => {
            let named: Vec<String> = named(settings)
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let named = if named.is_empty() {
                "none of its own".to_owned()
            } else {
                named.join(" ")
            };
            let text = format!("{}{named}", by_whom(by.as_ref()));
            ("settings", Some(*timestamp), text)
        }
        Event::ReplyLeftOut { by, timestamp } => {
            let by = by_whom(by.as_ref());
            let text = format!("{by}the last reply is asked for again");
            ("left out", Some(*timestamp), text)
        }
        Event::CompactionStarted {
            reason,
            tokens,
            by,
            timestamp,
        } => {
            let (by, reason) = (by_whom(by.as_ref()), reason_name(*reason));
            let text = format!("{by}{reason} about {tokens} tokens");
            ("compacting", Some(*timestamp), text)
        }
        Event::Compacted {
            summary,
            tokens_before,
            tokens_after,
            timestamp,
            ..
        } => {
            let text = format!("{tokens_before} to {tokens_after} tokens: {summary}");
            ("compacted", Some(*timestamp), text)
        }
        Event::CompactionFailed {
            error,
            by,
            timestamp,
        } => {
            let text = format!("{}{error}", by_whom(by.as_ref()));
            ("uncompacted", Some(*timestamp), text)
        }
        Event::Checkpoint {
            summary,
            by,
            timestamp,
        } => {
            let text = format!("{}{summary}", by_whom(by.as_ref()));
            ("checkpoint", Some(*timestamp), text)
        }
        _ => ("unknown", None, String::new()),
    }
}

/// Why the past is summarized.
fn reason_name(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Threshold => "grown long:",
        CompactionReason::Overflow => "too long for the model:",
        CompactionReason::Manual => "as asked:",
        CompactionReason::Unknown => "unknown reason:",
    }
}

fn content(event: &Event) -> (&'static str, Option<u64>, String) {
    match event {
        Event::User {
            content,
            by,
            timestamp,
            ..
        } => {
            let text = format!("{}{content}", by_whom(by.as_ref()));
            ("user", Some(*timestamp), text)
        }
        Event::Text {
            content,
            partial,
            timestamp,
        } => {
            let cut = if *partial { " [cut short]" } else { "" };
            ("text", Some(*timestamp), format!("{content}{cut}"))
        }
        Event::Reasoning { content, timestamp } => ("reasoning", Some(*timestamp), content.clone()),
        Event::Block {
            block_type,
            timestamp,
        } => ("block", Some(*timestamp), block_type.clone()),
        Event::ToolCall {
            name,
            input,
            timestamp,
            ..
        } => ("tool call", Some(*timestamp), call(name, input)),
        Event::ToolResult {
            result,
            is_error,
            timestamp,
            ..
        } => {
            let kind = if *is_error {
                "tool error"
            } else {
                "tool result"
            };
            (kind, Some(*timestamp), result.clone())
        }
        Event::CallsSkipped { reason, timestamp } => ("skipped", Some(*timestamp), reason.clone()),
        _ => ("unknown", None, String::new()),
    }
}

fn passing_parts(event: &Event) -> (&'static str, Option<u64>, String) {
    let (kind, text) = match event {
        Event::Delta {
            index,
            kind,
            offset,
            text,
        } => {
            let kind = match kind {
                DeltaKind::Text => "text",
                DeltaKind::Reasoning => "reasoning",
                DeltaKind::ToolInput => "tool input",
                DeltaKind::Unknown => "unknown",
            };
            ("delta", format!("{kind} {index}+{offset} {text:?}"))
        }
        Event::Discarded {} => ("discarded", String::new()),
        Event::Presence { count, names } => {
            ("presence", remark(&count.to_string(), &names.join(", ")))
        }
        Event::Attached {
            conversation,
            state,
            message,
            run_id,
            ..
        } => {
            let run = run_id.map_or_else(String::new, |run| format!(", run {run}"));
            let state = remark(state_name(*state), message);
            ("attached", format!("{conversation}{run}, {state}"))
        }
        Event::Reset { reason, .. } => ("reset", reason.clone()),
        Event::Gap { after, before } => {
            let text = format!("what lies between record {after} and {before} cannot be read");
            ("gap", text)
        }
        _ => ("unknown", String::new()),
    };
    (kind, None, text)
}

/// A tool call in short, such as `list_dir {"path":"src"}`.
pub(super) fn call(name: &str, input: &serde_json::Map<String, serde_json::Value>) -> String {
    let input = input
        .serialize(serde_json::value::Serializer)
        .unwrap_or_default();
    format!("{name} {input}")
}

fn by_whom(by: Option<&String>) -> String {
    by.map_or_else(String::new, |by| format!("({by}) "))
}

fn remark(text: &str, message: &str) -> String {
    if message.is_empty() {
        text.to_owned()
    } else {
        format!("{text}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-10] [CLI-32] [CLI-90]
    #[test]
    fn every_event_is_one_line() {
        let examples = include_str!("../../specs/examples/events.jsonl");
        let lines: Vec<String> = examples
            .lines()
            .map(|line| event_line(&serde_json::from_str(line).unwrap()))
            .collect();
        let shown = |line: &str| {
            let found = lines.iter().any(|shown| shown == line);
            assert!(found, "{line}\nis not in {lines:#?}");
        };
        shown("21:20:00Z user         (ci) What is in src?");
        shown("21:20:01Z text         I will lo [cut short]");
        shown("21:20:02Z tool call    list_dir {\"path\":\"src\"}");
        shown("21:20:03Z tool error   {\"error\":\"path not found\"}");
        shown("21:20:06Z status       error: authentication_error: invalid x-api-key");
        shown("21:20:06Z run ended    1 completed");
        shown("21:20:06Z run ended    (ana@pts/3) 2 cancelled: cancelled");
        shown("21:20:07Z renamed      The folder src");
        shown("21:20:07Z renamed      (ana@pts/3) The folder src");
        shown("21:20:00Z turn started 1.1");
        shown("21:20:09Z queued       1 steering Only the tests.");
        shown("21:20:09Z queued       2 follow-up (ci) Then sum up.");
        shown("21:20:09Z withdrawn    (ci) 2");
        shown(
            "21:20:09Z settings     (ci) model=claude-sonnet-5-5 thinking=xhigh \
             active_tools=read tool_execution=parallel steering_mode=all",
        );
        shown("21:20:09Z left out     the last reply is asked for again");
        shown("21:20:09Z compacting   grown long: about 184000 tokens");
        shown("21:20:00Z run started  (ci) 2");
        shown("21:20:09Z left out     (ci) the last reply is asked for again");
        shown("21:20:09Z compacting   (ci) as asked: about 184000 tokens");
        shown("21:20:09Z uncompacted  (ci) overloaded_error: busy");
        shown("21:20:09Z compacted    184000 to 21000 tokens: ## Goal\\nRead src.");
        shown("21:20:09Z uncompacted  overloaded_error: busy");
        shown("21:20:09Z checkpoint   (ci) ## Goal\\nRead src.");
        shown("          delta        text 0+7 \"look.\"");
        shown("          attached     default, run 1, thinking");
        shown("          presence     2: ci");
        shown("          gap          what lies between record 3 and 5 cannot be read");
        for line in &lines {
            assert!(!line.contains("unknown"), "{line}");
            assert!(!line.chars().any(char::is_control), "{line}");
        }
    }

    /// Spec: [CLI-10]
    #[test]
    fn a_long_or_foreign_text_is_cut_and_escaped() {
        let content = format!("\x1b]0;x\x07{}", "y".repeat(MAX_SHOWN));
        let line = event_line(&Event::Reasoning {
            content,
            timestamp: 0,
        });
        assert!(line.starts_with("00:00:00Z reasoning    \\u{1b}]0;x\\u{7}yyy"));
        assert!(line.ends_with("y…"));
    }
}
