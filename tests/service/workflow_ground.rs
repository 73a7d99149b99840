//! A small repository with the file of a workflow, a service, and a model that plays what a test says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use harness_standin::{Catalogue, Message, MessagesRequest, Model, Reply, Standin};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Answer;
use crate::eventually::eventually;
use crate::program::{MODEL, Service, output};
use crate::talk::model;

/// The workflow of every test here.
pub(super) const ID: &str = "w1";

/// A model with a known price.
pub(super) const PRICED: &str = "claude-opus-5";

/// The place in a workflow where the model is asked for a reply.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// The feature of the prompt.
    pub(super) feature: String,
    /// The attempt in this conversation, from 1 on.
    pub(super) attempt: usize,
    /// Number of its calls in this attempt that went well.
    pub(super) done: usize,
    /// Number of its calls in this attempt that were answered, well or not.
    pub(super) answered: usize,
    /// The last text that it got.
    pub(super) told: String,
    /// Number of tokens of the request.
    pub(super) input_tokens: u64,
    /// Maximum number of tokens of the reply.
    pub(super) max_tokens: u64,
    /// A name for a call that no other of the conversation has.
    call: String,
}

impl Turn {
    fn of(request: &MessagesRequest) -> Self {
        let mut turn = Self {
            feature: String::new(),
            attempt: 0,
            done: 0,
            answered: 0,
            told: String::new(),
            input_tokens: request.input_tokens() as u64,
            max_tokens: request.body["max_tokens"].as_u64().unwrap(),
            call: format!("call_{}", request.messages().len()),
        };
        for message in request.messages() {
            let blocks = message["content"].as_array().cloned().unwrap_or_default();
            for block in blocks {
                let text = block["text"].as_str().unwrap_or_default();
                let feature = text.split_once("# The feature");
                if let Some((_, rest)) = feature {
                    // The prompt of a repair names no feature.
                    let name = match rest.strip_prefix(" `") {
                        Some(rest) => rest.split('`').next().unwrap(),
                        None => "workspace.health",
                    };
                    name.clone_into(&mut turn.feature);
                }
                if feature.is_some() || text.starts_with("What you left was not accepted") {
                    turn.attempt += 1;
                    turn.done = 0;
                    turn.answered = 0;
                    text.clone_into(&mut turn.told);
                }
                let is_answer = block["type"] == "tool_result";
                turn.answered += usize::from(is_answer);
                turn.done += usize::from(is_answer && block["is_error"] != true);
            }
        }
        turn
    }

    /// A call of a tool.
    pub(super) fn call(&self, tool: &str, input: Value) -> Message {
        Message::new().tool_use(&self.call, tool, input)
    }

    /// A call that writes a file.
    pub(super) fn write(&self, path: &str, content: &str) -> Message {
        self.call("write", json!({"path": path, "content": content}))
    }

    /// Writes these files, one a reply, then says that it is done.
    pub(super) fn writes(&self, files: &[(&str, &str)]) -> Reply {
        match files.get(self.done) {
            Some((path, content)) => self.write(path, content).into(),
            None => Reply::text("done"),
        }
    }

    /// Makes these calls, one a reply and whatever comes of them, then says so.
    pub(super) fn calls(&self, calls: &[(&str, Value)], says: &str) -> Reply {
        match calls.get(self.answered) {
            Some((tool, input)) => self.call(tool, input.clone()).into(),
            None => Reply::text(says),
        }
    }

    /// Does the feature correctly.
    pub(super) fn right(&self) -> Reply {
        self.writes(&[(&format!("{}.txt", self.feature), "right\n")])
    }
}

/// A file with these features, each with a check that wants the word in its own file; `more` comes before
/// them, and the tables `workflow` and `permissions` are there.
pub(super) fn file(mode: &str, more: &str, features: &[&str]) -> String {
    let mut text = format!(
        "[workflow]\nobjective = \"The files say what is right\"\nmode = \"{mode}\"\n\n\
         [permissions]\nmode = \"edits\"\nasks = \"deny\"\nallow = [\"bash(sleep *)\"]\n\n{more}\n"
    );
    for feature in features {
        text += &format!(
            "\n[[feature]]\nid = \"{feature}\"\ndescription = \"{feature}.txt says right\"\n\
             steps = [\"read it\"]\n[[feature.check]]\n\
             cmd = [\"grep\", \"right\", \"{feature}.txt\"]\n"
        );
    }
    text
}

/// Git in a folder, as a person uses it; what it says.
pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=Ana", "-c", "user.email=ana@example.org"])
        .args(arguments);
    let (code, out, err) = output(&mut command);
    assert_eq!(code, 0, "git {arguments:?}: {out}{err}");
    out.trim_end().to_owned()
}

/// A repository with one commit: the file of the workflow, a protected test and a text.
pub(super) fn repository(file: &str) -> TempDir {
    repository_with(
        file,
        &[
            ("tests/t.sh", "grep right one.txt\n"),
            ("README", "Words.\n"),
        ],
    )
}

/// A repository with one commit: the file of the workflow and these.
pub(super) fn repository_with(file: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let own = (".harness/workflows/words.toml", file);
    for (path, content) in [own].iter().chain(files) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message=begin"]);
    folder
}

/// The branch of the work.
pub(super) const BRANCH: &str = "refs/heads/harness/words";

/// A workflow with all that it needs.
pub(super) struct Bench {
    pub(super) service: Service,
    pub(super) standin: Standin,
    pub(super) repository: Arc<TempDir>,
}

impl Bench {
    /// A service, and a repository with that file. Nothing is made yet.
    pub(super) async fn start(
        file: &str,
        flags: &[&str],
        play: impl Fn(&Turn) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::on(Arc::new(repository(file)), flags, play).await
    }

    /// A service for that repository.
    pub(super) async fn on(
        repository: Arc<TempDir>,
        flags: &[&str],
        play: impl Fn(&Turn) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::with_settings(repository, flags, &[], play).await
    }

    /// The same with these settings, by the names of their variables.
    pub(super) async fn with_settings(
        repository: Arc<TempDir>,
        flags: &[&str],
        settings: &[(&str, &str)],
        play: impl Fn(&Turn) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let catalogue = Catalogue::new(vec![
            model(1_000_000),
            Model::new(PRICED)
                .window(1_000_000)
                .falling_back_to(&["claude-opus-4-8"]),
        ]);
        let responder = move |request: &MessagesRequest| play(&Turn::of(request));
        let standin = Standin::serving(responder, catalogue).unwrap();
        let flags: Vec<&str> = ["--model", MODEL].iter().chain(flags).copied().collect();
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let settings: Vec<_> = settings.collect();
        let home = tempfile::tempdir().unwrap();
        let service = Service::start_with(home, &standin.base_url(), &flags, &settings).await;
        Self {
            service,
            standin,
            repository,
        }
    }

    /// The same, made, approved and initialized.
    pub(super) async fn ready(
        file: &str,
        flags: &[&str],
        play: impl Fn(&Turn) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let bench = Self::start(file, flags, play).await;
        bench.initialize().await;
        bench
    }

    pub(super) async fn initialize(&self) {
        let made = self.make(&self.hash().await).await;
        assert_eq!(made.status, 201, "{made:?}");
        self.run().await;
        self.until("ready").await;
    }

    pub(super) fn root(&self) -> &Path {
        self.repository.path()
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        git(self.root(), arguments)
    }

    /// The order that makes the workflow, with these further fields.
    pub(super) fn making(&self, more: &Value) -> Value {
        let path = ".harness/workflows/words.toml";
        let mut order = json!({"folder": self.root(), "path": path, "id": ID});
        let more = more.as_object().unwrap().clone();
        order.as_object_mut().unwrap().extend(more);
        order
    }

    /// Sends what makes a workflow.
    pub(super) async fn post(&self, order: &Value) -> Answer {
        self.service.as_owner("POST", "/v1/workflows", order).await
    }

    /// The hash of the file.
    pub(super) async fn hash(&self) -> String {
        let told = self.post(&self.making(&json!({"dry_run": true}))).await;
        assert_eq!(told.status, 200, "{told:?}");
        told.json()["hash"].as_str().unwrap().to_owned()
    }

    pub(super) async fn make(&self, approved: &str) -> Answer {
        self.post(&self.making(&json!({"approve": approved}))).await
    }

    /// Sends an order; tells the answer, whatever it is.
    pub(super) async fn order(&self, what: &str, body: &Value) -> Answer {
        let path = format!("/v1/workflows/{ID}/{what}");
        self.service.as_owner("POST", &path, body).await
    }

    /// Lets it run.
    pub(super) async fn run(&self) {
        let answer = self.order("run", &json!({})).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }

    pub(super) async fn look(&self) -> Value {
        self.service.get(&format!("/v1/workflows/{ID}")).await
    }

    /// Waits until the workflow is in that state; tells how it is then.
    pub(super) async fn until(&self, state: &str) -> Value {
        self.until_it(state, |now| now["state"] == state).await
    }

    /// Waits for that; tells how the workflow is then.
    pub(super) async fn until_it(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut now = Value::Null;
        let waiting = async {
            loop {
                now = self.look().await;
                if is_so(&now) {
                    return true;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = Duration::from_secs(180);
        let came = tokio::time::timeout(limit, waiting).await;
        assert!(came.is_ok(), "not {what} within {limit:?}: {now:#}");
        now
    }

    /// Waits for a pause for that reason.
    pub(super) async fn paused(&self, reason: &str) -> Value {
        let now = self.until("paused").await;
        assert_eq!(now["reason"], reason, "{now:#}");
        now
    }

    /// Runs it to its completion.
    pub(super) async fn complete(&self) -> Value {
        self.run().await;
        self.until("completed").await
    }

    /// All records so far.
    pub(super) async fn records(&self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut after = 0;
        loop {
            let path = format!("/v1/workflows/{ID}/history?after={after}&limit=1000");
            let page = self.service.get(&path).await;
            let events = page["events"].as_array().unwrap();
            all.extend(events.iter().map(|event| event["event"]["record"].clone()));
            match page["after"].as_u64() {
                Some(next) => after = next,
                None => return all,
            }
        }
    }

    /// The data of all records of a type so far.
    pub(super) async fn past(&self, kind: &str) -> Vec<Value> {
        let records = self.records().await.into_iter();
        let of_kind = records.filter(|record| record["type"] == kind);
        of_kind.map(|record| record["data"].clone()).collect()
    }

    /// Each verdict so far: the attempt, and why it was rejected; none if it was accepted.
    pub(super) async fn verdicts(&self) -> Vec<(u64, u64, Vec<String>)> {
        self.past("verdict").await.iter().map(verdict).collect()
    }

    /// Waits until a step of that name has begun.
    pub(super) async fn step(&self, step: &str) {
        self.until_it(step, |now| now["step"]["step"] == step).await;
    }

    /// The state of a feature.
    pub(super) fn feature<'a>(now: &'a Value, id: &str) -> &'a str {
        let features = now["features"].as_array().unwrap();
        let own = features.iter().find(|feature| feature["id"] == id);
        own.unwrap()["state"].as_str().unwrap()
    }

    /// The requests for messages so far.
    pub(super) fn asked(&self) -> usize {
        let requests = self.standin.requests();
        let asked = requests.iter().filter(|request| request.method == "POST");
        asked.count()
    }

    /// The commit that a name resolves to.
    pub(super) fn tip(&self, name: &str) -> String {
        self.git(&["rev-parse", name])
    }

    /// The folder of the work.
    pub(super) async fn worktree(&self) -> PathBuf {
        PathBuf::from(self.look().await["worktree"].as_str().unwrap())
    }

    /// Asserts that the files of the work are those of a commit, byte for byte, and no others.
    pub(super) async fn stands_at(&self, commit: &str) {
        let root = self.worktree().await;
        let listed = self.git(&["ls-tree", "-r", "--name-only", commit]);
        let listed: BTreeSet<PathBuf> = listed.lines().map(PathBuf::from).collect();
        assert_eq!(files_below(&root), listed);
        for path in listed {
            let name = format!("{commit}:{}", path.display());
            let stored = self.git(&["cat-file", "blob", &name]);
            let found = fs::read_to_string(root.join(&path)).unwrap();
            assert_eq!(found.trim_end(), stored, "{}", path.display());
        }
    }

    /// Waits until the model was asked so often.
    pub(super) async fn asked_times(&self, times: usize) {
        eventually("a request", async || self.asked() >= times).await;
    }
}

/// The attempt of a verdict, and why it was rejected.
pub(super) fn verdict(data: &Value) -> (u64, u64, Vec<String>) {
    let number = |key: &str| data[key].as_u64().unwrap();
    let reasons = data["reasons"].as_array().cloned().unwrap_or_default();
    let reason = |reason: &Value| reason["reason"].as_str().unwrap().to_owned();
    let reasons: Vec<String> = reasons.iter().map(reason).collect();
    assert_eq!(data["accepted"], reasons.is_empty());
    (number("n"), number("attempt"), reasons)
}

/// The files in a folder, by their paths below it; git's own are not among them.
fn files_below(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(root).unwrap();
            if below == Path::new(".git") {
                continue;
            }
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                folders.push(path);
            } else {
                found.insert(below.to_owned());
            }
        }
    }
    found
}
