//! `harness workflow list`, `show` and `log`: how workflows are, and what has happened in them.

use clap::Args;
use harness_actors::workflow::file::duration;
use harness_protocol::{
    Event, HistoryPage, WorkflowFeature, WorkflowList, WorkflowSnapshot, WorkflowStep,
};
use serde_json::Value;

use super::chosen::WorkflowArg;
use super::past;
use super::used::spent;
use crate::cli::exit_codes::asks;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::commands::table::table;
use crate::client::error::CommandError;
use crate::client::event_line::time_of_day;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;
use harness_protocol::words;

const HELP: &str = "\
Examples:
  harness workflow list                        the workflows of this folder
  harness workflow list --all                  those of all folders
  harness workflow show                        state, features, what it does now, what it used
  harness workflow show 2.1                    what attempt 1 of iteration 2 left, and its checks
  harness workflow show 2.1 --diff             what it changed
  harness workflow log                         what has happened, one record a line
  harness workflow log w1 --json | jq .event   everything, as JSON Lines";

/// How many records are asked for at once.
const PAGE: usize = 500;
/// How many characters of a text that others wrote are shown.
const MAX_SHOWN: usize = 200;

/// The flags of `harness workflow list`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowListArgs {
    /// Those of all folders
    #[arg(long)]
    all: bool,
    /// Print the answer of the service as JSON
    #[arg(long)]
    json: bool,
}

/// The flags of `harness workflow show`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowShowArgs {
    /// The workflow, which may be left out where this folder has only one, and then N or N.M: an iteration, or
    /// an attempt in it
    #[arg(value_name = "ID] [N[.M]", num_args = 0..=2, hide_possible_values = true)]
    words: Vec<String>,
    /// Print what the attempt changed, as git tells it
    #[arg(long)]
    diff: bool,
    /// Print the answer of the service as JSON
    #[arg(long)]
    json: bool,
}

/// The flags of `harness workflow log`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowLogArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// Begin behind this record
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    /// Print JSON Lines, one record a line
    #[arg(long)]
    json: bool,
}

/// Lists the workflows.
///
/// # Errors
/// If there is no list, or it cannot be printed.
pub(super) async fn list(
    list: &WorkflowListArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let here = if list.all {
        None
    } else {
        Some(folder::here()?)
    };
    let lines = |WorkflowList { workflows }: WorkflowList| rows(&workflows, here.as_deref());
    common::list(
        (routes::workflows(), "workflows"),
        list.json,
        service,
        output,
        lines,
    )
    .await
}

/// Shows a workflow.
///
/// # Errors
/// If there is none, or it cannot be printed.
pub(super) async fn show(
    show: &WorkflowShowArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (which, place) = past::named(&show.words)?;
    let id = which.find(service).await?;
    if show.diff || place.is_some() {
        let place = place.ok_or_else(past::no_place)?;
        return past::show(&id, place, show.diff, show.json, service, output).await;
    }
    let lines = |it: WorkflowSnapshot| workflow_lines(&it);
    common::show(routes::workflow(&id), show.json, service, output, lines).await
}

/// Prints the records of a workflow.
///
/// # Errors
/// If they cannot be read or printed.
pub(super) async fn log(
    log: &WorkflowLogArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let id = log.which.find(service).await?;
    let mut after = log.after;
    loop {
        let page = routes::workflow_history(&id, after, PAGE).answered_as::<Value>();
        let raw = service.ask(&page).await?;
        let next = raw.get("after").and_then(Value::as_u64);
        if log.json {
            let events = raw.get("events").and_then(Value::as_array);
            for event in events.into_iter().flatten() {
                output.json(event)?;
            }
        } else {
            let HistoryPage { events, .. } = common::parsed(raw)?;
            for past in events {
                if let Some(line) = record_line(&past.event) {
                    output.line(&line)?;
                }
            }
        }
        match next {
            None => return Ok(()),
            Some(next) if next <= after => return Err(CommandError::SAME_PAGE),
            Some(next) => after = next,
        }
    }
}

/// A record of a workflow on one line, with its time; none if the event is none.
pub(super) fn record_line(event: &Event) -> Option<String> {
    let Event::Workflow { record, timestamp } = event else {
        return None;
    };
    let told = visible::line(&words::workflow_record(record));
    Some(format!("{} {told}", time_of_day(*timestamp)))
}

/// How a workflow is, on one line.
pub(super) fn line(it: &WorkflowSnapshot) -> String {
    let line = format!(
        "workflow {} ({}): {}, {}",
        it.id,
        it.name,
        state(it),
        features(it)
    );
    visible::line(&line)
}

fn rows(workflows: &[WorkflowSnapshot], here: Option<&str>) -> Vec<String> {
    let is_shown = |it: &&WorkflowSnapshot| here.is_none_or(|here| it.folder == here);
    let row = |it: &WorkflowSnapshot| {
        [
            it.id.clone(),
            it.name.clone(),
            state(it),
            features(it),
            folder::display_path(&it.folder),
            visible::short(&it.objective, MAX_SHOWN),
        ]
        .map(|cell| visible::line(&cell))
    };
    let mut rows: Vec<_> = workflows.iter().filter(is_shown).map(row).collect();
    if rows.is_empty() {
        return vec!["no workflow; make one with `harness workflow new FILE`".to_owned()];
    }
    let head = ["ID", "NAME", "STATE", "FEATURES", "FOLDER", "OBJECTIVE"];
    rows.insert(0, head.map(str::to_owned));
    table(&rows, &[])
}

fn state(it: &WorkflowSnapshot) -> String {
    let state = it.state.replace('_', " ");
    match &it.reason {
        Some(reason) => format!("{state} ({reason})"),
        None => state,
    }
}

fn features(it: &WorkflowSnapshot) -> String {
    let passing = it.features.iter().filter(|it| it.state == "passing");
    format!("{} of {} pass", passing.count(), it.features.len())
}

fn workflow_lines(it: &WorkflowSnapshot) -> Vec<String> {
    let mut rows = vec![("objective", it.objective.clone())];
    let mut add = |what, said: Option<String>| rows.extend(said.map(|said| (what, said)));
    add(
        "why",
        Some(it.detail.clone()).filter(|said| !said.is_empty()),
    );
    add(
        "waits",
        it.gate
            .as_ref()
            .map(|gate| format!("gate {}: {}", gate.gate, gate.asks)),
    );
    add("now", it.step.as_ref().map(step));
    add("folder", Some(folder::display_path(&it.folder)));
    let head = it.head.as_ref().map(|head| format!(" at {head}"));
    let head = head.unwrap_or_default();
    add(
        "branch",
        it.branch.as_ref().map(|branch| format!("{branch}{head}")),
    );
    add("merge", it.merge.clone());
    add("worktree", it.worktree.as_deref().map(folder::display_path));
    add(
        "file",
        Some(format!("version {}, {}", it.version, it.manifest)),
    );
    add("iterations", Some(it.iterations.to_string()));
    add("used", Some(spent(it.spent)));
    let row = |(what, said): (&str, String)| format!("  {what:<11}  {}", visible::line(&said));
    let mut lines = vec![line(it)];
    lines.extend(rows.into_iter().map(row));
    lines.extend(table_of(&it.features));
    lines.extend(
        it.progress
            .iter()
            .map(|said| format!("  - {}", visible::short(said, MAX_SHOWN))),
    );
    lines
}

fn table_of(features: &[WorkflowFeature]) -> Vec<String> {
    let row = |it: &WorkflowFeature| {
        let optional = if it.required { "" } else { " (optional)" };
        [
            format!("  {}", it.state),
            visible::line(&it.id),
            visible::short(&format!("{}{optional}", it.description), MAX_SHOWN),
        ]
    };
    let rows: Vec<_> = features.iter().map(row).collect();
    table(&rows, &[])
}

fn step(it: &WorkflowStep) -> String {
    let place = match (it.iteration, it.attempt) {
        (0, number) => format!("verification {number}"),
        (n, 0) => format!("iteration {n}"),
        (n, attempt) => format!("attempt {n}.{attempt}"),
    };
    let feature = it.feature.as_ref().map(|feature| format!(" of {feature}"));
    let conversation = it.conversation.as_ref();
    let conversation = conversation.map(|id| format!(", conversation {id}"));
    let waits = it.waits_until.map(|_| ", waits for the provider");
    format!(
        "{place}{}: {} for {}{}{}",
        feature.unwrap_or_default(),
        it.step,
        duration::text(it.for_ms / 1_000),
        conversation.unwrap_or_default(),
        waits.unwrap_or_default()
    )
}
