//! How records look in the file, and the failures that each outlives.

use serde_json::{Value, json};

use super::*;

fn step(step: IterationStep) -> WorkflowRecord {
    WorkflowRecord::StepStarted {
        n: 1,
        attempt: 1,
        step,
        tree: None,
        r#try: 1,
        key: None,
    }
}

/// Spec: [FLOW-20]
#[test]
fn a_record_has_a_type_and_its_data_and_reads_back() {
    let examples = [
        (
            step(IterationStep::Check("suite".to_owned())),
            json!({"type": "step_started", "data": {"n": 1, "attempt": 1, "step": "check:suite", "try": 1}}),
        ),
        (
            WorkflowRecord::Paused {
                reason: PauseReason::BudgetTokens,
                detail: String::new(),
                by: None,
            },
            json!({"type": "paused", "data": {"reason": "budget_tokens", "detail": ""}}),
        ),
        (
            WorkflowRecord::Candidate {
                n: 2,
                attempt: 1,
                candidate: Candidate {
                    head: Head {
                        commit: "c".to_owned(),
                        tree: "t".to_owned(),
                    },
                    files: 1,
                    lines: 2,
                    protected: vec![],
                    too_large: None,
                },
            },
            json!({"type": "candidate", "data":
                {"n": 2, "attempt": 1, "commit": "c", "tree": "t", "files": 1, "lines": 2}}),
        ),
        (
            WorkflowRecord::GateClosed {
                gate: "plan".to_owned(),
                answer: GateAnswer {
                    approved: true,
                    comment: None,
                    by: Some("ada".to_owned()),
                },
            },
            json!({"type": "gate_closed", "data": {"gate": "plan", "approved": true, "by": "ada"}}),
        ),
    ];
    for (record, line) in examples {
        assert_eq!(serde_json::to_value(&record).unwrap(), line);
        let back: WorkflowRecord = serde_json::from_value(line).unwrap();
        assert_eq!(back, record);
    }
    let wrong: Value = json!("commit");
    assert!(serde_json::from_value::<IterationStep>(wrong).is_err());
}

/// Spec: [FLOW-22]
#[test]
fn what_may_not_happen_twice_is_flushed_before_it_happens() {
    for synced in [
        IterationStep::Converse,
        IterationStep::Accept,
        IterationStep::Restore,
    ] {
        assert_eq!(step(synced).durability(), Durability::Synced);
    }
    for written in [
        IterationStep::Prepare,
        IterationStep::Health,
        IterationStep::Snapshot,
    ] {
        assert_eq!(step(written).durability(), Durability::Written);
    }
    let resumed = WorkflowRecord::Resumed {
        grants: Grants::default(),
        retry_stuck: false,
        by: None,
    };
    assert_eq!(resumed.durability(), Durability::Synced);
}
