use std::collections::BTreeSet;

use super::*;
use crate::ids::RunId;
use crate::journal::{Durability, header_line};

/// One line of every type there was at first, and the header before it.
const FIRST: &str = include_str!("../../../specs/examples/journal-v1.jsonl");
/// One line of every type that was added to the format since, and of those that have more fields.
const SECOND: &str = include_str!("../../../specs/examples/journal-v1-2.jsonl");

/// Stops compiling when a record is added: it needs a line in the example then.
fn kind(record: &Record) -> Option<&'static str> {
    Some(match record {
        Record::RunStarted { .. } => "run_started",
        Record::Prompt { .. } => "prompt",
        Record::Status { .. } => "status",
        Record::TurnStarted { .. } => "turn_started",
        Record::Block { .. } => "block",
        Record::ReplyEnded { .. } => "reply_ended",
        Record::ReplyFailed { .. } => "reply_failed",
        Record::ToolResult { .. } => "tool_result",
        Record::CallsSkipped { .. } => "calls_skipped",
        Record::TurnEnded { .. } => "turn_ended",
        Record::RunEnded { .. } => "run_ended",
        Record::Renamed { .. } => "renamed",
        Record::Queued { .. } => "queued",
        Record::Withdrawn { .. } => "withdrawn",
        Record::SettingsChanged { .. } => "settings_changed",
        Record::ToolsRenewed { .. } => "tools_renewed",
        Record::ReplyLeftOut { .. } => "reply_left_out",
        Record::CompactionStarted { .. } => "compaction_started",
        Record::Compacted { .. } => "compacted",
        Record::CompactionFailed { .. } => "compaction_failed",
        Record::Checkpoint { .. } => "checkpoint",
        Record::ApprovalAsked(_) => "approval_asked",
        Record::ApprovalAnswered { .. } => "approval_answered",
        Record::ApprovalWithdrawn { .. } => "approval_withdrawn",
        Record::EffectBegan { .. } => "effect_began",
        Record::FilesChanged { .. } => "files_changed",
        Record::ToolReturned { .. } => "tool_returned",
        Record::ProposalDecided { .. } => "proposal_decided",
        Record::SpendingReserved { .. } => "spending_reserved",
        Record::SpendingReleased { .. } => "spending_released",
        Record::RulesChanged { .. } => "rules_changed",
        Record::Undone { .. } => "undone",
        Record::CommandRan { .. } => "command_ran",
        Record::Branched { .. } => "branched",
        Record::JobStarted { .. } => "job_started",
        Record::JobEnded { .. } => "job_ended",
        Record::Workflow(_) => "workflow",
        Record::Unknown { .. } => return None,
    })
}

/// The types in an example, each line of which is written again as it is.
fn kinds(example: &str) -> Vec<&'static str> {
    let (first, lines) = example.split_once('\n').unwrap();
    let header = header_line::decode(first.as_bytes()).unwrap();
    let again = header_line::encode(&header).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), format!("{first}\n"));
    let seal = Seal::new(header.epoch);
    let mut kinds = Vec::new();
    for (seq, line) in (1..).zip(lines.split_inclusive('\n')) {
        let found = find(line.as_bytes(), seal).unwrap();
        let entry = decode(line.as_bytes(), &found, header.epoch).unwrap();
        assert_eq!(entry.position.seq, seq);
        kinds.push(kind(&entry.record).unwrap());
        let new = NewRecord {
            at: entry.at,
            record: entry.record,
        };
        let mut again = Vec::new();
        let sum = encode(&new, seq, seal, &mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), line);
        assert_eq!(sum, entry.position.sum);
        for json in [entry.json, new.to_json().unwrap()] {
            let mut renumbered = Vec::new();
            renumber(&json, seq, seal, &mut renumbered).unwrap();
            assert_eq!(String::from_utf8(renumbered).unwrap(), line);
        }
    }
    kinds.dedup();
    kinds
}

/// Spec: [JRNL-01]
#[test]
fn the_examples_have_every_record_and_are_written_again_as_they_are() {
    let first = kinds(FIRST);
    assert_eq!(first, Record::KNOWN[..12]);
    let second = kinds(SECOND);
    let is_new = |kind: &&str| !first.contains(kind);
    let new: Vec<&str> = second.iter().copied().filter(is_new).collect();
    assert_eq!(new, Record::KNOWN[12..20]);
    // Held by the next test.
    let since = [
        "tools_renewed",
        "approval_asked",
        "approval_answered",
        "approval_withdrawn",
        "effect_began",
        "files_changed",
        "rules_changed",
        "undone",
        "command_ran",
        "branched",
        "job_started",
        "job_ended",
        "workflow",
        "tool_returned",
        "proposal_decided",
        "spending_reserved",
        "spending_released",
    ];
    assert_eq!(Record::KNOWN[20..], since);
    for more in [
        "run_started",
        "prompt",
        "turn_started",
        "reply_ended",
        "run_ended",
    ] {
        assert!(second.contains(&more), "{more}");
    }
}

/// Spec: [JRNL-01] [CONV-90]
#[test]
fn the_tools_on_offer_are_kept_to_the_byte() {
    let tools = r#"[{"name":"b","description":"d","input_schema":{"type":"object","a":[1.0,{}]}}]"#;
    for text in [
        format!(r#"{{"type":"tools_renewed","data":{{"tools":{tools},"by":"ana"}}}}"#),
        format!(
            r#"{{"type":"turn_started","data":{{"run":1,"turn":1,"head":"h","tools":{tools}}}}}"#
        ),
    ] {
        let record: Record = serde_json::from_str(&text).unwrap();
        assert!(kind(&record).is_some_and(|kind| Record::KNOWN.contains(&kind)));
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
    }
}

/// Spec: [BUDGET-04]
#[test]
fn a_spending_limit_and_its_reservations_have_these_records() {
    for text in [
        r#"{"type":"run_started","data":{"run":1,"spending_limit_micro_usd":1000000}}"#,
        r#"{"type":"spending_reserved","data":{"run":1,"micro_usd":850000}}"#,
        r#"{"type":"spending_released","data":{"run":1,"micro_usd":850000}}"#,
    ] {
        let record: Record = serde_json::from_str(text).unwrap();
        assert!(kind(&record).is_some_and(|kind| Record::KNOWN.contains(&kind)));
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
    }
}

/// Spec: [JRNL-28]
#[test]
fn who_did_it_is_kept_and_left_out_where_it_is_not_known() {
    let run_ended = |by: &str| {
        format!(
            r#"{{"type":"run_ended","data":{{"run":1,"outcome":"cancelled","message":"cancelled","totals":{{"runs":1,"prompts":1,"turns":1,"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}{by}}}}}"#
        )
    };
    let renamed = |by: &str| format!(r#"{{"type":"renamed","data":{{"title":"t"{by}}}}}"#);
    for text in [
        run_ended(""),
        run_ended(r#","by":"ana""#),
        renamed(""),
        renamed(r#","by":"ana""#),
    ] {
        let record: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
    }
}

/// Spec: [JRNL-07]
#[test]
fn the_checksum_is_that_of_the_epoch_and_the_line() {
    let new = NewRecord {
        at: 5,
        record: Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run: RunId(1),
            by: None,
            rules: harness_protocol::RunRules::default(),
        },
    };
    let mut line = Vec::new();
    let sum = encode(&new, 3, Seal::new(Epoch(1)), &mut line).unwrap();
    let body = r#"{"seq":3,"at":5,"type":"run_started","data":{"run":1}"#;
    assert_eq!(
        sum,
        crc32fast::hash(format!("0000000000000001{body}").as_bytes())
    );
    let expected = format!("{body},\"crc\":\"{sum:08x}\"}}\n");
    assert_eq!(String::from_utf8(line.clone()).unwrap(), expected);
    assert_eq!(
        find(&line, Seal::new(Epoch(2))),
        Err("its checksum is wrong")
    );
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
}

/// Spec: [JRNL-07]
#[test]
fn a_line_by_hand_needs_no_checksum_but_has_to_be_a_record() {
    let seal = Seal::new(Epoch(1));
    let hand = r#"{ "type": "renamed", "seq": 4, "data": {"title": "x"}, "at": 0, "note": [] }"#;
    let found = find(hand.as_bytes(), seal).unwrap();
    assert_eq!((found.seq, found.sum), (4, seal.sum(hand.as_bytes())));
    let entry = decode(hand.as_bytes(), &found, Epoch(1)).unwrap();
    assert_eq!(kind(&entry.record), Some("renamed"));
    assert_eq!(entry.json, hand.as_bytes());
    for wrong in [
        "",
        "{}",
        "[1]",
        "null",
        r#"{"seq":4,"at":0,"type":"renamed"}"#,
        r#"{"seq":-4,"at":0,"type":"renamed","data":{}}"#,
        r#"{"seq":4,"at":0,"type":"renamed","data":{}} {}"#,
        r#"{"seq":4,"at":0,"type":"renamed","data":{"title":"\udc00"}}"#,
        r#"{"crc":"00000000","seq":4,"at":0,"type":"renamed","data":{}}"#,
        r#"{"seq":4,"at":0,"type":"renamed","data":{},"crc":"00000000"}"#,
        r#"{"seq":4,"at":0,"type":"renamed","data":{},"crb":"00000000"}"#,
    ] {
        assert!(find(wrong.as_bytes(), seal).is_err(), "{wrong}");
    }
    let deep = format!(
        r#"{{"seq":4,"at":0,"type":"x","data":{}}}"#,
        "[".repeat(10_000)
    );
    assert!(find(deep.as_bytes(), seal).is_err());
}

/// Spec: [JRNL-95]
#[test]
fn what_an_operator_was_told_outlives_a_power_cut() {
    let lines = FIRST.lines().chain(SECOND.lines()).skip(1);
    let records = lines.filter_map(|line| serde_json::from_str::<Record>(line).ok());
    let synced: BTreeSet<_> = records
        .filter(|record| record.durability() == Durability::Synced)
        .filter_map(|record| kind(&record))
        .collect();
    let expected = [
        "prompt",
        "queued",
        "renamed",
        "run_ended",
        "settings_changed",
        "withdrawn",
    ];
    assert_eq!(synced, BTreeSet::from(expected));
}

/// Spec: [JRNL-01] [FLOW-81]
#[test]
fn a_record_of_a_workflow_is_kept_and_shown_as_it_was_written() {
    let text =
        r#"{"type":"workflow","data":{"type":"paused","data":{"reason":"operator","detail":""}}}"#;
    let record: Record = serde_json::from_str(text).unwrap();
    assert_eq!(kind(&record), Some("workflow"));
    assert_eq!(serde_json::to_string(&record).unwrap(), text);
    let mut ledger = crate::conversation::Ledger::default();
    ledger.apply(&record);
    assert_eq!(ledger.totals(), &crate::journal::Totals::default());
    let event = crate::event::event(&record, 7);
    assert_eq!(
        serde_json::to_string(&event).unwrap(),
        r#"{"type":"workflow","record":{"type":"paused","data":{"reason":"operator","detail":""}},"timestamp":7}"#
    );
}
