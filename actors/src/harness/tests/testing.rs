//! Helpers that the tests of the library have in common.

use std::sync::{Arc, Mutex};

use harness_protocol::Event;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::directory::Extensions;
use crate::model::{ModelError, ScriptedReply, ScriptedTransport};
use crate::reply::Object;
use crate::tool::{Cancellation, ToolFuture};

/// A model that replies from a list, and a conversation with nothing else.
pub(super) fn scripted() -> (ScriptedTransport, Options) {
    let model = ScriptedTransport::default();
    let options = Options {
        extensions: Extensions {
            transport: Some(Arc::new(model.clone())),
            ..Extensions::default()
        },
        ..Options::new(Config::for_model("first"))
    };
    (model, options)
}

/// Has a test wait for something, and that wait for the test.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<(Notify, Notify)>);

impl Gate {
    /// Waits until somebody stands in front of it.
    pub(super) async fn reached(&self) {
        self.0.0.notified().await;
    }

    pub(super) fn open(&self) {
        self.0.1.notify_one();
    }

    /// Stands in front of it.
    pub(super) async fn pass(self) {
        self.0.0.notify_one();
        self.0.1.notified().await;
    }

    /// The reply, behind the gate.
    pub(super) fn before(&self, reply: ScriptedReply) -> ScriptedReply {
        reply.after(self.clone().pass())
    }
}

/// A failure after which a prompt stays, and which is not tried again.
pub(super) fn failure() -> ScriptedReply {
    ScriptedReply::error(ModelError::NotAStream {
        content: "a page".to_owned(),
    })
}

/// A reply that calls these tools.
pub(super) fn calls(ids: &[(&str, &str)]) -> ScriptedReply {
    let call = |(id, name): &(&str, &str)| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    ScriptedReply::blocks(&ids.iter().map(call).collect::<Vec<_>>())
}

/// A tool that returns its name, or fails if that is `fail`.
pub(super) struct Named(pub(super) &'static str);

impl Tool for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn description(&self) -> &'static str {
        "Tells its name."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn execute(&self, _: Object, _: Cancellation) -> ToolFuture<'_> {
        Box::pin(async {
            match self.0 {
                "fail" => Err("no".into()),
                name => Ok(name.to_owned()),
            }
        })
    }
}

/// Tools of these names.
pub(super) fn named(names: &[&'static str]) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &&'static str| Arc::new(Named(name)) as Arc<dyn Tool>;
    names.iter().map(tool).collect()
}

/// The names of these tools.
pub(super) fn names(tools: &[Arc<dyn Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name()).collect()
}

/// The names of the tools that a request offers.
pub(super) fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice);
    let tools = tools.unwrap_or_default().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// The content of messages, one line a block.
pub(super) fn said(messages: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages.as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        for block in message["content"].as_array().unwrap() {
            let text = match block["type"].as_str().unwrap() {
                "text" => block["text"].as_str().unwrap().to_owned(),
                "tool_use" => format!("call {}", block["name"].as_str().unwrap()),
                "tool_result" => {
                    let text = &block["content"];
                    let text = text
                        .as_str()
                        .map_or_else(|| text.to_string(), str::to_owned);
                    format!("result {text}")
                }
                kind => kind.to_owned(),
            };
            lines.push(format!("{role}: {text}"));
        }
    }
    lines
}

/// The content of each request so far.
pub(super) fn requests(model: &ScriptedTransport) -> Vec<Vec<String>> {
    let requests = model.requests();
    requests.iter().map(|it| said(&it["messages"])).collect()
}

/// The system prompt of a request.
pub(super) fn system(request: &Value) -> &str {
    request["system"][0]["text"].as_str().unwrap_or_default()
}

/// Writes down the types of the events, behind its own name.
pub(super) struct Types(pub(super) &'static str, pub(super) Arc<Mutex<Vec<String>>>);

impl EventHandler for Types {
    fn event(&self, event: &Event) {
        let json = serde_json::to_value(event).unwrap();
        let kind = json["type"].as_str().unwrap();
        self.1.lock().unwrap().push(format!("{}{kind}", self.0));
    }
}

/// Types, and where they are written down.
pub(super) fn types() -> (Arc<Mutex<Vec<String>>>, Arc<dyn EventHandler>) {
    let noted = Arc::default();
    let types = Types("", Arc::clone(&noted));
    (noted, Arc::new(types))
}
