//! The spending limit of a run.

use std::sync::Arc;

use serde_json::json;

use super::talk::{Talk, long};
use super::testing::*;
use super::*;
use crate::budget::{PriceList, RequestSize, TokenPrices};
use crate::journal::ModelTotals;
use crate::model::messages::ReserveSpending;
use crate::reply::Object;

/// A millionth of a dollar for a token of a request, five for one of a reply.
struct Flat;

impl PriceList for Flat {
    fn cost(&self, model: &str, used: &ModelTotals) -> Option<u64> {
        let cost = used.usage.input_tokens + 5 * used.usage.output_tokens;
        (model == "m").then_some(cost)
    }

    fn highest(&self, model: &str, _: u64) -> Option<TokenPrices> {
        let prices = TokenPrices {
            input: 1_000_000,
            output: 5_000_000,
        };
        (model == "m").then_some(prices)
    }
}

fn talk() -> Talk {
    Talk::of(Planner {
        prices: Arc::new(Flat),
        ..planner(10)
    })
}

fn limited(content: &str, limit: u64) -> SubmitPrompt {
    SubmitPrompt {
        spending_limit_micro_usd: Some(limit),
        ..prompt(content)
    }
}

/// A run with a limit of a dollar that is about to ask for a summary.
fn summarizing() -> Talk {
    let mut talk = talk();
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    talk.say(&long("r1", 1500));
    talk.try_prompt(limited(&long("p2", 1000), 1_000_000))
        .unwrap();
    assert_eq!(talk.described(Some(10_000)).last().unwrap(), "summarize");
    talk
}

/// Reserves for the call under way; the records, or the error.
fn reserve(talk: &mut Talk, model: &str, input: u64, output: u32) -> Result<Vec<String>, String> {
    let order = ReserveSpending {
        call_id: talk.call.clone().unwrap(),
        model: model.into(),
        size: RequestSize { input, output },
    };
    talk.obey(order).map_err(|error| error.to_string())
}

/// The rest of the limit of the run.
fn rest(talk: &Talk) -> u64 {
    let ledger = talk.machine.ledger();
    ledger.budget().unwrap().rest(ledger.totals(), &Flat)
}

fn not_charged(talk: &mut Talk) -> Vec<String> {
    let call_id = talk.call.clone().unwrap();
    talk.handle(Input::Model(ModelEvent::NotCharged { call_id }))
}

fn released(talk: &Talk) -> bool {
    let released = |record: &Record| matches!(record, Record::SpendingReleased { .. });
    talk.records.iter().any(released)
}

/// Spec: [BUDGET-01] [BUDGET-02] [BUDGET-04]
#[test]
fn a_reply_that_ended_costs_its_usage_and_the_next_request_gets_the_rest() {
    let mut talk = talk();
    talk.try_prompt(limited("hi", 10_000)).unwrap();
    assert_eq!(
        reserve(&mut talk, "m", 1_000, 2_000).unwrap(),
        ["reserved 10000"]
    );
    assert_eq!(rest(&talk), 0);
    talk.block(Block::tool_call("t", "read", Object::new()));
    let ended = talk.end(StopReason::ToolUse, 995);
    assert_eq!(ended, ["replied", "released 10000", "run t"]);
    assert_eq!(rest(&talk), 9_000);
    talk.ok(0, "result");
    assert_eq!(
        reserve(&mut talk, "m", 3_000, 32_000).unwrap(),
        ["reserved 9000"]
    );
    talk.block(Block::tool_call("u", "read", Object::new()));
    talk.end(StopReason::ToolUse, 3_995);
    assert_eq!(talk.ok(0, "result").last().unwrap(), "describe");
    assert_eq!(talk.described(None), ["turn 3", "ask"]);
    // The smallest reply has 1,024 tokens.
    assert_eq!(rest(&talk), 5_000);
    let refused = reserve(&mut talk, "m", 1_000, 32_000).unwrap_err();
    assert_eq!(
        refused,
        "the spending limit is reached: the next request to m may cost $0.00612 with a short reply, and $0.005 is left"
    );
    let refused = ModelError::SpendingLimit {
        reason: "the next request is too dear".to_owned(),
    };
    talk.fail(refused);
    assert_eq!(talk.machine.run(), None);
    assert_eq!(talk.machine.ledger().totals().unsettled_micro_usd, 0);
}

/// Spec: [BUDGET-05]
#[test]
fn an_attempt_that_broke_off_is_charged_in_full_and_one_that_was_declined_not_at_all() {
    let mut talk = talk();
    talk.try_prompt(limited("hi", 100_000)).unwrap();
    reserve(&mut talk, "m", 1_000, 2_000).unwrap();
    // It broke off; the next attempt reserves again.
    reserve(&mut talk, "m", 1_000, 2_000).unwrap();
    assert_eq!(rest(&talk), 100_000 - 22_000);
    assert_eq!(not_charged(&mut talk), ["released 11000"]);
    assert_eq!(not_charged(&mut talk), [] as [String; 0]);
    assert_eq!(rest(&talk), 100_000 - 11_000);
    reserve(&mut talk, "m", 1_000, 2_000).unwrap();
    talk.fail(ModelError::Truncated);
    assert_eq!(talk.machine.ledger().totals().unsettled_micro_usd, 22_000);
    // The next run has a limit of its own.
    talk.try_prompt(limited("again", 100_000)).unwrap();
    assert_eq!(rest(&talk), 100_000);
}

/// Spec: [BUDGET-06]
#[test]
fn a_reply_of_a_model_without_a_price_or_without_usage_is_charged_in_full() {
    for (model, usage) in [
        ("other", json!({"input_tokens": 10, "output_tokens": 1})),
        ("m", json!({})),
    ] {
        let mut talk = talk();
        talk.try_prompt(limited("hi", 100_000)).unwrap();
        reserve(&mut talk, "m", 1_000, 2_000).unwrap();
        talk.block(Block::text("a"));
        let end = ReplyEnd {
            stop_reason: StopReason::EndTurn,
            model: model.to_owned(),
            usage: serde_json::from_value::<Object>(usage).unwrap().into(),
            ..ReplyEnd::default()
        };
        let call_id = talk.call.take().unwrap();
        talk.handle(Input::Model(ModelEvent::Finished { call_id, end }));
        assert!(!released(&talk));
        assert_eq!(talk.machine.ledger().totals().unsettled_micro_usd, 11_000);
    }
}

/// Spec: [BUDGET-06]
#[test]
fn a_request_whose_price_is_not_known_is_refused() {
    let mut talk = talk();
    talk.try_prompt(limited("hi", 100_000)).unwrap();
    let refused = reserve(&mut talk, "other", 1_000, 2_000).unwrap_err();
    let expected = "the spending limit is reached: the price of a request of up to 1000 tokens to other is not known";
    assert_eq!(refused, expected);
    assert_eq!(rest(&talk), 100_000);
}

/// Spec: [BUDGET-01]
#[test]
fn a_run_without_a_limit_reserves_nothing_and_a_call_that_is_not_awaited_gets_nothing() {
    let mut talk = talk();
    talk.prompt("hi");
    assert_eq!(
        reserve(&mut talk, "other", 1_000, 2_000).unwrap(),
        [] as [String; 0]
    );
    let late = talk.call.clone();
    talk.say("a");
    talk.try_prompt(limited("hi", 100_000)).unwrap();
    let awaited = std::mem::replace(&mut talk.call, late);
    assert_eq!(reserve(&mut talk, "m", 1, 1).unwrap_err(), "cancelled");
    talk.call = awaited;
    talk.cancel();
    assert_eq!(reserve(&mut talk, "m", 1, 1).unwrap_err(), "cancelled");
    assert_eq!(rest(&talk), 100_000);
}

/// Spec: [BUDGET-03] [BUDGET-07]
#[test]
fn a_crash_leaves_the_limit_and_what_was_reserved() {
    let mut talk = talk();
    talk.try_prompt(limited("hi", 100_000)).unwrap();
    reserve(&mut talk, "m", 1_000, 2_000).unwrap();
    let revived = Talk::revived(
        Planner {
            prices: Arc::new(Flat),
            ..planner(10)
        },
        talk.records.clone(),
    );
    assert_eq!(rest(&revived), 89_000);
}

/// Spec: [BUDGET-08]
#[test]
fn requests_for_a_summary_are_reserved_until_the_summary_is_on_record() {
    let mut talk = summarizing();
    let mut reserved = 0;
    let ended = loop {
        reserve(&mut talk, "m", 1_000, 2_000).unwrap();
        reserved += 11_000;
        let next = talk.piece("summary");
        if next != ["summarize"] {
            break next;
        }
        assert_eq!(rest(&talk), 1_000_000 - reserved);
    };
    assert!(ended.contains(&format!("released {reserved}")), "{ended:?}");
    // Each piece was 7 tokens and 1 of the reply.
    assert_eq!(rest(&talk), 1_000_000 - talk.pieces * 12);
}

/// Spec: [BUDGET-08]
#[test]
fn a_summary_that_failed_releases_the_requests_that_were_answered() {
    let mut talk = summarizing();
    reserve(&mut talk, "m", 1_000, 2_000).unwrap();
    // An empty summary is none.
    let failed = talk.piece(" ");
    assert!(failed.contains(&"released 11000".to_owned()), "{failed:?}");
    assert_eq!(rest(&talk), 1_000_000 - 12);
    let counted = &talk.machine.ledger().totals().models;
    assert!(!counted.contains_key(""), "{counted:?}");
    // The next request's reservation is its own.
    reserve(&mut talk, "m", 1_000, 2_000).unwrap();
    talk.block(Block::text("a"));
    let ended = talk.end(StopReason::EndTurn, 995);
    assert!(ended.contains(&"released 11000".to_owned()), "{ended:?}");
}
