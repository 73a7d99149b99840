//! The records of a run, one by one.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::collections::BTreeMap;

use harness_protocol::TokenUsage;
use serde_json::json;

use super::testing::*;
use super::*;
use crate::conversation::messages::RenameConversation;
use crate::journal::{ModelTotals, Totals};

fn kinds(effects: &[Effect]) -> Vec<String> {
    let kind = |effect: &Effect| match effect {
        Effect::Record(record) => {
            let json = serde_json::to_value(record).unwrap();
            let data = &json["data"];
            let mut text = json["type"].as_str().unwrap().to_owned();
            for key in [
                "run",
                "turn",
                "activity",
                "index",
                "id",
                "stop_reason",
                "unanswered",
                "refused",
                "partial",
                "is_error",
                "reason",
                "outcome",
                "message",
            ] {
                match &data[key] {
                    serde_json::Value::Null => {}
                    serde_json::Value::String(value) if value.is_empty() => {}
                    serde_json::Value::String(value) => text += &format!(" {value}"),
                    serde_json::Value::Bool(true) => text += &format!(" {key}"),
                    serde_json::Value::Bool(false) => {}
                    value => text += &format!(" {value}"),
                }
            }
            text
        }
        Effect::Show(Passing::Delta { text, .. }) => format!("show {text}"),
        Effect::Show(Passing::ToolOutput { text, .. }) => format!("output {text}"),
        Effect::Show(Passing::Discarded) => "discard".to_owned(),
        Effect::Show(Passing::Failed(_)) => "fail".to_owned(),
        Effect::CallModel(id) => format!("call {}", id.number),
        Effect::DescribeModel { call_id, .. } => format!("describe {}", call_id.number),
        Effect::TellDropped(..) => "tell".to_owned(),
        Effect::Summarize(id, _) => format!("summarize {}", id.number),
        Effect::Rewrite { .. } => "rewrite".to_owned(),
        Effect::EndCompaction(result) => format!("end compaction {result:?}"),
        Effect::CancelModel(id) => format!("cancel {}", id.number),
        Effect::RunTool(id, call, _) => format!("tool {} {}", id.number, call.id),
        Effect::KeepChange(id, _, change) => format!("keep {} {}", id.number, change.path),
        Effect::CancelTool(id) => format!("cancel tool {}", id.number),
        Effect::EndRun(run, _) => format!("end {}", run.0),
    };
    effects.iter().map(kind).collect()
}

const BEGIN: [&str; 5] = [
    "run_started 1",
    "prompt 1",
    "status thinking",
    "turn_started 1 1",
    "call 1",
];

/// Checks what a run of at most `max_turns` does behind its begin.
fn check(max_turns: u32, inputs: impl IntoIterator<Item = Input>, expected: &[&str]) {
    let effects = whole(&mut machine(max_turns), inputs);
    assert_eq!(kinds(&effects), [&BEGIN, expected].concat());
}

/// Spec: [CONV-41] [CONV-42]
#[test]
#[expect(clippy::too_many_lines, reason = "each record of a run, in full")]
fn a_plain_run_is_written_down_whole() {
    let mut machine = machine(10);
    let end = ReplyEnd {
        id: "msg_1".to_owned(),
        model: "haiku".to_owned(),
        usage: object(&json!({"input_tokens": 3, "output_tokens": 4})).into(),
        ..ReplyEnd::default()
    };
    let finished = Input::Model(ModelEvent::Finished {
        call_id: id(1),
        end,
    });
    let effects = whole(&mut machine, [got(1, 0, Block::text("a")), finished]);
    let run = RunId(1);
    let totals = Totals {
        prompt_title: Some("hi".to_owned()),
        runs: 1,
        prompts: 1,
        turns: 1,
        input_tokens: 3,
        output_tokens: 4,
        models: BTreeMap::from([(
            "haiku".to_owned(),
            ModelTotals {
                usage: TokenUsage {
                    input_tokens: 3,
                    output_tokens: 4,
                    ..TokenUsage::default()
                },
                ..ModelTotals::default()
            },
        )]),
        tools: Some(Vec::new()),
        ..Totals::default()
    };
    let used = TokenUsage {
        input_tokens: 3,
        output_tokens: 4,
        ..TokenUsage::default()
    };
    let Effect::Record(Record::TurnStarted {
        head: Some(head), ..
    }) = effects[3].clone()
    else {
        panic!("{effects:?}");
    };
    let records = [
        Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run,
            by: None,
            rules: harness_protocol::RunRules::default(),
        },
        Record::Prompt {
            run,
            content: "hi".to_owned(),
            key: None,
            by: None,
            attachments: Vec::new(),
            item: None,
            queue: None,
        },
        Record::Status {
            activity: Activity::Thinking,
            message: String::new(),
        },
        Record::TurnStarted {
            run,
            turn: 1,
            head: Some(head),
            tools: Some(Vec::new()),
            jobs: Vec::new(),
        },
        Record::Block {
            duration_ms: None,
            index: 0,
            block: Block::text("a"),
            partial: false,
        },
        Record::ReplyEnded {
            id: "msg_1".to_owned(),
            model: "haiku".to_owned(),
            stop_reason: "end_turn".to_owned(),
            usage: object(&json!({"input_tokens": 3, "output_tokens": 4})),
            paused: false,
            unanswered: Unanswered::Interrupted,
            overflow: false,
            refused: false,
            window: None,
        },
        Record::TurnEnded {
            run,
            turn: 1,
            outcome: Outcome::Completed,
        },
        Record::RunEnded {
            duration_ms: None,
            run,
            outcome: Outcome::Completed,
            message: String::new(),
            totals,
            by: None,
            run_usage: used,
        },
        Record::Status {
            activity: Activity::Idle,
            message: String::new(),
        },
    ];
    let mut expected: Vec<Effect> = records.map(Effect::Record).into();
    expected.insert(4, ask(1));
    let remark = String::new();
    expected.push(Effect::EndRun(run, RunOutcome::Ended { remark }));
    assert_eq!(effects, expected);
}

/// Spec: [CONV-42]
#[test]
fn turns_with_tools_end_when_their_last_result_is_there() {
    check(
        10,
        [
            got(1, 0, tool("a")),
            got(1, 1, tool("b")),
            finished(1, StopReason::ToolUse),
            ok(2, "1"),
            ok(3, "2"),
            got(4, 0, tool("c")),
            got(4, 1, tool("d")),
            finished(4, StopReason::ToolUse),
            error(5, "no"),
            got(6, 0, Block::text("done")),
            finished(6, StopReason::EndTurn),
        ],
        &[
            "status running_tool read",
            "block 0",
            "status running_tool read",
            "block 1",
            "reply_ended tool_use interrupted",
            "tool 2 a",
            "tool_result a",
            "status thinking",
            "tool 3 b",
            "tool_result b",
            "status thinking",
            "turn_ended 1 1 completed",
            "turn_started 1 2",
            "call 4",
            "status running_tool read",
            "block 0",
            "status running_tool read",
            "block 1",
            "reply_ended tool_use interrupted",
            "tool 5 c",
            "tool_result c is_error",
            "status thinking",
            "calls_skipped earlier_tool_failed",
            "turn_ended 1 2 completed",
            "turn_started 1 3",
            "call 6",
            "block 0",
            "reply_ended end_turn interrupted",
            "turn_ended 1 3 completed",
            "run_ended 1 completed",
            "status idle",
            "end 1",
        ],
    );
}

/// Spec: [CONV-65]
#[test]
fn who_cancelled_a_run_first_is_written_down_with_its_end() {
    let by = |name: &str| {
        Input::CancelRequested(CancelRun {
            by: Some(name.to_owned()),
            ..CancelRun::default()
        })
    };
    let end = || failed(1, ModelError::Cancelled);
    let ana = (Outcome::Cancelled, Some("ana".to_owned()));
    for (inputs, expected) in [
        (vec![by("ana"), end()], ana.clone()),
        (vec![by("ana"), by("ben"), end()], ana.clone()),
        (vec![by("ana"), cancel(), end()], ana),
        // The first one gave no name.
        (vec![cancel(), by("ana"), end()], (Outcome::Cancelled, None)),
        // A stop outranks the cancel.
        (
            vec![by("ana"), Input::StopRequested, end()],
            (Outcome::Interrupted, None),
        ),
        (
            vec![Input::StopRequested, by("ana"), end()],
            (Outcome::Interrupted, None),
        ),
        (
            vec![finished(1, StopReason::EndTurn), by("ana")],
            (Outcome::Completed, None),
        ),
    ] {
        let mut machine = machine(10);
        let told = format!("{inputs:?}");
        let ends: Vec<_> = whole(&mut machine, inputs)
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Record(Record::RunEnded { outcome, by, .. }) => Some((outcome, by)),
                _ => None,
            })
            .collect();
        assert_eq!(ends, [expected], "{told}");
        // The next run is nobody's.
        machine.prompt("again").unwrap_or_default();
        assert!(machine.run.is_none_or(|run| run.cancelled_by.is_none()));
    }
}

/// Spec: [CONV-42]
#[test]
fn a_cancel_ends_turn_and_run_as_cancelled() {
    let cut = vec![(1, Block::text("and"))];
    check(
        10,
        [
            got(1, 0, Block::text("a")),
            cancel(),
            failed_with(1, ModelError::Cancelled, false, cut),
        ],
        &[
            "block 0",
            "cancel 1",
            "block 1 partial",
            "reply_failed cancelled",
            "turn_ended 1 1 cancelled",
            "run_ended 1 cancelled cancelled",
            "status idle cancelled",
            "end 1",
        ],
    );
    check(
        10,
        [
            got(1, 0, tool("a")),
            got(1, 1, tool("b")),
            finished(1, StopReason::ToolUse),
            cancel(),
            ok(2, "1"),
        ],
        &[
            "status running_tool read",
            "block 0",
            "status running_tool read",
            "block 1",
            "reply_ended tool_use interrupted",
            "tool 2 a",
            "cancel tool 2",
            "tool_result a",
            "calls_skipped cancelled",
            "turn_ended 1 1 cancelled",
            "run_ended 1 cancelled cancelled",
            "status idle cancelled",
            "end 1",
        ],
    );
}

/// Spec: [CONV-42]
#[test]
fn a_failure_a_stop_and_a_limit_are_told_apart() {
    let message = "the reply ended before message_stop";
    check(
        10,
        [failed(1, ModelError::Truncated)],
        &[
            "reply_failed interrupted",
            "turn_ended 1 1 error",
            &format!("run_ended 1 error {message}"),
            &format!("status error {message}"),
            "end 1",
        ],
    );
    let message = "invalid_request_error: no (HTTP 400)";
    check(
        10,
        [failed(1, refused())],
        &[
            "reply_failed interrupted refused",
            "turn_ended 1 1 error",
            &format!("run_ended 1 error {message}"),
            &format!("status error {message}"),
            "end 1",
        ],
    );
    let message = format!("refusal: the model declined to answer; {LEFT_OUT}");
    check(
        10,
        [finished(1, StopReason::Refusal)],
        &[
            "reply_ended refusal refused refused",
            "turn_ended 1 1 completed",
            &format!("run_ended 1 completed {message}"),
            &format!("status idle {message}"),
            "end 1",
        ],
    );
    let message = "interrupted: the service was stopped";
    check(
        10,
        [Input::StopRequested, failed(1, ModelError::Cancelled)],
        &[
            "cancel 1",
            "reply_failed cancelled",
            "turn_ended 1 1 interrupted",
            &format!("run_ended 1 interrupted {message}"),
            &format!("status error {message}"),
            "end 1",
        ],
    );
    let message = "stopped: reached max_turns (1)";
    check(
        1,
        [
            got(1, 0, tool("a")),
            finished(1, StopReason::ToolUse),
            ok(2, "x"),
        ],
        &[
            "status running_tool read",
            "block 0",
            "reply_ended tool_use interrupted",
            "tool 2 a",
            "tool_result a",
            "status thinking",
            "turn_ended 1 1 completed",
            &format!("run_ended 1 completed {message}"),
            &format!("status idle {message}"),
            "end 1",
        ],
    );
}

/// Spec: [EVENT-10] [EVENT-11]
#[test]
fn deltas_are_shown_and_not_written_down() {
    let delta = |text: &str, offset| {
        Input::Model(ModelEvent::Delta {
            call_id: id(1),
            index: 0,
            kind: harness_protocol::DeltaKind::Text,
            offset,
            text: text.to_owned(),
        })
    };
    check(
        10,
        [
            delta("so", 0),
            delta(" far", 2),
            retrying(1),
            delta("anew", 0),
            cancel(),
            delta("late", 4),
            failed(1, ModelError::Cancelled),
            delta("later", 8),
        ],
        &[
            "show so",
            "show  far",
            "discard",
            "status thinking retrying in 1.2 s (1 of 4): the reply ended before message_stop",
            "status thinking",
            "show anew",
            "cancel 1",
            "reply_failed cancelled",
            "turn_ended 1 1 cancelled",
            "run_ended 1 cancelled cancelled",
            "status idle cancelled",
            "end 1",
        ],
    );
}

fn keyed(content: &str, key: &str) -> SubmitPrompt {
    SubmitPrompt {
        key: Some(key.to_owned()),
        ..prompt(content)
    }
}

/// Spec: [CONV-46]
#[test]
fn a_prompt_with_a_known_key_is_not_run_again() {
    let mut machine = machine(10);
    let (run, _) = machine.obey(keyed("hi", "k")).unwrap();
    // While it runs, behind its end, and after the service was stopped.
    for input in [
        retrying(1),
        finished(1, StopReason::EndTurn),
        Input::StopRequested,
    ] {
        machine.handle(input);
        let before = messages(&machine);
        let repeated = machine.obey(keyed("hi", "k"));
        assert_eq!(repeated, Ok((run, vec![])));
        let reused = machine.obey(keyed("ho", "k"));
        assert_eq!(reused, Err(SubmitError::KeyReused));
        assert_eq!(messages(&machine), before);
    }
}

/// Spec: [ATT-21]
#[test]
fn a_prompt_with_a_known_key_and_other_files_is_another() {
    let file = |sha256: &str, name: &str| Attachment {
        sha256: sha256.to_owned(),
        media_type: "image/png".to_owned(),
        bytes: 3,
        name: Some(name.to_owned()),
    };
    let with = |attachments: Vec<Attachment>| SubmitPrompt {
        attachments,
        ..keyed("hi", "k")
    };
    let mut machine = machine(10);
    let first = vec![file("aa", "x"), file("bb", "y")];
    let (run, _) = machine.obey(with(first)).unwrap();
    // What a file is called does not matter.
    let again = with(vec![file("aa", "x"), file("bb", "z")]);
    assert_eq!(machine.obey(again), Ok((run, vec![])));
    for others in [
        vec![],
        vec![file("aa", "x")],
        vec![file("bb", "y"), file("aa", "x")],
        vec![file("aa", "x"), file("cc", "y")],
    ] {
        assert_eq!(machine.obey(with(others)), Err(SubmitError::KeyReused));
    }
}

/// Spec: [CONV-13] [CONV-41]
#[test]
fn ids_of_calls_stay_unique_over_a_revival() {
    let mut ledger = Ledger::default();
    for effect in whole(
        &mut machine(10),
        [got(1, 0, tool("t")), got(1, 1, tool("t"))],
    ) {
        if let Effect::Record(record) = effect {
            ledger.apply(&record);
        }
    }
    let mut machine = revived(10, ledger, 1);
    machine.prompt("next").unwrap();
    assert_eq!(machine.shown(got(2, 0, tool("t"))), called("t_3"));
    assert_eq!(machine.shown(got(1, 1, tool("late"))), []);
}

/// Spec: [CONV-41] [CONV-66]
#[test]
fn a_title_is_written_down() {
    let mut machine = machine(10);
    let title = "t".to_owned();
    for by in [None, Some("ana".to_owned())] {
        let record = Record::Renamed {
            title: title.clone(),
            by: by.clone(),
        };
        let title = title.clone();
        let ((), effects) = machine.obey(RenameConversation { title, by }).unwrap();
        assert_eq!(effects, [Effect::Record(record)]);
    }
    assert_eq!(machine.ledger().totals().title, Some(title));
}
