//! A way to the model that replies from a list.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{ModelError, ModelInfo, Transport, TransportRequest, TransportStream};
use crate::reply::Object;

/// A way to the model that replies from a list and keeps what it is sent: for tests of what is built
/// on this crate. Clones share the list.
///
/// ```
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, Extensions, Harness, Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedTransport::default();
/// model.push(ScriptedReply::text("Hello."));
/// let extensions = Extensions::default().with_transport(model.clone());
/// let options = Options::new(Config::for_model("any")).with_extensions(extensions);
/// let harness = Harness::start(options)?;
/// assert_eq!(harness.prompt("Hi!").await?.text, "Hello.");
/// assert_eq!(model.requests()[0]["messages"][0]["content"][0]["text"], "Hi!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ScriptedTransport(Arc<Mutex<Scripted>>);

#[derive(Default)]
struct Scripted {
    replies: VecDeque<ScriptedReply>,
    requests: Vec<Value>,
    models: Vec<ModelInfo>,
}

impl ScriptedTransport {
    fn lock(&self) -> MutexGuard<'_, Scripted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reply to the end of the list. A request that finds none fails, as one that is
    /// forbidden does.
    pub fn push(&self, reply: ScriptedReply) {
        self.lock().replies.push_back(reply);
    }

    /// The requests so far: the JSON documents that `POST /v1/messages` takes.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.lock().requests.clone()
    }

    /// Sets the models that exist, with their abilities.
    pub fn set_models(&self, models: Vec<ModelInfo>) {
        self.lock().models = models;
    }
}

impl fmt::Debug for ScriptedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scripted = self.lock();
        f.debug_struct("ScriptedTransport")
            .field("replies", &scripted.replies.len())
            .field("requests", &scripted.requests.len())
            .finish_non_exhaustive()
    }
}

impl Transport for ScriptedTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        let mut scripted = self.lock();
        let body = serde_json::from_slice(&request.body).unwrap_or_default();
        scripted.requests.push(body);
        let reply = scripted.replies.pop_front();
        Box::pin(async move {
            let Some(reply) = reply else {
                return Err(ModelError::Api {
                    status: 403,
                    kind: "script_error".to_owned(),
                    message: "the script has no more replies".to_owned(),
                    request_id: None,
                });
            };
            if let Some(before) = reply.before {
                before.await;
            }
            let events = reply.outcome?;
            let chunk = |event: Value| Ok(Bytes::from(format!("data: {event}\n\n")));
            Ok(stream::iter(events.into_iter().map(chunk)).boxed())
        })
    }

    fn models(&self) -> BoxFuture<'static, Result<Vec<ModelInfo>, ModelError>> {
        let models = self.lock().models.clone();
        Box::pin(async { Ok(models) })
    }
}

/// A reply of a [`ScriptedTransport`].
#[must_use = "a reply is pushed to a transport"]
pub struct ScriptedReply {
    before: Option<BoxFuture<'static, ()>>,
    outcome: Result<Vec<Value>, ModelError>,
}

impl ScriptedReply {
    /// A reply of this text.
    pub fn text(text: &str) -> Self {
        Self::blocks(&[json!({"type": "text", "text": text})])
    }

    /// A reply that calls a tool.
    pub fn tool_use(id: &str, name: &str, input: &Object) -> Self {
        Self::blocks(&[json!({"type": "tool_use", "id": id, "name": name, "input": input})])
    }

    /// A reply of these blocks, as `POST /v1/messages` answers with them: texts, thinking and calls
    /// of tools. It counts no tokens.
    pub fn blocks(blocks: &[Value]) -> Self {
        Self::with_usage(blocks, &json!({"input_tokens": 0, "output_tokens": 0}))
    }

    /// The same, with these token counts.
    pub fn with_usage(blocks: &[Value], usage: &Value) -> Self {
        let message = json!({"type": "message", "role": "assistant", "id": "msg_scripted",
            "model": "scripted", "content": [], "usage": usage});
        let mut events = vec![json!({"type": "message_start", "message": message})];
        for (index, block) in blocks.iter().enumerate() {
            events.extend(block_events(index, block));
        }
        let has_call = blocks.iter().any(|block| block["type"] == "tool_use");
        let reason = if has_call { "tool_use" } else { "end_turn" };
        let output = json!({"output_tokens": usage["output_tokens"]});
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": reason},
            "usage": output}),
        );
        events.push(json!({"type": "message_stop"}));
        Self {
            before: None,
            outcome: Ok(events),
        }
    }

    /// No reply.
    pub fn error(error: ModelError) -> Self {
        Self {
            before: None,
            outcome: Err(error),
        }
    }

    /// The same reply, which does not begin before the future is done. It is not polled before the
    /// request is there.
    pub fn after(self, before: impl Future<Output = ()> + Send + 'static) -> Self {
        Self {
            before: Some(Box::pin(before)),
            ..self
        }
    }
}

impl fmt::Debug for ScriptedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScriptedReply").field(&self.outcome).finish()
    }
}

/// The events of one block.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let mut empty = block.clone();
    let mut deltas = Vec::new();
    for (field, delta, piece) in [
        ("text", "text_delta", "text"),
        ("thinking", "thinking_delta", "thinking"),
        ("signature", "signature_delta", "signature"),
        ("input", "input_json_delta", "partial_json"),
    ] {
        let Some(value) = block.get(field) else {
            continue;
        };
        let (none, whole) = match value.as_str() {
            Some(text) => (json!(""), text.to_owned()),
            None => (json!({}), value.to_string()),
        };
        empty[field] = none;
        deltas.push(json!({"type": delta, piece: whole}));
    }
    let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
    let event = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let mut events = vec![start];
    events.extend(deltas.into_iter().map(event));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}
