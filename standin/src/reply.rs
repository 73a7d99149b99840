//! A reply, down to the byte: what is sent, when, how it is framed and how it ends.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::event::encode_event;
use crate::gate::Gate;
use crate::message::Message;

/// One step of a reply.
#[derive(Debug, Clone)]
pub enum Step {
    /// Send these bytes of the body.
    Send(Bytes),
    /// Stop until the gate is open.
    Wait(Gate),
    /// Rest.
    Sleep(Duration),
    /// End the reply properly.
    Finish,
    /// Close the connection without ending the reply.
    Cut,
    /// Tear the connection down with a reset.
    Reset,
    /// Send nothing more until the client leaves.
    Hang,
}

/// The way in which a client finds the end of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Chunked,
    /// With the true length, or with the one given here.
    ContentLength(Option<usize>),
    /// By the end of the connection.
    CloseDelimited,
    /// Not at all: the body is the whole answer with status line and headers.
    Raw,
}

/// The rest of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Extent {
    All,
    Sends(usize),
    Bytes(usize),
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Steps {
        content_type: String,
        steps: Vec<Step>,
    },
    Message(Box<Message>),
    Error(ApiError),
}

/// The answer to a request. By default it is a 200 in chunks that ends properly and leaves the
/// connection open.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) framing: Framing,
    pub(crate) before_head: Vec<Step>,
    pub(crate) keep: Extent,
    pub(crate) tail: Vec<Step>,
    pub(crate) pieces: Option<usize>,
    pub(crate) end: Step,
}

/// The sources that a reply can be made from.
impl Reply {
    fn new(status: u16, body: Body) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            framing: Framing::Chunked,
            before_head: Vec::new(),
            keep: Extent::All,
            tail: Vec::new(),
            pieces: None,
            end: Step::Finish,
        }
    }

    /// A message, as a stream or a document as the request wishes.
    pub fn message(message: impl Into<Message>) -> Self {
        Self::new(200, Body::Message(Box::new(message.into())))
    }

    /// A message of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(Message::new().text(text))
    }

    /// A message of one thinking block, which a text block has to follow in most cases: see
    /// [`Message::thinking`].
    pub fn thinking(thinking: impl Into<String>, signature: impl Into<String>) -> Self {
        Self::message(Message::new().thinking(thinking, signature))
    }

    /// A message of tool calls, each with id, name and input.
    pub fn tool_calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, Value)>) -> Self {
        let add = |message: Message, (id, name, input)| message.tool_use(id, name, input);
        Self::message(calls.into_iter().fold(Message::new(), add))
    }

    /// A stream with exactly these bytes as its body, for example a recorded one.
    pub fn sse(body: impl Into<Bytes>) -> Self {
        Self::body("text/event-stream; charset=utf-8", body)
    }

    /// A stream of these events.
    pub fn events(events: impl IntoIterator<Item = Value>) -> Self {
        let sends = events
            .into_iter()
            .map(|event| Step::Send(encode_event(&event)));
        Self::steps("text/event-stream; charset=utf-8", sends.collect())
    }

    /// A stream of nothing but one `error` event.
    pub fn error_event(kind: &str, message: &str) -> Self {
        Self::events([error_event(kind, message)])
    }

    /// A refusal in the API's shape, with its `request-id`.
    pub fn error(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self::from(ApiError::new(status, kind, message))
    }

    /// A JSON document.
    #[must_use]
    pub fn json(document: &Value) -> Self {
        Self::body("application/json", document.to_string())
    }

    /// Any body of any content type.
    pub fn body(content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::steps(content_type, vec![Step::Send(body.into())])
    }

    /// Any steps. Without an end among them the reply ends properly.
    pub fn steps(content_type: impl Into<String>, steps: Vec<Step>) -> Self {
        Self::new(
            200,
            Body::Steps {
                content_type: content_type.into(),
                steps,
            },
        )
    }

    /// Steps that make up the whole answer, beginning with the status line.
    #[must_use]
    pub fn raw(steps: Vec<Step>) -> Self {
        Self {
            framing: Framing::Raw,
            ..Self::steps("", steps)
        }
    }
}

/// Changes to a reply.
impl Reply {
    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header; it replaces a header of that name that the server would send itself.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Announces the body's true length instead of sending it in chunks.
    #[must_use]
    pub fn sized(mut self) -> Self {
        self.framing = Framing::ContentLength(None);
        self
    }

    /// Announces this length, which may be wrong. After a wrong one the connection is closed.
    #[must_use]
    pub fn content_length(mut self, length: usize) -> Self {
        self.framing = Framing::ContentLength(Some(length));
        self
    }

    /// Lets the end of the connection be the end of the body.
    #[must_use]
    pub fn close_delimited(mut self) -> Self {
        self.framing = Framing::CloseDelimited;
        self
    }

    /// Rests before the status line.
    #[must_use]
    pub fn delay_head(mut self, delay: Duration) -> Self {
        self.before_head.push(Step::Sleep(delay));
        self
    }

    /// Stops before the status line until the gate is open.
    #[must_use]
    pub fn gate_head(mut self, gate: &Gate) -> Self {
        self.before_head.push(Step::Wait(gate.clone()));
        self
    }

    /// Sends nothing at all, not even the status line, until the client leaves.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.before_head.push(Step::Hang);
        self
    }

    /// Keeps only the first `n` events (or other sends) of the body.
    #[must_use]
    pub fn keep_events(mut self, n: usize) -> Self {
        self.keep = Extent::Sends(n);
        self
    }

    /// Keeps only the first `n` bytes of the body.
    #[must_use]
    pub fn keep_bytes(mut self, n: usize) -> Self {
        self.keep = Extent::Bytes(n);
        self
    }

    /// Adds a step after what is kept of the body.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.tail.push(step);
        self
    }

    /// Adds an event after what is kept of the body.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers write the event as a literal"
    )]
    pub fn then_event(self, event: Value) -> Self {
        self.then(Step::Send(encode_event(&event)))
    }

    /// Adds an `error` event after what is kept of the body.
    #[must_use]
    pub fn then_error_event(self, kind: &str, message: &str) -> Self {
        self.then_event(error_event(kind, message))
    }

    /// Splits the body again, into sends (and chunks) of `n` bytes.
    #[must_use]
    pub fn pieces(mut self, n: usize) -> Self {
        self.pieces = Some(n.max(1));
        self
    }

    /// Closes the connection instead of ending properly.
    #[must_use]
    pub fn cut(self) -> Self {
        self.ending(Step::Cut)
    }

    /// Resets the connection instead of ending properly.
    #[must_use]
    pub fn reset(self) -> Self {
        self.ending(Step::Reset)
    }

    /// Stays silent until the client leaves instead of ending properly.
    #[must_use]
    pub fn hang(self) -> Self {
        self.ending(Step::Hang)
    }

    /// The status that the client will see; 0 for a raw answer.
    pub(crate) fn visible_status(&self) -> u16 {
        if self.framing == Framing::Raw {
            0
        } else {
            self.status
        }
    }

    fn ending(mut self, end: Step) -> Self {
        self.end = end;
        self
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        Self::message(message)
    }
}

impl From<ApiError> for Reply {
    fn from(error: ApiError) -> Self {
        Self {
            framing: Framing::ContentLength(None),
            ..Self::new(error.status, Body::Error(error))
        }
    }
}

fn error_event(kind: &str, message: &str) -> Value {
    serde_json::json!({"type": "error", "error": {"type": kind, "message": message}})
}
