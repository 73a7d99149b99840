//! When the past is summarized, and what becomes of the summary.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use harness_protocol::{CompactionReason, ContextWindow, Event};
use serde_json::json;

use super::talk::{Talk, long};
use super::testing::*;
use super::*;
use crate::conversation::messages::Resumption;
use crate::model::ModelInfo;

type Step = fn(&mut Talk) -> Vec<String>;

/// A talk of 4,500 tokens with a prompt of 1,000 more, whose window is about to be known.
fn described() -> Talk {
    let mut talk = Talk::new();
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    talk.say(&long("r1", 1500));
    let begun = talk.prompt(&long("p2", 1000));
    assert_eq!(begun.last().unwrap(), "describe");
    talk
}

/// The same in a window of 10,000 tokens, of which 5,000 are the reserve.
fn summarizing() -> Talk {
    let mut talk = described();
    let begun = talk.described(Some(10_000));
    let expected = ["compacting Threshold", "thinking compacting", "summarize"];
    assert_eq!(begun, expected);
    talk
}

fn call(talk: &Talk) -> &SummaryCall {
    let Some(Effect::Summarize(_, call)) = talk.last.last() else {
        panic!("{:?}", talk.last.last());
    };
    call
}

fn tokens(talk: &Talk) -> u64 {
    talk.machine.history().estimate(0)
}

fn too_long() -> ModelError {
    ModelError::Api {
        status: 400,
        kind: "invalid_request_error".to_owned(),
        message: "prompt is too long: 12000 tokens > 10000 maximum".to_owned(),
        request_id: None,
    }
}

/// Spec: [CONV-94]
#[test]
fn only_a_request_that_is_not_small_looks_up_what_the_model_takes_and_once_in_a_run() {
    let mut talk = Talk::new();
    let begun = talk.prompt(&long("p", 1900));
    assert_eq!(begun.last().unwrap(), "ask");
    let next = talk.ask_for(&["t"]);
    assert_eq!(next, ["replied", "run t"]);
    let next = talk.ok(0, &long("x", 500));
    assert_eq!(next, ["result of t", "turn ended", "describe"]);
    assert_eq!(talk.described(Some(100_000)), ["turn 2", "ask"]);
    talk.ask_for(&["u"]);
    assert_eq!(talk.ok(0, "y").last().unwrap(), "ask");
    talk.say("a");
    assert_eq!(talk.prompt("on").last().unwrap(), "describe");
}

/// Spec: [CONV-94] [CONV-27]
#[test]
fn a_run_goes_on_where_nothing_is_known_of_the_model() {
    let go_on: [Step; 3] = [
        |talk| talk.described(None),
        |talk| talk.fail(ModelError::Truncated),
        Talk::lose,
    ];
    for answer in go_on {
        let mut talk = described();
        assert_eq!(answer(&mut talk), ["turn 1", "ask"]);
        talk.say("a");
        assert_eq!(talk.machine.run(), None);
    }
    // Then the settings tell the window.
    let mut talk = Talk::with(|defaults| defaults.settings.context_window = Some(10_000));
    talk.prompt(&long("p1", 3000));
    talk.lose();
    talk.say(&long("r1", 1500));
    talk.prompt(&long("p2", 1000));
    assert_eq!(talk.lose().last().unwrap(), "summarize");
}

/// Spec: [CONV-94] [CONV-97]
#[test]
fn a_cancel_or_a_stop_ends_the_look_at_the_model() {
    for input in [cancel(), Input::StopRequested] {
        let mut talk = described();
        assert_eq!(talk.handle(input), ["cancel model"]);
        let end = talk.lose();
        assert_eq!(end.last().unwrap(), "end 2");
        assert_eq!(talk.machine.run(), None);
    }
}

/// Spec: [CONV-172]
#[test]
fn what_a_summary_drops_is_told_beside_and_a_cancel_does_not_wait_for_it() {
    for input in [cancel(), Input::StopRequested] {
        for is_told in [true, false] {
            let mut talk = described();
            let call_id = talk.call.take().unwrap();
            let info = Some(Arc::new(ModelInfo {
                id: "m".to_owned(),
                max_input_tokens: Some(10_000),
                ..ModelInfo::default()
            }));
            let described = ModelEvent::Described { call_id, info };
            let effects = talk.machine.handle(Input::Model(described));
            let Some(Effect::TellDropped(call_id, dropped)) = effects.last().cloned() else {
                panic!("{effects:?}");
            };
            let told = || Input::Told {
                call_id: call_id.clone(),
                told: dropped.tell(),
            };
            let cancelled = talk.machine.handle(input.clone());
            assert_eq!(cancelled, [Effect::CancelModel(call_id.clone())]);
            let end = if is_told {
                talk.machine.handle(told())
            } else {
                let lost = ModelEvent::failed(call_id.clone(), ModelError::Cancelled);
                talk.machine.handle(Input::Model(lost))
            };
            assert!(
                matches!(end.last(), Some(Effect::EndRun(RunId(2), _))),
                "{end:?}"
            );
            assert_eq!(talk.machine.handle(told()), [], "it is late");
        }
    }
}

/// Spec: [CONV-95]
#[test]
fn the_past_is_summarized_before_a_request_that_is_too_long() {
    let mut talk = summarizing();
    let before = tokens(&talk);
    assert!(call(&talk).request.prompt.contains("p1 "));
    assert!(!call(&talk).request.prompt.contains("mind the gap"));
    let next = talk.summary("all of it");
    assert_eq!(next, ["compacted, 2 kept", "turn 1", "ask"]);
    assert!(tokens(&talk) < before * 4 / 5);
    let texts = talk.all_texts();
    assert!(texts[0].contains("all of it"), "{texts:?}");
    assert!(texts.last().unwrap().starts_with("p2 "));
    let compacted = talk.records.iter().rev().find_map(|record| match record {
        Record::Compacted {
            tokens_before,
            tokens_after,
            reason,
            ..
        } => Some((*tokens_before, *tokens_after, *reason)),
        _ => None,
    });
    let expected = (before, tokens(&talk), CompactionReason::Threshold);
    assert_eq!(compacted, Some(expected));
    talk.say("well");
    assert_eq!(talk.machine.run(), None);

    // In a window with room for it, nothing is summarized.
    let mut talk = described();
    assert_eq!(talk.described(Some(22_000)), ["turn 1", "ask"]);
}

/// Spec: [CONV-95]
#[test]
fn the_past_is_summarized_between_two_tools_turns_too() {
    let mut talk = Talk::with(|defaults| defaults.settings.context_window = Some(10_000));
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    talk.ask_for(&["t"]);
    let next = talk.ok(0, &long("x", 2500));
    assert_eq!(next.last().unwrap(), "summarize");
    let next = talk.summary("so far");
    assert_eq!(next.last().unwrap(), "ask");
    assert!(talk.all_texts()[0].contains("so far"));
    talk.ask_for(&["u"]);
    assert_eq!(talk.ok(0, "y").last().unwrap(), "ask");
}

/// Spec: [CONV-95]
#[test]
fn what_is_too_long_for_one_summary_is_summarized_in_pieces() {
    let mut talk = Talk::new();
    for number in 0..4 {
        talk.prompt(&long(&format!("p{number}"), 4000));
        talk.described(None);
        talk.say("r");
    }
    talk.prompt("now");
    assert_eq!(talk.described(Some(10_000)).last().unwrap(), "summarize");
    loop {
        let text = format!("summary {}", talk.pieces + 1);
        let next = talk.piece(&text);
        if next.last().unwrap() != "summarize" {
            assert_eq!(next.last().unwrap(), "ask");
            break;
        }
        let prompt = &call(&talk).request.prompt;
        assert!(prompt.contains(&text), "it goes on from the one before");
        assert!(talk.pieces < 99);
    }
    assert!(talk.pieces > 1);
    let text = format!("summary {}", talk.pieces);
    assert!(talk.all_texts()[0].contains(&text));
    // What all of them cost is counted, once.
    let cost = 7 * talk.pieces;
    assert_eq!(talk.machine.ledger().totals().input_tokens, cost);
    assert_eq!(talk.machine.ledger().run_usage().input_tokens, cost);
}

/// Spec: [CONV-96]
#[test]
fn a_summary_that_fails_is_told_and_the_run_goes_on_with_all_of_the_past() {
    let answers: [(Step, &str); 5] = [
        (|talk| talk.summary(&long("s", 4500)), "not much shorter"),
        (|talk| talk.summary(" \n"), "empty"),
        (|talk| talk.fail(ModelError::Truncated), "message_stop"),
        (Talk::lose, ""),
        (
            |talk| {
                talk.block(Block::text("no"));
                talk.end(StopReason::Refusal, 7)
            },
            "declined",
        ),
    ];
    for (answer, reason) in answers {
        let mut talk = summarizing();
        let before = tokens(&talk);
        let next = answer(&mut talk);
        assert_eq!(next[1..], ["turn 1", "ask"], "{next:?}");
        assert!(next[0].starts_with("not compacted: "), "{next:?}");
        assert!(next[0].contains(reason), "{next:?}");
        assert_eq!(tokens(&talk), before);
        talk.say("well");
        assert_eq!(talk.machine.run(), None);
    }
}

/// Spec: [CONV-96]
#[test]
fn a_run_that_fits_no_window_without_the_summary_fails() {
    let mut talk = described();
    talk.described(Some(5_200));
    let end = talk.lose();
    assert_eq!(end.last().unwrap(), "end 2");
    assert!(end[0].starts_with("not compacted"), "{end:?}");
    let error = &end[end.len() - 2];
    let said = "error the past is too long for the model, and could not be summarized";
    assert!(error.starts_with(said), "{error}");
    // The past stays, so that it can be tried again.
    assert_eq!(talk.all_texts().len(), 3);
}

/// Spec: [CONV-96]
#[test]
fn what_fails_again_and_again_is_not_tried_before_every_request() {
    let mut talk = summarizing();
    talk.lose();
    let mut summaries = 0;
    for number in 0..8 {
        talk.ask_for(&[&format!("t{number}")]);
        let mut next = talk.ok(0, "x");
        while next.last().unwrap() == "summarize" {
            summaries += 1;
            next = talk.lose();
        }
        assert_eq!(next.last().unwrap(), "ask");
    }
    assert_eq!(summaries, 1, "and the one before");
    // Where the request does not fit any more, it is tried once more.
    talk.ask_for(&["u"]);
    assert_eq!(talk.ok(0, &long("x", 5000)).last().unwrap(), "summarize");
}

/// Spec: [CONV-96]
#[test]
fn there_are_at_most_two_summaries_between_two_replies() {
    let mut talk = Talk::with(|defaults| defaults.settings.context_window = Some(10_000));
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    talk.ask_for(&["t"]);
    // The first one leaves it above the threshold.
    talk.ok(0, &long("x", 9000));
    let mut summaries = 0;
    while matches!(talk.last.last(), Some(Effect::Summarize(..))) {
        summaries += 1;
        talk.summary(&long("s", 3500));
    }
    assert!((1..=2).contains(&summaries), "{summaries}");
}

/// Spec: [CONV-96]
#[test]
fn one_prompt_that_is_longer_than_the_window_fails_and_is_left_out() {
    let mut talk = Talk::new();
    talk.prompt(&long("p", 20_000));
    let end = talk.described(Some(10_000));
    let error = &end[end.len() - 2];
    assert_eq!(end[0], "refused");
    assert!(
        error.contains("20000") && error.contains("10000"),
        "{error}"
    );
    assert_eq!(talk.machine.run(), None);
    assert_eq!(
        talk.prompt("short"),
        ["run 2", "prompt short", "turn 1", "ask"]
    );
    assert_eq!(talk.all_texts(), ["short"]);
    talk.say("a");
    assert!(
        !talk
            .records
            .iter()
            .any(|record| matches!(record, Record::Compacted { .. }))
    );
}

/// Spec: [CONV-97]
#[test]
fn a_request_that_the_api_finds_too_long_is_made_once_more_behind_a_summary() {
    let mut talk = described();
    talk.described(Some(22_000));
    let next = talk.fail(too_long());
    let expected = [
        "failed",
        "turn ended",
        "compacting Overflow",
        "thinking compacting",
        "summarize",
    ];
    // The window is larger than all of the past, so all of it would be kept.
    if next.last().unwrap() != "summarize" {
        assert_eq!(next[0], "refused");
    }
    let mut talk = described();
    talk.described(None);
    let next = talk.fail(too_long());
    assert_eq!(next, expected);
    let next = talk.summary("all of it");
    assert_eq!(next, ["compacted, 1 kept", "turn 2", "ask"]);
    // Once only.
    let end = talk.fail(too_long());
    assert_eq!(end[0], "refused");
    assert_eq!(end.last().unwrap(), "end 2");
}

/// Spec: [CONV-175]
#[test]
fn a_window_that_the_api_names_holds_for_the_rest_of_the_run() {
    let mut talk = described();
    talk.described(None);
    assert_eq!(talk.fail(too_long()).last().unwrap(), "summarize");
    assert_eq!(talk.summary("all of it").last().unwrap(), "ask");
    // Nothing else told the window of 10,000; 5,000 of it are the reserve.
    talk.ask_for(&["t"]);
    let next = talk.ok(0, &long("x", 4800));
    assert_eq!(next.last().unwrap(), "summarize", "{next:?}");

    // Where more is known, the smaller one holds.
    let mut talk = described();
    talk.described(Some(22_000));
    talk.ask_for(&["t"]);
    assert_eq!(talk.ok(0, &long("x", 100)).last().unwrap(), "ask");
    talk.fail(too_long());
    let window = |talk: &Talk| {
        let run = talk.machine.run.as_ref().unwrap();
        let next = crate::conversation::machine::compaction::NextRequest::for_run(
            run,
            &talk.machine.ledger,
        );
        talk.machine.compaction.window(&next)
    };
    assert_eq!(window(&talk), Some(10_000));
}

/// Spec: [CONV-97]
#[test]
fn a_reply_that_fills_the_window_is_asked_for_once_more_behind_a_summary() {
    let mut talk = described();
    talk.described(None);
    talk.block(Block::text("half of a"));
    let next = talk.end(StopReason::ContextWindowExceeded, 0);
    assert_eq!(next[..2], ["replied", "turn ended"]);
    assert_eq!(next.last().unwrap(), "summarize");
    let next = talk.summary("all of it");
    assert_eq!(next.last().unwrap(), "ask");
    assert!(!talk.all_texts().contains(&"half of a".to_owned()));
    talk.block(Block::text("again"));
    let end = talk.end(StopReason::ContextWindowExceeded, 0);
    assert!(end.contains(&"idle stopped: the model's context window is full".to_owned()));
    assert_eq!(talk.all_texts().last().unwrap(), "again");
}

/// Spec: [CONV-97] [CONV-45]
#[test]
fn a_paused_reply_that_is_too_long_to_go_on_goes_on_behind_a_summary_or_is_in_it() {
    for (begun, kept) in [("I look".to_owned(), 1), (long("r2", 6000), 0)] {
        let mut talk = described();
        talk.described(None);
        let paused = json!([text(&begun), web_search("w")]);
        for json in paused.as_array().unwrap() {
            talk.block(block(json));
        }
        let next = talk.end(StopReason::PauseTurn, 0);
        assert_eq!(next, ["replied", "turn ended", "turn 2", "ask"]);
        let next = talk.fail(too_long());
        assert_eq!(next[..2], ["failed", "turn ended"]);
        assert_eq!(next.last().unwrap(), "summarize");
        let next = talk.summary("all of it");
        let compacted = format!("compacted, {kept} kept");
        assert_eq!(next, [compacted.as_str(), "turn 3", "ask"]);

        // No reply to the prompt has ended, so it stays; what was begun of one goes on if it fits.
        let sent = messages(&talk.machine);
        let sent = sent.as_array().unwrap();
        assert_eq!(sent[0]["content"][1], text(&long("p2", 1000)));
        assert_eq!(sent[1..], [assistant(&paused)][..kept]);

        // So it is wherever the service dies before it asks again.
        let last = |is: fn(&Record) -> bool| talk.records.iter().rposition(is).unwrap();
        let failed = last(|record| matches!(record, Record::ReplyFailed { .. }));
        let asked = last(|record| matches!(record, Record::TurnStarted { .. }));
        for end in failed + 1..=asked {
            let mut again = Talk::revived(planner(10), talk.records[..end].to_vec());
            let mut next = again.resume(Resumption::Continue).unwrap();
            if next.last().unwrap() == "describe" {
                next = again.described(None);
            }
            assert_eq!(next.last().unwrap(), "ask", "{end}");
            assert!(again.all_texts().contains(&long("p2", 1000)), "{end}");
        }
        talk.say("found");
        assert_eq!(talk.machine.run(), None);
    }
}

/// Spec: [CONV-97]
#[test]
fn a_summary_that_fails_behind_a_request_that_was_too_long_fails_the_run() {
    let mut talk = described();
    talk.described(None);
    talk.fail(too_long());
    let end = talk.lose();
    assert!(end[0].starts_with("not compacted"), "{end:?}");
    assert_eq!(end.last().unwrap(), "end 2");
}

/// Spec: [CONV-98]
#[test]
fn nothing_is_summarized_by_itself_where_that_is_off() {
    let off = || {
        let mut talk = Talk::with(|defaults| {
            defaults.settings.auto_compact = false;
            defaults.settings.context_window = Some(4000);
        });
        talk.prompt(&long("p1", 3000));
        talk.say(&long("r1", 1500));
        talk.prompt("on");
        talk
    };
    let mut talk = off();
    assert!(matches!(talk.last.last(), Some(Effect::CallModel(_))));
    let end = talk.fail(too_long());
    assert_eq!(end[0], "refused");
    assert_eq!(end.last().unwrap(), "end 2");
    let mut talk = off();
    let end = talk.end(StopReason::ContextWindowExceeded, 0);
    assert_eq!(end.last().unwrap(), "end 2");
}

/// Spec: [CONV-97] [CONV-22]
#[test]
fn a_cancel_or_a_stop_ends_a_summary_and_the_run() {
    for input in [cancel(), Input::StopRequested] {
        let answers: [Step; 3] = [
            |talk| talk.fail(ModelError::Cancelled),
            Talk::lose,
            // It was just complete.
            |talk| talk.summary("all of it"),
        ];
        for answer in answers {
            let mut talk = summarizing();
            talk.steer("s");
            assert_eq!(talk.handle(input.clone()), ["cancel model"]);
            assert_eq!(talk.cancel(), [""; 0]);
            let late = talk.call.clone().unwrap();
            let remark = talk.handle(retrying(late.number));
            assert_eq!(remark, [""; 0], "nothing is tried again");
            let end = answer(&mut talk);
            assert_eq!(end[0], "not compacted: cancelled");
            assert_eq!(end[1], "run ended");
            assert_eq!(end.last().unwrap(), "end 2");
            assert_eq!(talk.waiting(), ["s"]);
            assert!(talk.handle(Input::CallLost(late)).is_empty());
        }
    }
}

/// Spec: [CONV-98]
#[test]
fn another_model_can_write_the_summaries() {
    let mut talk = Talk::with(|defaults| {
        defaults.settings.compaction_model = Some("small".to_owned());
        defaults.settings.context_window = Some(10_000);
    });
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    talk.say(&long("r1", 1500));
    // The conversation's own model may change: the one for summaries stays.
    talk.change(&json!({"model": "big"})).unwrap();
    talk.prompt(&long("p2", 1000));
    talk.described(None);
    assert_eq!(&*call(&talk).model.id, "small");
    assert_eq!(call(&talk).request.model, "small");
    talk.summary("all of it");
    let models = talk.machine.ledger().totals().models.clone();
    assert!(models.contains_key("small"), "{models:?}");
}

/// Spec: [CONV-97]
#[test]
fn a_summary_that_is_tried_again_begins_anew() {
    let mut talk = summarizing();
    talk.block(Block::text("half of it"));
    let number = talk.call.clone().unwrap().number;
    let remark = talk.handle(retrying(number));
    assert!(
        remark[0].starts_with("thinking compacting; retrying"),
        "{remark:?}"
    );
    talk.summary("all of it");
    assert!(!talk.all_texts()[0].contains("half of it"));
    assert!(talk.all_texts()[0].contains("all of it"));
}

// What an operator asks for.

/// A talk of 4,500 tokens.
fn idle() -> Talk {
    let mut talk = Talk::new();
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    talk.say(&long("r1", 1500));
    talk
}

/// Spec: [CONV-99]
#[test]
fn an_order_to_compact_does_nothing_without_need() {
    let mut talk = Talk::new();
    assert_eq!(talk.compact(true).unwrap(), ["compaction ended false"]);
    let mut talk = idle();
    assert_eq!(talk.compact(false).unwrap(), ["describe"]);
    assert!(talk.machine.is_compacting());
    let records = talk.records.len();
    assert_eq!(talk.described(Some(100_000)), ["compaction ended false"]);
    assert_eq!(talk.records.len(), records);
    assert!(!talk.machine.is_compacting());
    // Nor where nothing is known of the model.
    talk.compact(false).unwrap();
    assert_eq!(talk.lose(), ["compaction ended false"]);
}

/// Spec: [CONV-99]
#[test]
fn an_order_to_compact_summarizes_and_replaces_the_journal() {
    for (force, window) in [(true, None), (true, Some(1_000_000)), (false, Some(8000))] {
        let mut talk = idle();
        let before = tokens(&talk);
        talk.compact(force).unwrap();
        let begun = talk.described(window);
        let expected = ["compacting Manual", "thinking compacting", "summarize"];
        assert_eq!(begun, expected, "{force} {window:?}");
        assert!(call(&talk).request.prompt.contains("mind the gap"));
        let next = talk.summary("all of it");
        assert_eq!(next[1..], ["idle", "rewrite"], "{next:?}");
        assert!(next[0].starts_with("compacted"));
        let Some(Effect::Rewrite { compacted, by }) = talk.last.last() else {
            panic!("{:?}", talk.last.last());
        };
        assert_eq!(by.as_deref(), Some("ann"));
        assert!(compacted.compacted);
        assert_eq!(compacted.tokens_before, before);
        assert_eq!(compacted.tokens_after, tokens(&talk));
        assert!(compacted.tokens_after < before);
        assert_eq!(talk.machine.ledger().totals().input_tokens, 7 * talk.pieces);
    }
}

/// Spec: [CONV-99]
#[test]
fn whoever_insists_gets_even_one_long_prompt_summarized() {
    let mut talk = Talk::new();
    talk.prompt(&long("p1", 1500));
    talk.say("a");
    talk.compact(true).unwrap();
    assert_eq!(talk.described(None).last().unwrap(), "summarize");
    assert_eq!(talk.summary("all of it").last().unwrap(), "rewrite");
    // What is short already stays.
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.say("a");
    talk.compact(true).unwrap();
    assert_eq!(talk.described(None), ["compaction ended false"]);
}

/// Spec: [CONV-99]
#[test]
fn what_was_summarized_by_itself_is_made_permanent_without_another_summary() {
    let mut talk = summarizing();
    talk.summary("all of it");
    talk.say("a");
    talk.compact(false).unwrap();
    assert_eq!(talk.described(Some(100_000)), ["rewrite"]);
}

/// Spec: [CONV-99]
#[test]
fn an_order_to_compact_needs_an_idle_conversation_and_makes_it_busy() {
    let mut talk = described();
    assert_eq!(talk.compact(true), Err(SubmitError::Busy));
    let mut talk = idle();
    talk.compact(true).unwrap();
    let busy = |talk: &mut Talk| {
        assert_eq!(talk.compact(true), Err(SubmitError::Busy));
        assert_eq!(talk.try_prompt(prompt("on")), Err(SubmitError::Busy));
        let resumed = talk.resume(crate::conversation::messages::Resumption::Retry);
        assert_eq!(resumed, Err(SubmitError::Busy));
    };
    busy(&mut talk);
    // What is to be said later can wait, though.
    talk.steer("s");
    talk.described(None);
    busy(&mut talk);
    talk.lose();
    assert!(!talk.machine.is_compacting());
    talk.prompt("on");
    talk.lose();
    talk.handle(Input::StopRequested);
    assert_eq!(talk.compact(true), Err(SubmitError::Stopping));
}

/// Spec: [CONV-99]
#[test]
fn an_order_to_compact_can_be_cancelled_and_ends_with_the_service() {
    for input in [cancel(), Input::StopRequested] {
        let mut talk = idle();
        talk.compact(true).unwrap();
        assert_eq!(talk.handle(input.clone()), ["cancel model"]);
        let end = talk.described(None);
        assert_eq!(end, ["compaction ended: cancelled"]);
        assert!(!talk.machine.is_compacting());

        let mut talk = idle();
        let before = talk.all_texts();
        talk.compact(true).unwrap();
        talk.described(None);
        assert_eq!(talk.handle(input), ["cancel model"]);
        let end = talk.summary("all of it");
        let expected = [
            "not compacted: cancelled",
            "idle",
            "compaction ended: cancelled",
        ];
        assert_eq!(end, expected);
        assert_eq!(talk.all_texts(), before);
    }
    // Behind the summary it is too late.
    let mut talk = idle();
    talk.compact(true).unwrap();
    talk.described(None);
    talk.summary("all of it");
    assert_eq!(talk.cancel(), [""; 0]);
}

/// Spec: [CONV-99]
#[test]
fn an_order_to_compact_that_fails_is_answered_with_the_reason() {
    let mut talk = idle();
    talk.compact(true).unwrap();
    talk.described(None);
    let end = talk.summary(" ");
    assert_eq!(end[..2], ["not compacted: the summary is empty", "idle"]);
    assert!(end[2].starts_with("compaction ended: "), "{end:?}");
    assert!(end[2].contains("the summary is empty"), "{end:?}");
}

/// Spec: [CONV-150] [EVENT-30]
#[test]
fn a_summary_is_with_who_asked_for_it_and_one_by_itself_with_nobody() {
    let by = |record: &Record| match crate::event::event(record, 1) {
        Event::CompactionStarted { by, .. } => Some(("compacting", by)),
        Event::CompactionFailed { by, .. } => Some(("not compacted", by)),
        _ => None,
    };
    let shown = |talk: &Talk| talk.records.iter().filter_map(by).collect::<Vec<_>>();
    let mut talk = idle();
    talk.compact(true).unwrap();
    talk.described(None);
    talk.summary(" ");
    let ann = || Some("ann".to_owned());
    let expected = [("compacting", ann()), ("not compacted", ann())];
    assert_eq!(shown(&talk), expected);

    let mut talk = summarizing();
    talk.summary(" ");
    let expected = [("compacting", None), ("not compacted", None)];
    assert_eq!(shown(&talk), expected);
}

/// Spec: [CONV-99] [CONV-43]
#[test]
fn an_order_to_compact_ends_what_a_dead_service_left_open() {
    let mut talk = idle();
    talk.prompt("on");
    talk.described(None);
    talk.block(Block::text("half"));
    let mut again = Talk::revived(planner(10), talk.records);
    let begun = again.compact(true).unwrap();
    assert_eq!(begun[..3], ["failed", "turn ended", "run ended"]);
    assert_eq!(begun.last().unwrap(), "describe");
    again.described(None);
    let next = again.summary("all of it");
    assert_eq!(next.last().unwrap(), "rewrite");
}

/// Spec: [CONV-99] [CONV-45]
#[test]
fn a_crash_during_a_compaction_leaves_a_conversation_that_goes_on() {
    let mut talk = summarizing();
    talk.summary("all of it");
    talk.say("a");
    talk.compact(true).unwrap();
    talk.described(None);
    if talk.call.is_some() {
        talk.summary("again");
    }
    for cut in 0..=talk.records.len() {
        let mut again = Talk::revived(planner(10), talk.records[..cut].to_vec());
        let mut next = again.prompt("and now");
        if next.last().unwrap() == "describe" {
            next = again.described(None);
        }
        assert_eq!(next.last().unwrap(), "ask");
        assert_eq!(again.all_texts().last().unwrap(), "and now");
        again.say("well");
    }
}

/// Spec: [CONV-142]
#[test]
fn a_summary_that_was_cut_replaces_no_journal() {
    let mut talk = idle();
    talk.compact(true).unwrap();
    talk.described(None);
    let cut = talk.cut_summary("## Goal\nall");
    assert!(
        cut[0].starts_with("not compacted: the summary was cut"),
        "{cut:?}"
    );
    // The journal keeps what it lacks otherwise.
    let mut talk = summarizing();
    let next = talk.cut_summary("## Goal\nall");
    assert!(next[0].starts_with("compacted"), "{next:?}");
}

/// Spec: [CONV-143]
#[test]
fn another_model_that_summarizes_is_given_what_any_model_takes() {
    let pieces = |other: Option<&str>| {
        let mut talk = Talk::with(|defaults| {
            defaults.settings.compaction_model = other.map(str::to_owned);
        });
        talk.prompt(&long("p1", 700_000));
        talk.described(Some(1_000_000));
        talk.say(&long("r1", 250_000));
        talk.prompt(&long("p2", 60_000));
        talk.described(Some(1_000_000));
        call(&talk).request.prompt.len() / 4
    };
    assert!(pieces(Some("other")) < 200_000);
}

/// Spec: [CONV-380]
#[test]
fn the_end_of_a_reply_names_the_window_and_where_a_summary_begins() {
    let window = |talk: &Talk| {
        let mut ends = talk.last.iter().filter_map(|effect| match effect {
            Effect::Record(Record::ReplyEnded { window, .. }) => Some(*window),
            _ => None,
        });
        ends.next().unwrap()
    };
    let mut talk = Talk::new();
    talk.prompt("small");
    talk.say("so its window was not looked up");
    assert_eq!(window(&talk), None);
    let mut talk = described();
    talk.described(Some(100_000));
    talk.say("a reply");
    let known = ContextWindow {
        tokens: 100_000,
        summary_at: Some(100_000 - 16_384),
    };
    assert_eq!(window(&talk), Some(known));
}
