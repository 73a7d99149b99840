//! An event on one line.

use harness_protocol::Event;
use harness_protocol::words::EventWords;

use crate::visible;

/// How many characters of an event are shown.
const MAX_SHOWN: usize = 400;
/// As long is the longest type of an event, in characters.
const MAX_KIND: usize = 18;

/// The event: when it happened, in UTC, its type, who did it, and what there is to it.
pub(super) fn event_line(event: &Event) -> String {
    let words = EventWords::for_event(event);
    let time = event.timestamp().map_or_else(|| " ".repeat(9), time_of_day);
    let by = words.by.map_or_else(String::new, |by| format!("({by}) "));
    let text = visible::short(&format!("{by}{}", words.sentence_with_body()), MAX_SHOWN);
    let kind = words.kind;
    format!("{time} {kind:MAX_KIND$} {text}")
        .trim_end()
        .to_owned()
}

/// The time of a Unix second on its day, in UTC.
pub(super) fn time_of_day(timestamp: u64) -> String {
    let second = timestamp % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-10] [CLI-32] [CLI-90] [CLI-114]
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
        shown("21:20:00Z user               (ci) What is in src?");
        shown("21:20:01Z text               cut short: I will lo");
        shown("21:20:02Z tool call          list_dir src");
        shown("21:20:03Z tool result        failed: {\"error\":\"path not found\"}");
        shown("21:20:06Z status             error: authentication_error: invalid x-api-key");
        shown("21:20:06Z run ended          1 completed (812 in, 64 out)");
        shown("21:20:06Z run ended          (ana@pts/3) 2 cancelled (812 in, 64 out): cancelled");
        shown("21:20:07Z renamed            The folder src");
        shown("21:20:07Z renamed            (ana@pts/3) The folder src");
        shown("21:20:00Z turn started       1.1");
        shown("21:20:09Z queued             1 steering: Only the tests.");
        shown("21:20:09Z queued             (ci) 2 follow-up: Then sum up.");
        shown("21:20:09Z withdrawn          (ci) 2");
        shown(
            "21:20:09Z settings changed   (ci) model: claude-sonnet-5-5 · thinking: xhigh · active tools: read · tool execution: parallel · steering mode: all",
        );
        shown("21:20:09Z reply left out     the model is not told of it");
        shown("21:20:09Z compaction started about 184k tokens, grown long");
        shown("21:20:00Z run started        (ci) 2");
        shown("21:20:09Z reply left out     (ci) the model is not told of it");
        shown("21:20:09Z compaction started (ci) about 184k tokens, as asked");
        shown("21:20:09Z compaction failed  (ci) overloaded_error: busy");
        shown("21:20:09Z compacted          184k to 21k tokens: ## Goal\\nRead src.");
        shown("21:20:09Z compaction failed  overloaded_error: busy");
        shown(
            "21:20:09Z checkpoint         (ci) what was before is in the archive: ## Goal\\nRead src.",
        );
        shown("          delta              text 0+7 \"look.\"");
        shown("          tool output        toolu_1+0: Compiling");
        shown("          attached           default, run 1, thinking");
        shown("          presence           2: ci");
        shown("          gap                record 4 cannot be read");
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
            duration_ms: None,
            timestamp: 0,
        });
        assert!(line.starts_with("00:00:00Z reasoning          \\u{1b}]0;x\\u{7}yyy"));
        assert!(line.ends_with("y…"));
    }
}
