//! The tool `bash`: one command, contained, with its output shown while it runs.

mod alias;
mod background;
mod capture;
mod characters;
mod clone_origin;
mod config_change;
mod config_copies;
mod configured_places;
mod content_places;
mod copies;
mod denied;
mod earlier_contents;
mod environment;
mod file_stamps;
mod frames;
mod git_aside;
mod git_config;
mod git_contents;
mod git_folders;
mod git_head;
mod git_index;
mod git_look;
mod git_modules;
mod git_refs;
mod git_ways;
mod guard;
mod guarded_folder;
mod held;
mod held_folder;
mod ignore_rules;
mod indexed_contents;
mod inventory;
mod job;
mod job_folder;
mod jobs;
mod kept;
mod known_commits;
mod lines;
mod listing;
mod new_repository;
mod outputs;
mod own_repository;
mod place_state;
mod process;
mod put_aside;
mod reach;
mod result;
mod running_commands;
mod script;
mod search_path;
#[cfg(feature = "mcp")]
mod server_reach;
mod stamp;
mod submodule_note;
mod temp;
mod workdir;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness_protocol::{Access, Backend, CommandPlan, FileChange, Subject};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::capture::Capture;
use self::config_copies::ConfigCopies;
use self::content_places::ContentPlaces;
use self::copies::FileCopies;
use self::earlier_contents::ContentSources;
use self::git_contents::GitReader;
use self::guard::CommandGuard;
use self::inventory::{FoundChanges, Inventory};
use self::known_commits::KnownCommits;
use self::own_repository::OwnRepository;
use self::process::GRACE;
use self::put_aside::GuardNotes;
use self::reach::WriteReach;
use self::result::{CommandEnding, Finished, NextFolder};
use self::running_commands::{RunningCommand, RunningCommands};
use self::search_path::SearchPath;
use self::submodule_note::submodule_note;
use super::launch::{Denial, LaunchOrder, Launcher};
use super::plan::{EffectError, PlanFuture, PlannedAction};
use super::{
    ApprovedContents, Cancellation, Tool, ToolContext, ToolError, ToolFuture, ToolOutcome, input,
};
use crate::blocking;
use crate::ids::ConversationId;
use crate::reply::Object;
use crate::secret::Redaction;

pub(crate) use environment::environment;
pub use job::JobTool;
pub use jobs::Jobs;
pub use kept::OutputRange;
pub use outputs::Outputs;
#[cfg(feature = "mcp")]
pub(crate) use process::run_with_pipes;
pub(crate) use process::{Lifeline, ProcessEnd, run_into};
pub(crate) use reach::linked;
#[cfg(feature = "mcp")]
pub(crate) use server_reach::{keep_search_path, server_reach};
pub(crate) use temp::TempFolder;

/// How long a command may run that asks for no other time, in seconds.
const DEFAULT_TIMEOUT: u64 = 120;
/// How long one may run, in seconds.
const MAX_TIMEOUT: u64 = 600;
/// How long a command may be, in bytes. The system takes 128 KiB in one argument.
const MAX_COMMAND: usize = 120 * 1024;
/// How long the model's reason may be, in bytes.
const MAX_WHY: usize = 1024;

/// The note on temporary files that were given up for those of other conversations.
const EMPTIED: &str = "/tmp and what commands had put into the home folder were empty again";
/// The shell's exit code for a file that is no program.
const NO_PROGRAM: i32 = 126;

/// Runs commands.
#[derive(Clone)]
pub struct Bash {
    launcher: Arc<dyn Launcher>,
    /// Variables of the service's environment that operators pass on, besides those that all
    /// programs need.
    environment: Arc<[String]>,
    /// The jobs in the background.
    jobs: Jobs,
    known_commits: KnownCommits,
    /// The contents of files before commands.
    copies: FileCopies,
    running: RunningCommands,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashInput {
    command: String,
    workdir: Option<String>,
    access: Option<String>,
    network: Option<bool>,
    timeout_s: Option<i64>,
    background: Option<bool>,
    why: Option<String>,
    /// The name that models know for `why` from other tools. The schema does not offer it.
    description: Option<String>,
}

/// A command that is planned.
#[derive(Debug, Clone)]
struct Ready {
    plan: CommandPlan,
    conversation: ConversationId,
    workspace: PathBuf,
    folder: PathBuf,
    search_path: SearchPath,
}

impl Bash {
    /// The tool, with what starts and contains its commands. `environment` names variables of this process
    /// that commands get besides those that all programs need; `jobs` holds what runs in the background.
    #[must_use]
    pub fn new(launcher: Arc<dyn Launcher>, environment: Vec<String>, jobs: Jobs) -> Self {
        Self {
            launcher,
            environment: environment.into(),
            jobs,
            known_commits: KnownCommits::default(),
            copies: FileCopies::default(),
            running: RunningCommands::default(),
        }
    }

    /// The same tool, which remembers in a state folder the commits that commands made, and has its copies of files there.
    #[must_use]
    pub fn remembering(self, home: &Path) -> Self {
        Self {
            known_commits: KnownCommits::within(home),
            copies: FileCopies::within(home),
            ..self
        }
    }

    /// Looks at where the command would run and how it would be contained. Blocks.
    fn ready(&self, input: BashInput, context: &ToolContext) -> Result<Ready, ToolError> {
        let access = access(input.access.as_deref())?;
        let background = input.background.unwrap_or_default();
        let timeout_s = match (background, input.timeout_s) {
            (false, seconds) => timeout(seconds)?,
            (true, None) => 0,
            (true, Some(_)) => {
                return Err("timeout_s cannot be given with background: what runs there has no limit and is ended with job".into());
            }
        };
        if input.command.trim().is_empty() {
            return Err("command is required".into());
        }
        input::no_nul("command", &input.command)?;
        if input.command.len() > MAX_COMMAND {
            return Err(ToolError(format!(
                "the command has {} bytes, of at most {MAX_COMMAND}; write a script and run that",
                input.command.len()
            )));
        }
        if background {
            self.jobs.check(&context.conversation)?;
        }
        let last = context.command_folder.as_deref();
        let (workspace, folder) = workdir::find(
            &context.folder,
            input.workdir.as_deref(),
            last,
            &context.closed,
        )?;
        // What is not contained reaches the network.
        let network = input.network.unwrap_or_default() || access == Access::Full;
        let contained = self.launcher.containment(access, network, &workspace);
        let contained = contained.map_err(ToolError)?;
        let why = input.why.or(input.description).map(|why| {
            let end = why.floor_char_boundary(MAX_WHY);
            context.redaction.apply(why[..end].to_owned())
        });
        let more = self.launcher.writable();
        let (search_path, changeable_program) = match network {
            true => search_path::look(&input.command, &workspace, &folder, more),
            false => (SearchPath::default(), None),
        };
        let plan = CommandPlan {
            command: input.command,
            folder: context
                .redaction
                .apply(folder.to_string_lossy().into_owned()),
            access,
            network,
            background,
            timeout_s,
            backend: contained.backend,
            contained: contained.is_held,
            gaps: contained.gaps,
            answers_itself: contained.answers_itself,
            changeable_program,
            why,
        };
        Ok(Ready {
            plan,
            conversation: context.conversation.clone(),
            workspace,
            folder,
            search_path,
        })
    }

    async fn run(self, ready: Ready, context: ToolContext) -> Result<ToolOutcome, EffectError> {
        if ready.plan.background {
            return self.start(ready, context).await;
        }
        let call = context.call_id.clone();
        let output = context
            .outputs
            .as_ref()
            .map(|outputs| outputs.new_output(&context.conversation, &call));
        let capture = Arc::new(Mutex::new(Capture::new(context.redaction.clone(), output)));
        let lifeline = Lifeline::default();
        let cut = CutAtEnd(lifeline.clone());
        let began = Instant::now();
        let limit = Duration::from_secs(ready.plan.timeout_s);
        let (command, workspace) = (ready.plan.command.clone(), ready.workspace.clone());
        let mut work = {
            let live = context.output.clone();
            let line = lifeline.clone();
            let context = context.clone();
            let work = move || {
                let temp = TempFolder::new()?;
                let writing = self.begin_writing(&ready);
                let take = || self.inventory(&ready.workspace, &context);
                let before = may_write(&ready.plan).then(take);
                let places = before.as_ref().map(Inventory::content_places).cloned();
                let places = places.unwrap_or_default();
                let may_move = writing.as_ref().is_some_and(|writing| writing.may_move);
                let closed = Arc::clone(&context.closed);
                let LaunchParts {
                    order,
                    reach,
                    copies,
                } = self.order(&ready, &temp, closed, &places, may_move)?;
                let run = || process::run(&*self.launcher, &order, &line, &capture, &live);
                let (ended, put_back, mut proposals) = match (&before, &writing) {
                    (Some(before), Some(writing)) => {
                        let known = KnownPlaces {
                            reach: &reach,
                            copies: copies.as_ref(),
                            places,
                            before,
                            writing,
                            approved: context.approved.clone(),
                        };
                        self.guarded(&ready, &order, known, Some(&context), run)?
                    }
                    // With access to read it can write nothing, with full access everything.
                    (None, _) | (_, None) => (run()?, Vec::new(), Vec::new()),
                };
                let git = self.git(&ready, &order);
                let is_put_back = !put_back.is_empty() || !proposals.is_empty();
                let found = before.map(|before| self.compare(before, &context, git, is_put_back));
                let mut found = found.unwrap_or_default();
                found.changes.retain(|it| !is_proposed(it, &proposals));
                // It was in the folder while the command ran.
                proposals.extend(self.left_by_jobs(ready.plan.access, &ready.workspace, &context));
                let told = lock(&capture).text_for_model();
                let denied = self.denied(&order, &ended, &told.text);
                let in_part = submodule_note(&ready.plan.command, &told.text, &put_back);
                let not_searched = ready.search_path.note(ended.code);
                let emptied = ended.is_emptied.then(|| EMPTIED.to_owned());
                let notes = put_back.into_iter().chain(denied).chain(not_searched);
                let notes = notes.chain(emptied).chain(in_part);
                let notes = notes.collect();
                Ok::<_, io::Error>((ended, told, notes, (found, proposals)))
            };
            Box::pin(blocking(work))
        };
        let (done, ending) = tokio::select! {
            biased;
            () = context.cancellation.cancelled() => (stopped(&lifeline, &mut work).await, CommandEnding::Own),
            done = &mut work => (done, CommandEnding::Own),
            () = tokio::time::sleep(limit) => {
                (stopped(&lifeline, &mut work).await, CommandEnding::TimedOut(limit))
            }
        };
        drop(cut);
        let (ended, told, places, (found, proposals)) = done
            .map_err(|error| failed(&error))?
            .map_err(|error| failed(&error))?;
        let (folder, next_folder) = next_folder(&ended, &command, &workspace, &context);
        let finished = Finished {
            command: &command,
            call: &call,
            told,
            ended,
            ending,
            took: began.elapsed(),
            next_folder,
            places,
        };
        Ok(ToolOutcome {
            folder: folder.map(|folder| folder.to_string_lossy().into_owned()),
            changes: found.changes,
            changes_note: found.note,
            proposals,
            ..finished.outcome()
        })
    }

    /// The words about the places that a command was denied, by its output. Looks at files.
    fn denied(&self, order: &LaunchOrder, ended: &ProcessEnd, text: &str) -> Vec<String> {
        // A file that is no program is denied to everybody.
        if ended.code == Some(NO_PROGRAM) {
            return Vec::new();
        }
        let has_failed = ended.code.is_some_and(|code| code != 0);
        let folders: Vec<&Path> = ended.folder.iter().map(PathBuf::as_path).collect();
        let folders = [&[order.folder.as_path()][..], &folders].concat();
        denied::notes(text, &folders, |place| {
            let denial = self.launcher.denial(order, place);
            // A command that succeeded did without more access.
            denial.filter(|denial| has_failed || !matches!(denial, Denial::Needs(_)))
        })
    }

    fn order(
        &self,
        ready: &Ready,
        temp: &TempFolder,
        closed: Arc<[PathBuf]>,
        places: &ContentPlaces,
        may_move: bool,
    ) -> io::Result<LaunchParts> {
        let own = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let command = ready.plan.command.clone();
        let script = script::with_note(temp.path(), &command);
        let words = ["bash", "--norc", "--noprofile", "-c", &*script, "bash"];
        let program = words.into_iter().map(str::to_owned).chain([command]);
        let mut reach = reach::find(&ready.workspace, &self.launcher.writable());
        reach.add_contents(&ready.workspace, places);
        let mut environment = environment(own, &self.environment, temp.path());
        ready.search_path.put_into(&mut environment);
        // What is in a closed folder stays out of sight.
        let is_open = |pin: &&PathBuf| !closed.iter().any(|place| pin.starts_with(place));
        let pinned: Vec<PathBuf> = reach.pinned.iter().filter(is_open).cloned().collect();
        let copies = match may_change_configurations(ready) {
            true => ConfigCopies::make(&reach.configurations)?,
            false => None,
        };
        let copied = copies.iter().map(|copies| copies.folder().to_owned());
        let order = LaunchOrder {
            program: program.collect(),
            environment,
            conversation: Some(ready.conversation.clone()),
            folder: ready.folder.clone(),
            workspace: ready.workspace.clone(),
            temp: temp.path().to_owned(),
            access: ready.plan.access,
            network: ready.plan.network,
            has_pipes: false,
            // A folder that is among both may be written, and not be moved away.
            writable: (reach.writable.iter().chain(&pinned).cloned())
                .chain(copied)
                .collect(),
            protected: reach.held(may_move).into_iter().chain(pinned).collect(),
            copies: copies.as_ref().map(ConfigCopies::files).unwrap_or_default(),
            closed,
        };
        Ok(LaunchParts {
            order,
            reach,
            copies,
        })
    }

    /// Looks at the folder before a command, and holds what files have in them. Blocks.
    fn inventory(&self, workspace: &Path, context: &ToolContext) -> Inventory {
        let mut inventory = Inventory::take(workspace);
        inventory.hold_contents(&ContentSources {
            // The one that git takes.
            repository: OwnRepository::find_all(workspace).first(),
            copies: &self.copies,
            seen: &context.seen.paths(),
            closed: &context.closed,
        });
        inventory
    }

    /// The changes that a call's command made. Jobs beside it do not count where it moved HEAD. Blocks.
    fn compare(
        &self,
        before: Inventory,
        context: &ToolContext,
        git: GitReader<'_>,
        put_back: bool,
    ) -> FoundChanges {
        if let Some(head) = before.head() {
            self.jobs.note_head(head);
        }
        before.compare(context, git, put_back)
    }

    /// Notes that a command begins, if it may write.
    fn begin_writing(&self, ready: &Ready) -> Option<RunningCommand> {
        let begin = || self.running.begin(&ready.workspace, wants_to_move(ready));
        (ready.plan.access == Access::Write).then(begin)
    }

    /// The system's git in the conversation's folder.
    fn git<'g>(&'g self, ready: &'g Ready, order: &'g LaunchOrder) -> GitReader<'g> {
        GitReader {
            launcher: &*self.launcher,
            workspace: &ready.workspace,
            repositories: &order.writable,
            closed: &order.closed,
        }
    }

    /// The changes of jobs at protected places that operators are to be asked about with a command of that access. Blocks.
    fn left_by_jobs(
        &self,
        access: Access,
        workspace: &Path,
        context: &ToolContext,
    ) -> Vec<FileChange> {
        if access == Access::Read || context.cancellation.is_cancelled() {
            return Vec::new();
        }
        let left = self.jobs.take_left(&context.conversation, workspace);
        // The notes are in the outputs of the jobs already.
        let settle = |left: GuardNotes| left.settle(workspace, context).1;
        left.into_iter().flat_map(settle).collect()
    }

    /// Runs a command that may write; what it did at protected places is taken back, a line for each, but for files
    /// that git has moved. With a context, operators are asked about text in place of a line; without, about that of a job
    /// later. Blocks.
    fn guarded(
        &self,
        ready: &Ready,
        order: &LaunchOrder,
        known: KnownPlaces<'_>,
        context: Option<&ToolContext>,
        run: impl FnOnce() -> io::Result<ProcessEnd>,
    ) -> io::Result<(ProcessEnd, Vec<String>, Vec<FileChange>)> {
        let workspace = &ready.workspace;
        let are_held = ready.plan.backend == Backend::Namespaces;
        let may_move = known.writing.may_move || known.writing.is_beside_mover;
        let held = are_held.then(|| known.reach.held(may_move));
        let held = held.unwrap_or_default();
        let guard = CommandGuard::look(workspace, known.reach, &held, &self.known_commits)?;
        let guard = guard
            .with_nested(known.places.nested)
            .with_approved(&known.approved);
        let ended = run();
        let taken_over = known.copies.map(|copies| copies.take_over(workspace));
        // Operators are not asked about a call that is cancelled: what it left stays aside.
        let context =
            context.filter(|context| ended.is_ok() && !context.cancellation.is_cancelled());
        let git = self.git(ready, order);
        let mut left = guard.put_back(known.before.made_places(), &git);
        let (put_back, proposals) = match context {
            Some(context) => left.settle(workspace, context),
            None => {
                let notes = left.take_notes();
                if ready.plan.background {
                    self.jobs.leave(&ready.conversation, workspace, left);
                }
                (notes, Vec::new())
            }
        };
        let notes = taken_over.into_iter().flatten().chain(put_back);
        let notes: Vec<String> = notes.collect();
        if ended.is_err() {
            for note in &notes {
                log::warn!("{note}");
            }
        }
        Ok((ended?, notes, proposals))
    }
}

/// A command that can be started, with what is known of its places. The copies are removed when they are dropped.
struct LaunchParts {
    order: LaunchOrder,
    reach: WriteReach,
    copies: Option<ConfigCopies>,
}

/// The protected places of a folder before a command.
struct KnownPlaces<'k> {
    reach: &'k WriteReach,
    copies: Option<&'k ConfigCopies>,
    places: ContentPlaces,
    before: &'k Inventory,
    writing: &'k RunningCommand,
    approved: ApprovedContents,
}

/// True if the file of a change has its content from before until operators decide about it.
fn is_proposed(change: &FileChange, proposals: &[FileChange]) -> bool {
    let mut proposals = proposals.iter();
    proposals.any(|proposal| proposal.path == change.path)
}

/// True if a folder's name holds a secret, which no record may hold.
fn holds_secret(folder: &Path, redaction: &Redaction) -> bool {
    let name = folder.to_string_lossy();
    redaction.apply(name.to_string()) != name
}

/// Whether a command can change files.
fn may_write(plan: &CommandPlan) -> bool {
    !(plan.access == Access::Read && plan.contained)
}

/// True if a command may make git move files between commits. Its protected content is judged afterwards, while for
/// all other commands mounts hold it, so that another program's change of it stays. A job is one of those.
fn wants_to_move(ready: &Ready) -> bool {
    let is_repository = ready.workspace.join(".git").exists();
    !ready.plan.background && is_repository && reach::may_move_files(&ready.plan.command)
}

/// True if a command that may write names a program that changes git's configuration. The links that such a command sees
/// would be copied by one that has nothing to do with git.
fn may_change_configurations(ready: &Ready) -> bool {
    ready.plan.access == Access::Write
        && ready.plan.backend == Backend::Namespaces
        && reach::may_configure_git(&ready.plan.command)
}

fn lock(capture: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder in which the next command starts if that is another one, and its words.
fn next_folder(
    ended: &ProcessEnd,
    command: &str,
    workspace: &Path,
    context: &ToolContext,
) -> (Option<PathBuf>, NextFolder) {
    let last = context.command_folder.clone();
    let was = last.as_deref().unwrap_or(workspace);
    let folder = ended.folder.clone().filter(|folder| {
        let is_other = folder.starts_with(workspace) && folder != was;
        is_other && !holds_secret(folder, &context.redaction)
    });
    let shown = |folder: &Path| workdir::display_folder(workspace, folder);
    let next_folder = match &folder {
        Some(folder) => NextFolder::Other(shown(folder)),
        None if ended.folder.is_none() && script::may_move(command) => {
            NextFolder::Unchanged(shown(was))
        }
        None => NextFolder::Same,
    };
    (folder, next_folder)
}

/// Asks a command to end and waits for that; ends it when it takes too long.
async fn stopped<T>(lifeline: &Lifeline, work: &mut (impl Future<Output = T> + Unpin)) -> T {
    lifeline.stop();
    if let Ok(done) = tokio::time::timeout(GRACE, &mut *work).await {
        return done;
    }
    lifeline.cut();
    work.await
}

fn failed(error: &dyn std::fmt::Display) -> EffectError {
    EffectError::Failed(ToolError(format!("the command was not run: {error}")))
}

/// Ends the command when the call is given up.
struct CutAtEnd(Lifeline);

impl Drop for CutAtEnd {
    fn drop(&mut self) {
        self.0.cut();
    }
}

fn access(name: Option<&str>) -> Result<Access, ToolError> {
    match name {
        None | Some("write") => Ok(Access::Write),
        Some("read") => Ok(Access::Read),
        Some("full") => Ok(Access::Full),
        Some(other) => Err(ToolError(format!(
            "access cannot be {other:?}: it is read, write or full"
        ))),
    }
}

fn timeout(seconds: Option<i64>) -> Result<u64, ToolError> {
    let Some(seconds) = seconds else {
        return Ok(DEFAULT_TIMEOUT);
    };
    let given = u64::try_from(seconds).ok();
    given
        .filter(|given| (1..=MAX_TIMEOUT).contains(given))
        .ok_or_else(|| {
            ToolError(format!(
                "timeout_s cannot be {seconds}: it is 1 to {MAX_TIMEOUT}"
            ))
        })
}

impl Tool for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn description(&self) -> &'static str {
        "Runs a command with bash, without a terminal and with empty standard input, and returns what it \
         writes, with one last line: how it ended and how long it took. The call ends when the shell ends, \
         and ends what the command left running. The folder that the shell ends in is carried to the next \
         call, unless a function of yours calls exec; variables are not. \
         Ask for the least access that does: read for looking, building nothing; write for changing files \
         in the conversation's folder; full, with a reason, only for what cannot be done inside the \
         sandbox. What is to run on, such as a server, is started with background; job reads and stops \
         it. The commands and jobs of a conversation share one /tmp, /dev/shm and network of their own, so \
         that a server of a job answers on 127.0.0.1, unless access is read, and what they write in the home \
         folder: all of it is in memory, at most a quarter of the machine's, and vanishes when the service \
         ends or the conversation is deleted. A command sees nothing in the home folder that one of less \
         access or without the network has put there. TMPDIR is emptied after each call. With full, and where \
         nothing contains commands, all of these are the machine's own."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command"},
                "workdir": {"type": "string", "description": "The folder to start in, below the conversation's folder"},
                "access": {"type": "string", "enum": ["read", "write", "full"], "description": "What it may reach; write if left out"},
                "network": {"type": "boolean", "description": "Whether it needs the network"},
                "timeout_s": {"type": "integer", "description": "How long it may run, in seconds: 1 to 600, 120 if left out"},
                "background": {"type": "boolean", "description": "Whether it runs on while you go on, without a limit"},
                "why": {"type": "string", "description": "Why it is needed, for the operator who is asked, in one line"},
            },
            "required": ["command"],
        })
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn bounds_itself(&self) -> bool {
        true
    }

    fn plan(&self, input: Object, context: ToolContext) -> PlanFuture<'_> {
        Box::pin(async move {
            let input: BashInput = input::parse(input, &self.input_schema())?;
            let (own, within) = (self.clone(), context.clone());
            let ready = blocking(move || own.ready(input, &within))
                .await
                .map_err(|error| ToolError(format!("looking at the folder failed: {error}")))??;
            let subject = Subject::Command(ready.plan.clone());
            Ok(Some(PlannedAction::new(
                subject,
                self.clone().run(ready, context),
            )))
        })
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        super::change::carry_out_at_once(self, input, context)
    }
}
