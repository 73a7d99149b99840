use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::reply::Object;

const RUN: RunId = RunId(1);

fn object(json: &Value) -> Object {
    json.as_object().unwrap().clone()
}

fn status(activity: Activity, message: &str) -> Record {
    Record::Status {
        activity,
        message: message.to_owned(),
    }
}

fn prompt(run: u64, content: &str, key: Option<&str>) -> Record {
    Record::Prompt {
        run: RunId(run),
        content: content.to_owned(),
        key: key.map(ToOwned::to_owned),
        by: None,
        attachments: Vec::new(),
        item: None,
        queue: None,
    }
}

fn turn_started(turn: u32) -> Record {
    Record::TurnStarted {
        run: RUN,
        turn,
        head: None,
        tools: None,
        jobs: Vec::new(),
    }
}

fn call(index: u64, id: &str) -> Record {
    Record::Block {
        duration_ms: None,
        index,
        block: Block::tool_call(id, "read", Object::new()),
        partial: false,
    }
}

fn reply_ended(unanswered: Unanswered) -> Record {
    Record::ReplyEnded {
        id: "m".to_owned(),
        model: "x".to_owned(),
        stop_reason: "tool_use".to_owned(),
        usage: object(
            &json!({"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 2}),
        ),
        paused: false,
        unanswered,
        overflow: false,
        refused: false,
        window: None,
    }
}

fn reply_failed(unanswered: Unanswered) -> Record {
    Record::ReplyFailed {
        error: "no".to_owned(),
        unanswered,
        refused: false,
        overflow: false,
    }
}

fn result(id: &str) -> Record {
    Record::ToolResult {
        duration_ms: None,
        extent: None,
        id: id.to_owned(),
        result: "x".to_owned(),
        is_error: false,
        seen: Vec::new(),
        folder: None,
    }
}

fn unknown_effect(id: &str) -> Record {
    Record::ToolResult {
        duration_ms: None,
        extent: None,
        id: id.to_owned(),
        result: r#"{"error":"interrupted, effect unknown"}"#.to_owned(),
        is_error: true,
        seen: Vec::new(),
        folder: None,
    }
}

fn fold(records: &[Record]) -> Ledger {
    let mut ledger = Ledger::default();
    records.iter().for_each(|record| ledger.apply(record));
    ledger
}

/// A run whose model is asked.
fn begun() -> Vec<Record> {
    vec![
        Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run: RUN,
            by: None,
            rules: harness_protocol::RunRules::default(),
        },
        prompt(1, "hi", None),
        status(Activity::Thinking, ""),
        turn_started(1),
    ]
}

/// How a run that was left is closed, behind what its reply and its calls need.
fn closed(ledger: &Ledger, turn: Option<u32>) -> Vec<Record> {
    let turn = turn.map(|turn| Record::TurnEnded {
        run: RUN,
        turn,
        outcome: Outcome::Interrupted,
    });
    let run = Record::RunEnded {
        duration_ms: None,
        run: RUN,
        outcome: Outcome::Interrupted,
        message: INTERRUPTED.to_owned(),
        totals: ledger.totals().clone(),
        by: None,
        run_usage: ledger.run_usage(),
    };
    let status = status(Activity::Error, INTERRUPTED);
    turn.into_iter().chain([run, status]).collect()
}

/// Spec: [CONV-43] [CONV-44]
#[test]
fn what_a_dead_service_left_is_ended_from_wherever_it_was() {
    let broken_off = Record::ReplyFailed {
        error: INTERRUPTED.to_owned(),
        unanswered: Unanswered::Interrupted,
        refused: false,
        overflow: false,
    };
    let turn_ended = Record::TurnEnded {
        run: RUN,
        turn: 1,
        outcome: Outcome::Completed,
    };
    let asked = || vec![call(1, "b"), call(0, "a")];
    let ended = |unanswered| [asked(), vec![reply_ended(unanswered)]].concat();
    let rows: Vec<(Vec<Record>, Vec<Record>, Option<u32>)> = vec![
        (vec![], vec![broken_off.clone()], Some(1)),
        (
            asked(),
            vec![broken_off.clone(), unknown_effect("a"), unknown_effect("b")],
            Some(1),
        ),
        (
            ended(Unanswered::Interrupted),
            vec![unknown_effect("a"), unknown_effect("b")],
            Some(1),
        ),
        (
            [ended(Unanswered::Interrupted), vec![result("a")]].concat(),
            vec![unknown_effect("b")],
            Some(1),
        ),
        (
            [
                ended(Unanswered::Interrupted),
                vec![result("a"), result("b")],
            ]
            .concat(),
            vec![],
            Some(1),
        ),
        (
            [
                ended(Unanswered::Interrupted),
                vec![result("a"), result("b"), turn_ended.clone()],
            ]
            .concat(),
            vec![],
            None,
        ),
        (
            [
                ended(Unanswered::Interrupted),
                vec![result("a"), result("b"), turn_ended, turn_started(2)],
            ]
            .concat(),
            vec![broken_off],
            Some(2),
        ),
        // Why these have no result is known.
        (ended(Unanswered::Cancelled), vec![], Some(1)),
        (ended(Unanswered::Refused), vec![], Some(1)),
        (
            [asked(), vec![reply_failed(Unanswered::Cancelled)]].concat(),
            vec![],
            Some(1),
        ),
        (
            [
                ended(Unanswered::Interrupted),
                vec![
                    result("a"),
                    Record::CallsSkipped {
                        reason: Unanswered::EarlierToolFailed,
                    },
                ],
            ]
            .concat(),
            vec![],
            Some(1),
        ),
    ];
    for (behind, first, turn) in rows {
        let records = [begun(), behind].concat();
        let ledger = fold(&records);
        let expected = [first, closed(&ledger, turn)].concat();
        assert_eq!(ledger.closing(), expected, "{records:?}");
        let whole = fold(&[records, expected].concat());
        assert_eq!(whole.closing(), []);
        assert_eq!((whole.run(), whole.turn()), (None, None));
        assert_eq!(whole.status().message, INTERRUPTED);
    }
    assert_eq!(Ledger::default().closing(), []);
}

/// Spec: [CONV-43]
#[test]
fn calls_of_a_run_that_ended_are_not_answered_again() {
    // Found by random interleavings: a reply broke off, and the next run had no reply yet.
    let end = closed(&Ledger::default(), Some(1));
    let broke_off = vec![call(0, "a"), reply_failed(Unanswered::Interrupted)];
    let next = vec![
        Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run: RunId(2),
            by: None,
            rules: harness_protocol::RunRules::default(),
        },
        prompt(2, "next", None),
        turn_started(1),
        reply_failed(Unanswered::Interrupted),
    ];
    let ledger = fold(&[begun(), broke_off, end, next].concat());
    let is_result = |record: &Record| matches!(record, Record::ToolResult { .. });
    assert!(!ledger.closing().iter().any(is_result));
    let sent = String::from_utf8(ledger.history().messages().concat()).unwrap();
    assert_eq!(
        sent.matches("not executed: the reply was interrupted")
            .count(),
        1
    );
}

/// Spec: [CONV-41]
#[test]
fn totals_add_up_and_the_end_of_a_run_tells_them() {
    let records = [
        begun(),
        vec![
            call(0, "a"),
            reply_ended(Unanswered::Interrupted),
            result("a"),
        ],
        vec![turn_started(2), reply_ended(Unanswered::Interrupted)],
    ]
    .concat();
    let used = ModelTotals {
        usage: TokenUsage {
            input_tokens: 10,
            output_tokens: 14,
            cache_read_input_tokens: 4,
            ..TokenUsage::default()
        },
        ..ModelTotals::default()
    };
    let sums = Totals {
        title: None,
        prompt_title: Some("hi".to_owned()),
        runs: 1,
        prompts: 1,
        turns: 2,
        input_tokens: 10,
        output_tokens: 14,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        models: BTreeMap::from([("x".to_owned(), used)]),
        ..Totals::default()
    };
    let mut ledger = fold(&records);
    assert_eq!(ledger.totals(), &sums);
    ledger.apply(&Record::Renamed {
        title: "t".to_owned(),
        by: None,
    });
    assert_eq!(ledger.totals().title.as_deref(), Some("t"));

    let told = Totals {
        prompts: 9,
        input_tokens: u64::MAX,
        ..sums
    };
    ledger.apply(&Record::RunEnded {
        duration_ms: None,
        run: RunId(4),
        outcome: Outcome::Completed,
        message: String::new(),
        totals: told.clone(),
        by: None,
        run_usage: TokenUsage::default(),
    });
    let last = Totals { runs: 4, ..told };
    assert_eq!(ledger.totals(), &last);
    ledger.apply(&reply_ended(Unanswered::Interrupted));
    assert_eq!(ledger.totals().input_tokens, u64::MAX);
}

/// Spec: [CONV-45]
#[test]
fn a_result_is_kept_where_the_end_of_its_reply_is_lost() {
    let mut records = [begun(), vec![call(0, "a"), result("a")]].concat();
    records.push(turn_started(2));
    let sent = String::from_utf8(fold(&records).history().messages().concat()).unwrap();
    assert!(
        sent.contains(r#""tool_use_id":"a","content":"x","is_error":false"#),
        "{sent}"
    );
}

/// Spec: [CONV-46]
#[test]
fn a_key_stands_for_the_prompt_that_had_it() {
    let ledger = fold(&[prompt(3, "hi", Some("k")), prompt(4, "ho", Some("l"))]);
    let keyed = ledger.keyed("k").unwrap();
    assert_eq!(
        (keyed.named, keyed.is_of("hi", &[]), keyed.is_of("ho", &[])),
        (KeyedState::Run(RunId(3)), true, false)
    );
    assert_eq!(ledger.keyed("l").unwrap().named, KeyedState::Run(RunId(4)));
    assert_eq!(ledger.keyed("m"), None);
}

/// Spec: [CONV-171]
#[test]
fn behind_a_checkpoint_a_key_still_stands_for_its_message() {
    let before = fold(&[prompt(3, "hi", Some("k")), prompt(4, "ho", Some("l"))]);
    let checkpoint = |digests: Vec<(String, String)>| {
        let json = json!({"type": "checkpoint", "data": {"summary": "s", "digests": digests,
            "totals": Totals::default(), "keys": [["k", 3], ["l", 4]]}});
        let ledger = fold(&[serde_json::from_value(json).unwrap()]);
        let keyed = ledger.keyed("k").unwrap();
        assert_eq!(keyed.named, KeyedState::Run(RunId(3)));
        (keyed.is_of("hi", &[]), keyed.is_of("ho", &[]))
    };
    assert_eq!(checkpoint(before.digests()), (true, false));
    // What an older version wrote, and what is no digest: any text passes.
    assert_eq!(checkpoint(Vec::new()), (true, true));
    let other = vec![("k".to_owned(), "none".to_owned())];
    assert_eq!(checkpoint(other), (true, true));
}

fn any_record() -> impl Strategy<Value = Record> {
    let unanswered = || {
        select(vec![
            Unanswered::Interrupted,
            Unanswered::Cancelled,
            Unanswered::EarlierToolFailed,
            Unanswered::Refused,
        ])
    };
    let block = select(vec![
        json!({"type": "text", "text": "a"}),
        json!({"type": "tool_use", "id": "a", "name": "read", "input": {}}),
        json!({"type": "tool_use", "id": "b", "name": "read", "input": {}}),
        json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        json!({}),
    ]);
    let number = 0..3_u64;
    prop_oneof![
        number.clone().prop_map(|run| Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run: RunId(run),
            by: None,
            rules: harness_protocol::RunRules::default(),
        }),
        number.clone().prop_map(|run| prompt(run, "hi", Some("k"))),
        (1..3_u32).prop_map(turn_started),
        (number.clone(), block).prop_map(|(index, block)| Record::Block {
            duration_ms: None,
            index,
            block: Block::new(object(&block)),
            partial: false,
        }),
        (unanswered(), 0..4_u8).prop_map(|(unanswered, end)| Record::ReplyEnded {
            id: String::new(),
            model: String::new(),
            stop_reason: String::new(),
            usage: object(&json!({"input_tokens": 1, "output_tokens": -1})),
            paused: end == 1,
            unanswered,
            overflow: false,
            refused: end == 2,
            window: None,
        }),
        (unanswered(), 0..3_u8).prop_map(|(unanswered, why)| Record::ReplyFailed {
            error: String::new(),
            unanswered,
            refused: why == 1,
            overflow: why == 2,
        }),
        select(vec!["a", "b", "c"]).prop_map(result),
        unanswered().prop_map(|reason| Record::CallsSkipped { reason }),
        (number.clone(), 1..3_u32).prop_map(|(run, turn)| Record::TurnEnded {
            run: RunId(run),
            turn,
            outcome: Outcome::Completed,
        }),
        number.prop_map(|run| Record::RunEnded {
            duration_ms: None,
            run: RunId(run),
            outcome: Outcome::Error,
            message: String::new(),
            totals: Totals::default(),
            by: None,
            run_usage: TokenUsage::default(),
        }),
        Just(Record::Renamed {
            title: "t".to_owned(),
            by: None,
        }),
    ]
}

proptest! {
    /// Spec: [CONV-45]
    #[test]
    fn records_in_any_order_are_taken_and_what_is_open_can_be_ended(
        records in prop::collection::vec(any_record(), 0..60),
    ) {
        let mut ledger = fold(&records);
        let was_open = ledger.run().is_some();
        let closing = ledger.closing();
        assert_eq!(!closing.is_empty(), was_open);
        closing.iter().for_each(|record| ledger.apply(record));
        assert_eq!(ledger.closing(), []);
        let messages = String::from_utf8(ledger.history().messages().concat()).unwrap();
        let messages: Vec<Value> = serde_json::from_str(&format!("[{messages}]")).unwrap();
        let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
        let alternate = |(place, role): (usize, &&Value)| {
            **role == if place % 2 == 0 { "user" } else { "assistant" }
        };
        assert!(roles.iter().enumerate().all(alternate), "{messages:?}");
    }
}
