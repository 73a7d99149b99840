//! The course of a run when all goes as it should.

use serde_json::{Value, json};

use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::reply::Object;

// Runs.

/// Spec: [CONV-01] [CONV-04] [CONV-07]
#[test]
fn a_reply_without_calls_ends_the_run() {
    let mut machine = machine(10);
    let (run, effects) = machine.prompt("hi").unwrap();
    let prompt = Effect::Record(Record::Prompt {
        run: RunId(1),
        content: "hi".to_owned(),
        key: None,
        by: None,
        attachments: Vec::new(),
        item: None,
        queue: None,
    });
    assert_eq!(run, RunId(1));
    assert_eq!(effects, effects![prompt, thinking(), ask(1)]);
    assert_eq!(machine.shown(got(1, 0, Block::text("a"))), [said("a")]);
    assert_eq!(machine.shown(got(1, 1, Block::text("b"))), [said("b")]);
    let effects = machine.shown(finished(1, StopReason::EndTurn));
    assert_eq!(effects, ended(1, ""));
    assert_eq!(machine.run(), None);
}

/// Spec: [CONV-04]
#[test]
fn a_reply_without_calls_ends_the_run_whatever_it_says() {
    for reason in [StopReason::ToolUse, StopReason::StopSequence] {
        let mut machine = asking();
        machine.shown(got(1, 0, Block::text("a")));
        assert_eq!(machine.shown(finished(1, reason)), ended(1, ""));
    }
}

/// Spec: [CONV-07]
#[test]
fn readable_thinking_is_shown_and_the_rest_is_not() {
    let mut machine = asking();
    let thought = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "s"});
    let rows = [
        (thought("hm"), true),
        (thought(""), false),
        (json!({"type": "redacted_thinking", "data": "x"}), false),
        (
            json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}}),
            false,
        ),
        (
            json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
            false,
        ),
        (json!({"type": "poem", "text": "x"}), false),
        (
            json!({"type": "tool_use", "id": "t", "name": "read", "input": "{}"}),
            false,
        ),
    ];
    for (index, (json, shown)) in (0..).zip(rows) {
        let effects = machine.shown(got(1, index, block(&json)));
        let shown = shown.then(|| finished_block(block(&json), false));
        assert_eq!(effects, shown.into_iter().collect::<Vec<_>>(), "{json}");
    }
    let effects = machine.shown(finished(1, StopReason::EndTurn));
    assert_eq!(effects, ended(1, ""));
}

/// Spec: [CONV-06] [CONV-08] [CONV-10]
#[test]
fn a_result_goes_back_to_the_model_which_goes_on() {
    let mut machine = asking();
    let effects = play(
        &mut machine,
        [
            got(1, 0, Block::text("let me see")),
            got(1, 1, tool("t")),
            finished(1, StopReason::ToolUse),
            ok(2, "found"),
        ],
    );
    let expected = effects![
        said("let me see"),
        called("t"),
        run_tool(2, "t"),
        answered("t", "found", false),
        ask(3),
    ];
    assert_eq!(effects, expected);
    let mut expected = vec![
        user(&json!([text("hi")])),
        assistant(&json!([text("let me see"), tool_use("t")])),
        user(&json!([result("t", "found", false)])),
    ];
    assert_eq!(messages(&machine), json!(expected));

    let inputs = [
        got(3, 0, Block::text("done")),
        finished(3, StopReason::EndTurn),
    ];
    let effects = play(&mut machine, inputs);
    assert_eq!(effects, effects![said("done"), ended(1, "")]);
    expected.push(assistant(&json!([text("done")])));
    expected.push(user(&json!([text("next")])));
    assert_eq!(next_messages(&mut machine), json!(expected));
}

/// Spec: [CONV-08] [CONV-10]
#[test]
fn several_calls_are_all_shown_first_and_then_run_one_by_one() {
    let mut machine = asking();
    let shown = play(
        &mut machine,
        [
            got(1, 0, tool("a")),
            got(1, 1, tool("b")),
            got(1, 2, tool("c")),
        ],
    );
    assert_eq!(shown, effects![called("a"), called("b"), called("c")]);
    let run = play(
        &mut machine,
        [
            finished(1, StopReason::ToolUse),
            ok(2, "1"),
            ok(3, "2"),
            ok(4, "3"),
        ],
    );
    let expected = effects![
        run_tool(2, "a"),
        answered("a", "1", false),
        run_tool(3, "b"),
        answered("b", "2", false),
        run_tool(4, "c"),
        answered("c", "3", false),
        ask(5),
    ];
    assert_eq!(run, expected);
    let results = json!([
        result("a", "1", false),
        result("b", "2", false),
        result("c", "3", false)
    ]);
    assert_eq!(messages(&machine)[2], user(&results));
}

/// Spec: [CONV-10]
#[test]
fn calls_run_in_the_order_of_the_reply_even_if_they_finish_in_another() {
    let mut machine = asking();
    let inputs = [
        got(1, 1, tool("b")),
        got(1, 0, tool("a")),
        finished(1, StopReason::ToolUse),
        ok(2, "1"),
    ];
    let effects = play(&mut machine, inputs);
    let expected = effects![
        called("b"),
        called("a"),
        run_tool(2, "a"),
        answered("a", "1", false),
        run_tool(3, "b"),
    ];
    assert_eq!(effects, expected);
}

/// Spec: [CONV-11] [CONV-12] [CONV-34]
#[test]
fn the_first_error_stops_the_rest_and_the_model_goes_on() {
    let mut machine = asking();
    let calls = ["a", "b", "c", "d"].map(tool);
    let got = (0..).zip(calls).map(|(index, call)| got(1, index, call));
    play(&mut machine, got);
    let effects = play(
        &mut machine,
        [finished(1, StopReason::ToolUse), ok(2, "1"), error(3, "no")],
    );
    let expected = effects![
        run_tool(2, "a"),
        answered("a", "1", false),
        run_tool(3, "b"),
        answered("b", r#"{"error":"no"}"#, true),
        ask(4),
    ];
    assert_eq!(effects, expected);
    let note = "not executed: an earlier tool failed";
    let results = json!([
        result("a", "1", false),
        result("b", r#"{"error":"no"}"#, true),
        result("c", note, true),
        result("d", note, true),
    ]);
    assert_eq!(messages(&machine)[2], user(&results));
}

/// Spec: [CONV-05]
#[test]
fn three_turns_are_made_when_four_are_needed() {
    let mut machine = asking_within(3);
    let turn = |call: u64, id: &str| {
        [
            got(call, 0, tool(id)),
            finished(call, StopReason::ToolUse),
            ok(call + 1, "x"),
        ]
    };
    let turns = [turn(1, "a"), turn(3, "b"), turn(5, "c")].concat();
    let shown = |call: u64, id: &str| {
        effects![
            called(id),
            run_tool(call + 1, id),
            answered(id, "x", false),
            ask(call + 2)
        ]
    };
    let mut expected = [shown(1, "a"), shown(3, "b"), shown(5, "c")].concat();
    expected.pop();
    expected.extend(ended(1, "stopped: reached max_turns (3)"));
    assert_eq!(play(&mut machine, turns), expected);
    let last = next_messages(&mut machine)[6].clone();
    assert_eq!(last, user(&json!([result("c", "x", false), text("next")])));
}

/// Spec: [CONV-05]
#[test]
fn turns_are_counted_anew_in_each_run() {
    let mut machine = asking_within(1);
    for run in 1..4 {
        machine.shown(got(run, 0, Block::text("a")));
        let effects = machine.shown(finished(run, StopReason::EndTurn));
        assert_eq!(effects, ended(run, ""));
        machine.prompt("again").unwrap();
    }
}

/// Spec: [CONV-02]
#[test]
fn a_refused_prompt_changes_nothing() {
    let mut idle = machine(10);
    for blank in ["", " ", "\n\t \u{a0}"] {
        let refused = idle.prompt(blank);
        assert_eq!(refused, Err(SubmitError::Blank));
        assert_eq!((idle.run(), messages(&idle)), (None, json!([])));
    }
    let mut busy = asking();
    for content in ["again", ""] {
        let refused = busy.prompt(content);
        assert_eq!(refused, Err(SubmitError::Busy));
    }
    assert_eq!(messages(&busy), json!([user(&json!([text("hi")]))]));
    busy.shown(got(1, 0, Block::text("a")));
    let effects = busy.shown(finished(1, StopReason::EndTurn));
    assert_eq!(effects, ended(1, ""));

    assert_eq!(idle.shown(Input::StopRequested), []);
    let refused = idle.prompt("hi");
    assert_eq!(refused, Err(SubmitError::Stopping));
    assert_eq!((idle.run(), messages(&idle)), (None, json!([])));
}

/// Spec: [CONV-09]
#[test]
fn what_the_call_is_up_to_is_a_remark_of_the_state() {
    let mut machine = asking();
    let remark = "retrying in 1.2 s (1 of 4): the reply ended before message_stop";
    let effects = machine.shown(retrying(1));
    assert_eq!(effects, [discarded(), status(Activity::Thinking, remark)]);
    let remark = "the model old is not served any more; using new";
    let effects = machine.shown(replaced(1));
    assert_eq!(effects, [status(Activity::Thinking, remark)]);
}

/// Spec: [MODEL-67]
#[test]
fn what_holds_for_all_requests_of_a_run_is_remarked_once() {
    let remarked = |call: u64| {
        Input::Model(ModelEvent::Remarked {
            call_id: id(call),
            remark: "not sent".to_owned(),
        })
    };
    let mut machine = asking();
    let effects = machine.shown(remarked(1));
    assert_eq!(effects, [status(Activity::Thinking, "not sent")]);
    assert_eq!(machine.shown(remarked(1)), []);
    play(
        &mut machine,
        [
            got(1, 0, tool("t")),
            finished(1, StopReason::ToolUse),
            error(2, "no"),
        ],
    );
    assert_eq!(machine.shown(remarked(3)), []);
}

// Ids and names.

/// Spec: [CONV-13]
#[test]
fn ids_of_calls_become_unique_and_valid() {
    let rows = [
        ("t", "t"),
        ("t", "t_2"),
        ("t_2", "t_2_2"),
        ("", "call"),
        ("", "call_2"),
        ("a b/é", "a_b__"),
        ("a.b/é", "a_b___2"),
    ];
    let mut machine = asking();
    for (index, (given, unique)) in (0..).zip(rows) {
        let effects = machine.shown(got(1, index, tool(given)));
        assert_eq!(effects, called(unique), "{given:?}");
    }
    let effects = machine.shown(finished(1, StopReason::ToolUse));
    assert_eq!(effects, [run_tool(2, "t")]);
    play(
        &mut machine,
        [
            error(2, "no"),
            got(3, 0, tool("t")),
            finished(3, StopReason::ToolUse),
        ],
    );
    let messages = messages(&machine);
    let ids = |message: usize, key: &str| -> Vec<Value> {
        let blocks = messages[message]["content"].as_array().unwrap();
        blocks.iter().map(|block| block[key].clone()).collect()
    };
    let unique = rows.map(|(_, unique)| json!(unique));
    assert_eq!(ids(1, "id"), unique);
    assert_eq!(ids(2, "tool_use_id"), unique);
    assert_eq!(ids(3, "id"), [json!("t_3")]);
}

/// Spec: [CONV-14]
#[test]
fn a_name_that_no_tool_can_have_is_run_as_it_is_and_sent_back_changed() {
    let long = "x".repeat(65);
    let rows = [
        ("read file", "read_file"),
        ("läs.fil", "l_s_fil"),
        ("", "unknown"),
        (&long, &long[..64]),
    ];
    for (name, sent) in rows {
        let mut machine = asking();
        let call = Block::tool_call("t", name, Object::new());
        let inputs = [got(1, 0, call), finished(1, StopReason::ToolUse)];
        let effects = play(&mut machine, inputs);
        let Some(Effect::RunTool(_, call, _)) = effects.last() else {
            panic!("{effects:?}");
        };
        assert_eq!(call.name, name);
        assert_eq!(effects[0], status(Activity::RunningTool, name));
        assert_eq!(messages(&machine)[1]["content"][0]["name"], sent);
    }
}

// Stop reasons.

/// Spec: [CONV-15]
#[test]
fn a_text_that_reaches_max_tokens_ends_the_run_with_a_remark() {
    let mut machine = asking();
    let inputs = [
        got(1, 0, Block::text("a lo")),
        finished(1, StopReason::MaxTokens),
    ];
    let effects = play(&mut machine, inputs);
    let remark = "stopped: the reply reached max_tokens";
    assert_eq!(effects, effects![said("a lo"), ended(1, remark)]);
    let kept = assistant(&json!([text("a lo")]));
    assert_eq!(next_messages(&mut machine)[1], kept);
}

const CUT: &str = concat!(
    r#"{"error":"not executed: the reply was cut at the output limit, so the call may be "#,
    r#"incomplete; make it again, shorter"}"#
);

/// Spec: [CONV-16]
#[test]
fn calls_of_a_reply_cut_at_max_tokens_are_answered_as_failed() {
    let mut machine = asking();
    let inputs = [
        got(1, 0, tool("a")),
        got(1, 1, tool("b")),
        finished(1, StopReason::MaxTokens),
    ];
    let effects = play(&mut machine, inputs);
    let expected = effects![
        called("a"),
        called("b"),
        answered("a", CUT, true),
        answered("b", CUT, true),
        ask(2),
    ];
    assert_eq!(effects, expected);
    let results = json!([result("a", CUT, true), result("b", CUT, true)]);
    assert_eq!(messages(&machine)[2], user(&results));
}

/// Spec: [CONV-05] [CONV-16]
#[test]
fn a_model_whose_replies_are_always_cut_is_not_asked_for_ever() {
    let mut machine = asking_within(2);
    let cut = |call| {
        [
            got(call, 0, tool("a")),
            finished(call, StopReason::MaxTokens),
        ]
    };
    let effects = play(&mut machine, [cut(1), cut(2)].concat());
    let expected = effects![
        called("a"),
        answered("a", CUT, true),
        ask(2),
        called("a_2"),
        answered("a_2", CUT, true),
        ended(1, "stopped: reached max_turns (2)"),
    ];
    assert_eq!(effects, expected);
}

/// Spec: [CONV-16] [CONV-17]
#[test]
fn a_full_context_window_ends_the_run() {
    let remark = "stopped: the model's context window is full";
    let mut machine = asking();
    let effects = machine.shown(finished(1, StopReason::ContextWindowExceeded));
    assert_eq!(effects, ended(1, remark));

    let mut machine = asking();
    let inputs = [
        got(1, 0, tool("a")),
        finished(1, StopReason::ContextWindowExceeded),
    ];
    let effects = play(&mut machine, inputs);
    let expected = effects![called("a"), answered("a", CUT, true), ended(1, remark)];
    assert_eq!(effects, expected);
    let results = json!([result("a", CUT, true), text("next")]);
    assert_eq!(next_messages(&mut machine)[2], user(&results));
}

/// Spec: [CONV-18] [CONV-430]
#[test]
fn a_refusal_ends_the_run_with_what_the_api_said() {
    let plain = "refusal: the model declined to answer";
    let rows = [
        (json!({}), plain.to_owned()),
        (
            json!({"type": "refusal", "category": "cyber"}),
            format!("{plain}; cyber"),
        ),
        (
            json!({"explanation": "No.", "category": "bio"}),
            format!("{plain}; bio; No."),
        ),
        (
            json!({"category": null, "explanation": 1}),
            plain.to_owned(),
        ),
    ];
    for (details, reason) in rows {
        let remark = format!("{reason}; {LEFT_OUT}");
        let mut machine = asking();
        let end = ReplyEnd {
            stop_reason: StopReason::Refusal,
            stop_details: object(&details),
            ..ReplyEnd::default()
        };
        let refusal = ModelEvent::Finished {
            call_id: id(1),
            end,
        };
        let inputs = [got(1, 0, tool("a")), Input::Model(refusal)];
        let effects = play(&mut machine, inputs);
        assert_eq!(effects, effects![called("a"), ended(1, &remark)]);
        let expected = json!([user(&json!([text("next")]))]);
        assert_eq!(next_messages(&mut machine), expected);
    }
}

/// Spec: [CONV-19]
#[test]
fn a_paused_reply_goes_on_from_where_it_was() {
    let mut machine = asking();
    let inputs = [
        got(1, 0, Block::text("searching")),
        got(1, 1, block(&web_search("s"))),
        finished(1, StopReason::PauseTurn),
    ];
    assert_eq!(play(&mut machine, inputs), [said("searching"), ask(2)]);
    let paused = [
        user(&json!([text("hi")])),
        assistant(&json!([text("searching"), web_search("s")])),
    ];
    assert_eq!(messages(&machine), json!(paused));

    let inputs = [
        got(2, 0, block(&web_results("s"))),
        got(2, 1, Block::text("found")),
        finished(2, StopReason::EndTurn),
    ];
    let effects = play(&mut machine, inputs);
    assert_eq!(effects, effects![said("found"), ended(1, "")]);
    let whole = json!([
        text("searching"),
        web_search("s"),
        web_results("s"),
        text("found")
    ]);
    let expected = json!([paused[0], assistant(&whole), user(&json!([text("next")]))]);
    assert_eq!(next_messages(&mut machine), expected);
}

/// Spec: [CONV-19]
#[test]
fn a_reply_is_paused_at_most_eight_times() {
    let mut machine = asking_within(100);
    for call in 1..=8 {
        let search = block(&web_search(&format!("s{call}")));
        let inputs = [got(call, 0, search), finished(call, StopReason::PauseTurn)];
        assert_eq!(play(&mut machine, inputs), [ask(call + 1)]);
    }
    let effects = machine.shown(finished(9, StopReason::PauseTurn));
    assert_eq!(effects, ended(1, "stopped: the reply was paused 8 times"));
}

/// Spec: [CONV-19]
#[test]
fn a_pause_with_calls_of_our_tools_runs_them() {
    let mut machine = asking();
    let inputs = [got(1, 0, tool("a")), finished(1, StopReason::PauseTurn)];
    let effects = play(&mut machine, inputs);
    assert_eq!(effects, effects![called("a"), run_tool(2, "a")]);
}

/// Spec: [CONV-20]
#[test]
fn an_unknown_stop_reason_ends_the_reply() {
    let unknown = || StopReason::Other("tired".to_owned());
    let mut machine = asking();
    let effects = machine.shown(finished(1, unknown()));
    assert_eq!(effects, ended(1, "stopped: tired"));

    let mut machine = asking();
    let effects = play(&mut machine, [got(1, 0, tool("a")), finished(1, unknown())]);
    assert_eq!(effects, effects![called("a"), ended(1, "stopped: tired")]);
}

/// Spec: [CONV-33] [CONV-431]
#[test]
fn an_empty_reply_ends_the_run_with_a_remark_and_is_not_sent_back() {
    let remark = "stopped: the model's reply was empty, without text or a tool call; `/continue` \
                  or `harness continue` asks again";
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    for blocks in [vec![], vec![Block::text(" ")], vec![block(&thought)]] {
        let mut machine = asking();
        for (index, block) in (0..).zip(blocks) {
            machine.shown(got(1, index, block));
        }
        let effects = machine.shown(finished(1, StopReason::EndTurn));
        assert_eq!(effects, ended(1, remark));
        let expected = json!([user(&json!([text("hi"), text("next")]))]);
        assert_eq!(next_messages(&mut machine), expected);
    }
}

/// Spec: [CONV-431]
#[test]
fn what_waits_is_said_after_an_empty_reply() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.follow_up("more");
    let next = talk.end(StopReason::EndTurn, 0);
    assert!(next[1].contains("reply was empty"), "{next:?}");
    assert_eq!(next[2..], ["turn ended", "prompt more", "turn 2", "ask"]);
}
