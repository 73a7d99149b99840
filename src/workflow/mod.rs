//! `harness workflow`: the file of a workflow, which needs no service, and what a service is asked.

mod ask;
pub(crate) mod commands;
mod import;
mod on_base;
pub(crate) mod summary;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use derive_more::{Display, Error, From};
use harness_actors::workflow::file::{FeatureList, FileFormat, FileProblem, MAX_FILE, hash, read};
use harness_actors::workflow::manifest::Manifest;
use harness_actors::workflow::schema::schema;
use harness_actors::workflow::starter::filled;
use serde_json::json;

use crate::cli::color::ColorFlag;
use crate::cli::exit_codes::exits;
use crate::client::{self, WorkflowCommand};
use crate::config::HomeFlag;
use crate::visible;

pub(crate) use ask::ask;

const HELP: &str = "\
Examples:
  harness workflow check .harness/workflows/parser.toml
  harness workflow check plan.json --json      the hash, what is wrong, and what it says
  harness workflow check plan.toml --run       which checks are red and green on the base, once you approve it
  harness workflow import feature_list.json -o plan.toml
  harness workflow schema > schema.json        for an editor that knows JSON Schema
  harness workflow new plan.toml               make one of the file, once you approve it
  harness workflow run --wait                  let it work, and show what happens
  harness workflow show                        how it is
  harness wf                                   is short for all that

A file is TOML, or JSON if its name ends in .json. `check` and `schema` need no service, and run nothing of it
unless `check --run` says so.";

/// The reason why a file could not be checked.
#[derive(Debug, Display, Error, From)]
pub(crate) enum WorkflowFileError {
    /// The file cannot be read.
    #[display("cannot read {}: {error}; name the file of a workflow", visible::line(&path.to_string_lossy()))]
    #[from(skip)]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        #[error(source)]
        error: io::Error,
    },
    /// The checks cannot be run.
    #[display("the checks cannot be run: {reason}")]
    #[from(skip)]
    Run {
        /// The reason.
        reason: String,
    },
    /// The result cannot be written.
    #[display("cannot write to standard output: {_0}")]
    Output(io::Error),
}

impl WorkflowFileError {
    /// The exit code. A reader that closed the pipe early is not a failure.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::File { .. } | Self::Run { .. } | Self::Output(_) => 1,
        }
    }
}

/// The flags of `harness workflow`.
#[derive(Debug, Args)]
#[command(after_help = exits(HELP, "done; the file is in order", "something is wrong with the file, or it cannot be read", None))]
pub(crate) struct Workflow {
    /// The action.
    #[command(subcommand)]
    action: WorkflowAction,
}

#[cfg(test)]
impl Workflow {
    /// The command for a service.
    pub(crate) fn service(self) -> Option<WorkflowCommand> {
        match self.action {
            WorkflowAction::Service(command) => Some(command),
            WorkflowAction::Check(_) | WorkflowAction::Import(_) | WorkflowAction::Schema => None,
        }
    }
}

/// The actions on the file of a workflow.
#[derive(Debug, Subcommand)]
enum WorkflowAction {
    /// Say all that is wrong with the file of a workflow, or what it would do
    #[command(after_help = exits(HELP, "the file is in order, and so are its checks with --run", "something is wrong with it, it is not approved, or it cannot be read", Some("stopped with Ctrl-C")))]
    Check(WorkflowCheckArgs),
    /// Make the file of a workflow of a list of features
    #[command(after_help = exits(HELP, "the file is written", "something is wrong with the list, or it cannot be read or written", None))]
    Import(import::ImportArgs),
    /// Print the JSON Schema of the file
    #[command(after_help = exits(HELP, "done", "it cannot be written", None))]
    Schema,
    /// A command for the running service.
    #[command(flatten)]
    Service(WorkflowCommand),
}

/// The flags of `harness workflow check`.
#[derive(Debug, Args)]
struct WorkflowCheckArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object: hash, problems, manifest; with --run also base and checks
    #[arg(long)]
    json: bool,
    /// Whether its checks run.
    #[command(flatten)]
    running: on_base::RunChecksArgs,
}

/// Does it; the exit code.
///
/// # Errors
/// If the file cannot be read, or the result not be written.
pub(crate) fn run(
    workflow: &Workflow,
    home: &HomeFlag,
    color: ColorFlag,
) -> Result<i32, WorkflowFileError> {
    match &workflow.action {
        WorkflowAction::Check(wanted) => check(wanted, home, &ask, &mut io::stdout().lock()),
        WorkflowAction::Import(wanted) => import::run(wanted, &mut io::stdout().lock()),
        WorkflowAction::Schema => {
            writeln!(io::stdout().lock(), "{:#}", schema())?;
            Ok(0)
        }
        WorkflowAction::Service(command) => Ok(client::run_workflow(command, home, color)),
    }
}

fn check(
    wanted: &WorkflowCheckArgs,
    home: &HomeFlag,
    ask: &dyn Fn() -> Option<bool>,
    out: &mut impl Write,
) -> Result<i32, WorkflowFileError> {
    let bytes = bytes_of(&wanted.file).map_err(|error| WorkflowFileError::File {
        path: wanted.file.clone(),
        error,
    })?;
    let name = wanted.file.to_string_lossy();
    let folder = std::env::current_dir().unwrap_or_default();
    let (bytes, format) = filled(bytes, FileFormat::of_name(&name), &folder);
    let found = read(&bytes, format, FeatureList::Needed);
    let hash = hash(&bytes);
    let name = visible::line(&name);
    if let (true, Ok(manifest)) = (wanted.running.is_wanted(), &found) {
        let file = on_base::File {
            name: &name,
            stem: wanted.file.file_stem().unwrap_or_default(),
            hash: &hash,
            manifest,
            json: wanted.json,
        };
        return on_base::run(&wanted.running, &file, home, ask, out);
    }
    if wanted.json {
        writeln!(out, "{}", as_json(&hash, &found)?)?;
    } else {
        for line in as_text(&name, &hash, &found) {
            writeln!(out, "{line}")?;
        }
    }
    let Err(problems) = found else {
        return Ok(0);
    };
    let count = summary::count(problems.len(), "problem");
    drop(writeln!(io::stderr(), "harness: {name} has {count}"));
    Ok(1)
}

/// The content of a file, up to one byte more than a workflow may have.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let most = u64::try_from(MAX_FILE)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

type CheckedFile = Result<Manifest, Vec<FileProblem>>;

fn as_json(hash: &str, found: &CheckedFile) -> io::Result<String> {
    let problems = found.as_ref().err().map_or(&[][..], Vec::as_slice);
    let manifest = found.as_ref().ok();
    let all = json!({"hash": hash, "problems": problems, "manifest": manifest});
    Ok(visible::json(&all)?)
}

fn as_text(name: &str, hash: &str, found: &CheckedFile) -> Vec<String> {
    match found {
        Ok(manifest) => summary::lines(name, hash, manifest),
        Err(problems) => problem_lines(name, problems),
    }
}

/// The faults of a file, one a line.
pub(crate) fn problem_lines(name: &str, problems: &[FileProblem]) -> Vec<String> {
    let problem = |problem: &FileProblem| {
        let line = problem
            .line
            .map_or_else(String::new, |line| format!("{line}:"));
        format!("{name}:{line} {}", visible::line(&problem.to_string()))
    };
    problems.iter().map(problem).collect()
}
