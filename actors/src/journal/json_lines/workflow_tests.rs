//! The journal of a workflow after a power cut.

use serde_json::{Value, json};

use super::super::testing::*;
use super::super::{Durability, NewRecord, Record};
use super::simulated::{Loss, SimulatedDisk};
use super::*;
use crate::workflow::record::WorkflowRecord;

/// Records as a workflow writes them, those that were answered and those that need not last.
fn records() -> Vec<Value> {
    let of = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let place = json!({"n": 1, "attempt": 0, "step": "prepare", "outcome": "done"});
    let head = json!({"commit": "c", "tree": "t"});
    vec![
        of("restarted", json!({"found": "nothing"})),
        of("gate_opened", json!({"gate": "plan-1", "asks": "approve"})),
        of("gate_closed", json!({"gate": "plan-1", "approved": true})),
        of("step_ended", place.clone()),
        of("paused", json!({"reason": "budget_tokens", "detail": "d"})),
        of("resumed", json!({"grants": {"tokens": 5}})),
        of("step_ended", place.clone()),
        of(
            "iteration_ended",
            json!({
                "n": 1, "status": "accepted", "note": "", "commit": head,
                "usage": {"tokens": 1, "cost_micro_usd": 0, "active_ms": 1},
                "feature": {"feature": "one", "state": "passing"},
                "progress": {"n": 1, "text": "accepted"},
                "checkpoint": {"status": "accepted", "head": head, "note": ""},
            }),
        ),
        of("cancel_requested", json!({})),
        of("step_ended", place),
        of("cancelled", json!({"detail": "d"})),
    ]
}

fn kept(disk: &SimulatedDisk) -> Vec<Value> {
    let store = JsonLinesStore::new(
        "/c".into(),
        "/t".into(),
        Arc::new(disk.clone()),
        Clock::system(),
    );
    let journal = wait(store.open_or_new(header("w"))).unwrap();
    let entries = everything(&journal).into_iter();
    let record = |record| {
        let Record::Workflow(record) = record else {
            panic!("no workflow wrote {record:?}");
        };
        record
    };
    entries.map(|entry| record(entry.record)).collect()
}

/// Spec: [FLOW-22]
#[test]
fn case_40_a_power_cut_takes_nothing_that_was_answered() {
    let disk = SimulatedDisk::default();
    let store = JsonLinesStore::new(
        "/c".into(),
        "/t".into(),
        Arc::new(disk.clone()),
        Clock::system(),
    );
    let journal = wait(store.open_or_new(header("w"))).unwrap();
    let mut random = fastrand::Rng::with_seed(40);
    let all = records();
    let mut lasting = 0;
    for (written, record) in (1..).zip(&all) {
        let typed: WorkflowRecord = serde_json::from_value(record.clone()).unwrap();
        let new = NewRecord {
            at: 1,
            record: Record::Workflow(record.clone()),
        };
        let durability = typed.durability();
        wait(journal.append(journal.end().seq, vec![new], durability)).unwrap();
        if durability == Durability::Synced {
            lasting = written;
        }
        for loss in [Loss::AllUnflushed, Loss::Some, Loss::Some, Loss::Nothing] {
            let left = kept(&disk.after(loss, &mut random));
            // Whole, in order, and all that was answered.
            assert_eq!(left, all[..left.len()], "{loss:?} behind {typed:?}");
            assert!(left.len() >= lasting, "{loss:?} behind {typed:?}");
        }
    }
    assert_eq!(lasting, all.len());
}
