//! Runs without a new prompt: going on, and asking again.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::conversation::messages::Resumption::{self, Continue, Retry};
use harness_protocol::Event;

fn refused_with(talk: &mut Talk, resumption: Resumption) -> SubmitError {
    let before = (messages(&talk.machine), talk.records.len());
    let error = talk.resume(resumption).unwrap_err();
    assert_eq!((messages(&talk.machine), talk.records.len()), before);
    error
}

/// Spec: [CONV-83]
#[test]
fn there_is_nothing_to_continue_in_an_empty_conversation_or_behind_a_reply() {
    for resumption in [Continue, Retry] {
        let mut talk = Talk::new();
        assert_eq!(refused_with(&mut talk, resumption), SubmitError::Empty);
        talk.prompt("hi");
        assert_eq!(refused_with(&mut talk, resumption), SubmitError::Busy);
        talk.say("a");
        assert_eq!(refused_with(&mut talk, resumption), SubmitError::Replied);
        talk.handle(Input::StopRequested);
        assert_eq!(refused_with(&mut talk, resumption), SubmitError::Stopping);
    }
}

/// Spec: [CONV-83]
#[test]
fn behind_a_reply_what_waits_is_said_first() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.say("a");
    talk.follow_up("f");
    talk.steer("s1");
    talk.steer("s2");
    let began = talk.resume(Continue).unwrap();
    assert_eq!(began, ["run 2", "prompt s1", "turn 1", "ask"]);
    talk.cancel();
    talk.fail(ModelError::Cancelled);
    talk.withdraw(Some(crate::ids::ItemId(3)));
    talk.prompt("on");
    talk.cancel();
    talk.say("b");
    // Without steering it is a follow-up.
    let began = talk.resume(Continue).unwrap();
    assert_eq!(began, ["run 4", "prompt f", "turn 1", "ask"]);
}

/// Spec: [CONV-83]
#[test]
fn a_past_that_waits_for_the_model_goes_on_without_a_message() {
    // The model failed before it said anything.
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.fail(ModelError::Truncated);
    talk.follow_up("f");
    let began = talk.resume(Continue).unwrap();
    assert_eq!(began, ["run 2", "turn 1", "ask"]);
    assert_eq!(talk.last_message(), ["hi"]);
    assert_eq!(talk.waiting(), ["f"]);

    // A cancel came between a result and the next request.
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.ask_for(&["t"]);
    talk.cancel();
    talk.ok(0, "x");
    talk.steer("s");
    let began = talk.resume(Continue).unwrap();
    assert_eq!(began, ["run 2", "prompt s", "turn 1", "ask"]);
    assert_eq!(talk.last_message(), ["x", "s"]);
}

/// Spec: [CONV-84]
#[test]
fn a_failed_or_cancelled_reply_is_left_out_when_it_is_asked_for_again() {
    for is_cancelled in [false, true] {
        let mut talk = Talk::new();
        talk.prompt("hi");
        talk.block(Block::text("a"));
        let error = if is_cancelled {
            talk.cancel();
            ModelError::Cancelled
        } else {
            ModelError::Truncated
        };
        talk.fail_behind(error, vec![(9, Block::text("b"))]);
        assert_eq!(talk.all_texts(), ["hi", "a", "b"]);
        assert_eq!(refused_with(&mut talk, Continue), SubmitError::Replied);
        let began = talk.resume(Retry).unwrap();
        assert_eq!(began, ["run 2", "left out", "turn 1", "ask"]);
        assert_eq!(talk.all_texts(), ["hi"]);
        talk.say("well");
        assert_eq!(talk.all_texts(), ["hi", "well"]);
        assert_eq!(refused_with(&mut talk, Retry), SubmitError::Replied);
    }
}

/// Spec: [CONV-84]
#[test]
fn a_failed_reply_with_calls_is_left_out_with_them() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.block(tool("t"));
    talk.fail(ModelError::Truncated);
    let began = talk.resume(Retry).unwrap();
    assert_eq!(began, ["run 2", "left out", "turn 1", "ask"]);
    assert_eq!(talk.all_texts(), ["hi"]);
}

/// Spec: [CONV-84]
#[test]
fn a_reply_that_something_came_behind_is_not_taken_back() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.fail_behind(ModelError::Truncated, vec![(9, Block::text("a"))]);
    talk.prompt("again");
    talk.fail(ModelError::Truncated);
    let began = talk.resume(Retry).unwrap();
    assert_eq!(began, ["run 3", "turn 1", "ask"]);
    assert_eq!(talk.all_texts(), ["hi", "a", "again"]);

    // Nor when the service died before the model said anything to it.
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.fail_behind(ModelError::Truncated, vec![(9, Block::text("a"))]);
    talk.prompt("again");
    let mut again = Talk::revived(planner(10), talk.records);
    let began = again.resume(Retry).unwrap();
    assert!(!began.contains(&"left out".to_owned()), "{began:?}");
    assert_eq!(again.all_texts(), ["hi", "a", "again"]);
}

/// Spec: [CONV-85]
#[test]
fn what_a_crash_cut_short_can_go_on_or_be_asked_for_again() {
    // In the middle of a text.
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.block(Block::text("a"));
    let mut again = Talk::revived(planner(10), talk.records.clone());
    assert_eq!(refused_with(&mut again, Continue), SubmitError::Replied);
    let began = again.resume(Retry).unwrap();
    let expected = [
        "failed",
        "turn ended",
        "run ended",
        "error interrupted: the service ended before the run did",
        "run 2",
        "left out",
        "turn 1",
        "ask",
    ];
    assert_eq!(began, expected);
    assert_eq!(again.all_texts(), ["hi"]);

    // Behind a call, which may have run.
    talk.block(tool("t"));
    for resumption in [Continue, Retry] {
        let mut again = Talk::revived(planner(10), talk.records.clone());
        let began = again.resume(resumption).unwrap();
        assert!(began.contains(&"error of t".to_owned()), "{began:?}");
        assert_eq!(again.all_texts().len(), 4);
    }

    // Behind a thought alone, of which nothing is sent back.
    let mut talk = Talk::new();
    talk.prompt("hi");
    let thought = serde_json::json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    talk.block(block(&thought));
    for resumption in [Continue, Retry] {
        let mut again = Talk::revived(planner(10), talk.records.clone());
        again.resume(resumption).unwrap();
        assert_eq!(again.all_texts(), ["hi"]);
    }
}

/// Spec: [CONV-85] [CONV-43]
#[test]
fn a_conversation_goes_on_from_wherever_its_journal_ends() {
    let mut talk = Talk::new();
    talk.steer("s");
    talk.prompt("hi");
    talk.block(Block::text("a"));
    talk.ask_for(&["t", "u"]);
    talk.ok(0, "x");
    talk.follow_up("f");
    talk.ok(0, "y");
    talk.block(Block::text("I look"));
    talk.block(block(&web_search("w")));
    talk.end(StopReason::PauseTurn, 0);
    talk.say("b");
    talk.block(Block::text("c"));
    talk.fail(ModelError::Truncated);
    talk.resume(Retry).unwrap();
    talk.say("d");

    for cut in 0..=talk.records.len() {
        for resumption in [Continue, Retry] {
            let records = talk.records[..cut].to_vec();
            let mut again = Talk::revived(planner(10), records.clone());
            match again.resume(resumption) {
                Ok(began) => {
                    assert_eq!(began.last().unwrap(), "ask");
                    assert!(again.waiting().len() < 2);
                    check_end(&again);
                    again.say("well");
                }
                Err(SubmitError::Empty) => assert!(again.all_texts().is_empty()),
                Err(SubmitError::Replied) => {
                    assert!(again.waiting().is_empty());
                    again.prompt("on");
                    let texts = messages(&again.machine);
                    let texts = texts.as_array().unwrap();
                    assert_eq!(texts.last().unwrap()["content"][0]["text"], "on");
                }
                Err(other) => panic!("{other} at {cut}"),
            }
        }
    }
}

/// Current models refuse to go on from a reply, unless they paused it.
fn check_end(talk: &Talk) {
    let messages = messages(&talk.machine);
    let last = messages.as_array().unwrap().last().unwrap();
    let last_block = last["content"].as_array().unwrap().last().unwrap();
    let is_paused = last_block["type"] == "server_tool_use";
    assert!(last["role"] == "user" || is_paused, "{messages}");
}

/// Spec: [CONV-84] [CONV-85]
#[test]
fn a_paused_reply_that_did_not_go_on_is_left_out_as_a_whole() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.block(Block::text("I look"));
    talk.block(block(&web_search("w")));
    talk.end(StopReason::PauseTurn, 0);
    let records = talk.records.clone();
    talk.fail(ModelError::Truncated);
    let crashed = Talk::revived(planner(10), records);
    for mut talk in [talk, crashed] {
        assert_eq!(refused_with(&mut talk, Continue), SubmitError::Replied);
        let began = talk.resume(Retry).unwrap();
        assert!(began.contains(&"left out".to_owned()), "{began:?}");
        assert_eq!(talk.all_texts(), ["hi"]);
    }
}

/// Spec: [CONV-83]
#[test]
fn a_past_that_the_api_refused_is_not_asked_about_again() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.say("a");
    talk.prompt("bad");
    talk.fail(refused());
    assert_eq!(refused_with(&mut talk, Continue), SubmitError::Replied);
    assert_eq!(talk.all_texts(), ["hi", "a"]);
}

/// Spec: [CONV-145] [CONV-29]
#[test]
fn what_the_api_refused_is_sent_again_by_a_retry() {
    let refused = || ModelError::Api {
        status: 400,
        kind: "invalid_request_error".to_owned(),
        message: "no".to_owned(),
        request_id: None,
    };
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.fail(refused());
    assert!(talk.all_texts().is_empty());
    talk.resume(Resumption::Retry).unwrap();
    assert_eq!(talk.last_message(), ["hi"]);
    talk.ask_for(&["t"]);
    talk.steer("now");
    talk.ok(0, "x");
    talk.fail(refused());
    talk.resume(Resumption::Retry).unwrap();
    assert_eq!(talk.last_message(), ["x", "now"]);
    talk.fail(refused());
    talk.prompt("on");
    talk.say("a");
    assert_eq!(talk.resume(Resumption::Retry), Err(SubmitError::Replied));
}

/// Spec: [CONV-145] [CONV-430]
#[test]
fn what_the_model_declined_is_sent_again_by_a_retry_alone() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.say("a");
    talk.prompt("bad");
    talk.block(Block::text("No."));
    talk.end(StopReason::Refusal, 0);
    assert_eq!(refused_with(&mut talk, Continue), SubmitError::Replied);
    assert_eq!(talk.all_texts(), ["hi", "a"]);
    let began = talk.resume(Retry).unwrap();
    assert!(began.contains(&"left out".to_owned()), "{began:?}");
    assert_eq!(talk.all_texts(), ["hi", "a", "bad"]);
    talk.end(StopReason::Refusal, 0);
    talk.prompt("good");
    assert_eq!(talk.all_texts(), ["hi", "a", "good"]);
    let revived = Talk::revived(planner(10), talk.records.clone());
    assert_eq!(revived.all_texts(), ["hi", "a", "good"]);
}

/// Spec: [CONV-150] [EVENT-30]
#[test]
fn who_goes_on_and_who_asks_again_is_on_record_and_shown() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.fail_behind(ModelError::Truncated, vec![(9, Block::text("b"))]);
    talk.resume(Retry).unwrap();
    let by = |record: &Record| match crate::event::event(record, 1) {
        Event::RunStarted { by, .. } => Some(("run", by)),
        Event::ReplyLeftOut { by, .. } => Some(("left out", by)),
        _ => None,
    };
    let shown: Vec<_> = talk.records.iter().filter_map(by).collect();
    let ann = || Some("ann".to_owned());
    // What a prompt begins is with who sent the prompt.
    assert_eq!(shown, [("run", None), ("run", ann()), ("left out", ann())]);
}
