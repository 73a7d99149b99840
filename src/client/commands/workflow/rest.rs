//! When a workflow is at rest, and the exit code that says why.

use harness_protocol::WorkflowSnapshot;
use serde_json::Value;

use crate::client::error::{EXIT_CANCELLED, EXIT_DENIED, EXIT_LIMITED};
use crate::visible;

/// How a workflow rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestLine {
    /// The exit code.
    pub(super) code: i32,
    /// Why, on one line.
    pub(super) line: String,
}

/// The facts about the last run that its records tell, and not the snapshot.
#[derive(Debug, Default)]
pub(super) struct LastRun {
    /// The mistake that ended it.
    error: Option<String>,
    /// The feature of its last iteration, if that was not accepted.
    open: Option<String>,
    /// The checks of a person's verification that are not as they have to be.
    broken: Option<String>,
    /// Whether a person ordered the verification that is under way.
    verifies: bool,
}

impl LastRun {
    /// Notes what a record says of it.
    pub(super) fn note(&mut self, record: &Value) {
        let text = |path: &str| record.pointer(path).and_then(Value::as_str);
        match text("/type") {
            Some("phase_started") => *self = Self::default(),
            Some("phase_ended") => self.error = text("/data/error").map(str::to_owned),
            Some("iteration_ended") => {
                let feature = text("/data/feature/feature").map(str::to_owned);
                self.open = feature.filter(|_| text("/data/status") != Some("accepted"));
            }
            Some("verification_started") => {
                *self = Self {
                    verifies: text("/data/purpose") == Some("operator"),
                    ..std::mem::take(self)
                };
            }
            Some("verification_ended") if self.verifies => {
                let problems = record.pointer("/data/problems").and_then(Value::as_array);
                let named = |it: &Value| it.get("check").and_then(Value::as_str).map(str::to_owned);
                let named: Vec<String> = problems.into_iter().flatten().filter_map(named).collect();
                let is_green = record.pointer("/data/green") == Some(&Value::Bool(true));
                let broken = (!is_green).then(|| named.join(", "));
                *self = Self {
                    broken,
                    ..Self::default()
                };
            }
            _ => {}
        }
    }
}

/// Whether nothing comes after this state.
pub(super) fn is_over(state: &str) -> bool {
    matches!(state, "completed" | "cancelled" | "failed")
}

/// Whether a record of this type may leave the workflow at rest.
pub(super) fn may_rest(record: &str) -> bool {
    matches!(
        record,
        "paused"
            | "cancelled"
            | "completed"
            | "failed"
            | "gate_opened"
            | "phase_ended"
            | "verification_ended"
    )
}

/// How the workflow rests; none while it works.
pub(super) fn rest(it: &WorkflowSnapshot, last: &LastRun) -> Option<RestLine> {
    let id = &it.id;
    let (code, what) = match it.state.as_str() {
        "initializing" | "running" => return None,
        "completed" => (0, "completed".to_owned()),
        "ready" | "draft" => match (&last.error, &last.open) {
            _ if last.broken.is_some() => {
                let broken = last.broken.as_deref().unwrap_or_default();
                (1, with("not everything is as it has to be", broken))
            }
            (Some(error), _) => (1, format!("the run failed: {error}")),
            (None, Some(open)) => (
                EXIT_LIMITED,
                format!("the run ended, and {open} is not done"),
            ),
            (None, None) => (0, "the run is done".to_owned()),
        },
        "waiting_for_approval" => (EXIT_DENIED, gate(it)),
        "paused" => paused(it),
        "cancelled" => (EXIT_CANCELLED, with("cancelled", &it.detail)),
        state => (1, with(state, &it.detail)),
    };
    let line = visible::line(&format!("workflow {id}: {what}"));
    Some(RestLine { code, line })
}

fn paused(it: &WorkflowSnapshot) -> (i32, String) {
    let reason = it.reason.as_deref().unwrap_or_default();
    let told = with(&format!("paused ({reason})"), &it.detail);
    match reason {
        "gate" => (EXIT_DENIED, gate(it)),
        "operator" | "ask" => (EXIT_DENIED, told),
        "budget_tokens" | "budget_cost" | "budget_time" | "iterations" | "no_progress"
        | "stuck" | "outside_schedule" => (EXIT_LIMITED, told),
        _ => (1, told),
    }
}

fn gate(it: &WorkflowSnapshot) -> String {
    let asked = it
        .gate
        .as_ref()
        .map_or(it.detail.as_str(), |gate| &gate.asks);
    let waits = with("waits for a person", asked);
    format!("{waits}; answer with `harness workflow approve {}`", it.id)
}

fn with(what: &str, more: &str) -> String {
    match more.lines().next().unwrap_or_default() {
        "" => what.to_owned(),
        more => format!("{what}: {more}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::snapshot;
    use super::*;

    fn resting(state: &str, reason: Option<&str>, error: Option<&str>) -> Option<RestLine> {
        let mut it = snapshot(state);
        it["reason"] = json!(reason);
        it["detail"] = json!("why\nmore");
        let mut last = LastRun::default();
        last.note(&json!({"type": "phase_ended", "data": {"error": error}}));
        rest(&serde_json::from_value(it).unwrap(), &last)
    }

    /// Spec: [FLOW-92]
    #[test]
    fn a_run_that_left_its_last_feature_open_was_stopped_by_a_limit() {
        let mut last = LastRun::default();
        let it = serde_json::from_value(snapshot("ready")).unwrap();
        for (status, code) in [("rejected", 4), ("accepted", 0), ("failed", 4)] {
            let data = json!({"status": status, "feature": {"feature": "b", "state": "stuck"}});
            last.note(&json!({"type": "iteration_ended", "data": data}));
            last.note(&json!({"type": "phase_ended", "data": {"detail": "enough"}}));
            assert_eq!(rest(&it, &last).unwrap().code, code, "{status}");
        }
        let told = rest(&it, &last).unwrap().line;
        assert_eq!(told, "workflow w1: the run ended, and b is not done");
        last.note(&json!({"type": "phase_started", "data": {}}));
        assert_eq!(rest(&it, &last).unwrap().code, 0);
    }

    /// Spec: [FLOW-92]
    #[test]
    fn the_exit_code_tells_a_person_from_a_limit_and_both_from_failure() {
        for (state, reason, error, code) in [
            ("completed", None, None, 0),
            ("ready", None, None, 0),
            ("ready", None, Some("chat"), 1),
            ("waiting_for_approval", None, None, 3),
            ("paused", Some("gate"), None, 3),
            ("paused", Some("operator"), None, 3),
            ("paused", Some("ask"), None, 3),
            ("paused", Some("budget_tokens"), None, 4),
            ("paused", Some("budget_cost"), None, 4),
            ("paused", Some("budget_time"), None, 4),
            ("paused", Some("iterations"), None, 4),
            ("paused", Some("no_progress"), None, 4),
            ("paused", Some("stuck"), None, 4),
            ("paused", Some("tampering"), None, 1),
            ("failed", None, None, 1),
            ("cancelled", None, None, 130),
        ] {
            let rest = resting(state, reason, error).unwrap();
            assert_eq!(rest.code, code, "{state} {reason:?}: {rest:?}");
            assert_eq!(rest.line.lines().count(), 1);
        }
        let rest = resting("paused", Some("stuck"), None).unwrap();
        assert_eq!(rest.line, "workflow w1: paused (stuck): why");
        for state in ["running", "initializing"] {
            assert_eq!(resting(state, None, None), None);
        }
    }

    /// Spec: [FLOW-102]
    #[test]
    fn a_verification_that_finds_something_is_a_failure_and_one_of_the_service_is_not() {
        let it = serde_json::from_value(snapshot("ready")).unwrap();
        for (purpose, green, code) in [
            ("operator", true, 0),
            ("operator", false, 1),
            ("final", false, 0),
        ] {
            let mut last = LastRun::default();
            let problems = json!([{"check": "suite"}, {"check": "add.1"}]);
            for record in [
                json!({"type": "verification_started", "data": {"purpose": purpose}}),
                json!({"type": "verification_ended", "data": {"green": green, "problems": problems}}),
            ] {
                last.note(&record);
            }
            let rest = rest(&it, &last).unwrap();
            assert_eq!(rest.code, code, "{purpose} {green}");
            assert_eq!(
                rest.line.contains("suite, add.1"),
                code == 1,
                "{}",
                rest.line
            );
        }
    }
}
