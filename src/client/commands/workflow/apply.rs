//! `harness workflow apply`: shows what a changed file would change, asks, and lets it count.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_actors::workflow::file::FileProblem;
use harness_actors::workflow::proposal::ProposedChange;
use harness_protocol::{ApplyWorkflowFile, WorkflowSnapshot};
use serde::Deserialize;

use super::chosen::{Saying, WorkflowArg};
use super::create::real;
use super::show::line;
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;
use crate::workflow::{problem_lines, summary};

const HELP: &str = "\
Examples:
  harness workflow apply                       the changed file of the workflow of this folder
  harness workflow apply w1 --file plan.toml   another file
  harness workflow apply --approve HASH        in a script, once somebody has seen the changes
  harness workflow apply --allow-remove        also if features are missing in the file

A feature with other checks is open again. Nothing runs before the next `harness workflow run`, which looks at the
checks of the base first.";

/// The flags of `harness workflow apply`.
#[derive(Debug, Args)]
#[command(after_help = exits(HELP, "the file counts", "something is wrong with the file, it is not approved, or no service runs", None))]
pub(crate) struct ApplyArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// The file; the one that was applied last if left out
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The SHA-256 of the file that you approve; asks at a terminal if left out
    #[arg(long, value_name = "HASH", value_parser = NonEmptyStringValueParser::new())]
    approve: Option<String>,
    /// Take away the features that are missing in the file
    #[arg(long)]
    allow_remove: bool,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The file that counts.
#[derive(Debug, Deserialize)]
struct CountingFile {
    hash: String,
    file: Option<String>,
}

/// The changes that a file would make.
#[derive(Debug, Deserialize)]
struct Compared {
    hash: String,
    problems: Vec<FileProblem>,
    changes: Vec<ProposedChange>,
    removes: bool,
}

/// Lets a changed file count; the exit code.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    apply: &ApplyArgs,
    service: &ServiceConnection,
    ask: &dyn Fn() -> Option<bool>,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let id = apply.which.find(service).await?;
    let counting = service.ask(&routes::workflow_manifest(&id)).await?;
    let counting: CountingFile = common::parsed(counting)?;
    let mut order = ApplyWorkflowFile {
        path: apply.file.as_deref().map(real).transpose()?,
        allow_remove: apply.allow_remove,
        dry_run: true,
        by: apply.saying.caller.name(),
        ..ApplyWorkflowFile::default()
    };
    let name = order.path.clone().or(counting.file).unwrap_or_default();
    let name = visible::line(&name);
    let compared = service.ask(&routes::compare_manifest(&id, &order)).await?;
    let compared: Compared = common::parsed(compared)?;
    if !compared.problems.is_empty() {
        for line in problem_lines(&name, &compared.problems) {
            output.line(&line)?;
        }
        let count = summary::count(compared.problems.len(), "problem");
        output.note(&format!("harness: {name} has {count}"));
        return Ok(1);
    }
    let is_same = compared.hash == counting.hash;
    if !apply.saying.json {
        for line in change_lines(&name, &compared, is_same) {
            output.line(&line)?;
        }
    }
    order.dry_run = false;
    order.approve.clone_from(&apply.approve);
    if !is_same {
        if compared.removes && !apply.allow_remove {
            output.note("harness: nothing was changed: features are missing in the file; take them away with --allow-remove");
            return Ok(1);
        }
        if order.approve.is_none() {
            match ask() {
                Some(true) => order.approve = Some(compared.hash),
                Some(false) => {
                    output.note("harness: nothing was changed: the file was not approved");
                    return Ok(1);
                }
                None => output.note(&format!(
                    "harness: the file is not approved yet; approve it with --approve {}, or at the gate of \
                     its next run",
                    compared.hash
                )),
            }
        }
    }
    let route = routes::apply_manifest(&id, &order, &counting.hash);
    let lines = |it: WorkflowSnapshot| vec![line(&it)];
    common::show(route, apply.saying.json, service, output, lines).await?;
    Ok(0)
}

fn change_lines(name: &str, compared: &Compared, is_same: bool) -> Vec<String> {
    if is_same {
        return vec![format!("{name} is the file that counts")];
    }
    let mut lines = vec![format!("{name} would change:")];
    if compared.changes.is_empty() {
        lines.push("  nothing but its text".to_owned());
    }
    let changes = compared.changes.iter();
    lines.extend(changes.map(|change| format!("  {}", visible::line(&change.line))));
    lines.push(format!("  hash         {}", compared.hash));
    lines
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
