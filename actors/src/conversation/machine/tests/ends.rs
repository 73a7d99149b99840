//! How a run ends early: by a cancel, a stop or a failure; and answers that come late.

use serde_json::{Value, json};

use super::testing::*;
use super::*;

// Cancel and stop.

/// Spec: [CONV-21] [CONV-34]
#[test]
fn a_cancel_drops_the_call_of_the_model_and_keeps_finished_blocks() {
    let rows = [
        (vec![], json!([]), json!([])),
        (
            vec![Block::text("a")],
            json!([assistant(&json!([text("a")]))]),
            json!([]),
        ),
        (
            vec![Block::text("a"), tool("t")],
            json!([assistant(&json!([text("a"), tool_use("t")]))]),
            json!([result("t", "not executed: cancelled by user", true)]),
        ),
    ];
    for (blocks, reply, results) in rows {
        let mut machine = asking();
        let got = (0..).zip(blocks).map(|(index, block)| got(1, index, block));
        play(&mut machine, got);
        let effects = machine.shown(cancel());
        assert_eq!(effects, [Effect::CancelModel(id(1))]);
        assert_eq!(machine.prompt("x"), Err(SubmitError::Busy));
        let effects = machine.shown(failed(1, ModelError::Cancelled));
        assert_eq!(effects, cancelled(1));
        let list = |value: &Value| value.as_array().unwrap().clone();
        let expected = if list(&reply).is_empty() {
            json!([user(&json!([text("hi"), text("next")]))])
        } else {
            let next = [list(&results), vec![text("next")]].concat();
            json!([
                user(&json!([text("hi")])),
                list(&reply)[0],
                user(&json!(next))
            ])
        };
        assert_eq!(next_messages(&mut machine), expected);
    }
}

/// Spec: [CONV-23]
#[test]
fn a_text_that_a_cancel_cuts_is_shown_as_partial_and_kept() {
    let mut machine = asking();
    let cut = vec![(1, Block::text("and the"))];
    let inputs = [
        got(1, 0, Block::text("first")),
        cancel(),
        failed_with(1, ModelError::Cancelled, false, cut),
    ];
    let effects = play(&mut machine, inputs);
    let expected = effects![
        said("first"),
        Effect::CancelModel(id(1)),
        said_in_part("and the", true),
        cancelled(1),
    ];
    assert_eq!(effects, expected);
    let kept = assistant(&json!([text("first"), text("and the")]));
    assert_eq!(next_messages(&mut machine)[1], kept);
}

/// A machine whose run runs the tool `a`, as call 2, before `b` and `c`.
fn running() -> Machine {
    let mut machine = asking();
    let calls = (0..).zip(["a", "b", "c"]);
    play(
        &mut machine,
        calls.map(|(index, id)| got(1, index, tool(id))),
    );
    let effects = machine.shown(finished(1, StopReason::ToolUse));
    assert_eq!(effects, [run_tool(2, "a")]);
    machine
}

/// Spec: [CONV-21] [CONV-22] [CONV-34]
#[test]
fn a_cancel_stops_the_running_tool_and_starts_no_other() {
    // The tool may end by the cancel or just before it.
    let by_cancel = (
        error(2, "cancelled by user"),
        r#"{"error":"cancelled by user"}"#,
        true,
    );
    let before_it = (ok(2, "1"), "1", false);
    for (end, text_of_a, is_error) in [by_cancel, before_it] {
        let mut machine = running();
        let effects = machine.shown(cancel());
        assert_eq!(effects, [Effect::CancelTool(id(2))]);
        let mut expected = effects![answered("a", text_of_a, is_error)];
        expected.pop(); // The run does not think on.
        expected.extend(cancelled(1));
        assert_eq!(machine.shown(end), expected);
        let note = "not executed: cancelled by user";
        let results = json!([
            result("a", text_of_a, is_error),
            result("b", note, true),
            result("c", note, true),
            text("next"),
        ]);
        assert_eq!(next_messages(&mut machine)[2], user(&results));
    }
}

/// Spec: [CONV-22]
#[test]
fn a_reply_that_is_complete_before_its_cancel_arrives_runs_no_tool() {
    for reason in [
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::PauseTurn,
        StopReason::Refusal,
        StopReason::ContextWindowExceeded,
        StopReason::Other("x".to_owned()),
    ] {
        let mut machine = asking();
        let inputs = [cancel(), got(1, 0, tool("a")), finished(1, reason)];
        let effects = play(&mut machine, inputs);
        let expected = effects![Effect::CancelModel(id(1)), called("a"), cancelled(1)];
        assert_eq!(effects, expected);
        assert_eq!(machine.shown(failed(1, ModelError::Cancelled)), []);
    }
}

/// Spec: [CONV-21]
#[test]
fn a_cancel_in_the_wait_before_a_retry_ends_the_run() {
    let mut machine = asking();
    machine.shown(retrying(1));
    let inputs = [
        cancel(),
        retrying(1),
        replaced(1),
        failed(1, ModelError::Cancelled),
    ];
    let effects = play(&mut machine, inputs);
    assert_eq!(effects, effects![Effect::CancelModel(id(1)), cancelled(1)]);
}

/// Spec: [CONV-24]
#[test]
fn a_second_cancel_and_one_of_an_idle_conversation_do_nothing() {
    assert_eq!(machine(10).shown(cancel()), []);
    for (mut machine, end) in [
        (asking(), failed(1, ModelError::Cancelled)),
        (running(), error(2, "cancelled by user")),
    ] {
        assert_eq!(machine.shown(cancel()).len(), 1);
        assert_eq!(machine.shown(cancel()), []);
        assert!(machine.shown(end).ends_with(&cancelled(1)));
        assert_eq!(machine.shown(cancel()), []);
        machine.prompt("again").unwrap();
    }
}

/// Spec: [CONV-25]
#[test]
fn a_stop_ends_the_run_as_interrupted_and_takes_no_more_prompts() {
    let stopped = [
        status(Activity::Error, "interrupted: the service was stopped"),
        Effect::EndRun(RunId(1), RunOutcome::Cancelled),
    ];
    let ask = (
        asking as fn() -> Machine,
        Effect::CancelModel(id(1)),
        failed(1, ModelError::Cancelled),
    );
    let run = (
        running as fn() -> Machine,
        Effect::CancelTool(id(2)),
        ok(2, "1"),
    );
    for (started, cancelling, end) in [ask, run] {
        for early in [vec![], vec![cancel()]] {
            let mut machine = started();
            let inputs = [early, vec![Input::StopRequested, cancel()]].concat();
            let effects = play(&mut machine, inputs);
            assert_eq!(effects, std::slice::from_ref(&cancelling));
            assert!(machine.shown(end.clone()).ends_with(&stopped));
            let refused = machine.prompt("x");
            assert_eq!(refused, Err(SubmitError::Stopping));
        }
    }
}

// Late and lost.

/// Spec: [CONV-26]
#[test]
fn late_answers_of_every_kind_change_nothing() {
    let asked_twice = || {
        let mut machine = running();
        play(&mut machine, [error(2, "no")]);
        machine // Asks as call 3.
    };
    let idle = || {
        let mut machine = running();
        let inputs = [error(2, "no"), finished(3, StopReason::EndTurn)];
        play(&mut machine, inputs);
        machine
    };
    let late = |call: u64| {
        let cut = vec![(0, Block::text("cut"))];
        [
            got(call, 9, tool("late")),
            retrying(call),
            replaced(call),
            finished(call, StopReason::ToolUse),
            failed_with(call, ModelError::Truncated, true, cut),
            ok(call, "late"),
            Input::CallLost(id(call)),
        ]
    };
    let rows = [
        (running(), vec![1, 3]),
        (asked_twice(), vec![1, 2, 4]),
        (idle(), vec![1, 2, 3, 4]),
    ];
    for (mut machine, calls) in rows {
        let before = messages(&machine);
        let effects = play(&mut machine, calls.into_iter().flat_map(late));
        assert_eq!(effects, []);
        assert_eq!(messages(&machine), before);
    }
}

/// Spec: [CONV-26]
#[test]
fn an_answer_of_the_wrong_kind_changes_nothing() {
    let mut machine = asking();
    assert_eq!(machine.shown(ok(1, "x")), []);
    let mut machine = running();
    let inputs = [
        got(2, 0, tool("x")),
        retrying(2),
        finished(2, StopReason::EndTurn),
        failed(2, ModelError::Truncated),
    ];
    assert_eq!(play(&mut machine, inputs), []);
}

/// Spec: [CONV-26]
#[test]
fn an_answer_to_another_conversation_changes_nothing() {
    let mut machine = asking();
    let call_id = CallId {
        conversation: ConversationId::new("d"),
        number: 1,
    };
    assert_eq!(machine.shown(Input::CallLost(call_id)), []);
}

/// Spec: [CONV-27]
#[test]
fn a_lost_call_of_the_model_fails_the_run() {
    let mut machine = asking();
    let effects = machine.shown(Input::CallLost(id(1)));
    let message = "the model's actor does not take the call";
    let expected = failure(1, message, ModelError::Unavailable, false);
    assert_eq!(effects, expected);

    let mut machine = asking();
    let inputs = [cancel(), Input::CallLost(id(1))];
    let effects = play(&mut machine, inputs);
    assert_eq!(effects, effects![Effect::CancelModel(id(1)), cancelled(1)]);
}

/// Spec: [CONV-27]
#[test]
fn a_lost_call_of_a_tool_is_a_failed_one() {
    let lost = r#"{"error":"the service did not take the call: too many wait at once, or its tools have ended"}"#;
    let mut machine = running();
    let effects = machine.shown(Input::CallLost(id(2)));
    assert_eq!(effects, effects![answered("a", lost, true), ask(3)]);

    let mut machine = running();
    machine.shown(cancel());
    let effects = machine.shown(Input::CallLost(id(2)));
    assert!(effects.ends_with(&cancelled(1)));
}

// Failures.

/// Spec: [CONV-28] [CONV-29]
#[test]
fn a_prompt_that_the_api_refused_is_left_out() {
    let mut machine = asking();
    let effects = machine.shown(failed(1, refused()));
    let message = "invalid_request_error: no (HTTP 400)";
    assert_eq!(effects, failure(1, message, refused(), false));
    let expected = json!([user(&json!([text("next")]))]);
    assert_eq!(next_messages(&mut machine), expected);

    // What the model replied to was not refused.
    let inputs = [
        got(2, 0, Block::text("a")),
        finished(2, StopReason::EndTurn),
    ];
    play(&mut machine, inputs);
    machine.prompt("poison").unwrap();
    machine.shown(failed(3, ModelError::TooLarge { bytes: 2, limit: 1 }));
    let expected = json!([
        user(&json!([text("next")])),
        assistant(&json!([text("a")])),
        user(&json!([text("next")])),
    ]);
    assert_eq!(next_messages(&mut machine), expected);
}

/// Spec: [CONV-29]
#[test]
fn results_that_the_api_refused_are_replaced_by_a_note() {
    let mut machine = running();
    play(
        &mut machine,
        [ok(2, "poison"), error(3, "no"), failed(4, refused())],
    );
    let note = "not available: the API refused the request with this result";
    let results = ["a", "b", "c"].map(|id| result(id, note, true));
    let next = [results.to_vec(), vec![text("next")]].concat();
    let messages = next_messages(&mut machine);
    assert_eq!(messages[0], user(&json!([text("hi")])));
    assert_eq!(messages[2], user(&json!(next)));
}

/// Spec: [CONV-29]
#[test]
fn a_paused_reply_that_the_api_refused_is_left_out() {
    let mut machine = asking();
    let inputs = [
        got(1, 0, Block::text("a")),
        got(1, 1, block(&web_search("s"))),
        finished(1, StopReason::PauseTurn),
        failed(2, refused()),
    ];
    play(&mut machine, inputs);
    let expected = json!([user(&json!([text("hi"), text("next")]))]);
    assert_eq!(next_messages(&mut machine), expected);
}

/// Spec: [CONV-430]
#[test]
fn results_that_the_model_declined_are_replaced_by_a_note() {
    let mut machine = running();
    let inputs = [
        ok(2, "poison"),
        error(3, "no"),
        got(4, 0, Block::text("I would")),
        finished(4, StopReason::Refusal),
    ];
    play(&mut machine, inputs);
    let note = "not available: the API refused the request with this result";
    let results = ["a", "b", "c"].map(|id| result(id, note, true));
    let next = [results.to_vec(), vec![text("next")]].concat();
    let messages = next_messages(&mut machine);
    assert_eq!(messages[0], user(&json!([text("hi")])));
    assert_eq!(messages[2], user(&json!(next)));
    assert_eq!(messages.as_array().unwrap().len(), 3);
}

/// Spec: [CONV-430]
#[test]
fn a_refusal_that_meets_a_cancel_leaves_its_prompt_out() {
    let mut machine = asking();
    let inputs = [
        cancel(),
        got(1, 0, Block::text("No")),
        finished(1, StopReason::Refusal),
    ];
    let effects = play(&mut machine, inputs);
    assert_eq!(
        effects,
        effects![Effect::CancelModel(id(1)), said("No"), cancelled(1)]
    );
    let expected = json!([user(&json!([text("next")]))]);
    assert_eq!(next_messages(&mut machine), expected);
}

/// Spec: [CONV-28] [CONV-30] [CONV-33]
#[test]
fn a_prompt_stays_when_the_failure_is_not_its_fault() {
    let overloaded = ModelError::Api {
        status: 529,
        kind: "overloaded_error".to_owned(),
        message: "busy".to_owned(),
        request_id: Some("r".to_owned()),
    };
    let rows = [
        (overloaded, "overloaded_error: busy (HTTP 529, request r)"),
        (ModelError::Truncated, "the reply ended before message_stop"),
    ];
    for (error, message) in rows {
        let mut machine = asking();
        let effects = machine.shown(failed(1, error.clone()));
        assert_eq!(effects, failure(1, message, error, false));
        let expected = json!([user(&json!([text("hi"), text("next")]))]);
        assert_eq!(next_messages(&mut machine), expected);
    }
}

/// Spec: [CONV-31] [CONV-34]
#[test]
fn a_reply_that_breaks_off_keeps_its_finished_blocks_and_runs_no_tool() {
    let mut machine = asking();
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let inputs = [
        got(1, 0, Block::text("a")),
        got(1, 1, tool("t")),
        got(1, 2, block(&thought)),
        failed_with(1, ModelError::Truncated, true, Vec::new()),
    ];
    let effects = play(&mut machine, inputs);
    let message = "interrupted: the reply ended before message_stop";
    let reasoning = finished_block(block(&thought), false);
    let expected = effects![
        said("a"),
        called("t"),
        reasoning,
        failure(1, message, ModelError::Truncated, true),
    ];
    assert_eq!(effects, expected);
    let note = "not executed: the reply was interrupted";
    let expected = json!([
        user(&json!([text("hi")])),
        assistant(&json!([text("a"), tool_use("t")])),
        user(&json!([result("t", note, true), text("next")])),
    ]);
    assert_eq!(next_messages(&mut machine), expected);
}

/// Spec: [CONV-31]
#[test]
fn a_reply_that_breaks_off_with_a_refusal_of_the_api_keeps_its_prompt() {
    let mut machine = asking();
    let inputs = [
        got(1, 0, Block::text("a")),
        failed_with(1, refused(), true, Vec::new()),
    ];
    play(&mut machine, inputs);
    let expected = json!([
        user(&json!([text("hi")])),
        assistant(&json!([text("a")])),
        user(&json!([text("next")])),
    ]);
    assert_eq!(next_messages(&mut machine), expected);
}
