//! The way to the demo's model, which is in this process.
//!
//! Invariant: no socket. Every user of the machine could use a socket.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use harness_actors::model::{ModelError, ModelInfo, Transport, TransportRequest, TransportStream};
use harness_standin::{Answer, BrokenOff, DemoModel};
use serde::Deserialize;
use serde_json::Value;

/// The headers that the stand-in asks of every request. The key opens nothing: no other program can
/// ask.
const HEADERS: [(&str, &str); 3] = [
    ("x-api-key", "demo"),
    ("anthropic-version", "2023-06-01"),
    ("content-type", "application/json"),
];

/// Takes requests to the stand-in in this process, which never sees a real key.
#[derive(Debug, Clone, Default)]
pub(crate) struct DemoTransport(Arc<DemoModel>);

impl DemoTransport {
    async fn ask(&self, method: &str, path: &str, body: Bytes) -> Result<Answer, ModelError> {
        let asked = self.0.ask(method, path, &HEADERS, body).await;
        let answer = asked.map_err(|error| broken(&error))?;
        if answer.status == 200 {
            return Ok(answer);
        }
        let (status, request_id) = (answer.status, answer.header("request-id"));
        let request_id = request_id.map(str::to_owned);
        let body = answer
            .body
            .read_all()
            .await
            .map_err(|error| broken(&error))?;
        Err(ModelError::of_answer(status, &body, request_id))
    }
}

impl Transport for DemoTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        let model = self.clone();
        let sending = async move {
            let answer = model.ask("POST", "/v1/messages", request.body).await?;
            let pieces = stream::unfold(answer.body, async |mut body| {
                let piece = body.next().await?;
                Some((piece.map_err(|error| broken(&error)), body))
            });
            Ok(pieces.boxed())
        };
        sending.boxed()
    }

    fn models(&self) -> BoxFuture<'static, Result<Vec<ModelInfo>, ModelError>> {
        let model = self.clone();
        let listing = async move {
            let page = model.ask("GET", "/v1/models?limit=1000", Bytes::new());
            let page = page.await?.body.read_all().await;
            let page = page.map_err(|error| broken(&error))?;
            let malformed = |error: serde_json::Error| ModelError::Malformed {
                reason: error.to_string(),
            };
            let page: DemoModels = serde_json::from_slice(&page).map_err(malformed)?;
            let models = page.data.into_iter().map(serde_json::from_value);
            models.collect::<Result<_, _>>().map_err(malformed)
        };
        listing.boxed()
    }
}

/// The list of models.
#[derive(Deserialize)]
struct DemoModels {
    data: Vec<Value>,
}

fn broken(error: &BrokenOff) -> ModelError {
    ModelError::Connection {
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use harness_actors::Secret;
    use harness_actors::model::Credential;
    use serde_json::json;

    use super::*;

    fn request(body: &Value) -> TransportRequest {
        TransportRequest {
            model: "claude-opus-5".into(),
            credential: Credential::ApiKey(Secret::from("")),
            body: body.to_string().into(),
        }
    }

    /// Spec: [SEC-42]
    #[tokio::test]
    async fn the_demo_is_asked_without_a_socket() {
        let demo = DemoTransport::default();
        let models = demo.models().await.unwrap();
        let opus = models.iter().find(|model| model.id == "claude-opus-5");
        assert_eq!(opus.unwrap().max_input_tokens, Some(1_000_000));
        let body = json!({"model": "any", "max_tokens": 9, "stream": true,
            "messages": [{"role": "user", "content": "hi"}]});
        let pieces = demo.send(request(&body)).await.unwrap();
        let pieces: Vec<Bytes> = pieces.map(Result::unwrap).collect().await;
        let text = String::from_utf8(pieces.concat()).unwrap();
        assert!(text.contains("built-in demo"), "{text}");
        assert!(text.contains("message_stop"), "{text}");
    }

    /// Spec: [SEC-42]
    #[tokio::test]
    async fn what_the_demo_refuses_is_the_same_error_as_over_http() {
        let demo = DemoTransport::default();
        let told = demo.send(request(&json!({}))).await.err().unwrap();
        let ModelError::Api {
            status,
            kind,
            message,
            request_id,
        } = told
        else {
            panic!("another error: {told}");
        };
        assert_eq!((status, &*kind), (400, "invalid_request_error"));
        assert!(!message.is_empty());
        assert!(request_id.unwrap().starts_with("req_standin"));
    }
}
