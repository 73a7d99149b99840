//! The requests to workflows.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::error::RuntimeError;
use super::policy::RunPolicy;
use crate::harness::EventHandler;
use crate::workflow::file::{FeatureList, FileFormat, hash, read};
use crate::workflow::manifest::{Check, CheckTime, Exit, Hook, Program, ServiceCommand};
use crate::workflow::messages::GivenFile;
use crate::workflow::starter::{RepositoryFacts, starter};

/// A feature that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureRequest {
    /// Its name, of letters, digits, `-`, `_` and `.`; no other feature of the workflow has it.
    pub id: String,
    /// The thing wanted.
    pub description: String,
    /// The steps that show that it works, for the model.
    pub steps: Vec<String>,
    /// True if the workflow cannot be done without it.
    pub required: bool,
    /// Smaller is first; then the order of the list.
    pub priority: i64,
    /// The features that have to pass first.
    pub after: Vec<String>,
    /// Commands, each a program with its arguments, that have to fail before the work and exit with 0 after it.
    pub checks: Vec<Vec<String>>,
}

impl FeatureRequest {
    /// A required feature without steps and checks; it needs one of either.
    #[must_use]
    pub fn new(id: &str, description: &str) -> Self {
        Self {
            id: id.to_owned(),
            description: description.to_owned(),
            steps: Vec::new(),
            required: true,
            priority: 0,
            after: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// The same with one more step.
    #[must_use]
    pub fn with_step(mut self, step: &str) -> Self {
        self.steps.push(step.to_owned());
        self
    }

    /// The same with one more check.
    #[must_use]
    pub fn with_check(mut self, words: &[&str]) -> Self {
        self.checks
            .push(words.iter().map(ToString::to_string).collect());
        self
    }

    fn as_json(&self) -> Value {
        let check = |words: &Vec<String>| json!({"cmd": words});
        let mut feature = json!({
            "id": self.id,
            "description": self.description,
            "required": self.required,
            "priority": self.priority,
        });
        let lists = [
            ("steps", json!(self.steps)),
            ("after", json!(self.after)),
            ("check", self.checks.iter().map(check).collect()),
        ];
        let filled = lists
            .into_iter()
            .filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty()));
        if let Some(feature) = feature.as_object_mut() {
            feature.extend(filled.map(|(name, list)| (name.to_owned(), list)));
        }
        feature
    }
}

/// The work of a workflow: an objective with features, or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowPlan {
    /// The objective.
    pub objective: String,
    /// The features. `None` makes a starter list.
    pub features: Option<Vec<FeatureRequest>>,
    /// The commands that make a fresh worktree ready for work, in order; each a program with its arguments.
    pub init_plan: Vec<Vec<String>>,
    /// The text of a file in place of all that, whose policy applies then.
    pub file: Option<(Vec<u8>, FileFormat)>,
}

impl WorkflowPlan {
    /// A plan with a starter list.
    #[must_use]
    pub fn new(objective: &str) -> Self {
        Self {
            objective: objective.to_owned(),
            features: None,
            init_plan: Vec::new(),
            file: None,
        }
    }

    /// The plan of a file.
    #[must_use]
    pub fn of_file(text: &[u8], format: FileFormat) -> Self {
        Self {
            file: Some((text.to_owned(), format)),
            ..Self::new("")
        }
    }

    /// The same with these features.
    #[must_use]
    pub fn with_features(mut self, features: Vec<FeatureRequest>) -> Self {
        self.features = Some(features);
        self
    }

    /// The same with one more command that makes a fresh worktree ready.
    #[must_use]
    pub fn with_init(mut self, words: &[&str]) -> Self {
        self.init_plan
            .push(words.iter().map(ToString::to_string).collect());
        self
    }

    /// The manifest with the checks that the program decides, and its text. `found` is the content of the repository.
    pub(super) fn given(
        &self,
        policy: &RunPolicy,
        found: &RepositoryFacts,
    ) -> Result<GivenFile, RuntimeError> {
        let (bytes, format) = match &self.file {
            Some((bytes, format)) => {
                let filled = starter(bytes, *format, found);
                filled.map_or_else(
                    || (bytes.clone(), *format),
                    |bytes| (bytes, FileFormat::Json),
                )
            }
            None => (self.text(policy, found), FileFormat::Json),
        };
        let manifest = read(&bytes, format, FeatureList::Needed);
        let mut manifest = manifest.map_err(RuntimeError::of_problems)?;
        manifest
            .health
            .push(asked("program/health".to_owned(), Hook::Health));
        for feature in &mut manifest.features {
            let id = format!("program/{}", feature.id);
            feature.checks.push(asked(id, Hook::Outcome));
        }
        Ok(GivenFile {
            manifest: Arc::new(manifest),
            hash: hash(&bytes),
            text: bytes.into(),
            file: None,
            // The program that gives the plan answers for it.
            approved: true,
        })
    }

    fn text(&self, policy: &RunPolicy, found: &RepositoryFacts) -> Vec<u8> {
        let (mode, policy) = policy.as_json();
        let mut file = Map::new();
        file.insert(
            "workflow".to_owned(),
            json!({"objective": self.objective, "mode": mode}),
        );
        file.insert("policy".to_owned(), policy);
        file.insert(
            "permissions".to_owned(),
            json!({"mode": "edits", "asks": "deny"}),
        );
        if !self.init_plan.is_empty() {
            let commands = self.init_plan.iter().map(|words| json!({"cmd": words}));
            let prepare: Value = commands.collect();
            file.insert("workspace".to_owned(), json!({"prepare": prepare}));
        }
        let features = match &self.features {
            Some(features) => features.iter().map(FeatureRequest::as_json).collect(),
            None => found.features(&self.objective),
        };
        file.insert("feature".to_owned(), features);
        Value::Object(file).to_string().into_bytes()
    }

    /// True if the workflow with that objective was made for this plan. A plan without features names only its
    /// objective.
    pub(super) fn is_of(&self, objective: &str) -> bool {
        self.file.is_some() || self.objective == objective
    }
}

/// A check that the program decides.
fn asked(id: String, hook: Hook) -> Check {
    Check {
        id,
        command: Some(ServiceCommand::new(Program::Hook(hook))),
        exit: Exit::Code(0),
        must_match: None,
        must_not_match: None,
        keep: None,
        when: CheckTime::Always,
        red: false,
        flaky: 0,
        hidden: false,
        files: std::collections::BTreeMap::new(),
    }
}

/// Makes a workflow ready for work, unless it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitializerRequest {
    /// Names the workflow: 1 to 40 of the characters a-z, 0-9, `-` and `_`.
    pub session: String,
    /// The key of the run; a repetition changes nothing.
    pub run_id: String,
    /// The work to do.
    pub plan: WorkflowPlan,
}

impl InitializerRequest {
    /// A request with a starter list.
    #[must_use]
    pub fn new(session: &str, run_id: &str, objective: &str) -> Self {
        Self {
            session: session.to_owned(),
            run_id: run_id.to_owned(),
            plan: WorkflowPlan::new(objective),
        }
    }

    /// The same with another plan.
    #[must_use]
    pub fn with_plan(mut self, plan: WorkflowPlan) -> Self {
        self.plan = plan;
        self
    }
}

/// The handler that follows the conversations of a run in progress.
#[derive(Clone, Default)]
pub(super) struct FollowingHandler(pub(super) Option<Arc<dyn EventHandler>>);

impl fmt::Debug for FollowingHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Following").field(&self.0.is_some()).finish()
    }
}

/// Works on the next features, as many as the policy has for a run.
#[derive(Debug, Clone)]
pub struct TaskIterationRequest {
    /// The workflow.
    pub session: String,
    /// The key of the run; a repetition gives the result that there was.
    pub run_id: String,
    pub(super) following: FollowingHandler,
}

impl TaskIterationRequest {
    /// A request whose result comes at the end of the run.
    #[must_use]
    pub fn new(session: &str, run_id: &str) -> Self {
        Self {
            session: session.to_owned(),
            run_id: run_id.to_owned(),
            following: FollowingHandler::default(),
        }
    }

    /// The same, with a handler that receives all events of the run's conversations, including the pieces of replies as
    /// they arrive.
    #[must_use]
    pub fn streaming(mut self, handler: Arc<dyn EventHandler>) -> Self {
        self.following = FollowingHandler(Some(handler));
        self
    }
}

/// Does what is next: makes the workflow ready for work, or works on it.
#[derive(Debug, Clone)]
pub struct RuntimeRunRequest {
    /// Names the workflow: 1 to 40 of the characters a-z, 0-9, `-` and `_`.
    pub session: String,
    /// The key of the run; a repetition gives the result that there was.
    pub run_id: String,
    /// The work to do.
    pub plan: WorkflowPlan,
    pub(super) following: FollowingHandler,
}

impl RuntimeRunRequest {
    /// A request with a starter list.
    #[must_use]
    pub fn new(session: &str, run_id: &str, objective: &str) -> Self {
        Self {
            session: session.to_owned(),
            run_id: run_id.to_owned(),
            plan: WorkflowPlan::new(objective),
            following: FollowingHandler::default(),
        }
    }

    /// The same with another plan.
    #[must_use]
    pub fn with_plan(mut self, plan: WorkflowPlan) -> Self {
        self.plan = plan;
        self
    }

    /// The same with a handler; see [`TaskIterationRequest::streaming`].
    #[must_use]
    pub fn streaming(mut self, handler: Arc<dyn EventHandler>) -> Self {
        self.following = FollowingHandler(Some(handler));
        self
    }
}
