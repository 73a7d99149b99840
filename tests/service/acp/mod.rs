//! `harness acp`: editors, by the Agent Client Protocol over standard input and output.

mod failures;
mod others;
mod sessions;

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::changing::Changing;
use crate::client::within;
use crate::program::command;

/// An editor that has started the agent.
pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    requests: u64,
    /// The messages that came while another one was waited for.
    waiting: VecDeque<Value>,
}

impl Editor {
    /// Starts an agent for the service of a state folder, and introduces an editor of that name.
    pub(crate) async fn named(home: &Path, name: &str, flags: &[&str]) -> Self {
        let mut editor = Self::silent(home, &[&["acp"], flags].concat());
        let info = json!({"name": "test", "title": name, "version": "1"});
        let session = json!({"notices": {}});
        let params = json!({
            "protocolVersion": 1, "clientInfo": info, "clientCapabilities": {"session": session},
        });
        let answer = editor.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// Starts the program with these arguments and says nothing.
    pub(crate) fn silent(home: &Path, arguments: &[&str]) -> Self {
        let mut agent = command(home);
        agent.args(arguments).env("RUST_LOG", "info");
        agent.stdin(Stdio::piped()).stdout(Stdio::piped());
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(home.join("acp.log"));
        agent.stderr(log.unwrap());
        let mut child = tokio::process::Command::from(agent)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            input: child.stdin.take(),
            child,
            output,
            requests: 0,
            waiting: VecDeque::new(),
        }
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        let line = format!("{line}\n");
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a request. Returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(&request.to_string()).await;
        id
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let notification = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send_line(&notification.to_string()).await;
    }

    /// The next line of the agent.
    async fn line(&mut self) -> Value {
        let line = within("a line of the agent", self.output.next_line()).await;
        let line = line.unwrap().expect("the agent has ended");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Waits for a message, with all that came before it.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let message = match self.waiting.pop_front() {
                Some(message) => message,
                None => self.line().await,
            };
            if is_it(&message) {
                return (before, message);
            }
            before.push(message);
        }
    }

    /// Waits for the answer to a request, with the updates before it.
    pub(crate) async fn answer(&mut self, id: u64) -> (Vec<Value>, Value) {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let (before, answer) = self.until(is_it).await;
        let updates = before
            .into_iter()
            .filter(|message| message["method"] == "session/update");
        let updates = updates
            .map(|message| message["params"]["update"].clone())
            .collect();
        (updates, answer)
    }

    /// Sends a request and waits for its answer. What came before it is kept.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let (before, answer) = self.until(is_it).await;
        self.waiting = before.into_iter().chain(self.waiting.drain(..)).collect();
        answer
    }

    /// Opens a new session in a folder.
    pub(crate) async fn open(&mut self, folder: &Path) -> String {
        let params = json!({"cwd": folder, "mcpServers": []});
        let answer = self.ask("session/new", params).await;
        let session = answer["result"]["sessionId"].as_str();
        session.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Begins a prompt. Returns the id of the request.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
        .await
    }

    /// Waits for an update of a kind.
    pub(crate) async fn update(&mut self, kind: &str) -> Value {
        let is_it = |message: &Value| message["params"]["update"]["sessionUpdate"] == kind;
        let (_, message) = self.until(is_it).await;
        message["params"]["update"].clone()
    }

    /// Waits for a question to the operator.
    pub(crate) async fn question(&mut self) -> Value {
        let is_it = |message: &Value| message["method"] == "session/request_permission";
        self.until(is_it).await.1
    }

    /// Answers a question with an option.
    pub(crate) async fn choose(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome});
        self.send_line(&answer.to_string()).await;
    }

    /// Closes standard input. Returns the exit code of the agent.
    pub(crate) async fn leave(mut self) -> Option<i32> {
        drop(self.input.take());
        let ended = within("the end of the agent", self.child.wait()).await;
        ended.unwrap().code()
    }
}

/// A service with a scripted model, an editor, and its session in the folder `work`.
pub(crate) async fn editing() -> (Changing, Editor, String) {
    let here = Changing::in_mode("ask").await;
    let mut editor = Editor::named(here.service.home.path(), "Pen", &[]).await;
    let session = editor.open(&here.at("")).await;
    (here, editor, session)
}

/// The texts of the chunks of a kind, joined.
pub(crate) fn text(updates: &[Value], kind: &str) -> String {
    let chunks = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == kind);
    chunks
        .filter_map(|chunk| chunk["content"]["text"].as_str())
        .collect()
}
