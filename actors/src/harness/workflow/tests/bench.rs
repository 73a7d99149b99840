//! A repository, a model with a script, and a folder for the state.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::directory::Extensions;
use crate::harness::config::Config;
use crate::harness::workflow::past::WorkflowPast;
use crate::harness::workflow::*;
use crate::journal::{JournalStore as _, JsonLinesStore, StateSize};
use crate::model::{ModelError, ScriptedReply, ScriptedTransport};
use crate::workflow::record::{CheckEnded, WorkflowRecord};
use crate::{Clock, ConversationId};

pub(super) struct Bench {
    pub(super) repository: TempDir,
    pub(super) home: TempDir,
    pub(super) model: ScriptedTransport,
}

pub(super) fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=Ana", "-c", "user.email=ana@example.org"])
        .args(words);
    let done = git.output().unwrap();
    assert!(done.status.success(), "git {words:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(&[("README", "Words.\n")])
    }

    /// A repository with one commit of these files.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let repository = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = repository.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        git(repository.path(), &["init", "--quiet"]);
        git(repository.path(), &["add", "--all"]);
        git(repository.path(), &["commit", "--quiet", "--message=begin"]);
        Self {
            repository,
            home: tempfile::tempdir().unwrap(),
            model: ScriptedTransport::default(),
        }
    }

    /// The parts that every test here is built with.
    pub(super) fn builder(&self) -> WorkflowBuilder {
        let extensions = Extensions {
            transport: Some(Arc::new(self.model.clone())),
            ..Extensions::default()
        };
        self.bare()
            .provider(Config::for_model("any"))
            .extensions(extensions)
    }

    pub(super) fn bare(&self) -> WorkflowBuilder {
        WorkflowRuntime::builder(self.repository.path(), self.home.path())
    }

    /// Lets the model write a file, then say that.
    pub(super) fn writes(&self, path: &str, text: &str, says: &str) {
        let input = json!({"path": path, "content": text});
        let input = input.as_object().unwrap();
        self.model
            .push(ScriptedReply::tool_use("call_1", "write", input));
        self.says(says);
    }

    pub(super) fn says(&self, text: &str) {
        self.model.push(ScriptedReply::text(text));
    }

    /// Lets the model do the feature as it is wanted.
    pub(super) fn right(&self, feature: &str) {
        self.writes(&format!("{feature}.txt"), "right\n", "done");
    }

    /// Lets the next request fail in a way that is not tried again.
    pub(super) fn fails(&self) {
        self.model
            .push(ScriptedReply::error(ModelError::NotAStream {
                content: "a page".to_owned(),
            }));
    }

    /// The records of a workflow; none if it was never made.
    pub(super) async fn records(&self, session: &str) -> Vec<WorkflowRecord> {
        let path = self
            .home
            .path()
            .join(format!("state/workflows/{session}.jsonl"));
        let Ok(text) = fs::read_to_string(path) else {
            return Vec::new();
        };
        let records = text.lines().filter_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            serde_json::from_value(line["data"].clone()).ok()
        });
        records.collect()
    }

    /// The checks that were judged.
    pub(super) async fn checks(&self, session: &str) -> Vec<CheckEnded> {
        let mut checks = Vec::new();
        for record in self.records(session).await {
            if let WorkflowRecord::CheckEnded(ended) = record {
                checks.push(*ended);
            }
        }
        checks
    }

    /// The records, read by another store.
    pub(super) async fn past(&self, session: &str) -> WorkflowPast {
        let state = self.home.path().join("state");
        let store = JsonLinesStore::of_workflows(&state, Clock::system(), StateSize::default());
        let journal = store.open(&ConversationId::new(session)).await.unwrap();
        WorkflowPast::read(&*journal).await.unwrap()
    }
}

/// A feature with a check that wants the word in its own file.
pub(super) fn feature(id: &str) -> FeatureRequest {
    FeatureRequest::new(id, &format!("{id}.txt says right"))
        .with_step("read it")
        .with_check(&["grep", "right", &format!("{id}.txt")])
}

/// A feature that no command decides.
pub(super) fn open(id: &str) -> FeatureRequest {
    FeatureRequest::new(id, &format!("{id}.txt is there")).with_step("look")
}

pub(super) fn plan(ids: &[&str]) -> WorkflowPlan {
    WorkflowPlan::new("All is right").with_features(ids.iter().map(|id| feature(id)).collect())
}

pub(super) fn initializer(run: &str, plan: WorkflowPlan) -> InitializerRequest {
    InitializerRequest::new("w", run, "All is right").with_plan(plan)
}

pub(super) fn iteration(run: &str) -> TaskIterationRequest {
    TaskIterationRequest::new("w", run)
}

/// The result of a run that worked on features.
pub(super) fn worked(outcome: RuntimeRunOutcome) -> TaskIterationResult {
    match outcome {
        RuntimeRunOutcome::TaskIteration(result) => result,
        RuntimeRunOutcome::Initializer(result) => panic!("it was made ready: {result:?}"),
    }
}
