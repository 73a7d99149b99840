//! The demo model without a port: the same routes and replies, for who is in the same process.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::vec::IntoIter;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::api_error::ApiError;
use crate::demo::Demo;
use crate::incoming::{Incoming, MAX_BODY};
use crate::journal::Keep;
use crate::reply::Step;
use crate::responder::Responder;
use crate::routes::Service;
use crate::wire::Rendered;

/// The demo model as a value. No other process can reach it: it does not listen. It keeps no journal.
#[derive(Debug)]
pub struct DemoModel {
    service: Arc<Service>,
}

impl Default for DemoModel {
    fn default() -> Self {
        Self::answering(Demo)
    }
}

impl DemoModel {
    fn answering(responder: impl Responder) -> Self {
        Self {
            service: Arc::new(Service::new(Box::new(responder), Keep::Nothing)),
        }
    }

    /// Answers one request as the server does over HTTP, refusals included. The path has its query. Reading a long
    /// request takes a while, so another thread does it.
    ///
    /// The pauses of the reply are those of its receiver: dropping this future or the body
    /// gives the request up.
    ///
    /// # Errors
    /// When the reply breaks off before its head.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Answer, BrokenOff> {
        let header =
            |(name, value): &(&str, &str)| (name.to_ascii_lowercase(), (*value).to_owned());
        let incoming = Incoming {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.iter().map(header).collect(),
            body,
        };
        let service = Arc::clone(&self.service);
        let (reply, answering) = oneshot::channel();
        // The receiver may be gone; nothing to do then.
        let work = move || drop(reply.send(answer(&service, &incoming)));
        let rendered = match thread::Builder::new()
            .name("standin".to_owned())
            .spawn(work)
        {
            Ok(_) => answering.await.unwrap_or_else(|_| {
                log::error!("the stand-in has no answer: its thread panicked");
                let failure = ApiError::new(500, "api_error", "Internal server error");
                self.service.refuse(failure).0
            }),
            Err(error) => {
                let failure = ApiError::new(529, "overloaded_error", format!("no thread: {error}"));
                self.service.refuse(failure).0
            }
        };
        if rendered.is_raw() {
            return Err(BrokenOff); // Bytes of a connection mean nothing here.
        }
        let mut opening = AnswerBody::new(rendered.before_head);
        while let Some(step) = opening.next().await {
            drop(step?);
        }
        Ok(Answer {
            status: rendered.status,
            headers: rendered.headers,
            body: AnswerBody::new(rendered.body),
        })
    }
}

fn answer(service: &Service, incoming: &Incoming) -> Rendered {
    let (rendered, _) = if incoming.body.len() > MAX_BODY {
        service.refuse_too_large()
    } else {
        service.answer(incoming)
    };
    rendered
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, without those of a connection.
    pub headers: Vec<(String, String)>,
    /// The body, which comes piece by piece.
    pub body: AnswerBody,
}

impl Answer {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The body of an answer.
#[derive(Debug)]
pub struct AnswerBody {
    steps: IntoIter<Step>,
}

impl AnswerBody {
    fn new(steps: Vec<Step>) -> Self {
        Self {
            steps: steps.into_iter(),
        }
    }

    /// The next piece, when its time has come; nothing at the end.
    ///
    /// # Errors
    /// When the body breaks off. Nothing comes after that.
    pub async fn next(&mut self) -> Option<Result<Bytes, BrokenOff>> {
        loop {
            match self.steps.next()? {
                Step::Send(bytes) => return Some(Ok(bytes)),
                Step::Wait(gate) => gate.pass().await,
                Step::Sleep(duration) => sleep(duration).await,
                Step::Finish => {
                    self.steps = IntoIter::default();
                    return None;
                }
                Step::Cut | Step::Reset => {
                    self.steps = IntoIter::default();
                    return Some(Err(BrokenOff));
                }
                Step::Hang => std::future::pending().await,
            }
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// When the body breaks off.
    pub async fn read_all(mut self) -> Result<Vec<u8>, BrokenOff> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await {
            whole.extend_from_slice(&piece?);
        }
        Ok(whole)
    }
}

/// The reply broke off, as a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reply broke off")
    }
}

impl std::error::Error for BrokenOff {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::{Gate, Message, MessagesRequest, Reply};

    const HEADERS: [(&str, &str); 3] = [
        ("X-Api-Key", "k"),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
    ];

    fn request() -> Bytes {
        let messages = json!([{"role": "user", "content": "hi"}]);
        let body = json!({"model": "claude-opus-5", "max_tokens": 9, "stream": true,
            "messages": messages});
        body.to_string().into()
    }

    async fn ask(model: &DemoModel, path: &str, body: Bytes) -> Answer {
        let method = if path.starts_with("/v1/models") {
            "GET"
        } else {
            "POST"
        };
        model.ask(method, path, &HEADERS, body).await.unwrap()
    }

    async fn json_of(answer: Answer) -> Value {
        serde_json::from_slice(&answer.body.read_all().await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn the_demo_streams_a_reply_and_lists_models() {
        let demo = DemoModel::default();
        let answer = ask(&demo, "/v1/messages", request()).await;
        assert_eq!(answer.status, 200);
        let content_type = answer.header("content-type").unwrap();
        assert!(content_type.starts_with("text/event-stream"));
        assert_eq!(answer.header("transfer-encoding"), None);
        let body = String::from_utf8(answer.body.read_all().await.unwrap()).unwrap();
        assert!(body.starts_with("event: message_start\ndata: {"), "{body}");
        assert!(
            body.trim_end()
                .ends_with(r#"data: {"type":"message_stop"}"#),
            "{body}"
        );
        let listed = json_of(ask(&demo, "/v1/models?limit=1000", Bytes::new()).await).await;
        assert_eq!(
            listed["data"].as_array().unwrap().len(),
            crate::Model::current().len()
        );
    }

    #[tokio::test]
    async fn what_is_refused_over_http_is_refused_here() {
        let demo = DemoModel::default();
        let long = Bytes::from(vec![b' '; MAX_BODY + 1]);
        for (path, body, status, kind) in [
            (
                "/v1/messages",
                Bytes::from("{}"),
                400,
                "invalid_request_error",
            ),
            ("/v1/messages", long, 413, "request_too_large"),
            ("/v1/models/none", Bytes::new(), 404, "not_found_error"),
            ("/v1/none", Bytes::new(), 404, "not_found_error"),
        ] {
            let answer = ask(&demo, path, body).await;
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.header("request-id").is_some());
            assert_eq!(json_of(answer).await["error"]["type"], kind);
        }
        let nobody = demo.ask("GET", "/v1/models", &HEADERS[1..], Bytes::new());
        assert_eq!(nobody.await.unwrap().status, 401);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_takes_its_time() {
        let gate = Gate::new();
        let closed = gate.clone();
        let model = DemoModel::answering(move |_: &MessagesRequest| {
            let message = Message::new().text("one two three four");
            let slow = message
                .words_per_delta(1)
                .delta_pause(Duration::from_secs(1));
            Reply::from(slow)
                .delay_head(Duration::from_secs(7))
                .then(Step::Wait(closed.clone()))
                .cut()
        });
        let began = Instant::now();
        let mut body = ask(&model, "/v1/messages", request()).await.body;
        assert_eq!(began.elapsed().as_secs(), 7);
        let mut count = 0;
        let rest = async {
            while let Some(Ok(_)) = body.next().await {
                count += 1;
            }
        };
        tokio::join!(rest, async {
            gate.reached().await;
            assert!(began.elapsed().as_secs() >= 10, "{:?}", began.elapsed());
            gate.open();
        });
        assert!(count > 4, "{count}");
        assert!(body.next().await.is_none());
    }

    #[tokio::test]
    async fn a_reply_that_breaks_off_says_so() {
        for reply in [Reply::text("x").cut(), Reply::text("x").reset()] {
            let model = DemoModel::answering(move |_: &MessagesRequest| reply.clone());
            let answer = ask(&model, "/v1/messages", request()).await;
            assert_eq!(answer.body.read_all().await, Err(BrokenOff));
        }
        let raw = DemoModel::answering(|_: &MessagesRequest| Reply::raw(Vec::new()));
        let answer = raw.ask("POST", "/v1/messages", &HEADERS, request()).await;
        assert_eq!(answer.unwrap_err(), BrokenOff);
    }

    #[tokio::test]
    async fn a_responder_that_panics_is_a_failure_of_the_server() {
        let model = DemoModel::answering(|_: &MessagesRequest| -> Reply { panic!("on purpose") });
        let answer = ask(&model, "/v1/messages", request()).await;
        assert_eq!(answer.status, 500);
        assert_eq!(json_of(answer).await["error"]["type"], "api_error");
    }
}
