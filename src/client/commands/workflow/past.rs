//! The past of a workflow: `harness workflow show N.M`, its diff, and the outputs of checks.

use clap::Args;
use harness_protocol::{WorkflowAttempt, WorkflowCheckRun, WorkflowDiff, WorkflowIteration};
use serde_json::json;

use super::chosen::WorkflowArg;
use super::used::spent;
use crate::cli::exit_codes::asks;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::output::Output as Printed;
use crate::visible;

const HELP: &str = "\
Examples:
  harness workflow output 2.1 suite            the last output of the check suite in attempt 1 of iteration 2
  harness workflow output w1 0.1 suite         in the first verification of the head
  harness workflow output SHA256               the output of that name, as `check_ended` has it";

/// How long the hexadecimal SHA-256 of an output is.
const SHA256: usize = 64;

/// The flags of `harness workflow output`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowOutputArgs {
    /// The workflow, which may be left out where this folder has only one; then an attempt N.M and a check, or
    /// the SHA-256 of an output
    #[arg(value_name = "ID] N.M CHECK | [ID] [SHA256", num_args = 1..=3, required = true)]
    words: Vec<String>,
    /// Print one JSON object: sha256, output
    #[arg(long)]
    json: bool,
}

/// An iteration, or an attempt in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IterationPlace {
    iteration: u32,
    attempt: Option<u32>,
}

impl IterationPlace {
    fn read(word: &str) -> Option<Self> {
        match word.split_once('.') {
            Some((n, attempt)) => Some(Self {
                iteration: n.parse().ok()?,
                attempt: Some(attempt.parse().ok()?),
            }),
            None => Some(Self {
                iteration: word.parse().ok()?,
                attempt: None,
            }),
        }
    }
}

/// The workflow and the place that words name. A single word is a workflow unless it has a dot, which no
/// workflow has.
///
/// # Errors
/// If they name neither.
pub(super) fn named(
    words: &[String],
) -> Result<(WorkflowArg, Option<IterationPlace>), CommandError> {
    let (id, place) = match words {
        [] => (None, None),
        [word] if word.contains('.') => (None, Some(word)),
        [id] => (Some(id), None),
        [id, place, ..] => (Some(id), Some(place)),
    };
    let place = place
        .map(|word| IterationPlace::read(word).ok_or_else(|| wrong(word)))
        .transpose()?;
    Ok((WorkflowArg { id: id.cloned() }, place))
}

/// The answer where a place is missing.
pub(super) fn no_place() -> CommandError {
    CommandError::Usage {
        reason: "name the attempt whose changes you want, as in `harness workflow show 2.1 --diff`"
            .to_owned(),
    }
}

fn wrong(word: &str) -> CommandError {
    CommandError::Usage {
        reason: format!("{word:?} is neither an iteration, as in 2, nor an attempt, as in 2.1"),
    }
}

/// Shows an iteration, an attempt, or what an attempt changed.
///
/// # Errors
/// If there is none, or it cannot be printed.
pub(super) async fn show(
    id: &str,
    place: IterationPlace,
    diff: bool,
    json: bool,
    service: &ServiceConnection,
    output: &mut Printed,
) -> Result<(), CommandError> {
    if !diff {
        let route = routes::workflow_iteration(id, place.iteration);
        let lines = |it: WorkflowIteration| iteration_lines(&it, place.attempt);
        return common::show(route, json, service, output, lines).await;
    }
    let route = routes::workflow_diff(id, place.iteration, place.attempt);
    let lines = |it: WorkflowDiff| {
        let mut lines: Vec<String> = it.diff.lines().map(visible::text).collect();
        if it.cut {
            lines.push(format!("… and more: git diff {} {}", it.base, it.commit));
        }
        lines
    };
    common::show(route, json, service, output, lines).await
}

/// Prints the output of a check.
///
/// # Errors
/// If none is kept, or it cannot be printed.
pub(super) async fn output(
    wanted: &WorkflowOutputArgs,
    service: &ServiceConnection,
    output: &mut Printed,
) -> Result<(), CommandError> {
    let is_hash = |word: &String| word.len() == SHA256;
    let (id, place) = match wanted.words.as_slice() {
        [hash] if is_hash(hash) => (None, Err(hash)),
        [id, hash] if is_hash(hash) => (Some(id), Err(hash)),
        [place, check] => (None, Ok((place, check))),
        [id, place, check] => (Some(id), Ok((place, check))),
        _ => {
            let reason =
                "name an attempt and a check, as in `2.1 suite`, or the SHA-256 of an output";
            return Err(CommandError::Usage {
                reason: reason.to_owned(),
            });
        }
    };
    let id = WorkflowArg { id: id.cloned() }.find(service).await?;
    let hash = match place {
        Err(hash) => hash.clone(),
        Ok((place, check)) => {
            let place = IterationPlace::read(place).ok_or_else(|| wrong(place))?;
            last_output(&id, place, check, service).await?
        }
    };
    let text = service.text(&routes::workflow_output(&id, &hash)).await?;
    if wanted.json {
        return Ok(output.json(&json!({"sha256": hash, "output": text}))?);
    }
    for line in text.lines() {
        output.line(&visible::text(line))?;
    }
    Ok(())
}

/// The last output of a check in an attempt, or in the last one of an iteration that ran it.
async fn last_output(
    id: &str,
    place: IterationPlace,
    check: &str,
    service: &ServiceConnection,
) -> Result<String, CommandError> {
    let it = service
        .ask(&routes::workflow_iteration(id, place.iteration))
        .await?;
    let attempts = it.attempts.iter().rev();
    let meant = attempts.filter(|it| place.attempt.is_none_or(|attempt| attempt == it.attempt));
    let mut runs = meant.flat_map(|it| it.checks.iter().rev());
    let run = runs.find(|run| run.check == check && !run.output.is_empty());
    run.map(|run| run.output.clone()).ok_or_else(|| {
        let ran = it.attempts.iter().flat_map(|it| &it.checks);
        let mut ran: Vec<&str> = ran.map(|run| run.check.as_str()).collect();
        ran.sort_unstable();
        ran.dedup();
        let ran = if ran.is_empty() {
            "none".to_owned()
        } else {
            ran.join(", ")
        };
        CommandError::Usage {
            reason: format!("the check {check:?} has no output there; checks that ran: {ran}"),
        }
    })
}

/// An iteration in lines, with all its attempts or one.
fn iteration_lines(it: &WorkflowIteration, attempt: Option<u32>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(feature) = &it.feature {
        let how = it.status.as_deref().unwrap_or("open");
        let n = it.iteration;
        lines.push(visible::line(&format!("iteration {n} of {feature}: {how}")));
        let base = it.base.clone();
        let rows = [
            ("why", Some(it.why.clone()).filter(|why| !why.is_empty())),
            ("base", base),
            ("commit", it.commit.clone()),
            ("used", it.spent.map(spent)),
            (
                "note",
                Some(it.note.clone()).filter(|note| !note.is_empty()),
            ),
        ];
        for (what, said) in rows {
            let said = said.map(|said| format!("  {what:<11}  {}", visible::line(&said)));
            lines.extend(said);
        }
    }
    let meant = |it: &&WorkflowAttempt| attempt.is_none_or(|attempt| attempt == it.attempt);
    for one in it.attempts.iter().filter(meant) {
        lines.extend(attempt_lines(it.iteration, one));
    }
    lines
}

fn attempt_lines(n: u32, it: &WorkflowAttempt) -> Vec<String> {
    let how = match it.accepted {
        Some(true) if n == 0 => "everything is as it has to be",
        Some(false) if n == 0 => "not everything is as it has to be",
        Some(true) => "accepted",
        Some(false) => "rejected",
        None => "not judged",
    };
    let name = match n {
        0 => format!("verification {}", it.attempt),
        n => format!("attempt {n}.{}", it.attempt),
    };
    let mut lines = vec![format!("{name}: {how}")];
    let mut add = |what: &str, said: String| {
        lines.push(format!("  {what:<11}  {}", visible::line(&said)));
    };
    for reason in &it.reasons {
        let check = reason.check.as_ref().map(|check| format!(" by {check}"));
        let check = check.unwrap_or_default();
        add(
            "reason",
            format!("{}{check}: {}", reason.reason, reason.detail),
        );
    }
    if let Some(conversation) = &it.conversation {
        let late = if it.timed_out {
            ", which took too long"
        } else {
            ""
        };
        add("conversation", format!("{conversation}{late}"));
    }
    if let Some(commit) = &it.commit {
        let left = match n {
            0 => commit.clone(),
            _ => format!("{commit}: {} files, {} lines changed", it.files, it.lines),
        };
        add("commit", left);
    }
    if !it.protected.is_empty() {
        add("put back", it.protected.join(", "));
    }
    for run in &it.checks {
        add("check", check_line(run));
    }
    lines
}

fn check_line(run: &WorkflowCheckRun) -> String {
    let again = if run.r#try > 1 {
        format!(" (try {})", run.r#try)
    } else {
        String::new()
    };
    let WorkflowCheckRun {
        check,
        verdict,
        why,
        ms,
        ..
    } = run;
    format!(
        "{check}{again}: {verdict} in {}.{} s: {why}",
        ms / 1000,
        ms % 1000 / 100
    )
}

#[cfg(test)]
#[path = "past_tests.rs"]
mod tests;
