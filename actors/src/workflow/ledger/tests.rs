//! The sums of records where a machine would not write them so.

use super::*;
use crate::workflow::facts::CommandEnd;
use crate::workflow::record::{CheckEnded, ManifestApplied, WorkflowRecord};
use crate::workflow::state::CheckVerdict;

fn head() -> Head {
    Head {
        commit: "c".to_owned(),
        tree: "t".to_owned(),
    }
}

fn opened() -> WorkflowLedger {
    let mut ledger = WorkflowLedger::default();
    ledger.apply(&WorkflowRecord::Created {
        workflow: "w".to_owned(),
        by: None,
    });
    ledger.apply(&WorkflowRecord::ManifestApplied(Box::new(
        ManifestApplied {
            version: 1,
            hash: "h".to_owned(),
            base: head(),
            features: vec!["a".to_owned()],
            changed: vec![],
            approved: true,
            sandbox: None,
            file: None,
            by: None,
        },
    )));
    ledger.apply(&WorkflowRecord::IterationStarted {
        n: 1,
        feature: "a".to_owned(),
        base: head(),
        why: String::new(),
    });
    ledger
}

fn check(number: u32, verdict: CheckVerdict) -> WorkflowRecord {
    WorkflowRecord::CheckEnded(Box::new(CheckEnded {
        n: 1,
        attempt: 1,
        check: "a.1".to_owned(),
        tree: "u".to_owned(),
        r#try: number,
        verdict,
        why: String::new(),
        counts: true,
        end: CommandEnd::Exited(0),
        ms: 1,
        output: String::new(),
        tail: String::new(),
        fingerprint: None,
        kept: TestNames::new(),
        lost: TestNames::new(),
    }))
}

/// Spec: [FLOW-25]
#[test]
fn a_second_result_of_a_check_is_ignored_and_listed() {
    let mut ledger = opened();
    ledger.apply(&check(1, CheckVerdict::Passed));
    ledger.apply(&check(2, CheckVerdict::Failed));
    let results = &ledger.iteration().unwrap().attempt.results;
    assert_eq!(
        results.result("a.1", "u").unwrap().verdict,
        CheckVerdict::Passed
    );
    assert_eq!(results.counted().len(), 1);
    assert_eq!(ledger.ignored().len(), 1);
    assert_eq!(ledger.ignored()[0].number, 2);
    for number in 3..99 {
        ledger.apply(&check(number, CheckVerdict::Failed));
    }
    assert_eq!(ledger.ignored().len(), MAX_IGNORED);
}

/// Spec: [FLOW-20]
#[test]
fn records_without_those_before_them_harm_nothing() {
    let mut ledger = WorkflowLedger::default();
    ledger.apply(&check(1, CheckVerdict::Passed));
    ledger.apply(&WorkflowRecord::Restarted {
        found: String::new(),
    });
    assert_eq!(ledger.state(), WorkflowState::Draft);
    assert!(!ledger.is_active());
}
