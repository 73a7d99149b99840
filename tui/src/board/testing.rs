//! Workflows for tests.

use harness_protocol::{Event, WorkflowSnapshot};
use serde_json::{Value, json};

use super::BoardNews;
use crate::conversation::testing::event;

/// The folder of the workflows.
pub(crate) const FOLDER: &str = "/home/ana/src/project";

/// A workflow of that folder in a state, behind record 40.
pub(crate) fn workflow(id: &str, state: &str) -> WorkflowSnapshot {
    with(id, state, json!({}))
}

/// The same with these further fields.
pub(crate) fn with(id: &str, state: &str, more: Value) -> WorkflowSnapshot {
    let feature = |id: &str, state: &str, required: bool| json!({"id": id, "description": format!("{id} works"), "state": state, "required": required});
    let mut it = json!({
        "id": id, "name": format!("{id}-name"), "objective": "Make the parser right", "state": state,
        "manifest": "abc", "version": 1, "folder": FOLDER, "branch": "harness/parser",
        "head": "1f0c2a9d77", "iterations": 2, "position": "e-40-0",
        "features": [
            feature("numbers", "passing", true), feature("strings", "failing", true),
            feature("dates", "stuck", true), feature("zones", "blocked", true),
            feature("leap", "skipped", false), feature("eras", "failing", false),
        ],
        "spent": {"tokens": 12_345, "cost_micro_usd": 1_230_000, "active_ms": 3_723_000},
        "limits": {"tokens": 2_000_000, "active_ms": 7_200_000, "iterations": 50},
        "progress": [],
    });
    let Value::Object(more) = more else {
        panic!("no fields: {more}");
    };
    it.as_object_mut().unwrap().extend(more);
    serde_json::from_value(it).unwrap()
}

/// One in which the model works on a feature.
pub(crate) fn working(id: &str) -> WorkflowSnapshot {
    let step = json!({"iteration": 2, "attempt": 1, "step": "converse", "feature": "strings",
        "conversation": "wf-w1-2", "for_ms": 63_000});
    with(id, "running", json!({"step": step}))
}

/// A record of a workflow.
pub(crate) fn record(kind: &str, data: Value) -> Event {
    let mut it = json!({"type": "workflow", "record": {"type": kind}});
    it["record"]["data"] = data;
    event(it)
}

/// A check that ended.
pub(crate) fn check(n: u32, name: &str, verdict: &str) -> Event {
    let data = json!({"n": n, "attempt": 1, "check": name, "tree": "t", "try": 1, "verdict": verdict,
        "why": "it ended with 1", "counts": true, "ms": 340, "output": format!("sha-{n}-{name}"),
        "tail": "\n\u{1b}[2Jassertion failed: 12 is not 13\nmore\n"});
    record("check_ended", data)
}

/// An iteration that brought a commit.
pub(crate) fn accepted(n: u32, feature: &str) -> Event {
    let data = json!({"n": n, "status": "accepted", "feature": {"feature": feature, "state": "passing"},
        "commit": {"commit": format!("{n}abcdef0123"), "tree": "t"}});
    record("iteration_ended", data)
}

/// A piece of what a running check shows.
pub(crate) fn shows(offset: u64, text: &str) -> Event {
    event(
        json!({"type": "step_output", "iteration": 2, "attempt": 1, "step": "check:suite",
        "offset": offset, "text": text}),
    )
}

/// Something that happened in a workflow.
pub(crate) fn happened(workflow: &str, event: Event) -> BoardNews {
    BoardNews::Happened {
        workflow: workflow.to_owned(),
        event: Box::new(event),
    }
}
