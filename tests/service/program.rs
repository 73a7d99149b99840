//! The built program, running.

use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use harness_standin::{Model, Script, Standin};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncBufReadExt as _;

use crate::client::{Answer, Connection, Events, within};
use crate::eventually::eventually;

/// The key that the program gets; it must never come out of it.
pub(crate) const API_KEY: &str = "sk-ant-canary-6f1d0c";
/// The model that tests choose.
pub(crate) const MODEL: &str = "claude-test";

/// A command for the built program in the home folder, with nothing from our own environment.
pub(crate) fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        // What a test sees does not depend on whether it runs in a container.
        .env("HARNESS_REQUIRE_TOKEN", "false");
    command
}

/// A running service.
pub(crate) struct Service {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) home: Arc<TempDir>,
    base_url: String,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Service {
    /// Starts a service that asks that API.
    pub(crate) async fn start(base_url: &str, flags: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::start_in(home, base_url, flags).await
    }

    pub(crate) async fn start_in(
        home: impl Into<Arc<TempDir>>,
        base_url: &str,
        flags: &[&str],
    ) -> Self {
        Self::start_with(home, base_url, flags, &[]).await
    }

    /// Starts a service with further variables.
    pub(crate) async fn start_with(
        home: impl Into<Arc<TempDir>>,
        base_url: &str,
        flags: &[&str],
        environment: &[(String, String)],
    ) -> Self {
        let home = home.into();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(home.path().join("log"))
            .unwrap();
        Self::start_telling(home, base_url, flags, environment, log).await
    }

    /// Starts a service with another standard error than the file of the log.
    pub(crate) async fn start_telling(
        home: Arc<TempDir>,
        base_url: &str,
        flags: &[&str],
        environment: &[(String, String)],
        stderr: impl Into<Stdio>,
    ) -> Self {
        let mut child = command(home.path())
            .args(["serve", "--port", "0", "--workspace"])
            .arg(home.path())
            .args(flags)
            .env("ANTHROPIC_BASE_URL", base_url)
            .env("ANTHROPIC_API_KEY", API_KEY)
            .env("RUST_LOG", "trace")
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let out = tokio::process::ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
        let mut lines = tokio::io::BufReader::new(out).lines();
        let line = within("the address", lines.next_line()).await.unwrap();
        let log = || std::fs::read_to_string(home.path().join("log")).unwrap_or_default();
        let line = line.unwrap_or_else(|| panic!("the service did not start: {}", log()));
        let address = line.strip_prefix("harness listens on http://").unwrap();
        Self {
            child,
            address: address.parse().unwrap(),
            home,
            base_url: base_url.to_owned(),
            flags: flags.iter().map(ToString::to_string).collect(),
            environment: environment.to_vec(),
        }
    }

    /// Kills the program without warning and starts another on the same state folder.
    pub(crate) async fn restart(mut self) -> Self {
        self.kill();
        self.revive().await;
        self
    }

    /// Starts another program in the place of one that was killed.
    pub(crate) async fn revive(&mut self) {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let home = Arc::clone(&self.home);
        *self = Self::start_with(home, &self.base_url, &flags, &self.environment).await;
    }

    /// Kills the program without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The journal of a conversation.
    pub(crate) fn journal(&self, conversation: &str) -> PathBuf {
        let folder = self.home.path().join(".harness/conversations");
        folder.join(format!("{conversation}.jsonl"))
    }

    /// Attaches to a conversation; `query` begins with its question mark.
    pub(crate) async fn follow(&self, conversation: &str, query: &str, headers: &str) -> Events {
        let path = format!("/v1/conversations/{conversation}/events{query}");
        Events::open_at(self.address, &path, headers).await
    }

    /// Makes a conversation.
    pub(crate) async fn create(&self, body: &Value) -> String {
        let answer = self.as_owner("POST", "/v1/conversations", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, "", "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Waits until no run of a conversation is going.
    pub(crate) async fn idle(&self, conversation: &str) {
        let path = format!("/v1/conversations/{conversation}?tail=0");
        eventually("the end of the run", async || {
            self.get(&path).await["summary"]["state"] != "running"
        })
        .await;
    }

    /// Waits until no run of a conversation is going, however long it takes: the limit is the caller's.
    pub(crate) async fn at_rest(&self, conversation: &str) {
        let path = format!("/v1/conversations/{conversation}?tail=0");
        while self.get(&path).await["summary"]["state"] == "running" {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Starts a service with a scripted API behind it.
    pub(crate) async fn scripted(flags: &[&str]) -> (Self, Standin, Script) {
        let (standin, script) = Standin::scripted().unwrap();
        script.set_models(vec![Model::new(MODEL)]);
        let flags: Vec<&str> = ["--model", MODEL].iter().chain(flags).copied().collect();
        let service = Self::start(&standin.base_url(), &flags).await;
        (service, standin, script)
    }

    /// Starts a service with a scripted API behind it, a config.toml and further variables.
    pub(crate) async fn configured(
        config: &str,
        environment: &[(&str, &str)],
    ) -> (Self, Standin, Script) {
        let (standin, script) = Standin::scripted().unwrap();
        script.set_models(vec![Model::new(MODEL)]);
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".harness")).unwrap();
        std::fs::write(home.path().join(".harness/config.toml"), config).unwrap();
        let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment: Vec<_> = environment.iter().map(variable).collect();
        let flags = ["--model", MODEL];
        let base_url = standin.base_url();
        let service = Self::start_with(home, &base_url, &flags, &environment).await;
        (service, standin, script)
    }

    pub(crate) async fn events(&self) -> Events {
        Events::open(self.address).await
    }

    /// Sends a request with a JSON body and these further headers.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut connection = Connection::open(self.address).await;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        connection.send(request.as_bytes()).await;
        connection.answer().await
    }

    /// Sends a request with the token.
    pub(crate) async fn as_owner(&self, method: &str, path: &str, body: &Value) -> Answer {
        let token = std::fs::read_to_string(self.home.path().join(".harness/token"));
        let shown = token.map(|token| format!("authorization: Bearer {}\r\n", token.trim()));
        let shown = shown.unwrap_or_default();
        let headers = format!("{shown}content-type: application/json\r\n");
        self.send(method, path, &headers, &body.to_string()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        let headers = "content-type: application/json\r\n";
        self.send("POST", path, headers, body).await
    }

    pub(crate) async fn prompt(&self, content: &str) -> Answer {
        let body = serde_json::json!({ "content": content });
        self.post("/prompt", &body.to_string()).await
    }

    /// Submits a prompt that must be accepted.
    pub(crate) async fn submit(&self, content: &str) {
        let answer = self.prompt(content).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub(crate) async fn cancel(&self) -> bool {
        let answer = self.send("POST", "/cancel", "", "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["cancelled"].as_bool().unwrap()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// All that was logged so far. A thread writes it, in order, so that behind it is the line about
    /// a request to no route.
    pub(crate) async fn whole_log(&self) -> String {
        let refused = self.send("GET", "/nowhere", "", "").await.json();
        let last = refused["request_id"].as_str().unwrap();
        let whole = async || Some(self.log()).filter(|log| log.contains(last));
        eventually("the log", whole).await
    }

    /// The program's memory in use, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let statm = std::fs::read_to_string(path).unwrap();
        let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4096
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(id, signal).unwrap();
    }

    /// Waits for the program's end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        eventually("the program's end", async || child.try_wait().unwrap()).await
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        let log = self.log();
        let leaked = log.contains(API_KEY);
        if std::thread::panicking() {
            let tail: Vec<&str> = log.lines().rev().take(15).collect();
            println!(
                "the end of the log, newest line first:\n{}",
                tail.join("\n")
            );
        } else {
            assert!(!leaked, "the key stands in the log");
        }
    }
}

/// The name and content of a file, and a pattern that keeps `grep` busy with it for minutes: the
/// back-references make it try every way to divide the letters.
pub(crate) fn slow_search() -> (&'static str, String, &'static str) {
    let line = format!("{}b{}c\n", "a".repeat(200), "a".repeat(201));
    (
        "slow",
        line,
        r"^\(a*\)\(a*\)\(a*\)\(a*\)\(a*\)b\1\2\3\4\5c$",
    )
}

/// Runs the program to its end.
pub(crate) fn output(command: &mut Command) -> (i32, String, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    (child.wait().unwrap().code().unwrap(), out, err)
}
