use serde_json::{Value, json};

use super::*;

fn told(kind: &str, data: &Value) -> String {
    workflow_record(&json!({"type": kind, "data": data}))
}

fn place() -> Value {
    json!({"n": 2, "attempt": 1})
}

fn with(mut data: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        data[key] = value.clone();
    }
    data
}

/// Spec: [FLOW-80]
#[test]
fn what_an_operator_does_is_one_sentence_a_record() {
    let head = json!({"commit": "1f0c2a9d7e", "tree": "8e21"});
    for (kind, data, sentence) in [
        (
            "created",
            json!({"workflow": "w1", "by": "ana"}),
            "w1 was made by ana",
        ),
        (
            "manifest_applied",
            json!({"version": 1, "hash": "abcdef0123456", "base": head, "features": ["a", "b"],
                "approved": true}),
            "version 1 of the file (abcdef01) counts: 2 features, approved",
        ),
        (
            "manifest_applied",
            json!({"version": 2, "hash": "ab", "base": head, "features": ["a"], "changed": ["a"],
                "approved": false, "by": "ana"}),
            "version 2 of the file (ab) counts by ana: 1 feature, not approved yet; open again: a",
        ),
        (
            "gate_opened",
            json!({"gate": "plan", "asks": "may this file run?\nmore"}),
            "gate plan: waits for a person: may this file run?",
        ),
        (
            "gate_closed",
            json!({"gate": "plan", "approved": false, "comment": "no", "by": "ana"}),
            "gate plan rejected by ana: no",
        ),
        (
            "start_planned",
            json!({"at": 9, "in_s": 12_600}),
            "the schedule starts the next run in 3 h 30 min",
        ),
        (
            "start_skipped",
            json!({"due": 9, "why": "it is still at work"}),
            "a start of the schedule was left out: it is still at work",
        ),
        (
            "phase_started",
            json!({"phase": "initializer", "order": {}}),
            "a run begins, the checks on the base first",
        ),
        (
            "phase_started",
            json!({"phase": "task_iteration",
                "order": {"max_features": 1, "max_iterations": 3, "by": "ana"}}),
            "a run begins by ana: at most 1 feature, at most 3 iterations",
        ),
        (
            "phase_ended",
            json!({"phase": "task_iteration", "detail": "1 feature of 2"}),
            "the run ended: 1 feature of 2",
        ),
        (
            "phase_ended",
            json!({"phase": "initializer", "error": "health_check", "detail": ""}),
            "the run ended (health_check)",
        ),
    ] {
        assert_eq!(told(kind, &data), sentence);
    }
}

/// Spec: [FLOW-80]
#[test]
fn what_stops_a_workflow_and_lets_it_go_on_is_one_sentence_a_record() {
    let head = json!({"commit": "1f0c2a9d7e", "tree": "8e21"});
    for (kind, data, sentence) in [
        (
            "pause_requested",
            json!({"when": "iteration", "reason": "operator", "detail": "", "by": "ana"}),
            "a pause is wanted by ana at the end of the iteration (operator)",
        ),
        (
            "pause_requested",
            json!({"when": "now", "reason": "storage", "detail": "the disk is full"}),
            "a pause is wanted at once (storage): the disk is full",
        ),
        (
            "paused",
            json!({"reason": "budget_tokens", "detail": "10 of 10 tokens"}),
            "paused (budget_tokens): 10 of 10 tokens",
        ),
        (
            "resumed",
            json!({"grants": {"tokens": 5, "cost_micro_usd": 1_500_000, "active_ms": 60_000,
                "iterations": 2}, "retry_stuck": true, "by": "ana"}),
            "goes on by ana: 5 more tokens, 1.50 more USD, 60 more seconds of work, \
             2 more iterations, stuck features are tried again",
        ),
        ("resumed", json!({"grants": {}}), "goes on"),
        (
            "cancel_requested",
            json!({"by": "ana"}),
            "a cancel is wanted by ana",
        ),
        (
            "cancelled",
            json!({"detail": "nothing was under way"}),
            "cancelled: nothing was under way",
        ),
        (
            "completed",
            json!({"head": head}),
            "completed: every check passes on 1f0c2a9d",
        ),
        ("notified", json!({"number": 1}), "a notice was sent"),
        (
            "notified",
            json!({"number": 2, "failed": "it ended with code 3"}),
            "a notice could not be sent: it ended with code 3",
        ),
        (
            "intervened",
            json!({"what": "skipped", "feature": "a", "by": "ana"}),
            "feature a skipped by ana",
        ),
        (
            "restarted",
            json!({"found": "attempt 2.1, converse"}),
            "the service came back: attempt 2.1, converse",
        ),
        (
            "failed",
            json!({"detail": "the manifest cannot be read"}),
            "failed: the manifest cannot be read",
        ),
    ] {
        assert_eq!(told(kind, &data), sentence);
    }
}

/// Spec: [FLOW-80]
#[test]
fn what_happens_in_an_iteration_is_one_sentence_a_record() {
    let head = json!({"commit": "1f0c2a9d7e", "tree": "8e21"});
    for (kind, data, sentence) in [
        (
            "iteration_started",
            json!({"n": 2, "feature": "a", "base": head, "why": "first of the failing"}),
            "iteration 2: works on a (first of the failing)",
        ),
        (
            "step_started",
            json!({"n": 2, "attempt": 0, "step": "prepare", "try": 1}),
            "iteration 2: making the workspace ready",
        ),
        (
            "step_started",
            json!({"n": 2, "attempt": 1, "step": "check:add.1", "try": 2}),
            "attempt 2.1: check add.1, try 2",
        ),
        (
            "step_ended",
            json!({"n": 2, "attempt": 1, "step": "converse", "outcome": "timed_out",
                "detail": "\n first\nsecond", "spent": {}}),
            "attempt 2.1: conversation timed out: first",
        ),
        (
            "conversation_linked",
            json!({"n": 2, "attempt": 1, "conversation": "wf-w1-2", "run": 3}),
            "attempt 2.1: run 3 of the conversation wf-w1-2",
        ),
        (
            "provider_waits",
            with(
                place(),
                &json!({"number": 2, "ms": 120_000, "until": 9, "detail": "overloaded (529)"}),
            ),
            "attempt 2.1: the provider does not answer, wait 2 of 2 min: overloaded (529)",
        ),
        (
            "attempt_timed_out",
            place(),
            "attempt 2.1 took too long; its run is cancelled",
        ),
        (
            "candidate",
            with(
                place(),
                &json!({"commit": "c", "tree": "t", "files": 1, "lines": 2}),
            ),
            "attempt 2.1 left 1 file, 2 lines changed, as c",
        ),
        (
            "candidate",
            with(
                place(),
                &json!({"commit": "c", "tree": "t", "files": 2, "lines": 1,
                    "protected": ["tests/a.py"], "too_large": "6,000 new files"}),
            ),
            "attempt 2.1 left 2 files, 1 line changed, as c; \
             these protected files were put back: tests/a.py; too large: 6,000 new files",
        ),
        (
            "verdict",
            with(place(), &json!({"accepted": true, "evidence": []})),
            "attempt 2.1 accepted",
        ),
        (
            "verdict",
            with(
                place(),
                &json!({"accepted": false, "evidence": [], "reasons": [
                    {"reason": "regression", "check": "add.1", "detail": "exit 1"},
                    {"reason": "protected_changed", "detail": "tests/a.py"}]}),
            ),
            "attempt 2.1 rejected: regression by add.1, protected changed (tests/a.py)",
        ),
        (
            "iteration_ended",
            json!({"n": 2, "status": "accepted", "commit": head,
                "feature": {"feature": "a", "state": "passing"}}),
            "iteration 2 accepted: a is passing as of 1f0c2a9d",
        ),
        (
            "iteration_ended",
            json!({"n": 2, "status": "rejected", "feature": {"feature": "a", "state": "stuck"}}),
            "iteration 2 rejected: a is stuck",
        ),
    ] {
        assert_eq!(told(kind, &data), sentence);
    }
}

/// Spec: [FLOW-80]
#[test]
fn what_checks_say_is_one_sentence_a_record() {
    let check = |verdict: &str, more: &Value| {
        let check = json!({"n": 2, "attempt": 1, "check": "suite", "verdict": verdict,
            "why": "exit 1", "counts": true, "ms": 1_250});
        told("check_ended", &with(check, more))
    };
    let none = json!({});
    assert_eq!(
        check("passed", &none),
        "attempt 2.1: check suite passed in 1.2 s"
    );
    let lost = json!({"lost": ["t1", "t2"], "counts": false});
    assert_eq!(
        check("failed", &lost),
        "attempt 2.1: check suite failed in 1.2 s, which does not count: exit 1; \
         tests lost: t1, t2"
    );
    let of_head = json!({"n": 0, "attempt": 3, "ms": 60_000, "why": "limit 1m"});
    assert_eq!(
        check("timed_out", &of_head),
        "verification 3: check suite took too long in 60.0 s: limit 1m"
    );
    let head = json!({"commit": "1f0c2a9d7e", "tree": "8e21"});
    for (kind, data, sentence) in [
        (
            "verification_started",
            json!({"number": 1, "purpose": "baseline", "head": head}),
            "verification 1 of 1f0c2a9d begins: what fails before the work",
        ),
        (
            "verification_ended",
            json!({"number": 1, "green": true}),
            "verification 1: everything is as it has to be",
        ),
        (
            "verification_ended",
            json!({"number": 1, "green": false, "stopped": true}),
            "verification 1 was stopped",
        ),
        (
            "verification_ended",
            json!({"number": 1, "green": false, "reopened": ["a"],
                "problems": [{"reason": "check_failed", "check": "a.1", "detail": "exit 1"}]}),
            "verification 1: not everything is as it has to be: check failed by a.1; open again: a",
        ),
    ] {
        assert_eq!(told(kind, &data), sentence);
    }
}

/// Spec: [FLOW-80]
#[test]
fn a_record_of_a_newer_service_or_without_its_fields_is_told_all_the_same() {
    assert_eq!(told("moon_landed", &json!({"n": 1})), "moon landed");
    assert_eq!(told("paused", &Value::Null), "paused ()");
    assert_eq!(workflow_record(&Value::Null), "");
    let long = told("failed", &json!({"detail": "x".repeat(1_000)}));
    assert!(
        long.chars().count() < 320 && long.ends_with('…'),
        "{long:?}"
    );
}
