//! The state of a workflow, in words: never by colour alone.

use harness_protocol::{WorkflowFeature, WorkflowSnapshot, WorkflowStep, words};

use crate::text::{one_line, shown_path};
use crate::theme::Token;

/// True if its state is final.
pub(crate) fn is_over(it: &WorkflowSnapshot) -> bool {
    matches!(it.state.as_str(), "completed" | "cancelled" | "failed")
}

/// True if it works.
pub(crate) fn is_working(it: &WorkflowSnapshot) -> bool {
    matches!(it.state.as_str(), "initializing" | "running")
}

/// Its state, and the reason of a pause.
pub(crate) fn state(it: &WorkflowSnapshot) -> String {
    let state = one_line(&it.state).replace('_', " ");
    match &it.reason {
        Some(reason) => format!("{state} ({})", one_line(reason)),
        None => state,
    }
}

/// The colour of its state.
pub(super) fn state_token(it: &WorkflowSnapshot) -> Token {
    match it.state.as_str() {
        "completed" => Token::Added,
        "failed" => Token::Error,
        "cancelled" | "draft" | "ready" => Token::Text,
        _ => Token::Status,
    }
}

/// The reason of a pause in words, and the way on; nothing if it does not pause.
pub(super) fn pause(it: &WorkflowSnapshot) -> Option<(String, &'static str)> {
    let reason = it.reason.as_deref()?;
    Some(match words::workflow_pause(reason) {
        Some(known) => (known.why.to_owned(), known.advice),
        None => (one_line(reason).replace('_', " "), "resume it"),
    })
}

/// Number of its features that are done, in words.
pub(crate) fn features_done(it: &WorkflowSnapshot) -> String {
    let done = it.features.iter().filter(|it| it.state == "passing");
    format!("{} of {} done", done.count(), it.features.len())
}

/// A feature's state in words, and its colour.
pub(super) fn feature_state(
    feature: &WorkflowFeature,
    doing: Option<&str>,
) -> (&'static str, Token) {
    match feature.state.as_str() {
        "failing" if doing == Some(&feature.id) => ("doing", Token::Status),
        "failing" => ("pending", Token::Text),
        "passing" => ("done", Token::Added),
        "stuck" => ("stuck", Token::Error),
        "skipped" => ("left out", Token::Quiet),
        "blocked" => ("waits", Token::Quiet),
        _ => ("unknown", Token::Quiet),
    }
}

/// A step, its place, and for how long it goes.
pub(super) fn step(it: &WorkflowStep, seconds: u64) -> String {
    let place = match (it.iteration, it.attempt) {
        (0, number) => format!("verification {number}"),
        (n, 0) => format!("iteration {n}"),
        (n, attempt) => format!("iteration {n}, attempt {attempt}"),
    };
    let feature = it.feature.as_deref().map(one_line);
    let feature = feature.map_or_else(String::new, |feature| format!(" of {feature}"));
    let step = match it.step.split_once(':') {
        Some(("check", check)) => format!("check {}", one_line(check)),
        _ => match it.step.as_str() {
            "prepare" => "makes the workspace ready".to_owned(),
            "health" => "health checks".to_owned(),
            "converse" => "the model works".to_owned(),
            "snapshot" => "puts down what was left".to_owned(),
            "accept" => "moves the branch".to_owned(),
            "restore" => "rolls back".to_owned(),
            other => one_line(other),
        },
    };
    format!("{place}{feature}: {step}, for {}", time(seconds))
}

/// Its consumption, of its limits.
pub(super) fn used(it: &WorkflowSnapshot) -> Vec<String> {
    let (spent, limits) = (it.spent, it.limits);
    let of = |used: String, limit: Option<String>, unit: &str| match limit {
        Some(limit) => format!("{used} of {limit}{unit}"),
        None => format!("{used}{unit}"),
    };
    let iterations = limits.iterations.map(|limit| limit.to_string());
    vec![
        of(
            spent.tokens.to_string(),
            limits.tokens.map(|limit| limit.to_string()),
            " tokens",
        ),
        of(
            dollars(spent.cost_micro_usd),
            limits.cost_micro_usd.map(dollars),
            " USD",
        ),
        of(
            time(spent.active_ms / 1_000),
            limits.active_ms.map(|ms| time(ms / 1_000)),
            "",
        ),
        of(it.iterations.to_string(), iterations, " iterations"),
    ]
}

fn dollars(micro: u64) -> String {
    let cents = micro.saturating_add(5_000) / 10_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// Milliseconds with a tenth of a second.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// A time in its two largest units.
pub(super) fn time(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => with(minutes, "min", seconds % 60, "s"),
        _ => with(hours, "h", minutes % 60, "min"),
    }
}

fn with(count: u64, unit: &str, rest: u64, smaller: &str) -> String {
    match rest {
        0 => format!("{count} {unit}"),
        rest => format!("{count} {unit} {rest} {smaller}"),
    }
}

/// A workflow on one line, for a list without a screen.
pub(crate) fn in_one_line(it: &WorkflowSnapshot) -> String {
    format!(
        "{} ({}) {}, {}, {}",
        one_line(&it.name),
        one_line(&it.id),
        state(it),
        features_done(it),
        shown_path(None, &it.folder)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-241]
    #[test]
    fn a_time_is_said_in_its_two_largest_units() {
        for (seconds, said) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (63, "1 min 3 s"),
            (3_600, "1 h"),
            (7_500, "2 h 5 min"),
            (3_601, "1 h"),
        ] {
            assert_eq!(time(seconds), said);
        }
    }
}
