//! When what waits is said: steering and follow-ups.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use harness_protocol::QueueMode;
use serde_json::json;

use super::talk::{Talk, check_fates, message};
use super::testing::*;
use super::*;
use crate::conversation::messages::QueueMessage;
use crate::ids::ItemId;

/// Spec: [CONV-70] [CONV-71] [CONV-74]
#[test]
fn steering_is_said_once_before_the_first_request_and_once_behind_each_turn() {
    let mut talk = Talk::new();
    talk.steer("s1");
    talk.steer("s2");
    talk.steer("s3");
    assert_eq!(talk.machine.run(), None, "steering starts nothing");
    let began = talk.prompt("hi");
    assert_eq!(began, ["run 1", "prompt hi", "prompt s1", "turn 1", "ask"]);
    assert_eq!(talk.last_message(), ["hi", "s1"]);
    let next = talk.say("a");
    assert_eq!(
        next,
        ["replied", "turn ended", "prompt s2", "turn 2", "ask"]
    );
    assert_eq!(talk.waiting(), ["s3"]);
    let next = talk.say("b");
    assert_eq!(
        next,
        ["replied", "turn ended", "prompt s3", "turn 3", "ask"]
    );
    let end = talk.say("c");
    assert_eq!(end, ["replied", "turn ended", "run ended", "idle", "end 1"]);
    assert_eq!(talk.all_texts(), ["hi", "s1", "a", "s2", "b", "s3", "c"]);
}

/// Spec: [CONV-70] [CONV-71]
#[test]
fn steering_waits_for_all_tools_of_the_turn_and_stands_behind_their_results() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    assert_eq!(talk.ask_for(&["t", "u"]), ["replied", "run t"]);
    talk.steer("now");
    assert_eq!(talk.ok(0, "x"), ["result of t", "run u"]);
    assert_eq!(talk.waiting(), ["now"]);
    let next = talk.ok(0, "y");
    let expected = ["result of u", "turn ended", "prompt now", "turn 2", "ask"];
    assert_eq!(next, expected);
    assert_eq!(talk.last_message(), ["x", "y", "now"]);
    assert!(talk.waiting().is_empty());
}

/// Spec: [CONV-71]
#[test]
fn steering_is_said_behind_a_tool_that_failed() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.ask_for(&["t", "u"]);
    talk.steer("now");
    let next = talk.error(0);
    let expected = [
        "error of t",
        "skipped",
        "turn ended",
        "prompt now",
        "turn 2",
        "ask",
    ];
    assert_eq!(next, expected);
}

/// Spec: [CONV-74]
#[test]
fn all_that_waits_is_said_at_once_where_the_mode_says_so() {
    let mut talk = Talk::with(|defaults| defaults.settings.steering_mode = QueueMode::All);
    talk.steer("s1");
    talk.follow_up("f1");
    talk.steer("s2");
    talk.follow_up("f2");
    let began = talk.prompt("hi");
    let expected = [
        "run 1",
        "prompt hi",
        "prompt s1",
        "prompt s2",
        "turn 1",
        "ask",
    ];
    assert_eq!(began, expected);
    // The other queue has its own mode.
    let next = talk.say("a");
    assert_eq!(
        next,
        ["replied", "turn ended", "prompt f1", "turn 2", "ask"]
    );
    assert_eq!(talk.waiting(), ["f2"]);

    let mut talk = Talk::with(|defaults| defaults.settings.follow_up_mode = QueueMode::All);
    talk.steer("s1");
    talk.follow_up("f1");
    talk.steer("s2");
    talk.follow_up("f2");
    talk.prompt("hi");
    assert_eq!(talk.waiting(), ["f1", "s2", "f2"]);
    talk.say("a");
    let next = talk.say("b");
    let expected = [
        "replied",
        "turn ended",
        "prompt f1",
        "prompt f2",
        "turn 3",
        "ask",
    ];
    assert_eq!(next, expected);
}

/// Spec: [CONV-72]
#[test]
fn a_follow_up_is_said_only_where_the_run_would_end() {
    let mut talk = Talk::new();
    talk.follow_up("f1");
    talk.follow_up("f2");
    let began = talk.prompt("hi");
    assert_eq!(began, ["run 1", "prompt hi", "turn 1", "ask"]);
    talk.ask_for(&["t"]);
    let next = talk.ok(0, "x");
    assert_eq!(next, ["result of t", "turn ended", "turn 2", "ask"]);
    talk.steer("s");
    let next = talk.say("a");
    assert_eq!(next, ["replied", "turn ended", "prompt s", "turn 3", "ask"]);
    let next = talk.say("b");
    assert_eq!(
        next,
        ["replied", "turn ended", "prompt f1", "turn 4", "ask"]
    );
    // Steering goes before the next follow-up here, too.
    talk.steer("s2");
    let next = talk.say("c");
    assert_eq!(
        next,
        ["replied", "turn ended", "prompt s2", "turn 5", "ask"]
    );
    let next = talk.say("d");
    assert_eq!(
        next,
        ["replied", "turn ended", "prompt f2", "turn 6", "ask"]
    );
    talk.say("e");
    assert_eq!(talk.machine.run(), None);
}

/// Spec: [CONV-72]
#[test]
fn what_waits_is_said_behind_a_reply_that_ended_oddly() {
    for stop in [StopReason::MaxTokens, StopReason::Other("tired".to_owned())] {
        for queue in [Queue::Steer, Queue::FollowUp] {
            let mut talk = Talk::new();
            talk.prompt("hi");
            talk.queue(message(queue, "more")).unwrap();
            talk.block(Block::text("a"));
            let next = talk.end(stop.clone(), 0);
            assert!(next[1].starts_with("thinking stopped: "), "{next:?}");
            assert_eq!(next[2..], ["turn ended", "prompt more", "turn 2", "ask"]);
        }
    }
}

/// Spec: [CONV-73]
#[test]
fn a_paused_reply_goes_on_undisturbed() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.steer("s");
    talk.follow_up("f");
    talk.block(block(&web_search("w")));
    let next = talk.end(StopReason::PauseTurn, 0);
    assert_eq!(next, ["replied", "turn ended", "turn 2", "ask"]);
    assert_eq!(talk.waiting(), ["s", "f"]);
    let next = talk.say("found");
    assert_eq!(next, ["replied", "turn ended", "prompt s", "turn 3", "ask"]);
}

/// Spec: [CONV-796] [CONV-797]
#[test]
fn what_waits_is_said_behind_the_result_of_the_apis_own_tool() {
    let mixed = || {
        let mut talk = Talk::new();
        talk.prompt("hi");
        talk.block(block(&web_search("w")));
        talk.block(block(&tool_use("t")));
        assert_eq!(talk.end(StopReason::ToolUse, 0), ["replied", "run t"]);
        talk.steer("s");
        talk
    };
    let mut talk = mixed();
    let next = talk.ok(0, "x");
    assert_eq!(next, ["result of t", "turn ended", "turn 2", "ask"]);
    assert_eq!(talk.waiting(), ["s"]);
    let asked = messages(&talk.machine);
    let reply = assistant(&json!([web_search("w"), tool_use("t")]));
    let results = user(&json!([result("t", "x", false)]));
    assert_eq!(
        asked.as_array().unwrap()[1..],
        json!([reply, results]).as_array().unwrap()[..]
    );

    talk.block(block(&web_results("w")));
    let next = talk.say("found");
    assert_eq!(next, ["replied", "turn ended", "prompt s", "turn 3", "ask"]);
    let found = assistant(&json!([web_results("w"), text("found")]));
    let expected = json!([reply, results, found, user(&json!([text("s")]))]);
    assert_eq!(
        messages(&talk.machine).as_array().unwrap()[1..],
        expected.as_array().unwrap()[..]
    );

    // A cancel in between ends the wait for the result.
    let mut talk = mixed();
    talk.cancel();
    talk.ok(0, "x");
    assert!(!talk.machine.history().awaits_server_results());
    assert_eq!(
        messages(&talk.machine)[1],
        assistant(&json!([tool_use("t")]))
    );
}

/// Spec: [CONV-75]
#[test]
fn a_run_that_is_cancelled_or_fails_leaves_what_waits() {
    let waits = |talk: &Talk| assert_eq!(talk.waiting(), ["s", "f"]);
    let asked = || {
        let mut talk = Talk::new();
        talk.prompt("hi");
        talk.steer("s");
        talk.follow_up("f");
        talk
    };
    let mut talk = asked();
    talk.cancel();
    let end = talk.fail(ModelError::Cancelled);
    assert_eq!(end.last().unwrap(), "end 1");
    waits(&talk);

    // Even if the reply was just complete.
    let mut talk = asked();
    talk.cancel();
    talk.say("a");
    assert_eq!(talk.machine.run(), None);
    waits(&talk);

    let mut talk = asked();
    talk.fail(ModelError::Truncated);
    assert_eq!(talk.machine.run(), None);
    waits(&talk);

    let mut talk = asked();
    talk.ask_for(&["t"]);
    talk.cancel();
    talk.error(0);
    assert_eq!(talk.machine.run(), None);
    waits(&talk);

    let mut talk = asked();
    talk.handle(Input::StopRequested);
    talk.fail(ModelError::Cancelled);
    assert_eq!(talk.machine.run(), None);
    waits(&talk);

    let mut talk = asked();
    talk.end(StopReason::Refusal, 0);
    assert_eq!(talk.machine.run(), None);
    waits(&talk);
}

/// Spec: [CONV-75]
#[test]
fn a_cancel_can_take_what_waits_with_it() {
    let clear = || {
        Input::CancelRequested(CancelRun {
            run: None,
            by: Some("ann".to_owned()),
            clear_queue: true,
        })
    };
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.steer("s");
    talk.follow_up("f");
    assert_eq!(talk.handle(clear()), ["withdrawn 2", "cancel model"]);
    assert!(talk.waiting().is_empty());
    talk.fail(ModelError::Cancelled);
    // While nothing is going it does that alone.
    talk.steer("s");
    assert_eq!(talk.handle(clear()), ["withdrawn 1"]);
    let Some(Record::Withdrawn { by, .. }) = talk.records.last() else {
        panic!("{:?}", talk.records.last());
    };
    assert_eq!(by.as_deref(), Some("ann"));
    assert!(talk.handle(clear()).is_empty());
}

/// Spec: [CONV-76]
#[test]
fn what_is_said_lets_the_run_make_all_its_requests_anew() {
    let mut talk = Talk::with(|defaults| defaults.settings.max_turns = 2);
    talk.prompt("hi");
    talk.ask_for(&["a"]);
    talk.ok(0, "x");
    talk.steer("s");
    talk.ask_for(&["b"]);
    // The second request was the last one, but for the steering.
    let next = talk.ok(0, "x");
    let expected = ["result of b", "turn ended", "prompt s", "turn 3", "ask"];
    assert_eq!(next, expected);
    talk.ask_for(&["c"]);
    let next = talk.ok(0, "x");
    assert_eq!(next, ["result of c", "turn ended", "turn 4", "ask"]);
    talk.follow_up("f");
    talk.ask_for(&["d"]);
    let end = talk.ok(0, "x");
    let expected = [
        "result of d",
        "turn ended",
        "run ended",
        "idle stopped: reached max_turns (2)",
        "end 1",
    ];
    assert_eq!(end, expected, "a follow-up does not disturb tools");
    assert_eq!(talk.waiting(), ["f"]);

    let mut talk = Talk::with(|defaults| defaults.settings.max_turns = 1);
    talk.follow_up("f");
    talk.prompt("hi");
    let next = talk.say("a");
    assert_eq!(next, ["replied", "turn ended", "prompt f", "turn 2", "ask"]);
}

/// Spec: [CONV-77]
#[test]
fn what_cannot_wait_is_refused_and_changes_nothing() {
    let mut talk = Talk::new();
    let blank = talk.queue(message(Queue::Steer, " \n"));
    assert_eq!(blank, Err(SubmitError::Blank));
    for number in 1..=100 {
        let queue = [Queue::Steer, Queue::FollowUp][number % 2];
        let item = talk.queue(message(queue, "x")).unwrap();
        assert_eq!(item, ItemId(number as u64));
    }
    let full = Err(SubmitError::QueueFull { max: 100 });
    assert_eq!(talk.queue(message(Queue::Steer, "x")), full);
    assert_eq!(talk.withdraw(Some(ItemId(40))), [ItemId(40)]);
    // No name is given twice.
    assert_eq!(talk.queue(message(Queue::Steer, "x")), Ok(ItemId(101)));
    assert_eq!(talk.queue(message(Queue::Steer, "x")), full);

    let mut talk = Talk::new();
    talk.steer("s");
    talk.handle(Input::StopRequested);
    let stopping = talk.queue(message(Queue::Steer, "x"));
    assert_eq!(stopping, Err(SubmitError::Stopping));
    assert_eq!(talk.waiting(), ["s"]);
    // What waits can still be withdrawn.
    assert_eq!(talk.withdraw(None), [ItemId(1)]);
}

/// Spec: [CONV-78]
#[test]
fn what_waits_can_be_withdrawn_until_it_is_said() {
    let mut talk = Talk::new();
    let [first, second, third] = ["a", "b", "c"].map(|text| talk.steer(text));
    assert_eq!(talk.withdraw(Some(second)), [second]);
    assert_eq!(talk.withdraw(Some(second)), []);
    talk.prompt("hi");
    assert_eq!(talk.withdraw(Some(first)), [], "it was said");
    assert_eq!(talk.withdraw(None), [third]);
    assert_eq!(talk.withdraw(None), []);
    talk.say("well");
    assert_eq!(talk.machine.run(), None);
    assert_eq!(talk.all_texts(), ["hi", "a", "well"]);
}

/// Spec: [ATT-21] [CONV-46] [CONV-79]
#[test]
fn a_message_with_a_key_waits_once() {
    let keyed = |content: &str| QueueMessage {
        key: Some("k".to_owned()),
        ..message(Queue::FollowUp, content)
    };
    let keyed_prompt = |content: &str| SubmitPrompt {
        key: Some("k".to_owned()),
        ..prompt(content)
    };
    let reused = Err(SubmitError::KeyReused);
    let mut talk = Talk::new();
    assert_eq!(talk.queue(keyed("f")), Ok(ItemId(1)));
    let with_file = QueueMessage {
        attachments: vec![Attachment {
            sha256: "aa".to_owned(),
            media_type: "image/png".to_owned(),
            bytes: 3,
            name: None,
        }],
        ..keyed("f")
    };
    assert_eq!(talk.queue(with_file), reused);
    assert_eq!(talk.queue(keyed("f")), Ok(ItemId(1)));
    assert_eq!(talk.queue(keyed("g")), reused);
    assert_eq!(talk.waiting(), ["f"]);
    assert_eq!(
        talk.try_prompt(keyed_prompt("f")),
        Err(SubmitError::KeyReused)
    );
    talk.prompt("hi");
    talk.say("a");
    talk.say("b");
    // Also when it was said, and in a full queue, and while the service stops.
    assert_eq!(talk.queue(keyed("f")), Ok(ItemId(1)));
    talk.handle(Input::StopRequested);
    assert_eq!(talk.queue(keyed("f")), Ok(ItemId(1)));
    assert!(talk.waiting().is_empty());

    let mut talk = Talk::new();
    talk.try_prompt(keyed_prompt("f")).unwrap();
    assert_eq!(talk.queue(keyed("f")), reused);
    let repeated = talk.try_prompt(keyed_prompt("f"));
    assert_eq!(repeated.unwrap(), ["repeated 1"]);
}

/// Spec: [CONV-79]
#[test]
fn a_crash_loses_no_message_and_says_none_twice() {
    let mut talk = Talk::new();
    talk.steer("s1");
    talk.follow_up("f1");
    talk.prompt("hi");
    talk.follow_up("f2");
    talk.steer("s2");
    talk.ask_for(&["t"]);
    talk.ok(0, "x");
    let gone = talk.follow_up("f3");
    talk.withdraw(Some(gone));
    talk.say("a");
    talk.follow_up("f4");
    talk.say("b");
    talk.cancel();
    talk.fail_behind(ModelError::Cancelled, vec![(90, Block::text("c"))]);
    assert_eq!(talk.waiting(), ["f4"]);

    for cut in 0..=talk.records.len() {
        let mut again = Talk::revived(planner(10), talk.records[..cut].to_vec());
        again.prompt("and now");
        for _ in 0..9 {
            if again.call.is_some() {
                again.say("well");
            }
        }
        assert_eq!(again.machine.run(), None);
        assert!(again.waiting().is_empty());
        check_fates(&again.records, &[]);
    }
}

/// Spec: [CONV-79]
#[test]
fn who_queued_a_message_is_told_when_it_waits_and_when_it_is_said() {
    let mut talk = Talk::new();
    talk.steer("s");
    talk.prompt("hi");
    let by: Vec<_> = talk
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Queued { by, queue, .. } => Some((by.clone(), Some(*queue))),
            Record::Prompt { by, queue, .. } => Some((by.clone(), *queue)),
            _ => None,
        })
        .collect();
    let bob = (Some("bob".to_owned()), Some(Queue::Steer));
    assert_eq!(by, [bob.clone(), (None, None), bob]);
}

/// Spec: [CONV-140]
#[test]
fn what_waits_has_at_most_so_much_text() {
    let mut talk = Talk::new();
    let half = "x".repeat(2 * 1024 * 1024);
    let first = talk.follow_up(&half);
    talk.steer(&half);
    let full = Err(SubmitError::QueueTooLarge {
        max_bytes: 4 * 1024 * 1024,
    });
    assert_eq!(talk.queue(message(Queue::Steer, "x")), full);
    talk.withdraw(Some(first));
    talk.steer("x");
}

/// Spec: [CONV-141]
#[test]
fn a_reply_that_was_cut_says_so_even_if_something_waits() {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.follow_up("and then");
    talk.block(Block::text("a"));
    let next = talk.end(StopReason::MaxTokens, 10);
    assert!(
        next.iter()
            .any(|it| it == "thinking stopped: the reply reached max_tokens"),
        "{next:?}"
    );
    assert_eq!(next.last().unwrap(), "ask");
}
