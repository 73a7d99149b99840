//! `harness workflow new`: shows what a file would do, asks, and makes a workflow of it.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_actors::workflow::file::FileProblem;
use harness_actors::workflow::manifest::Manifest;
use harness_protocol::{NewWorkflow, WorkflowMade};
use serde::Deserialize;
use serde_json::Value;

use super::chosen::Saying;
use super::show::line;
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;
use crate::workflow::{problem_lines, summary};

const HELP: &str = "\
Examples:
  harness workflow new .harness/workflows/parser.toml
  harness workflow new plan.toml --approve HASH    in a script, once somebody has seen the file
  harness workflow new plan.toml < /dev/null       make it; it waits for a person at its first run

Nothing of the file runs before a person has approved exactly these bytes.";

/// The flags of `harness workflow new`.
#[derive(Debug, Args)]
#[command(after_help = exits(HELP, "made, or it was there", "something is wrong with the file, it is not approved, or no service runs", None))]
pub(crate) struct WorkflowNewArgs {
    /// The file, below the folder of the repository
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The SHA-256 of the file that you approve; asks at a terminal if left out
    #[arg(long, value_name = "HASH", value_parser = NonEmptyStringValueParser::new())]
    approve: Option<String>,
    /// The folder of the repository; this one if left out
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The workflow's name; the name of its file by default
    #[arg(long = "as", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    named: Option<String>,
    /// The id under which a repetition is known; made up if left out
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: Option<String>,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The service's answer to a file that it only looks at.
#[derive(Debug, Deserialize)]
struct FileLook {
    hash: String,
    problems: Vec<FileProblem>,
    manifest: Option<Manifest>,
}

/// Makes a workflow; the exit code.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    new: &WorkflowNewArgs,
    service: &ServiceConnection,
    ask: &dyn Fn() -> Option<bool>,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let mut order = order(new)?;
    order.dry_run = true;
    let looked = routes::new_workflow(&order).answered_as::<Value>();
    let looked: FileLook = common::parsed(service.ask(&looked).await?)?;
    let name = visible::line(&new.file.to_string_lossy());
    let Some(manifest) = looked.manifest.filter(|_| looked.problems.is_empty()) else {
        for line in problem_lines(&name, &looked.problems) {
            output.line(&line)?;
        }
        let count = summary::count(looked.problems.len(), "problem");
        output.note(&format!("harness: {name} has {count}"));
        return Ok(1);
    };
    if !new.saying.json {
        for line in summary::with_commands(&name, &looked.hash, &manifest) {
            output.line(&line)?;
        }
    }
    order.dry_run = false;
    if order.approve.is_none() {
        match ask() {
            Some(true) => order.approve = Some(looked.hash),
            Some(false) => {
                output.note("harness: nothing was made: the file was not approved");
                return Ok(1);
            }
            None => output.note(&format!(
                "harness: the file is not approved yet; approve it with --approve {}, or at the gate of \
                 its first run",
                looked.hash
            )),
        }
    }
    let route = routes::new_workflow(&order);
    common::show(route, new.saying.json, service, output, made).await?;
    Ok(0)
}

fn made(WorkflowMade { created, workflow }: WorkflowMade) -> Vec<String> {
    let was = if created { "made" } else { "was there before" };
    vec![format!("{}; {was}", line(&workflow))]
}

/// The order, with absolute paths.
fn order(new: &WorkflowNewArgs) -> Result<NewWorkflow, CommandError> {
    let folder = match &new.folder {
        Some(folder) => real(folder)?,
        None => folder::here()?,
    };
    Ok(NewWorkflow {
        folder: Some(folder),
        path: Some(real(&new.file)?),
        spec: None,
        name: new.named.clone(),
        approve: new.approve.clone(),
        dry_run: false,
        id: new.id.clone(),
        by: new.saying.caller.name(),
    })
}

/// A path as the service can use it, which may be in another folder.
///
/// # Errors
/// If it is not there, or not UTF-8.
pub(super) fn real(path: &Path) -> Result<String, CommandError> {
    let system = |reason: String| CommandError::System {
        reason: format!("cannot use {}: {reason}", path.display()),
    };
    let real = path
        .canonicalize()
        .map_err(|error| system(error.to_string()))?;
    let real = real.into_os_string().into_string();
    real.map_err(|_| system("its name is not UTF-8".to_owned()))
}
