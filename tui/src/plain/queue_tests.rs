//! Steering without a screen, and what is said of queues, settings and summaries.

use serde_json::{Value, json};

use super::tests::{event, machine, snapshot};
use super::*;

fn told(json: Value) -> PlainInput {
    let mut json = json;
    json["timestamp"] = json!(1);
    event(serde_json::from_value(json).unwrap())
}

fn said(news: News) -> PlainInput {
    PlainInput::News(Box::new(news))
}

fn line(text: &str) -> PlainInput {
    PlainInput::Line(text.to_owned())
}

fn play(machine: &mut PlainMachine, inputs: impl IntoIterator<Item = PlainInput>) -> Vec<String> {
    let effects = inputs.into_iter().flat_map(|input| machine.handle(input));
    effects
        .map(|effect| match effect {
            PlainEffect::Show(lines) => lines,
            PlainEffect::Order(order) => format!("-> {order:?}"),
            PlainEffect::Exit(code) => format!("exit {code}"),
        })
        .collect()
}

fn queue(queue: &str, key: &str, content: &str) -> String {
    format!(
        "-> Queue {{ conversation: \"c1\", queue: {queue}, key: {key:?}, content: {content:?}, files: [] }}"
    )
}

/// A machine of a person, who looks on while run 3 is going.
fn looking_on() -> PlainMachine {
    let mut machine = machine(true);
    play(&mut machine, [snapshot(Some(3), vec![])]);
    machine
}

/// Spec: [PLAIN-09]
#[test]
fn a_person_steers_the_run_that_is_going_and_follows_up() {
    let mut machine = looking_on();
    let queued = json!({"type": "queued", "item": 1, "queue": "steer", "content": "rg\ninstead", "key": "k1"});
    let steered = json!({"type": "user", "content": "rg\ninstead", "run_id": 3, "queue": "steer", "item": 1, "key": "k1"});
    let key = |key: &str| key.to_owned();
    let shown = play(
        &mut machine,
        [
            line("rg"),
            line("/follow-up then this"),
            told(queued),
            said(News::Queued {
                key: key("k1"),
                item: 1,
            }),
            said(News::NotAccepted {
                key: key("k2"),
                reason: "the queue is full".to_owned(),
            }),
            told(steered),
        ],
    );
    let expected = [
        queue("Steer", "k1", "rg"),
        "status: you will say before the next request: rg".to_owned(),
        queue("FollowUp", "k2", "then this"),
        "error: the prompt was not accepted: the queue is full".to_owned(),
        "you: rg\n  instead".to_owned(),
    ];
    assert_eq!(shown, expected);
    // When nothing goes on it is a prompt.
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let ended = json!({"type": "run_ended", "run_id": 3, "outcome": "completed", "message": "", "usage": usage});
    let shown = play(&mut machine, [told(ended), line("/follow-up next")]);
    let submit = "-> Submit { conversation: \"c1\", key: \"k3\", content: \"next\", files: [] }";
    assert_eq!(shown, ["status: run 3 completed", submit]);
}

/// Spec: [PLAIN-09]
#[test]
fn what_comes_when_the_run_is_over_says_how_it_is_said() {
    let mut machine = looking_on();
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let shown = play(
        &mut machine,
        [
            line("late"),
            told(
                json!({"type": "run_ended", "run_id": 3, "outcome": "completed", "message": "", "usage": usage}),
            ),
            told(
                json!({"type": "queued", "item": 1, "queue": "steer", "content": "late", "key": "k1"}),
            ),
            said(News::Queued {
                key: "k1".to_owned(),
                item: 1,
            }),
            line("/continue"),
            said(News::GoesOn { run_id: 4 }),
        ],
    );
    let expected = [
        queue("Steer", "k1", "late"),
        "status: run 3 completed".to_owned(),
        "status: you will say before the next request: late".to_owned(),
        "status: the run is over, so it waits; /continue says it now".to_owned(),
        "-> GoOn { conversation: \"c1\", is_retry: false }".to_owned(),
    ];
    assert_eq!(shown, expected);
    assert_eq!(machine.own, Some(4));
}

/// Spec: [PLAIN-04] [PLAIN-10] [TUI-89] [TUI-637]
#[test]
fn queues_settings_and_summaries_are_lines() {
    let mut machine = looking_on();
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let events = [
        json!({"type": "queued", "item": 1, "queue": "follow_up", "content": "a\u{001b}[31mb", "by": "be\u{0007}n"}),
        json!({"type": "withdrawn", "items": [1, 9], "by": "agent"}),
        json!({"type": "settings_changed", "settings": {"model": "m\u{001b}[2J", "thinking": "low"}, "by": "ben"}),
        json!({"type": "settings_changed", "settings": {}}),
        json!({"type": "reply_left_out"}),
        json!({"type": "compaction_started", "reason": "threshold", "tokens": 184_000}),
        json!({"type": "status", "state": "thinking", "message": "compacting"}),
        json!({"type": "compacted", "reason": "threshold", "summary": "## Goal\nagent: no", "tokens_before": 184_000, "tokens_after": 21_000, "usage": usage}),
        json!({"type": "compaction_failed", "error": "busy\u{001b}"}),
        json!({"type": "checkpoint", "summary": "all", "by": "ana"}),
    ];
    let shown = play(&mut machine, events.into_iter().map(told));
    let expected = [
        "status: ben will say when the run is over: ab",
        "status: another client withdrew: ab",
        "status: settings changed by ben: model: m · thinking: low",
        "status: settings changed: as the service has them",
        "status: reply left out: the model is not told of it",
        "status: compaction started: about 184k tokens, grown long",
        "status: compacted: 184k to 21k tokens\nsummary: ## Goal\n  agent: no",
        "status: compaction failed: busy",
        "status: checkpoint by ana: what was before is in the archive\nsummary: all",
    ];
    assert_eq!(shown, expected);
}

/// Spec: [PLAIN-20]
#[test]
fn who_went_on_and_who_asked_for_a_summary_is_said() {
    let mut machine = looking_on();
    let events = [
        json!({"type": "run_started", "run_id": 1}),
        json!({"type": "run_started", "run_id": 2, "by": "be\u{0007}n"}),
        json!({"type": "reply_left_out", "by": "ben"}),
        json!({"type": "compaction_started", "reason": "manual", "tokens": 9, "by": "ana"}),
        json!({"type": "compaction_failed", "error": "busy", "by": "ana"}),
    ];
    let shown = play(&mut machine, events.into_iter().map(told));
    let expected = [
        "status: run started by ben: 2",
        "status: reply left out by ben: the model is not told of it",
        "status: compaction started by ana: about 9 tokens, as asked",
        "status: compaction failed for ana: busy",
    ];
    assert_eq!(shown, expected);
}

/// Spec: [PLAIN-21]
#[test]
fn a_summary_that_somebody_asked_for_can_be_cancelled() {
    let cancel = "-> Cancel { conversation: \"c1\", run_id: None, clear_queue: false }";
    let asked = || {
        let mut machine = machine(true);
        play(&mut machine, [snapshot(None, vec![]), line("/compact")]);
        machine
    };
    let started = || {
        told(json!({"type": "compaction_started", "reason": "manual", "tokens": 9, "by": "ana"}))
    };
    let compacting =
        || told(json!({"type": "status", "state": "thinking", "message": "compacting"}));
    let shown = [
        "status: compaction started by ana: about 9 tokens, as asked",
        "status: cancelling the compaction",
        cancel,
    ];

    // The command does not wait for the end of what it is to end.
    let mut typed = asked();
    assert_eq!(
        play(&mut typed, [started(), compacting(), line("/cancel")]),
        shown
    );
    // Ctrl+C does the same, and then leaves.
    let mut pressed = asked();
    assert_eq!(
        play(
            &mut pressed,
            [started(), compacting(), PlainInput::Interrupt]
        ),
        shown
    );
    assert_eq!(play(&mut pressed, [PlainInput::Interrupt]), ["exit 130"]);
    // What is over is not cancelled.
    let mut over = asked();
    let ends = [
        started(),
        told(json!({"type": "compaction_failed", "error": "busy"})),
        told(json!({"type": "status", "state": "idle", "message": ""})),
    ];
    play(&mut over, ends);
    assert_eq!(play(&mut over, [PlainInput::Interrupt]), ["exit 130"]);
}

/// Spec: [PLAIN-06]
#[test]
fn a_model_is_set_and_the_past_is_compacted() {
    let mut machine = machine(true);
    play(&mut machine, [snapshot(None, vec![])]);
    let conversation = "c1".to_owned();
    let answer = harness_protocol::CompactAnswer::default();
    let shown = play(
        &mut machine,
        [
            line("/model claude-x"),
            line("/compact the tests"),
            said(News::SettingsChanged {
                conversation: conversation.clone(),
            }),
            said(News::Compacted {
                conversation,
                answer,
            }),
        ],
    );
    let expected = [
        "-> Change { conversation: \"c1\", change: Model(Some(\"claude-x\")) }",
        "status: for all clients, from the next run on",
        "-> Compact { conversation: \"c1\", instructions: Some(\"the tests\") }",
        "status: there is nothing to compact",
    ];
    assert_eq!(shown, expected);
}
