//! A conversation whose model changes files in a folder of its own, and the operator who answers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use harness_standin::{Reply, Script, Standin};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde_json::{Value, json};

use crate::client::Answer;
use crate::eventually::eventually;
use crate::program::Service;
use crate::talk::Talk;

/// A service, a conversation in a folder of its own, and what its model says.
pub(crate) struct Changing {
    pub(crate) service: Service,
    pub(crate) standin: Standin,
    pub(crate) script: Script,
    /// The conversation.
    pub(crate) id: String,
    calls: AtomicUsize,
}

/// The outcome of a call: its result, and whether it failed.
pub(crate) type Result = (String, bool);

impl Changing {
    /// A conversation in that mode.
    pub(crate) async fn in_mode(mode: &str) -> Self {
        Self::with(mode, &[]).await
    }

    /// The same of a service with those flags.
    pub(crate) async fn with(mode: &str, flags: &[&str]) -> Self {
        let flags: Vec<&str> = ["--max-turns", "1000"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        let (service, standin, script) = Service::scripted(&flags).await;
        std::fs::create_dir(service.home.path().join("work")).unwrap();
        let mut changing = Self {
            service,
            standin,
            script,
            id: String::new(),
            calls: AtomicUsize::new(0),
        };
        changing.begin_another(mode).await;
        changing
    }

    /// Continues with a new conversation in the same folder.
    pub(crate) async fn begin_another(&mut self, mode: &str) {
        let workspace = json!({"workspace": self.at("")});
        self.id = self.service.create(&workspace).await;
        self.set_mode(mode).await;
    }

    /// A place in the folder.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.service.home.path().join("work").join(name)
    }

    /// Writes a file, and makes the folders above it.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.at(name)).unwrap()
    }

    pub(crate) fn talk(&self) -> Talk<'_> {
        Talk {
            service: &self.service,
            id: self.id.clone(),
        }
    }

    /// Sends an order with the token.
    pub(crate) async fn order(&self, method: &str, what: &str, body: &Value) -> Answer {
        let path = format!("/v1/conversations/{}{what}", self.id);
        order(&self.service, method, &path, body).await
    }

    pub(crate) async fn set_mode(&self, mode: &str) {
        let settings = json!({"settings": {"mode": mode}});
        let answer = self.order("PATCH", "/settings", &settings).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Lets the model call a tool; tells the id of the call.
    pub(crate) async fn begin(&self, tool: &str, input: Value) -> String {
        let id = format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = Reply::tool_calls([(id.as_str(), tool, input)]);
        self.script.extend([call, Reply::text("done")]);
        self.talk().prompt("go on").await;
        id
    }

    /// Lets the model call a tool that needs no approval. Returns the result.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> Result {
        let id = self.begin(tool, input).await;
        self.result(&id).await
    }

    /// The outcome of a call, when its run has ended.
    pub(crate) async fn result(&self, id: &str) -> Result {
        eventually("the end of the run", async || {
            let state = self.state().await;
            assert_ne!(state, "waiting_approval", "{id} asks");
            state != "running"
        })
        .await;
        let path = format!("/v1/conversations/{}?tail=40", self.id);
        let snapshot = self.service.get(&path).await;
        let events = snapshot["history"]["events"].as_array().unwrap().iter();
        let mut events = events.map(|past| &past["event"]);
        let is_its = |event: &&Value| event["type"] == "tool_result" && event["id"] == id;
        let of_call = events.find(is_its).unwrap();
        let text = of_call["result"].as_str().unwrap().to_owned();
        (text, of_call["isError"].as_bool().unwrap())
    }

    async fn state(&self) -> Value {
        let path = format!("/v1/conversations/{}?tail=0", self.id);
        self.service.get(&path).await["summary"]["state"].clone()
    }

    pub(crate) async fn edit(&self, path: &str, old: &str, new: &str) -> Result {
        self.call("edit", edit_of(path, old, new)).await
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> Result {
        self.call("write", json!({"path": path, "content": content}))
            .await
    }

    /// The approval that waits, if one does or will before the run has ended.
    pub(crate) async fn asked(&self) -> Option<Value> {
        eventually("an approval or the end of the run", async || {
            let open = open(&self.service, &self.id).await;
            let state = self.state().await;
            let goes_on = state == "running" || state == "waiting_approval";
            (open.is_some() || !goes_on).then_some(open)
        })
        .await
    }

    /// Answers an approval.
    pub(crate) async fn answer(&self, approval: &Value, verdict: &str) -> Answer {
        let body = json!({"answer": verdict, "digest": approval["digest"]});
        let what = format!("/approvals/{}", approval["id"]);
        self.order("POST", &what, &body).await
    }

    /// Kills the service without warning and starts another.
    pub(crate) async fn restarted(self) -> Self {
        Self {
            service: self.service.restart().await,
            ..self
        }
    }
}

/// The input of an edit.
pub(crate) fn edit_of(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

/// Sends an order with the token, which says that an operator and not a program of the model sends it.
pub(crate) async fn order(service: &Service, method: &str, path: &str, body: &Value) -> Answer {
    let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
    let headers = format!(
        "authorization: Bearer {}\r\ncontent-type: application/json\r\n",
        token.trim()
    );
    service
        .send(method, path, &headers, &body.to_string())
        .await
}

/// The approval of a conversation that waits.
pub(crate) async fn open(service: &Service, conversation: &str) -> Option<Value> {
    let path = format!("/v1/conversations/{conversation}/approvals");
    let open = service.get(&path).await["approvals"][0].clone();
    (!open.is_null()).then_some(open)
}

/// The files that a change left behind in a folder.
pub(crate) fn left_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".harness-")).collect()
}

/// Adds a line as an editor does that puts a new file in the place of the old one, and looks what it was that
/// it replaced: what it did not know of is taken in.
pub(crate) fn put_by_hand(file: &Path, line: &str) {
    let own = file.with_file_name("editor");
    let mut missed = vec![line.to_owned()];
    while !missed.is_empty() {
        let before = std::fs::read_to_string(file).unwrap();
        let news = missed.iter().filter(|line| !before.contains(line.as_str()));
        let after: String = news.map(String::as_str).chain([before.as_str()]).collect();
        std::fs::write(&own, after).unwrap();
        let exchange = RenameFlags::RENAME_EXCHANGE;
        renameat2(AT_FDCWD, &own, AT_FDCWD, file, exchange).unwrap();
        let replaced = std::fs::read_to_string(&own).unwrap();
        missed.clear();
        if replaced != before {
            missed.extend(replaced.split_inclusive('\n').map(str::to_owned));
        }
    }
    std::fs::remove_file(&own).unwrap();
}
