//! Starting a command in the background.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use harness_protocol::Job;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::capture::Capture;
use super::inventory::{FoundChanges, Inventory};
use super::job::{DEFAULT_TAIL, ended_line};
use super::jobs::{CommandWatch, Jobs, NewJob, StartingCommand};
use super::process::{self, GRACE, Lifeline, ProcessEnd};
use super::result::{CommandEnding, Finished, NextFolder};
use super::running_commands::RunningCommand;
use super::temp::TempFolder;
use super::{Bash, EMPTIED, KnownPlaces, LaunchParts, Ready, failed, is_proposed, may_write};
use crate::tool::launch::LaunchOrder;
use crate::tool::{EffectError, LiveOutput, StartedJob, ToolContext, ToolOutcome};
use crate::{blocking, start_thread};

/// How long a command has to fail at once.
const AT_ONCE: Duration = Duration::from_millis(300);

impl Bash {
    /// Starts a command that runs on when its call has ended. One that ends at once is reported like any
    /// other.
    pub(super) async fn start(
        self,
        ready: Ready,
        context: ToolContext,
    ) -> Result<ToolOutcome, EffectError> {
        let (conversation, call) = (context.conversation.clone(), context.call_id.clone());
        let command = ready.plan.command.clone();
        let outputs = context.outputs.as_ref();
        let output = outputs.map(|outputs| outputs.new_output(&conversation, &call));
        let capture = Capture::keeping_all(context.redaction.clone(), output);
        let capture = Arc::new(Mutex::new(capture));
        let lifeline = Lifeline::default();
        let new = NewJob {
            conversation,
            call: call.clone(),
            command: context.redaction.apply(command.clone()),
            last: context
                .jobs
                .iter()
                .map(|note| note.job)
                .max()
                .unwrap_or_default(),
            lifeline: lifeline.clone(),
            capture: Arc::clone(&capture),
        };
        let (search_path, workspace) = (ready.search_path.clone(), ready.workspace.clone());
        let access = ready.plan.access;
        let (jobs, bash) = (self.jobs.clone(), self.clone());
        let (mut starting, running) = jobs.begin(new).map_err(EffectError::Failed)?;
        let began = Instant::now();
        let (done, ended) = oneshot::channel();
        let writing = self.begin_writing(&ready);
        let work = {
            let capture = Arc::clone(&capture);
            // A job outlives the actor that shows the output of its call.
            let context = ToolContext {
                output: LiveOutput::default(),
                ..context.clone()
            };
            let lifeline = lifeline.clone();
            move || {
                let run = BackgroundRun {
                    bash: &self,
                    ready: &ready,
                    context: &context,
                    capture: &capture,
                    running: &running,
                };
                // It is wanted only of what ends at once.
                drop(done.send(run.run_to_end(&lifeline, writing)));
            }
        };
        start_thread("job", work).map_err(|error| failed(&error))?;
        tokio::select! {
            biased;
            () = context.cancellation.cancelled() => stop(&lifeline, &mut starting).await,
            () = starting.ended() => {}
            () = tokio::time::sleep(AT_ONCE) => {}
        }
        if let Some(job) = starting.settle() {
            return Ok(begun(&jobs, job, &context).await);
        }
        let (ended, mut found) = ended
            .await
            .map_err(|_| failed(&"it panicked; this is a bug"))?
            .map_err(|error| failed(&error))?;
        let told = capture
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text_for_model();
        let places = search_path.note(ended.code).into_iter().collect();
        let proposals = blocking(move || bash.left_by_jobs(access, &workspace, &context));
        let proposals = proposals.await.map_err(|error| failed(&error))?;
        found.changes.retain(|it| !is_proposed(it, &proposals));
        let finished = Finished {
            command: &command,
            call: &call,
            told,
            ended,
            ending: CommandEnding::Own,
            took: began.elapsed(),
            next_folder: NextFolder::Same,
            places,
        };
        Ok(ToolOutcome {
            changes: found.changes,
            changes_note: found.note,
            proposals,
            ..finished.outcome()
        })
    }
}

/// A command that runs in a thread of its own.
struct BackgroundRun<'r> {
    bash: &'r Bash,
    ready: &'r Ready,
    context: &'r ToolContext,
    capture: &'r Mutex<Capture>,
    running: &'r CommandWatch,
}

/// A command that ended, with the state of the folder before it if it could write.
struct EndedRun {
    ended: ProcessEnd,
    before: Option<Arc<Inventory>>,
    order: LaunchOrder,
    /// True if the service has put back what the command changed at protected places.
    is_put_back: bool,
}

impl BackgroundRun<'_> {
    /// Runs a command to its end, and says how it ended. Returns what it changed, if it was no job. Blocks for as long as it
    /// runs.
    fn run_to_end(
        &self,
        lifeline: &Lifeline,
        writing: Option<RunningCommand>,
    ) -> io::Result<(ProcessEnd, FoundChanges)> {
        let run = self.run(lifeline, writing.as_ref());
        drop(writing);
        let run = match run {
            Ok(run) => run,
            Err(error) => {
                let ended = Err(error);
                self.running.end(&ended, None);
                return ended.map(|ended| (ended, FoundChanges::default()));
            }
        };
        let EndedRun {
            ended,
            before,
            order,
            is_put_back,
        } = run;
        let changed = before.as_ref();
        let changed = changed.and_then(|before| before.files_changed_at_end(is_put_back));
        let ended = Ok(ended);
        let contents = self.running.end(&ended, changed.as_ref());
        let before = before.and_then(Arc::into_inner);
        let found = before.zip(contents).map(|(before, contents)| {
            let git = self.bash.git(self.ready, &order);
            let before = before.with_contents(contents);
            self.bash.compare(before, self.context, git, is_put_back)
        });
        ended.map(|ended| (ended, found.unwrap_or_default()))
    }

    /// Runs a command.
    fn run(&self, lifeline: &Lifeline, writing: Option<&RunningCommand>) -> io::Result<EndedRun> {
        let (bash, ready, capture) = (self.bash, self.ready, self.capture);
        // The file of its output is there as long as it is.
        capture
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&[]);
        let temp = TempFolder::new()?;
        let begin = || {
            let before = bash.inventory(&ready.workspace, self.context);
            self.running.begin_writing(before)
        };
        let before = may_write(&ready.plan).then(begin);
        let places = before.as_deref().map(Inventory::content_places).cloned();
        let places = places.unwrap_or_default();
        let closed = Arc::clone(&self.context.closed);
        let LaunchParts {
            order,
            reach,
            copies,
        } = bash.order(ready, &temp, closed, &places, false)?;
        // Clients see a call's output while it runs, and this one's ends now.
        let live = LiveOutput::default();
        let run = || {
            let ended = process::run(&*bash.launcher, &order, lifeline, capture, &live)?;
            if ended.is_emptied {
                add_note(capture, EMPTIED);
            }
            Ok(ended)
        };
        let (ended, notes) = match (&before, writing) {
            (Some(before), Some(writing)) => {
                let known = KnownPlaces {
                    reach: &reach,
                    copies: copies.as_ref(),
                    places,
                    before,
                    writing,
                    approved: self.context.approved.clone(),
                };
                // Its call has ended: operators are asked with another one.
                let (ended, notes, _) = bash.guarded(ready, &order, known, None, run)?;
                (ended, notes)
            }
            // It may change whatever it wants with full access, and nothing with the access to read.
            (None, _) | (_, None) => (run()?, Vec::new()),
        };
        for note in &notes {
            add_note(capture, note);
        }
        Ok(EndedRun {
            ended,
            before,
            order,
            is_put_back: !notes.is_empty(),
        })
    }
}

/// Adds a line of the service's own to what a job has written.
fn add_note(capture: &Mutex<Capture>, note: &str) {
    let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
    capture.add(format!("[{note}]\n").as_bytes());
}

/// Ends a command whose call is cancelled.
async fn stop(lifeline: &Lifeline, starting: &mut StartingCommand) {
    lifeline.stop();
    if tokio::time::timeout(GRACE, starting.ended()).await.is_err() {
        lifeline.cut();
        starting.ended().await;
    }
}

/// The model's answer to the start of a job.
async fn begun(jobs: &Jobs, job: Job, context: &ToolContext) -> ToolOutcome {
    let Job { job, command, .. } = job;
    let (jobs, conversation) = (jobs.clone(), context.conversation.clone());
    let look = blocking(move || jobs.look(&conversation, job, DEFAULT_TAIL));
    let text = look.await.ok().flatten().map(|look| look.tail);
    let text = text.unwrap_or_default();
    let started = format!("job {job} started in the background; read it with job");
    ToolOutcome {
        job: Some(StartedJob { job, command }),
        ..Ok(ended_line(&text, &started)).into()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use harness_protocol::Access;
    use serde_json::json;

    use super::*;
    use crate::tool::testing::object;
    use crate::tool::{
        Cancellation, Contained, Launch, LaunchOrder, Launcher, PlainLauncher, Tool as _,
    };

    /// Says of each command that the temporary files of earlier ones were given up.
    struct EmptyingLauncher;

    impl Launcher for EmptyingLauncher {
        fn containment(
            &self,
            access: Access,
            network: bool,
            folder: &Path,
        ) -> Result<Contained, String> {
            PlainLauncher.containment(access, network, folder)
        }

        fn launch(&self, order: &LaunchOrder) -> io::Result<Launch> {
            let launch = PlainLauncher.launch(order)?;
            Ok(Launch {
                is_emptied: true,
                ..launch
            })
        }
    }

    /// Spec: [BOX-544]
    #[tokio::test]
    async fn a_command_and_a_job_say_that_temporary_files_were_given_up() {
        let home = tempfile::tempdir().unwrap();
        let folder = std::fs::canonicalize(home.path()).unwrap();
        let jobs = Jobs::new(crate::clock::Clock::system());
        let bash = Bash::new(Arc::new(EmptyingLauncher), Vec::new(), jobs);
        for access in ["read", "write", "full"] {
            for background in [false, true] {
                let input =
                    json!({"command": "echo hi", "access": access, "background": background});
                let context = ToolContext::new(Cancellation::new()).in_folder(&folder);
                let outcome = bash.execute_in(object(input), context).await.unwrap();
                let said = outcome.matches(EMPTIED).count();
                assert_eq!(said, 1, "{access} {background}: {outcome}");
            }
        }
    }
}
