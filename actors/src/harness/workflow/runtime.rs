//! Workflows of one repository as a value.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use actix::prelude::*;
use harness_protocol::WorkflowSnapshot;

use super::error::RuntimeError;
use super::follow::following;
use super::past::{RunNote, WorkflowPast};
use super::policy::RunPolicy;
use super::request::{
    FollowingHandler, InitializerRequest, RuntimeRunRequest, TaskIterationRequest, WorkflowPlan,
};
use super::result::{InitializerResult, RuntimeRunOutcome, TaskIterationResult};
use crate::blocking;
use crate::harness::own_thread::OwnThread;
use crate::workflow::facts::Grants;
use crate::workflow::keeper::{Directory, WorkflowParts, WorkflowsActor};
use crate::workflow::machine::{OperatorOrder, OrderOutcome};
use crate::workflow::messages::{
    AwaitRest, CreateWorkflow, FollowWorkflow, Followable, GiveOrder, GivenFile, LookAtWorkflow,
    StopWorkflows, WorkflowError,
};
use crate::workflow::starter::RepositoryFacts;
use crate::workflow::state::{IterationStatus, RunErrorKind, RunPhase, WorkflowState};

/// The workflows of one repository, for use from Rust. Clones share them. They run on a separate thread, which ends
/// with the last clone; their answers are awaited in a tokio runtime of any kind.
///
/// ```
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{
///     Config, Extensions, FeatureRequest, RuntimeRunOutcome, RuntimeRunRequest, WorkflowPlan,
///     WorkflowRuntime,
/// };
/// use serde_json::json;
///
/// # fn git(folder: &std::path::Path, words: &[&str]) {
/// #     let mut git = std::process::Command::new("git");
/// #     git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
/// #     assert!(git.status().unwrap().success());
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (repository, home) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// # let (repository, home) = (repository.path(), home.path());
/// # git(repository, &["init", "--quiet"]);
/// # git(repository, &["commit", "--quiet", "--allow-empty", "--message=begin"]);
/// let model = ScriptedTransport::default();
/// let runtime = WorkflowRuntime::builder(repository, home)
///     .provider(Config::for_model("any"))
///     .extensions(Extensions::default().with_transport(model.clone()))
///     .build()?;
/// let greeting = FeatureRequest::new("greeting", "hello.txt greets the world")
///     .with_check(&["grep", "world", "hello.txt"]);
/// let plan = WorkflowPlan::new("Greet").with_features(vec![greeting]);
/// let run = |key| RuntimeRunRequest::new("greet", key, "Greet").with_plan(plan.clone());
///
/// let first = runtime.run(run("run-1")).await?;
/// assert!(matches!(first, RuntimeRunOutcome::Initializer(_)));
///
/// let input = json!({"path": "hello.txt", "content": "Hello, world!\n"});
/// model.push(ScriptedReply::tool_use("t1", "write", input.as_object().unwrap()));
/// model.push(ScriptedReply::text("Done."));
/// let RuntimeRunOutcome::TaskIteration(second) = runtime.run(run("run-2")).await? else {
///     panic!("it was ready");
/// };
/// assert!(second.validated && second.completed);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WorkflowRuntime {
    keeper: Addr<WorkflowsActor>,
    directory: Directory,
    repository: Arc<Path>,
    policy: RunPolicy,
    /// Ends with the last clone.
    _thread: Option<Arc<OwnThread>>,
}

impl WorkflowRuntime {
    /// The workflows of a repository without a builder, of journals and conversations that there are. They live on
    /// the thread of [`WorkflowParts::broadcasting`].
    #[must_use]
    pub fn new(parts: WorkflowParts, repository: &Path, policy: RunPolicy) -> Self {
        let arbiter = parts.broadcasting.clone();
        Self {
            directory: parts.directory.clone(),
            keeper: WorkflowsActor::start_in_arbiter(&arbiter, |_| WorkflowsActor::new(parts)),
            repository: repository.into(),
            policy,
            _thread: None,
        }
    }

    pub(super) fn keeping(self, thread: OwnThread) -> Self {
        Self {
            _thread: Some(Arc::new(thread)),
            ..self
        }
    }

    /// Does what is next: makes the workflow ready if it is not, else works on it. Tells which of them ran.
    ///
    /// # Errors
    /// As [`Self::run_initializer`] and [`Self::run_task_iteration`]; `InvalidRequest` if the workflow was made for
    /// another objective.
    pub async fn run(&self, request: RuntimeRunRequest) -> Result<RuntimeRunOutcome, RuntimeError> {
        let RuntimeRunRequest {
            session,
            run_id,
            plan,
            following,
        } = request;
        let past = self.past(&session).await?;
        let is_ready = past
            .as_ref()
            .is_some_and(|past| past.ledger.is_initialized());
        let known = past.as_ref().and_then(|past| past.run(&run_id));
        let was_initializer = known.is_some_and(|run| run.phase == RunPhase::Initializer);
        if !is_ready || was_initializer {
            let request = InitializerRequest {
                session,
                run_id,
                plan,
            };
            let result = self.run_initializer(request).await?;
            return Ok(RuntimeRunOutcome::Initializer(result));
        }
        self.check_plan(&session, &plan).await?;
        let request = TaskIterationRequest {
            session,
            run_id,
            following,
        };
        let result = self.run_task_iteration(request).await?;
        Ok(RuntimeRunOutcome::TaskIteration(result))
    }

    /// Makes a workflow ready for work, unless it is: validates its plan, keeps it as a manifest with a version, runs
    /// the checks on the base, and leaves the first line of progress and the first checkpoint.
    ///
    /// # Errors
    /// `InvalidRequest` with all that is wrong with the plan, before anything is kept; `Validation` if a check does
    /// not come out on the base as it has to.
    pub async fn run_initializer(
        &self,
        request: InitializerRequest,
    ) -> Result<InitializerResult, RuntimeError> {
        let InitializerRequest {
            session,
            run_id,
            plan,
        } = request;
        check_key(&run_id)?;
        let given = self.given(&plan).await?;
        let create = CreateWorkflow {
            id: Some(session.clone()),
            name: session.clone(),
            given,
            folder: self.repository.to_path_buf(),
            by: None,
        };
        self.keeper.send(create).await??;
        let past = self.known(&session).await?;
        let is_ready = past.ledger.is_initialized();
        if !is_ready {
            self.order_run(&session, &run_id, &past).await?;
            self.keeper
                .send(AwaitRest {
                    id: session.clone(),
                })
                .await??;
        }
        let past = self.known(&session).await?;
        let run = if is_ready {
            past.initializer()
        } else {
            past.run(&run_id)
        };
        let Some(run) = run.filter(|_| past.ledger.is_initialized()) else {
            return Err(unfinished(&past, run));
        };
        let features = past.ledger.features().iter();
        Ok(InitializerResult {
            session,
            created: !is_ready,
            manifest_version: past.ledger.manifest().map_or(0, |note| note.version),
            features: features.map(|feature| feature.id.clone()).collect(),
            progress: run.progress.clone(),
            checkpoint: run.checkpoint.clone(),
        })
    }

    /// Works on the next features in one bounded run, and returns the outcome of each. A rejected candidate is a
    /// result, not an error.
    ///
    /// # Errors
    /// `NotReady` for a workflow that was not initialized, that waits for a person or has used up a budget;
    /// `HealthCheck`, `Chat` if the model gave no reply, `Validation` if the selector chose what it may not, or no
    /// feature may be tried.
    pub async fn run_task_iteration(
        &self,
        request: TaskIterationRequest,
    ) -> Result<TaskIterationResult, RuntimeError> {
        let TaskIterationRequest {
            session,
            run_id,
            following,
        } = request;
        check_key(&run_id)?;
        let Some(past) = self.past(&session).await? else {
            return Err(not_initialized(&session));
        };
        if !past.ledger.is_initialized() {
            return Err(not_initialized(&session));
        }
        if past.run(&run_id).is_some_and(|run| run.end.is_some()) {
            return task_result(session, run_id, &past);
        }
        if past.ledger.state() == WorkflowState::Completed {
            return Ok(TaskIterationResult {
                session,
                run_id,
                selected_feature: None,
                validated: true,
                completed: true,
                iterations: Vec::new(),
            });
        }
        let work = async {
            self.order_run(&session, &run_id, &past).await?;
            self.rest(&session).await
        };
        self.followed(&session, following, work).await?;
        let past = self.known(&session).await?;
        task_result(session, run_id, &past)
    }

    /// Resumes a paused workflow with additional grants, and waits for the end of the run that was paused.
    ///
    /// # Errors
    /// As [`Self::run_task_iteration`]; `NotReady` if it is not paused, or a person has to answer.
    pub async fn resume(
        &self,
        session: &str,
        grants: Grants,
        retry_stuck: bool,
    ) -> Result<RuntimeRunOutcome, RuntimeError> {
        let order = OperatorOrder::Resume {
            grants,
            retry_stuck,
        };
        self.order(session, order).await?;
        self.rest(session).await?;
        let past = self.known(session).await?;
        let key = past.ledger.last_key().unwrap_or_default().to_owned();
        if past
            .run(&key)
            .is_some_and(|run| run.phase == RunPhase::TaskIteration)
        {
            let result = task_result(session.to_owned(), key, &past)?;
            return Ok(RuntimeRunOutcome::TaskIteration(result));
        }
        let Some(run) = past.initializer().filter(|_| past.ledger.is_initialized()) else {
            return Err(unfinished(&past, past.run(&key)));
        };
        let features = past.ledger.features().iter();
        Ok(RuntimeRunOutcome::Initializer(InitializerResult {
            session: session.to_owned(),
            created: true,
            manifest_version: past.ledger.manifest().map_or(0, |note| note.version),
            features: features.map(|feature| feature.id.clone()).collect(),
            progress: run.progress.clone(),
            checkpoint: run.checkpoint.clone(),
        }))
    }

    /// The state of a workflow.
    ///
    /// # Errors
    /// `NotReady` if there is none.
    pub async fn snapshot(&self, session: &str) -> Result<WorkflowSnapshot, RuntimeError> {
        let id = session.to_owned();
        Ok(self.keeper.send(LookAtWorkflow { id }).await??)
    }

    /// Ends a workflow for good; answered when nothing of it runs.
    ///
    /// # Errors
    /// `NotReady` if there is none, or it is at its end.
    pub async fn cancel(&self, session: &str) -> Result<(), RuntimeError> {
        self.order(session, OperatorOrder::Cancel).await
    }

    /// Stops everything that runs; it continues when the workflows of this state are started again.
    pub async fn stop(&self) {
        if let Err(error) = self.keeper.send(StopWorkflows).await {
            log::debug!("the workflows have ended already: {error}");
        }
    }

    async fn given(&self, plan: &WorkflowPlan) -> Result<GivenFile, RuntimeError> {
        let (plan, policy) = (plan.clone(), self.policy);
        let repository = Arc::clone(&self.repository);
        let made = blocking(move || plan.given(&policy, &RepositoryFacts::look(&repository))).await;
        made.map_err(|error| RuntimeError::new(RunErrorKind::Memory, error.to_string()))?
    }

    /// Checks that the workflow was made for that plan.
    async fn check_plan(&self, session: &str, plan: &WorkflowPlan) -> Result<(), RuntimeError> {
        let snapshot = self.snapshot(session).await?;
        let names_features = plan.file.is_some() || plan.features.is_some();
        let is_other = if names_features {
            self.given(plan).await?.hash != snapshot.manifest
        } else {
            !plan.is_of(&snapshot.objective)
        };
        if is_other {
            return Err(RuntimeError::invalid(format!(
                "the workflow {session} was made for another plan; name another session, or give the plan that \
                 it was made for"
            )));
        }
        Ok(())
    }

    async fn followable(&self, session: &str) -> Result<Option<Followable>, RuntimeError> {
        let id = session.to_owned();
        match self.keeper.send(FollowWorkflow { id }).await? {
            Ok(followable) => Ok(Some(followable)),
            Err(WorkflowError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn past(&self, session: &str) -> Result<Option<WorkflowPast>, RuntimeError> {
        let Some(followable) = self.followable(session).await? else {
            return Ok(None);
        };
        Ok(Some(WorkflowPast::read(&*followable.journal).await?))
    }

    async fn known(&self, session: &str) -> Result<WorkflowPast, RuntimeError> {
        let past = self.past(session).await?;
        past.ok_or_else(|| not_initialized(session))
    }

    /// Orders a run, unless that key was ordered.
    async fn order_run(
        &self,
        session: &str,
        run_id: &str,
        past: &WorkflowPast,
    ) -> Result<(), RuntimeError> {
        let ledger = &past.ledger;
        let is_known = ledger.last_key() == Some(run_id);
        if let Some((reason, detail)) = ledger.paused().filter(|_| !is_known) {
            if ledger.phase().is_some() {
                let detail = format!("{detail}; resume it");
                return Err(RuntimeError::paused(reason, &detail));
            }
            // The run ended at what it paused for, and this one looks again.
            let order = OperatorOrder::Resume {
                grants: Grants::default(),
                retry_stuck: false,
            };
            self.order(session, order).await?;
        }
        let order = OperatorOrder::Run {
            key: Some(run_id.to_owned()),
            max_features: None,
            max_iterations: None,
        };
        self.order(session, order).await
    }

    async fn order(&self, session: &str, order: OperatorOrder) -> Result<(), RuntimeError> {
        let order = GiveOrder {
            id: session.to_owned(),
            order,
            by: None,
        };
        match self.keeper.send(order).await?? {
            OrderOutcome::Created { .. } | OrderOutcome::Taken | OrderOutcome::Done(_) => Ok(()),
            OrderOutcome::AnsweredBefore(_) => {
                Err(RuntimeError::not_ready("the gate was answered"))
            }
            OrderOutcome::Refused { kind, message } => Err(RuntimeError::refused(kind, message)),
        }
    }

    async fn rest(&self, session: &str) -> Result<(), RuntimeError> {
        let id = session.to_owned();
        self.keeper.send(AwaitRest { id }).await??;
        Ok(())
    }

    /// Does the work while the handler, if there is one, receives its events.
    async fn followed(
        &self,
        session: &str,
        FollowingHandler(handler): FollowingHandler,
        work: impl Future<Output = Result<(), RuntimeError>>,
    ) -> Result<(), RuntimeError> {
        let Some(handler) = handler else {
            return work.await;
        };
        match self.followable(session).await? {
            Some(workflow) => following(workflow, &self.directory, &handler, work).await,
            None => work.await,
        }
    }
}

impl fmt::Debug for WorkflowRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowRuntime")
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}

fn not_initialized(session: &str) -> RuntimeError {
    RuntimeError::not_ready(format!(
        "the workflow {session} is not initialized; run its initializer first"
    ))
}

fn check_key(run_id: &str) -> Result<(), RuntimeError> {
    if run_id.trim().is_empty() {
        return Err(RuntimeError::invalid("the id of a run must not be blank"));
    }
    Ok(())
}

/// The reason why a run has no result: the workflow is paused, or an error ended the run.
fn unfinished(past: &WorkflowPast, run: Option<&RunNote>) -> RuntimeError {
    if let Some(ended) = run.and_then(|run| run.end.as_ref()) {
        let kind = ended.error.unwrap_or(RunErrorKind::NotReady);
        return RuntimeError {
            paused: past.ledger.paused().map(|(reason, _)| reason),
            ..RuntimeError::new(kind, ended.detail.clone())
        };
    }
    match past.ledger.paused() {
        Some((reason, detail)) => RuntimeError::paused(reason, detail),
        None => RuntimeError::not_ready("the run has not ended"),
    }
}

/// The result of a run of iterations.
fn task_result(
    session: String,
    run_id: String,
    past: &WorkflowPast,
) -> Result<TaskIterationResult, RuntimeError> {
    let run = past.run(&run_id);
    let Some(run) = run.filter(|run| run.phase == RunPhase::TaskIteration) else {
        return Err(RuntimeError::invalid(format!(
            "{run_id:?} names no run of iterations; take another id"
        )));
    };
    let last = run.iterations.last();
    if let Some(failed) = last.filter(|last| last.status == IterationStatus::Failed) {
        let message = format!("{}: {}", failed.checkpoint.note, failed.note);
        return Err(RuntimeError::new(RunErrorKind::Chat, message));
    }
    let was_rejected = last.is_some_and(|last| last.status == IterationStatus::Rejected);
    let is_over = run.end.as_ref();
    if !is_over.is_some_and(|end| end.error.is_none() || was_rejected) {
        return Err(unfinished(past, Some(run)));
    }
    let is_done = is_over.is_some_and(|end| end.is_completed);
    let was_judged = |status| status != IterationStatus::Interrupted;
    let statuses = run.iterations.iter().map(|report| report.status);
    let mut judged = statuses.filter(|status| was_judged(*status));
    Ok(TaskIterationResult {
        session,
        run_id,
        selected_feature: run.iterations.first().map(|first| first.feature.clone()),
        validated: judged.all(|status| status == IterationStatus::Accepted),
        completed: is_done,
        iterations: run.iterations.clone(),
    })
}
