//! Wiring workflows: a model, tools, journals, a place to work, and what a program decides itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;
use tokio::runtime::Handle;

use super::error::RuntimeError;
use super::policy::RunPolicy;
use super::runtime::WorkflowRuntime;
use crate::budget::NoPrices;
use crate::clock::Clock;
use crate::directory::{DirectoryActor, Extensions, MAX_OPEN_CONVERSATIONS};
use crate::harness::config::{Config, ConfigError};
use crate::harness::own_thread::OwnThread;
use crate::harness::wiring::parts;
use crate::journal::JournalStore;
#[cfg(feature = "journal")]
use crate::journal::{JsonLinesStore, StateSize};
use crate::tool::{Launcher, PlainLauncher, Tool, standard_tools};
use crate::workflow::hooks::{
    AcceptAllValidator, HealthChecker, Hooks, NoopHealthChecker, OutcomeValidator,
};
use crate::workflow::keeper::{Directory, WorkSlots, WorkflowFiles, WorkflowParts};
use crate::workflow::machine::ProviderPatience;
use crate::workflow::select::FeatureSelector;
use crate::workflow::state::RunErrorKind;

/// Wires workflows. Every part has a default, except for the provider or the conversations, of which one is needed.
pub struct WorkflowBuilder {
    repository: PathBuf,
    home: PathBuf,
    provider: Option<Config>,
    extensions: Extensions,
    tools: Vec<Arc<dyn Tool>>,
    conversations: Option<Arc<dyn JournalStore>>,
    memory: Option<Arc<dyn JournalStore>>,
    directory: Option<Directory>,
    launcher: Arc<dyn Launcher>,
    policy: RunPolicy,
    hooks: Hooks,
}

impl WorkflowRuntime {
    /// Wires workflows of a repository. `home` is a folder for their state and their worktrees, outside of it.
    #[must_use]
    pub fn builder(repository: &Path, home: &Path) -> WorkflowBuilder {
        WorkflowBuilder::new(repository, home)
    }
}

impl WorkflowBuilder {
    fn new(repository: &Path, home: &Path) -> Self {
        Self {
            repository: repository.to_owned(),
            home: home.to_owned(),
            provider: None,
            extensions: Extensions::default(),
            tools: standard_tools(),
            conversations: None,
            memory: None,
            directory: None,
            launcher: Arc::new(PlainLauncher),
            policy: RunPolicy::default(),
            hooks: Hooks {
                health: Some(Arc::new(NoopHealthChecker)),
                validator: Some(Arc::new(AcceptAllValidator)),
                ..Hooks::default()
            },
        }
    }

    /// The model and how it is asked.
    #[must_use]
    pub fn provider(mut self, provider: Config) -> Self {
        self.provider = Some(provider);
        self
    }

    /// The parts that this crate leaves to others: the way to the model, its keys, the system prompt, who answers
    /// what tools ask.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// The tools, in place of the standard ones.
    #[must_use]
    pub fn tools(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the stores for the journals of conversations and of workflows, in place of the state folder. The two must
    /// be different stores.
    #[must_use]
    pub fn memory(
        mut self,
        conversations: Arc<dyn JournalStore>,
        workflows: Arc<dyn JournalStore>,
    ) -> Self {
        self.conversations = Some(conversations);
        self.memory = Some(workflows);
        self
    }

    /// Sets existing conversations, in place of a provider, tools and extensions.
    #[must_use]
    pub fn conversations(mut self, directory: Directory) -> Self {
        self.directory = Some(directory);
        self
    }

    /// The launcher that contains git and checks, and starts them. Without one nothing contains them.
    #[must_use]
    pub fn launcher(mut self, launcher: Arc<dyn Launcher>) -> Self {
        self.launcher = launcher;
        self
    }

    /// Sets the policy of runs for plans that are not a file.
    #[must_use]
    pub fn policy(mut self, policy: RunPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the judge of the base's fitness for work. By default, the base is always fit.
    #[must_use]
    pub fn health_checker(mut self, checker: impl HealthChecker) -> Self {
        self.hooks.health = Some(Arc::new(checker));
        self
    }

    /// Sets the judge of the candidates whose feature's checks have passed. By default, they are accepted.
    #[must_use]
    pub fn validator(mut self, validator: impl OutcomeValidator) -> Self {
        self.hooks.validator = Some(Arc::new(validator));
        self
    }

    /// Chooses the feature of an iteration; else it is the first pending one.
    #[must_use]
    pub fn selector(mut self, selector: impl FeatureSelector + 'static) -> Self {
        self.hooks.selector = Arc::new(selector);
        self
    }

    /// Starts the workflows, on a separate thread. Those that were at work when an earlier process ended continue.
    ///
    /// # Errors
    /// tools that cannot work, and `Memory` if the state folder cannot be made, or no thread can be started.
    pub fn build(self) -> Result<WorkflowRuntime, RuntimeError> {
        self.policy.check()?;
        if self.provider.is_none() && self.directory.is_none() {
            return Err(no_provider());
        }
        check_place()?;
        let home = made(&self.home)?;
        let repository = fs::canonicalize(&self.repository).map_err(|error| {
            let folder = self.repository.display();
            RuntimeError::invalid(format!("the repository {folder} is not there: {error}"))
        })?;
        let state = home.join("state");
        let clock = Clock::system();
        let redaction = self.extensions.redaction.clone();
        let closed = [state.clone()];
        let closed: Arc<[PathBuf]> = closed
            .into_iter()
            .chain(self.extensions.closed.to_vec())
            .collect();
        let workflows = journals(self.memory, || workflows_at(&state, clock))?;
        let conversations = match &self.directory {
            Some(_) => None,
            None => Some(journals(self.conversations, || {
                conversations_at(&state, clock)
            })?),
        };
        let extensions = Extensions {
            closed: Arc::clone(&closed),
            ..self.extensions
        };
        let (provider, tools) = (self.provider.unwrap_or_else(|| Config::new("")), self.tools);
        let folder = Arc::from(repository.as_path());
        let (thread, directory) = OwnThread::start("workflows", move |arbiter| {
            let store = conversations?;
            let shared = parts(provider, tools, extensions, folder, clock, arbiter);
            Some(shared.map(|shared| {
                let falls_back = shared.defaults.workflows_fall_back();
                let directory = DirectoryActor::new(store, shared, MAX_OPEN_CONVERSATIONS).start();
                let directory = Directory {
                    open: directory.clone().recipient(),
                    create: directory.recipient(),
                };
                (directory, falls_back)
            }))
        })
        .map_err(|error| memory(&error))?;
        let invalid = |error: ConfigError| RuntimeError::invalid(error.to_string());
        let own = directory.transpose().map_err(invalid)?;
        // Given conversations have their own settings.
        let given = self.directory.map(|directory| (directory, false));
        let (directory, falls_back) = given.or(own).ok_or_else(no_provider)?;
        let parts = WorkflowParts {
            store: workflows,
            directory,
            launcher: self.launcher,
            clock,
            redaction,
            closed,
            files: WorkflowFiles::at(&state),
            worktrees: home.join("worktrees"),
            home: state,
            broadcasting: thread.arbiter(),
            patience: ProviderPatience::default(),
            auto_resume: true,
            room: WorkSlots::unlimited(),
            prices: Arc::new(NoPrices),
            falls_back,
            hooks: self.hooks,
        };
        let runtime = WorkflowRuntime::new(parts, &repository, self.policy);
        Ok(runtime.keeping(thread))
    }
}

fn no_provider() -> RuntimeError {
    RuntimeError::not_ready(
        "there is no provider: give `provider`, or `conversations` that there are",
    )
}

/// The journals that are given, or files.
fn journals(
    given: Option<Arc<dyn JournalStore>>,
    files: impl FnOnce() -> Option<Arc<dyn JournalStore>>,
) -> Result<Arc<dyn JournalStore>, RuntimeError> {
    given.or_else(files).ok_or_else(|| {
        RuntimeError::not_ready(
            "there are no journals: give `memory`, or enable the feature `journal` of harness-actors",
        )
    })
}

/// Files of conversations in a state folder.
#[cfg(feature = "journal")]
fn conversations_at(state: &Path, clock: Clock) -> Option<Arc<dyn JournalStore>> {
    Some(Arc::new(JsonLinesStore::at(state, clock)))
}

/// Files of workflows in a state folder.
#[cfg(feature = "journal")]
fn workflows_at(state: &Path, clock: Clock) -> Option<Arc<dyn JournalStore>> {
    let size = StateSize::default();
    Some(Arc::new(JsonLinesStore::of_workflows(state, clock, size)))
}

#[cfg(not(feature = "journal"))]
fn conversations_at(_: &Path, _: Clock) -> Option<Arc<dyn JournalStore>> {
    None
}

#[cfg(not(feature = "journal"))]
fn workflows_at(_: &Path, _: Clock) -> Option<Arc<dyn JournalStore>> {
    None
}

/// Checks that a tokio runtime is running, in which answers of workflows can be awaited.
fn check_place() -> Result<(), RuntimeError> {
    match Handle::try_current() {
        Ok(_) => Ok(()),
        Err(_) => Err(RuntimeError::not_ready(
            "there is no tokio runtime here: run it under #[tokio::main] or #[actix::main]",
        )),
    }
}

fn made(home: &Path) -> Result<PathBuf, RuntimeError> {
    let made = fs::create_dir_all(home.join("state")).and_then(|()| fs::canonicalize(home));
    made.map_err(|error| memory(&error))
}

fn memory(error: &std::io::Error) -> RuntimeError {
    RuntimeError::new(RunErrorKind::Memory, error.to_string())
}
