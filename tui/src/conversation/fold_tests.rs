use harness_protocol::words::EventWords;
use serde_json::json;

use super::super::testing::*;

/// Spec: [PART-21]
#[test]
fn a_summary_is_a_part_and_a_failure_an_error() {
    let known = conversation(&[
        event(json!({"type": "checkpoint", "summary": "## Goal", "by": "ana"})),
        event(json!({"type": "compaction_started", "reason": "threshold", "tokens": 184_000})),
        event(
            json!({"type": "compacted", "reason": "threshold", "summary": "so far",
            "tokens_before": 183_600, "tokens_after": 999, "usage": {"input_tokens": 1,
            "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}),
        ),
        event(json!({"type": "compaction_failed", "error": "busy"})),
        event(json!({"type": "reply_left_out"})),
    ]);
    let expected = [
        "[checkpoint by ana: what was before is in the archive] ## Goal",
        "[compacted: 184k to 999 tokens] so far",
        "! compaction failed: busy",
        "- reply left out: the model is not told of it",
    ];
    assert_eq!(all(&known), expected);
}

/// Spec: [TUI-80]
#[test]
fn who_went_on_and_who_asked_for_a_summary_is_a_remark() {
    let compacting = |by: serde_json::Value| {
        let mut started = json!({"type": "compaction_started", "reason": "manual", "tokens": 9});
        started["by"] = by;
        event(started)
    };
    let known = conversation(&[
        event(json!({"type": "run_started", "run_id": 1})),
        event(json!({"type": "run_started", "run_id": 2, "by": "ana"})),
        event(json!({"type": "reply_left_out", "by": "ana"})),
        compacting(json!("ben")),
        event(json!({"type": "compaction_failed", "error": "busy", "by": "ben"})),
        compacting(json!(null)),
    ]);
    let expected = [
        "- run started by ana: 2",
        "- reply left out by ana: the model is not told of it",
        "- compaction started by ben: about 9 tokens, as asked",
        "! compaction failed for ben: busy",
    ];
    assert_eq!(all(&known), expected);
}

/// Spec: [PART-22]
#[test]
fn settings_are_told_with_who_changed_them_and_the_status_has_them() {
    let changed = |settings: serde_json::Value| {
        event(json!({"type": "settings_changed", "settings": settings, "by": "ana"}))
    };
    let known = conversation(&[
        changed(json!({"model": "claude-x", "thinking": "xhigh"})),
        changed(json!({})),
        event(json!({"type": "settings_changed", "settings": {"max_turns": 3}})),
    ]);
    let expected = [
        "- settings changed by ana: model: claude-x · thinking: xhigh",
        "- settings changed by ana: as the service has them",
        "- settings changed: max turns: 3",
    ];
    assert_eq!(all(&known), expected);
    let status = known.status();
    assert_eq!(status.model.as_deref(), Some("claude-x"));
    assert_eq!(status.settings.max_turns, Some(3));
    assert_eq!(status.settings.thinking, None);
}

/// Spec: [PART-21]
#[test]
fn the_status_knows_while_the_past_is_summarized() {
    let mut known = conversation(&[]);
    let mut seq = 0;
    let mut is_compacting = |json: serde_json::Value| {
        seq += 1;
        take(&mut known, seq, &event(json));
        known.status().is_compacting
    };
    let started = json!({"type": "compaction_started", "reason": "manual", "tokens": 9});
    assert!(is_compacting(started.clone()));
    assert!(is_compacting(
        json!({"type": "status", "state": "thinking", "message": "compacting"})
    ));
    assert!(!is_compacting(
        json!({"type": "compaction_failed", "error": "busy"})
    ));
    assert!(is_compacting(started));
    assert!(!is_compacting(
        json!({"type": "status", "state": "idle", "message": ""})
    ));
}

/// Spec: [TUI-88]
#[test]
fn an_event_without_a_part_of_its_own_is_its_sentence() {
    let told = [
        event(json!({"type": "renamed", "title": "src", "by": "ana"})),
        event(json!({"type": "settings_changed", "settings": {"max_turns": 3}})),
        event(json!({"type": "reply_left_out"})),
        event(json!({"type": "checkpoint", "summary": "## Goal"})),
    ];
    let sentences = told.each_ref().map(|event| {
        let words = EventWords::for_event(event);
        match words.body {
            Some(body) => format!("[{}] {body}", words.sentence()),
            None => format!("- {}", words.sentence()),
        }
    });
    assert_eq!(all(&conversation(&told)), sentences);
}

/// Spec: [WEB-05]
#[test]
fn what_was_done_on_the_web_is_told_with_the_sources_of_a_text() {
    let news = json!({"title": "News", "url": "https://news.example/3"});
    let step = |kind: &str, web: serde_json::Value| {
        event(json!({"type": "block", "block_type": kind, "web": web}))
    };
    let known = conversation(&[
        step(
            "server_tool_use",
            json!({"step": "called", "tool": "web_search", "input": "version 3"}),
        ),
        step(
            "web_search_tool_result",
            json!({"step": "found", "sources": [news]}),
        ),
        event(json!({"type": "text", "content": "In May.", "sources": [news]})),
        event(json!({"type": "block", "block_type": "redacted_thinking"})),
    ]);
    let parts = all(&known);
    assert_eq!(parts[0], "- web_search: version 3");
    assert_eq!(parts[1], "- 1 page\n  News · news.example");
    assert!(parts[2].contains("In May."), "{parts:?}");
    assert_eq!(parts[3], "- [1] News · news.example");
    assert_eq!(parts[4], "- redacted thinking");
}
