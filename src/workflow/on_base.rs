//! `harness workflow check --run`: which checks of a file are red and which are green on the base.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_actors::start_thread;
use harness_actors::workflow::StopHandle;
use harness_actors::workflow::facts::Head;
use harness_actors::workflow::manifest::Manifest;
use harness_actors::workflow::on_base::{BaseCheck, OnBase};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{WorkflowFileError, summary};
use crate::config::{ClientConfig, HomeFlag, LoadedConfig};
use crate::visible;

/// The exit code of what Ctrl-C ended.
const STOPPED: i32 = 130;

/// Whether the checks of a file run.
#[derive(Debug, Args)]
pub(super) struct RunChecksArgs {
    /// Run its checks on the base, in a fresh worktree, once you approve the file
    #[arg(long)]
    run: bool,
    /// The SHA-256 of the file that you approve; asks at a terminal if left out
    #[arg(long, value_name = "HASH", requires = "run", value_parser = NonEmptyStringValueParser::new())]
    approve: Option<String>,
    /// A folder of the repository; this one if left out
    #[arg(
        long,
        value_name = "DIR",
        requires = "run",
        default_value = ".",
        hide_default_value = true
    )]
    folder: PathBuf,
}

impl RunChecksArgs {
    /// True if the checks should run.
    pub(super) fn is_wanted(&self) -> bool {
        self.run
    }
}

/// A file that is in order.
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    /// Its name without folder and ending, which is that of the workflow.
    pub(super) stem: &'a OsStr,
    pub(super) hash: &'a str,
    pub(super) manifest: &'a Manifest,
    pub(super) json: bool,
}

/// Runs the checks of a file, if a person approves it; the exit code.
///
/// # Errors
/// If they cannot be run, or the result not be written.
pub(super) fn run(
    running: &RunChecksArgs,
    file: &File<'_>,
    home: &HomeFlag,
    ask: &dyn Fn() -> Option<bool>,
    out: &mut impl Write,
) -> Result<i32, WorkflowFileError> {
    if !file.json {
        for line in summary::with_commands(file.name, file.hash, file.manifest) {
            writeln!(out, "{line}")?;
        }
    }
    if let Some(why) = refusal(running.approve.as_deref(), file.hash, ask) {
        drop(writeln!(io::stderr(), "harness: nothing was run: {why}"));
        return Ok(1);
    }
    let stop = StopHandle::default();
    let ran = tried(running, file, home, &stop, &mut |check| {
        if file.json {
            return;
        }
        // A closed output is reported at the end.
        drop(writeln!(out, "  {}", line(check)));
    });
    let (head, checks) = match ran {
        Ok(ran) => ran,
        Err(_) if stop.is_stopped() => return Ok(STOPPED),
        Err(reason) => return Err(WorkflowFileError::Run { reason }),
    };
    let wrong = checks
        .iter()
        .filter(|check| check.problem.is_some())
        .count();
    if file.json {
        let problems: [(); 0] = [];
        let all = json!({"hash": file.hash, "problems": problems, "manifest": file.manifest,
            "base": head, "checks": checks});
        writeln!(out, "{}", visible::json(&all).map_err(io::Error::from)?)?;
    } else if wrong == 0 {
        writeln!(out, "every check is as it has to be on {}", head.commit)?;
    }
    if wrong > 0 {
        let count = summary::count(wrong, "check");
        let (name, commit) = (file.name, &head.commit);
        drop(writeln!(
            io::stderr(),
            "harness: {name} has {count} that cannot be used on {commit}"
        ));
        return Ok(1);
    }
    Ok(0)
}

/// The reason why nothing runs, if the file is not approved.
fn refusal(approved: Option<&str>, hash: &str, ask: &dyn Fn() -> Option<bool>) -> Option<String> {
    match approved {
        Some(approved) if approved == hash => None,
        Some(approved) => Some(format!(
            "the file has the hash {hash}, and {approved} was approved; look at it again"
        )),
        None => match ask() {
            Some(true) => None,
            Some(false) => Some("the file was not approved".to_owned()),
            None => Some(format!(
                "the file is not approved; approve it with --approve {hash}"
            )),
        },
    }
}

/// Runs the checks; Ctrl-C stops them.
fn tried(
    running: &RunChecksArgs,
    file: &File<'_>,
    home: &HomeFlag,
    stop: &StopHandle,
    tell: &mut dyn FnMut(&BaseCheck),
) -> Result<(Head, Vec<BaseCheck>), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let client = ClientConfig::from_process(home).map_err(|error| said(&error))?;
    let config = LoadedConfig::of_shell(&client.home).map_err(|error| said(&error))?;
    let repository = running.folder.canonicalize();
    let repository =
        repository.map_err(|error| format!("{}: {error}", running.folder.display()))?;
    let name = file.stem.to_string_lossy();
    let order = OnBase {
        launcher: launcher(&config)?,
        repository: &repository,
        name: &name,
        worktrees: &crate::serve::wiring::worktrees(),
        closed: crate::serve::wiring::closed_to_tools(&config),
        manifest: file.manifest,
    };
    stop_at_interrupt(stop.clone())?;
    let mut checks = Vec::new();
    let head = order.run(stop, &mut |check| {
        tell(&check);
        checks.push(check);
    })?;
    Ok((head, checks))
}

#[cfg(target_os = "linux")]
fn launcher(config: &LoadedConfig) -> Result<Arc<dyn harness_actors::tool::Launcher>, String> {
    let own = crate::launch::OwnLauncher::new(config.sandbox, &config.sandbox_write);
    Ok(Arc::new(own))
}

#[cfg(not(target_os = "linux"))]
fn launcher(_: &LoadedConfig) -> Result<Arc<dyn harness_actors::tool::Launcher>, String> {
    Err("nothing contains commands on this system, so none is run".to_owned())
}

/// Stops what runs at Ctrl-C, which from then on does not end this process by itself.
fn stop_at_interrupt(stop: StopHandle) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let presses = {
        let _guard = runtime.enter();
        signal(SignalKind::interrupt())
    };
    let mut presses = presses.map_err(|error| error.to_string())?;
    // It goes with the process.
    let waiting = start_thread("ctrl-c", move || {
        if runtime.block_on(presses.recv()).is_some() {
            stop.stop();
        }
    });
    waiting.map_err(|error| error.to_string())
}

/// The result of a check, on one line.
fn line(check: &BaseCheck) -> String {
    let colour = if check.verdict.is_good() {
        "green"
    } else {
        "red"
    };
    let whose = check
        .feature
        .as_ref()
        .map(|feature| format!("feature {feature}: "));
    let whose = whose.unwrap_or_default();
    let BaseCheck {
        check: name,
        why,
        ms,
        problem,
        ..
    } = check;
    let problem = problem
        .as_ref()
        .map(|problem| format!("; WRONG: {problem}"));
    let problem = problem.unwrap_or_default();
    visible::line(&format!(
        "{colour:<5}  {whose}{name}: {why} ({}.{} s){problem}",
        ms / 1000,
        ms % 1000 / 100
    ))
}
