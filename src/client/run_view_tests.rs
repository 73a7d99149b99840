use serde_json::{Value, json};

use super::*;

fn event(value: Value) -> Event {
    serde_json::from_value(value).unwrap()
}

fn user(run_id: u64) -> Value {
    json!({"type": "user", "content": "Hi", "run_id": run_id, "timestamp": 1})
}

fn text(content: &str) -> Value {
    json!({"type": "text", "content": content, "timestamp": 1})
}

fn delta(offset: u64, piece: &str) -> Value {
    json!({"type": "delta", "index": 0, "kind": "text", "offset": offset, "text": piece})
}

fn ended(run_id: u64, outcome: &str, message: &str) -> Value {
    json!({"type": "run_ended", "run_id": run_id, "outcome": outcome, "message": message,
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0}, "timestamp": 1})
}

fn attached(run_id: Option<u64>, state: &str) -> Value {
    let mut event = json!({"type": "attached", "conversation": "default", "position": "e-1-0",
        "state": state, "message": ""});
    if let Some(run_id) = run_id {
        event["run_id"] = json!(run_id);
    }
    event
}

fn reset(run_id: u64, state: &str, past: &[Value]) -> Value {
    let events: Vec<Value> = past
        .iter()
        .zip(1..)
        .map(|(event, seq)| json!({"seq": seq, "id": format!("e-{seq}-0"), "event": event}))
        .collect();
    let summary = json!({"id": "default", "state": state, "run_id": run_id, "prompts": 1,
        "turns": 1, "records": 9, "usage": {"input_tokens": 0, "output_tokens": 0,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        "created_at": 1, "active_at": 1});
    json!({"type": "reset", "reason": "gone", "snapshot": {"summary": summary,
        "state": "thinking", "message": "", "settings": {}, "queue": [], "attached": 1,
        "history": {"events": events}, "position": "e-9-0"}})
}

/// The view of run 2 of the events: the reply, the remarks, and the end.
fn seen(events: &[Value]) -> (String, Vec<String>, Option<EndOutcome>) {
    let mut view = RunView::new(2);
    let (mut reply, mut notes, mut end) = (String::new(), vec![], None);
    for value in events {
        assert_eq!(end, None, "behind the end: {value}");
        let seen = view.take(&event(value.clone()));
        for shown in seen.shown {
            match shown {
                ShownItem::Text(text) => reply += &text,
                ShownItem::Note(note) => notes.push(note),
            }
        }
        end = seen.end.map(|end| end.outcome);
    }
    (reply, notes, end)
}

/// Spec: [CLI-41] [CLI-632]
#[test]
fn what_a_tool_shows_meanwhile_is_remarked_and_no_part_of_the_reply() {
    let call = json!({"type": "tool_call", "id": "t", "name": "bash", "input": {}, "timestamp": 1});
    let output = json!({"type": "tool_output", "id": "t", "offset": 0, "text": "Compiling\n"});
    let result =
        json!({"type": "tool_result", "id": "t", "result": "ok", "isError": false, "timestamp": 1});
    let more = json!({"type": "tool_output", "id": "t", "offset": 10, "text": "a\u{1b}[2Jb\nopen"});
    let late = json!({"type": "tool_output", "id": "t", "offset": 30, "text": "late\n"});
    let events = [user(2), call, output.clone(), output, more, result, late];
    let (reply, notes, _) = seen(&[&events[..], &[text("Done.")]].concat());
    assert_eq!(reply, "Done.\n");
    assert_eq!(
        notes,
        [
            "> bash",
            "output bash: Compiling",
            "output bash: ab",
            "< bash: 1 line"
        ]
    );
}

/// Spec: [CLI-43]
#[test]
fn only_the_run_itself_is_shown_and_its_end_ends_it() {
    let (reply, notes, end) = seen(&[
        delta(0, "of run 1"),
        text("of run 1"),
        ended(1, "error", "of run 1"),
        json!({"type": "run_started", "run_id": 2, "timestamp": 1}),
        user(2),
        json!({"type": "reasoning", "content": "Hm.", "timestamp": 1}),
        json!({"type": "delta", "index": 0, "kind": "reasoning", "offset": 0, "text": "Hm."}),
        json!({"type": "delta", "index": 1, "kind": "text", "offset": 0, "text": "Look"}),
        text("Looking."),
        json!({"type": "tool_call", "id": "t", "name": "read", "input": {"path": "a\u{1b}"}, "timestamp": 1}),
        json!({"type": "tool_result", "id": "t", "result": "no", "isError": true, "timestamp": 1}),
        text("Done."),
        ended(2, "completed", ""),
    ]);
    assert_eq!(reply, "Looking.\nDone.\n");
    assert_eq!(notes, ["> read a\\u{1b}", "< read: error: no"]);
    assert_eq!(end, Some(EndOutcome::Completed));
}

/// Spec: [CLI-42]
#[test]
fn a_reply_that_broke_off_is_said_to_be_void() {
    let (reply, notes, _) = seen(&[
        user(2),
        delta(0, "Hel"),
        json!({"type": "discarded"}),
        json!({"type": "status", "state": "thinking", "message": "again in 2 s", "timestamp": 1}),
        delta(0, "Hi"),
        text("Hi."),
    ]);
    assert_eq!(reply, "Hel\nHi.\n");
    assert_eq!(
        notes,
        [
            "harness: the reply broke off; what was shown of it is void",
            "harness: again in 2 s"
        ]
    );
}

/// Spec: [CLI-44]
#[test]
fn a_run_whose_end_was_never_written_is_interrupted() {
    for gone in [
        vec![user(2), attached(None, "idle")],
        vec![user(2), attached(Some(2), "idle")],
        vec![user(2), attached(Some(3), "thinking")],
        vec![attached(None, "idle")],
        vec![user(2), user(3)],
        vec![user(2), reset(2, "interrupted", &[])],
    ] {
        let (_, notes, end) = seen(&gone);
        assert_eq!(end, Some(EndOutcome::Interrupted), "{gone:?}");
        assert!(
            notes
                .last()
                .unwrap()
                .starts_with("harness: the run ended: interrupted: ")
        );
    }
    let going = [user(2), delta(0, "a"), attached(Some(2), "running_tool")];
    assert_eq!(seen(&going).2, None);
}

/// Spec: [CLI-72]
#[test]
fn what_is_said_and_summarized_in_a_run_is_remarked() {
    let mut steered = user(2);
    steered["queue"] = json!("steer");
    steered["by"] = json!("ana");
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let (reply, notes, end) = seen(&[
        user(2),
        text("A"),
        steered,
        json!({"type": "compaction_started", "reason": "threshold", "tokens": 9, "timestamp": 1}),
        json!({"type": "compaction_failed", "error": "busy", "timestamp": 1}),
        json!({"type": "compacted", "reason": "overflow", "summary": "s", "tokens_before": 9,
            "tokens_after": 3, "usage": usage, "timestamp": 1}),
        text("B"),
        ended(2, "completed", ""),
    ]);
    assert_eq!(reply, "A\nB\n");
    assert_eq!(
        notes,
        [
            "harness: steering by ana: Hi",
            "harness: compaction started: about 9 tokens, grown long",
            "harness: compaction failed: busy",
            "harness: compacted: 9 to 3 tokens",
        ]
    );
    assert_eq!(end, Some(EndOutcome::Completed));
}

/// Spec: [CLI-45]
#[test]
fn after_a_reset_what_was_not_seen_is_shown() {
    let past = [user(1), text("1"), user(2), text("A"), text("B")];
    let (reply, notes, end) = seen(&[
        user(2),
        text("A"),
        delta(0, "B"),
        reset(2, "running", &past),
        ended(2, "completed", "at the limit of turns"),
    ]);
    assert_eq!(reply, "A\nB\n");
    assert_eq!(
        notes,
        [
            "harness: a part of the run may be missing: gone",
            "harness: at the limit of turns"
        ]
    );
    assert_eq!(end, Some(EndOutcome::Completed));
    let past = [user(2), text("A"), ended(2, "cancelled", "")];
    let (reply, _, end) = seen(&[user(2), reset(2, "idle", &past)]);
    assert_eq!((&*reply, end), ("A\n", Some(EndOutcome::Cancelled)));
}

/// Spec: [CLI-08] [CLI-46]
#[test]
fn how_a_run_ended_is_told_in_one_line_unless_it_is_the_usual_way() {
    for (outcome, message, told) in [
        ("completed", "", None),
        ("completed", "at the limit", Some("harness: at the limit")),
        ("error", "overloaded", Some("harness: overloaded")),
        ("error", "", Some("harness: the run ended: failed")),
        (
            "cancelled",
            "cancelled",
            Some("harness: the run ended: cancelled"),
        ),
        (
            "interrupted",
            "",
            Some("harness: the run ended: interrupted"),
        ),
        ("later", "x", Some("harness: x")),
    ] {
        let (_, notes, end) = seen(&[user(2), ended(2, outcome, message)]);
        assert_eq!(notes, told.into_iter().collect::<Vec<_>>());
        assert!(end.is_some());
    }
}

/// Spec: [WEB-05]
#[test]
fn what_is_done_on_the_web_is_remarked_and_the_sources_of_a_text_below_it() {
    let news = json!({"title": "News", "url": "https://news.example/3"});
    let called = json!({"type": "block", "block_type": "server_tool_use", "timestamp": 1,
        "web": {"step": "called", "tool": "web_search", "input": "version 3"}});
    let found = json!({"type": "block", "block_type": "web_search_tool_result", "timestamp": 1,
        "web": {"step": "found", "sources": [news]}});
    let cited = json!({"type": "text", "content": "In May.", "sources": [news], "timestamp": 1});
    let (text, notes, _) = seen(&[user(2), called, found, cited, ended(2, "completed", "")]);
    assert_eq!(text, "In May.\n");
    assert_eq!(
        notes,
        [
            "> web_search: version 3",
            "< 1 page; News · news.example",
            "[1] News · news.example"
        ]
    );
}
