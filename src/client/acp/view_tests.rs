use harness_protocol::Verdict;

use super::*;
use crate::client::acp::content::fenced_content;

/// A view behind its past.
fn live() -> SessionView {
    let mut view = SessionView::new("m", "/work".to_owned(), true);
    feed(
        &mut view,
        json!({"type": "attached", "conversation": "c", "position": "p", "state": "idle", "message": ""}),
    );
    view
}

fn feed(view: &mut SessionView, mut event: Value) -> SessionOutputs {
    if event.get("timestamp").is_none() {
        event["timestamp"] = 1.into();
    }
    view.outputs(serde_json::from_value(event).unwrap())
}

fn delta(index: u64, offset: u64, text: &str) -> Value {
    json!({"type": "delta", "index": index, "kind": "text", "offset": offset, "text": text})
}

fn chunk(text: &str, message: &str) -> SessionOutputs {
    vec![SessionOutput::Update(json!({
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
        "messageId": message,
    }))]
}

fn run_ended(run: u64, outcome: &str, message: &str) -> Value {
    json!({
        "type": "run_ended", "run_id": run, "outcome": outcome, "message": message,
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0},
    })
}

/// Spec: [ACP-06]
#[test]
fn what_was_sent_of_a_reply_is_not_sent_again_and_a_void_reply_gets_a_new_message() {
    let mut view = live();
    assert_eq!(feed(&mut view, delta(0, 0, "Hel")), chunk("Hel", "m-1"));
    assert_eq!(feed(&mut view, delta(0, 3, "lo")), chunk("lo", "m-1"));
    let text = json!({"type": "text", "content": "Hello!"});
    assert_eq!(feed(&mut view, text.clone()), chunk("!", "m-1"));
    // Nothing of it was seen.
    assert_eq!(feed(&mut view, text), chunk("Hello!", "m-2"));
    // The request failed and is repeated.
    assert_eq!(feed(&mut view, delta(0, 0, "On")), chunk("On", "m-3"));
    assert_eq!(feed(&mut view, json!({"type": "discarded"})), []);
    assert_eq!(feed(&mut view, delta(0, 0, "One")), chunk("One", "m-4"));
    // Another beginning without a word.
    assert_eq!(feed(&mut view, delta(0, 0, "Two")), chunk("Two", "m-5"));
    let text = json!({"type": "text", "content": "Two"});
    assert_eq!(feed(&mut view, text), []);
}

/// Spec: [ACP-06] [ACP-07]
#[test]
fn a_call_has_its_output_its_changes_and_its_result() {
    let mut view = live();
    let call = json!({"type": "tool_call", "id": "c1", "name": "edit", "input": {"path": "a"}});
    let SessionOutput::Update(shown) = feed(&mut view, call).remove(0) else {
        panic!("no update");
    };
    assert_eq!(shown["locations"], json!([{"path": "/work/a"}]));
    let began = json!({"type": "effect_began", "call": "c1"});
    assert_eq!(feed(&mut view, began.clone()).len(), 1);
    assert_eq!(feed(&mut view, began), []);
    let output = |offset: u64, text: &str| json!({"type": "tool_output", "id": "c1", "offset": offset, "text": text});
    assert_eq!(feed(&mut view, output(0, "a\n")), []);
    assert_eq!(feed(&mut view, output(2, "b\n")), []);
    assert!(view.has_new_output());
    let SessionOutput::Update(shown) = view.new_output().remove(0) else {
        panic!("no update");
    };
    assert_eq!(shown["content"], json!([fenced_content("a\nb\n")]));
    assert!(!view.has_new_output());
    let change = json!({
        "path": "/work/a", "action": "changed", "added": 1, "removed": 1,
        "diff": "@@ -4 +4 @@\n-x\n+y\n", "place": "workspace",
    });
    let changed = json!({"type": "files_changed", "call": "c1", "changes": [change]});
    assert_eq!(feed(&mut view, changed), []);
    let result = json!({"type": "tool_result", "id": "c1", "result": "ok", "isError": false});
    let diff = json!({"type": "diff", "path": "/work/a", "oldText": "x\n", "newText": "y\n"});
    assert_eq!(
        feed(&mut view, result),
        [SessionOutput::Update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
            "content": [diff], "rawOutput": "ok", "locations": [{"path": "/work/a", "line": 4}],
        }))]
    );
    // The rest of a reply is not run.
    let call = json!({"type": "tool_call", "id": "c2", "name": "bash", "input": {"command": "x"}});
    feed(&mut view, call);
    let skipped = feed(
        &mut view,
        json!({"type": "calls_skipped", "reason": "cancelled"}),
    );
    assert_eq!(
        skipped,
        [SessionOutput::Update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c2", "status": "failed",
            "content": [fenced_content("cancelled")], "rawOutput": "cancelled",
        }))]
    );
}

/// Spec: [ACP-09]
#[test]
fn each_end_of_a_run_is_a_reason_or_an_error() {
    for (stop_reason, outcome, message, end) in [
        ("end_turn", "completed", "", Ok("end_turn")),
        ("max_tokens", "completed", "", Ok("max_tokens")),
        ("refusal", "completed", "", Ok("refusal")),
        (
            "tool_use",
            "completed",
            "reached max_turns (3)",
            Ok("max_turn_requests"),
        ),
        ("end_turn", "cancelled", "", Ok("cancelled")),
        (
            "",
            "interrupted",
            "",
            Err("the run ended: interrupted".to_owned()),
        ),
        ("", "error", "it is broken", Err("it is broken".to_owned())),
    ] {
        let message = if message.starts_with("reached") {
            words::reached_max_turns(3)
        } else {
            message.to_owned()
        };
        let mut view = live();
        feed(&mut view, json!({"type": "run_started", "run_id": 7}));
        let ended = json!({
            "type": "reply_ended", "model": "m", "stop_reason": stop_reason, "usage": {},
        });
        feed(&mut view, ended);
        let expected = [SessionOutput::Ended {
            run: 7,
            end: end.clone(),
        }];
        assert_eq!(feed(&mut view, run_ended(7, outcome, &message)), expected);
        assert_eq!(view.end_of_run(7), Some(end));
        assert_eq!(view.end_of_run(6), None);
    }
}

/// Spec: [ACP-12]
#[test]
fn a_run_that_the_service_does_not_know_any_more_has_ended() {
    let mut view = live();
    feed(
        &mut view,
        json!({"type": "user", "content": "x", "run_id": 3, "key": "k"}),
    );
    let attached = |run: Option<u64>, state: &str| {
        let mut event = json!({
            "type": "attached", "conversation": "c", "position": "p", "state": state, "message": "",
        });
        if let Some(run) = run {
            event["run_id"] = run.into();
        }
        event
    };
    assert_eq!(
        feed(&mut view, attached(Some(3), "running_tool")),
        [SessionOutput::Attached]
    );
    assert_eq!(
        feed(&mut view, attached(None, "waiting_approval")),
        [SessionOutput::Attached]
    );
    let end = Err("the run ended: interrupted: the service was stopped in it".to_owned());
    assert_eq!(
        feed(&mut view, attached(None, "idle")),
        [
            SessionOutput::Ended { run: 3, end },
            SessionOutput::Attached
        ]
    );
}

/// Spec: [ACP-04] [ACP-08]
#[test]
fn of_the_past_only_what_is_still_open_is_asked() {
    let mut view = SessionView::new("m", "/work".to_owned(), false);
    let asked = |id: u64| {
        let change = json!({
            "path": "/work/a", "action": "made", "added": 1, "removed": 0, "diff": "@@ -0,0 +1 @@\n+y\n",
            "place": "workspace",
        });
        json!({
            "type": "approval_asked", "id": id, "run_id": 1, "call": "c1", "tool": "write",
            "change": change, "digest": "d", "because": "b", "scopes": ["once"],
        })
    };
    assert_eq!(feed(&mut view, asked(1)), []);
    assert_eq!(feed(&mut view, asked(2)), []);
    let answered =
        json!({"type": "approval_answered", "id": 1, "answer": Verdict::Allow, "scope": "once"});
    assert_eq!(feed(&mut view, answered), [SessionOutput::Closed(1)]);
    let attached = json!({
        "type": "attached", "conversation": "c", "position": "p", "state": "waiting_approval",
        "message": "", "run_id": 1,
    });
    assert_eq!(feed(&mut view, attached), [SessionOutput::Attached]);
    let open: Vec<u64> = view.open_approvals().iter().map(|open| open.id).collect();
    assert_eq!(open, [2]);
    assert!(matches!(
        feed(&mut view, asked(3))[..],
        [SessionOutput::Asked(_)]
    ));
}

/// Spec: [ACP-11]
#[test]
fn prompts_of_others_are_shown_and_own_ones_are_not() {
    let mut view = live();
    view.expect("own");
    let user = |key: &str| json!({"type": "user", "content": "Hello", "run_id": 2, "key": key});
    let taken = |key: &str| SessionOutput::Taken {
        key: key.to_owned(),
        run: 2,
    };
    assert_eq!(feed(&mut view, user("own")), [taken("own")]);
    let shown = SessionOutput::Update(json!({
        "sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Hello"},
        "messageId": "m-1",
    }));
    assert_eq!(feed(&mut view, user("other")), [taken("other"), shown]);
}
