use serde_json::{Value, json};

use super::*;

fn record(kind: &str, data: &Value) -> WorkflowRecord {
    serde_json::from_value(json!({"type": kind, "data": data})).unwrap()
}

fn records() -> Vec<WorkflowRecord> {
    let head = |name: &str| json!({"commit": name, "tree": format!("{name}t")});
    let started = |n: u32| {
        record(
            "iteration_started",
            &json!({"n": n, "feature": format!("f{n}"), "base": head("b"), "why": "it is open"}),
        )
    };
    let check = |n: u32, name: &str| {
        record(
            "check_ended",
            &json!({"n": n, "attempt": 1, "check": name, "tree": "ct", "try": 1,
                "verdict": "failed", "why": "ended with 1", "counts": true,
                "end": {"exited": 1}, "ms": 12, "output": "aa", "tail": "x"}),
        )
    };
    vec![
        record(
            "verification_started",
            &json!({"number": 1, "purpose": "baseline", "head": head("b")}),
        ),
        check(0, "one"),
        record("verification_ended", &json!({"number": 1, "green": true})),
        started(1),
        record(
            "conversation_linked",
            &json!({"n": 1, "attempt": 1, "conversation": "wf-w-1", "run": 1}),
        ),
        record(
            "candidate",
            &json!({"n": 1, "attempt": 1, "commit": "c", "tree": "ct", "files": 2, "lines": 3}),
        ),
        check(1, "one"),
        record(
            "verdict",
            &json!({"n": 1, "attempt": 1, "tree": "ct", "accepted": false, "evidence": [],
                "reasons": [{"reason": "check_failed", "check": "one", "detail": "no"}]}),
        ),
        record(
            "iteration_ended",
            &json!({"n": 1, "status": "rejected", "note": "tried", "usage": {"tokens": 5,
                "cost_micro_usd": 0, "active_ms": 9}, "feature": {"feature": "f1", "state": "failing"},
                "progress": {"n": 1, "text": "p"},
                "checkpoint": {"status": "rejected", "head": head("b"), "note": ""}}),
        ),
        started(2),
        started(3),
    ]
}

fn told(wanted: Wanted) -> PastIterations {
    let mut past = PastIterations::new(wanted);
    for (at, record) in (100..).zip(records()) {
        past.add(&record, at);
    }
    past
}

/// Spec: [FLOW-97]
#[test]
fn an_iteration_is_told_with_its_attempts_and_what_each_check_said() {
    let it = told(Wanted::One(1)).one().unwrap();
    assert_eq!((it.started_at, it.ended_at), (103, Some(108)));
    assert_eq!(
        (it.feature.as_deref(), it.status.as_deref()),
        (Some("f1"), Some("rejected"))
    );
    assert_eq!(it.spent.unwrap().tokens, 5);
    let [attempt] = &it.attempts[..] else {
        panic!("{it:?}");
    };
    assert_eq!(attempt.conversation.as_deref(), Some("wf-w-1"));
    assert_eq!((attempt.commit.as_deref(), attempt.files), (Some("c"), 2));
    assert_eq!(
        (attempt.accepted, &*attempt.reasons[0].reason),
        (Some(false), "check_failed")
    );
    assert_eq!(
        (&*attempt.checks[0].check, &*attempt.checks[0].verdict),
        ("one", "failed")
    );
    assert!(told(Wanted::One(4)).one().is_none());
    let head = told(Wanted::One(0)).one().unwrap();
    assert_eq!(
        (head.attempts[0].accepted, head.attempts[0].checks.len()),
        (Some(true), 1)
    );
}

/// Spec: [FLOW-97]
#[test]
fn the_list_goes_on_behind_what_was_told() {
    let page = |after, limit| {
        let page = told(Wanted::Page { after, limit }).page();
        let numbers: Vec<u32> = page.iterations.iter().map(|it| it.iteration).collect();
        (numbers, page.after)
    };
    assert_eq!(page(0, 2), (vec![1, 2], Some(2)));
    assert_eq!(page(2, 2), (vec![3], None));
    assert_eq!(page(0, 9), (vec![1, 2, 3], None));
    assert_eq!(page(3, 1), (vec![], None));
    let page = told(Wanted::Page { after: 0, limit: 1 }).page();
    assert!(page.iterations[0].attempts[0].checks.is_empty());
}
