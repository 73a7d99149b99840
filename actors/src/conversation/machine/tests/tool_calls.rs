//! How the tools of one reply are run: one after the other, or all at once.

use harness_protocol::ToolExecution;
use serde_json::json;

use super::super::plan::Defaults;
use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::tool::tools;

fn talk(execution: ToolExecution) -> Talk {
    let mut defaults = Defaults::clone(&planner(10).defaults);
    defaults.settings.tool_execution = execution;
    Talk::of(Planner {
        tools: tools(&[("read", false, false), ("alone", true, true)]).into(),
        ..Planner::new(defaults)
    })
}

/// A talk whose model has just asked for these tools.
fn asked(execution: ToolExecution, calls: &[&str]) -> (Talk, Vec<String>) {
    let mut talk = talk(execution);
    talk.prompt("hi");
    let begun = talk.ask_for(calls);
    (talk, begun)
}

/// Spec: [CONV-80]
#[test]
fn parallel_tools_begin_at_once_and_their_results_come_in_the_order_of_the_reply() {
    let (mut talk, begun) = asked(ToolExecution::Parallel, &["a", "b", "c"]);
    assert_eq!(begun, ["replied", "run a", "run b", "run c"]);
    // A result is there when all before it are.
    assert_eq!(talk.ok(1, "2"), [""; 0]);
    assert_eq!(talk.ok(0, "1"), ["result of a", "result of b"]);
    let next = talk.ok(0, "3");
    assert_eq!(next, ["result of c", "turn ended", "turn 2", "ask"]);
    assert_eq!(talk.last_message(), ["1", "2", "3"]);
}

/// Spec: [CONV-80]
#[test]
fn a_parallel_tool_that_fails_stops_no_other() {
    let (mut talk, _) = asked(ToolExecution::Parallel, &["a", "b", "c"]);
    assert_eq!(talk.error(0), ["error of a"]);
    assert_eq!(talk.ok(1, "3"), [""; 0]);
    let next = talk.ok(0, "2");
    let expected = ["result of b", "result of c", "turn ended", "turn 2", "ask"];
    assert_eq!(next, expected);
}

/// Spec: [CONV-80] [CONV-21] [CONV-22]
#[test]
fn a_cancel_ends_all_parallel_tools() {
    let (mut talk, _) = asked(ToolExecution::Parallel, &["a", "b", "c"]);
    talk.ok(1, "2");
    let cancelled = talk.cancel();
    assert_eq!(cancelled, ["cancel tool", "cancel tool"], "b is done");
    assert_eq!(talk.cancel(), [""; 0]);
    assert_eq!(talk.error(1), [""; 0]);
    let end = talk.error(0);
    let expected = [
        "error of a",
        "result of b",
        "error of c",
        "turn ended",
        "run ended",
        "idle cancelled",
        "end 1",
    ];
    assert_eq!(end, expected);
}

/// Spec: [CONV-80] [CONV-26] [CONV-27]
#[test]
fn late_and_repeated_answers_of_parallel_tools_change_nothing() {
    let (mut talk, _) = asked(ToolExecution::Parallel, &["a", "b"]);
    let ids: Vec<CallId> = talk.tools.iter().cloned().collect();
    let answer = |place: usize, result: &str| {
        Input::Tool(ToolEvent::Finished {
            call_id: ids[place].clone(),
            outcome: ToolOutcome {
                result: result.to_owned(),
                is_error: false,
                changes: Vec::new(),
                changes_note: None,
                proposals: Vec::new(),
                seen: Vec::new(),
                folder: None,
                job: None,
                extent: None,
                took: None,
            },
        })
    };
    assert_eq!(talk.handle(answer(1, "2")), [""; 0]);
    assert_eq!(talk.handle(answer(1, "two")), [""; 0]);
    assert_eq!(talk.handle(Input::CallLost(ids[1].clone())), [""; 0]);
    talk.tools.clear();
    let next = talk.handle(Input::CallLost(ids[0].clone()));
    let expected = ["error of a", "result of b", "turn ended", "turn 2", "ask"];
    assert_eq!(next, expected);
    assert_eq!(talk.last_message()[1], "2");
    assert_eq!(talk.handle(answer(0, "1")), [""; 0]);
}

/// Spec: [CONV-81]
#[test]
fn a_tool_that_runs_alone_makes_all_calls_of_its_reply_wait_for_each_other() {
    let calls = ["a", "b:alone", "c"];
    let (mut talk, begun) = asked(ToolExecution::Parallel, &calls);
    assert_eq!(begun, ["replied", "run a"]);
    // One that fails still stops no other.
    assert_eq!(talk.error(0), ["error of a", "run b"]);
    assert_eq!(talk.ok(0, "2"), ["result of b", "run c"]);
    let next = talk.ok(0, "3");
    assert_eq!(next, ["result of c", "turn ended", "turn 2", "ask"]);
    // The next reply is none of its business.
    let begun = talk.ask_for(&["d", "e"]);
    assert_eq!(begun, ["replied", "run d", "run e"]);
}

/// Spec: [CONV-81]
#[test]
fn a_tool_that_is_not_there_does_not_run_alone() {
    let (_, begun) = asked(ToolExecution::Parallel, &["a:gone", "b"]);
    assert_eq!(begun, ["replied", "run a", "run b"]);
}

/// Spec: [CONV-82]
#[test]
fn sequential_tools_go_on_behind_one_that_fails() {
    let (mut talk, begun) = asked(ToolExecution::Sequential, &["a", "b", "c"]);
    assert_eq!(begun, ["replied", "run a"]);
    assert_eq!(talk.error(0), ["error of a", "run b"]);
    assert_eq!(talk.ok(0, "2"), ["result of b", "run c"]);
    let next = talk.error(0);
    assert_eq!(next, ["error of c", "turn ended", "turn 2", "ask"]);
}

/// Spec: [CONV-82] [CONV-22]
#[test]
fn a_cancel_starts_no_further_tool_whatever_the_mode() {
    for execution in [ToolExecution::Sequential, ToolExecution::SequentialFailFast] {
        let (mut talk, _) = asked(execution, &["a", "b"]);
        assert_eq!(talk.cancel(), ["cancel tool"]);
        let end = talk.ok(0, "1");
        let expected = [
            "result of a",
            "skipped",
            "turn ended",
            "run ended",
            "idle cancelled",
            "end 1",
        ];
        assert_eq!(end, expected);
        talk.prompt("next");
        assert_eq!(talk.last_message()[0], "1");
        assert_eq!(talk.last_message().len(), 3, "b has a result");
    }
}

/// Spec: [CONV-11] [CONV-82]
#[test]
fn by_default_the_first_failure_stops_the_rest() {
    let (mut talk, begun) = asked(ToolExecution::default(), &["a", "b", "c"]);
    assert_eq!(begun, ["replied", "run a"]);
    assert_eq!(talk.ok(0, "1"), ["result of a", "run b"]);
    let next = talk.error(0);
    let expected = ["error of b", "skipped", "turn ended", "turn 2", "ask"];
    assert_eq!(next, expected);
    assert_eq!(talk.last_message().len(), 3, "c has a result");
}

/// Spec: [CONV-44] [CONV-80]
#[test]
fn parallel_tools_that_a_crash_cut_short_may_have_run() {
    let (mut talk, _) = asked(ToolExecution::Parallel, &["a", "b", "c"]);
    talk.ok(1, "2");
    talk.ok(0, "1");
    let mut again = Talk::revived(planner(10), talk.records);
    let began = again.prompt("and now");
    assert_eq!(began[0], "error of c");
    let unknown = r#"{"error":"interrupted, effect unknown"}"#;
    assert_eq!(again.last_message(), ["1", "2", unknown, "and now"]);
}

/// Spec: [CONV-730] [CONV-731]
#[test]
fn a_call_before_the_last_fallback_does_not_run_and_gets_no_result() {
    let mark = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
    let hop = block(&mark);
    let mut talk = machine(10);
    let effects = whole(
        &mut talk,
        [
            got(1, 0, tool("refused")),
            got(1, 1, hop.clone()),
            got(1, 2, tool("again")),
            got(1, 3, hop),
            got(1, 4, tool("served")),
            finished(1, StopReason::ToolUse),
        ],
    );
    let runs = |effect: &&Effect| matches!(effect, Effect::RunTool(..));
    let run: Vec<&Effect> = effects.iter().filter(runs).collect();
    assert_eq!(run, [&run_tool(2, "served")]);
    play(&mut talk, [ok(2, "1")]);
    let expected = json!([
        user(&json!([text("hi")])),
        assistant(&json!([mark, mark, tool_use("served")])),
        user(&json!([result("served", "1", false)])),
    ]);
    assert_eq!(messages(&talk), expected);
}
