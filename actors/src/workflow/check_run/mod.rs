//! One check: a command that the service runs, bounded in time and output, without any remains.

mod lines;
mod output;
mod overlay;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness_protocol::Access;

use self::lines::LineCutter;
use self::output::GrowingOutput;
use self::overlay::FileOverlay;
use super::child::{self, ProgramEnd, ProgramStopReason, StopHandle};
use super::manifest::{Program, ServiceCommand};
use crate::secret::Redaction;
use crate::tool::{LaunchOrder, Launcher, TempFolder, environment};

pub use output::{KeptOutput, MAX_KEPT, MAX_TAIL};

/// The environment of a check besides that of the tools' commands; it keeps git from waiting for locks.
const SET: [(&str, &str); 2] = [("CI", "1"), ("GIT_OPTIONAL_LOCKS", "0")];

/// A command to be run.
pub struct CheckOrder<'a> {
    /// The launcher that contains and starts it.
    pub launcher: &'a dyn Launcher,
    /// The command.
    pub command: &'a ServiceCommand,
    /// The root of the tree that it judges.
    pub root: &'a Path,
    /// Files that are laid over the tree while it runs, by their path below the root.
    pub files: &'a BTreeMap<String, String>,
    /// The paths hidden from it.
    pub closed: Arc<[PathBuf]>,
    /// The secrets taken out of its output.
    pub redaction: Redaction,
}

/// The end of a command. With an exit code, a signal or neither, if it was ended before it began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckRun {
    /// Its exit code.
    pub exit: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// True if it was ended because its time was over.
    pub timed_out: bool,
    /// True if it was ended by its [`StopHandle`].
    pub cancelled: bool,
    /// The reason why it was not started, or cannot be judged.
    pub not_started: Option<String>,
    /// The reason why it was ended for its use of resources: the resource, and its limit.
    pub over: Option<String>,
    /// The processes that it left running, which were ended; the first few by name.
    pub left: Vec<String>,
    /// Hidden files that could not be taken away again.
    pub files_left: Vec<String>,
    /// Duration in milliseconds.
    pub ms: u64,
    /// Its output.
    pub output: KeptOutput,
}

/// The kept part of a text, cut as an output is.
#[must_use]
pub fn kept(text: &str, redaction: Redaction) -> KeptOutput {
    let mut growing = GrowingOutput::new(redaction);
    growing.add(text.as_bytes());
    growing.kept()
}

/// Runs a command to its end; `show` gets each line when it is written. Blocks for as long as it runs.
pub fn run_check(
    order: &CheckOrder<'_>,
    stop: &StopHandle,
    show: &mut dyn FnMut(&str),
) -> CheckRun {
    match try_run(order, stop, show) {
        Ok(run) => run,
        Err(reason) => CheckRun {
            not_started: Some(reason),
            output: GrowingOutput::new(Redaction::default()).kept(),
            ..CheckRun::default()
        },
    }
}

fn try_run(
    order: &CheckOrder<'_>,
    stop: &StopHandle,
    show: &mut dyn FnMut(&str),
) -> Result<CheckRun, String> {
    let said = |error: io::Error| error.to_string();
    let root = fs::canonicalize(order.root)
        .map_err(|error| format!("the tree {} is gone: {error}", order.root.display()))?;
    let network = order.command.network;
    order.launcher.containment(Access::Write, network, &root)?;
    let temp = TempFolder::new().map_err(said)?;
    let launch = launch_order(order, &root, temp.path())?;
    check_program(&launch)?;
    let limit = Duration::from_secs(order.command.time_limit_s);
    let overlay = FileOverlay::lay(&root, order.files)?;
    let mut output = GrowingOutput::new(order.redaction.clone());
    let mut lines = LineCutter::new(order.redaction.clone(), show);
    let done = child::run(order.launcher, &launch, limit, stop, &mut |bytes| {
        output.add(bytes);
        lines.add(bytes);
    });
    lines.end();
    let files_left = overlay.take_away();
    let run = match done {
        Ok(done) => judged(done),
        Err(error) => CheckRun {
            not_started: Some(error.to_string()),
            ..CheckRun::default()
        },
    };
    Ok(CheckRun {
        files_left,
        output: output.kept(),
        ..run
    })
}

fn judged(done: ProgramEnd) -> CheckRun {
    let ProgramEnd {
        ended,
        stopped,
        took,
    } = done;
    // One whose launcher was killed has no result, and must not count as one that failed by itself.
    let is_lost =
        ended.code.is_none() && ended.signal.is_none() && ended.over.is_none() && stopped.is_none();
    CheckRun {
        exit: ended.code,
        signal: ended.signal,
        timed_out: stopped == Some(ProgramStopReason::TimedOut),
        cancelled: stopped == Some(ProgramStopReason::Cancelled),
        not_started: is_lost.then(|| "what contained it was killed; run it again".to_owned()),
        over: ended.over,
        left: ended.left,
        files_left: Vec::new(),
        ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        output: KeptOutput::default(),
    }
}

/// It may write in the tree and in a folder of its own for temporary files, and nowhere else: git's own files
/// are not for checks.
fn launch_order(order: &CheckOrder<'_>, root: &Path, temp: &Path) -> Result<LaunchOrder, String> {
    let command = order.command;
    Ok(LaunchOrder {
        program: words(&command.program)?,
        environment: variables(&command.env, temp)?,
        conversation: None,
        folder: folder(root, command.cwd.as_deref())?,
        workspace: root.to_owned(),
        temp: temp.to_owned(),
        access: Access::Write,
        network: command.network,
        has_pipes: false,
        writable: Vec::new(),
        protected: vec![root.join(".git")],
        copies: Vec::new(),
        closed: Arc::clone(&order.closed),
    })
}

/// The program with its arguments.
pub(super) fn words(program: &Program) -> Result<Vec<String>, String> {
    let words: Vec<String> = match program {
        Program::Cmd(words) => words.clone(),
        Program::Shell(line) => ["bash", "--norc", "--noprofile", "-c", line]
            .map(str::to_owned)
            .to_vec(),
        Program::Hook(_) => return Err("it is no command".to_owned()),
    };
    if words.first().is_none_or(String::is_empty) {
        return Err("the command names no program".to_owned());
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err("the command has a NUL character".to_owned());
    }
    Ok(words)
}

/// Checks that the program exists: a shell would turn a missing one into an exit code like any other.
fn check_program(launch: &LaunchOrder) -> Result<(), String> {
    let program = launch.program.first().map_or("", String::as_str);
    let is_there = if program.contains('/') {
        launch.folder.join(program).is_file()
    } else {
        let path = launch.environment.iter().find(|(name, _)| name == "PATH");
        let mut folders = path.into_iter().flat_map(|(_, path)| path.split(':'));
        folders.any(|folder| launch.folder.join(folder).join(program).is_file())
    };
    if is_there {
        return Ok(());
    }
    Err(format!(
        "{program} cannot be started: there is no such program"
    ))
}

/// The environment of a command.
pub(super) fn variables(
    own: &BTreeMap<String, String>,
    temp: &Path,
) -> Result<Vec<(String, String)>, String> {
    let service = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut variables: BTreeMap<String, String> =
        environment(service, &[], temp).into_iter().collect();
    let set = SET.map(|(name, value)| (name.to_owned(), value.to_owned()));
    variables.extend(set);
    for (name, value) in own {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(format!("{name:?} cannot be a variable of its environment"));
        }
        variables.insert(name.clone(), value.clone());
    }
    Ok(variables.into_iter().collect())
}

fn folder(root: &Path, cwd: Option<&str>) -> Result<PathBuf, String> {
    let Some(cwd) = cwd else {
        return Ok(root.to_owned());
    };
    let folder = fs::canonicalize(root.join(cwd))
        .map_err(|error| format!("its folder {cwd} is not in the tree: {error}"))?;
    if folder.starts_with(root) && folder.is_dir() {
        return Ok(folder);
    }
    Err(format!("its folder {cwd} is not a folder in the tree"))
}
