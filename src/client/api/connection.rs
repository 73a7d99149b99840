//! Requests to one service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use derive_more::{Display, Error};
use harness_protocol::{Problem, ServiceInfo};
use http_body_util::Full;
use hyper::http::request::Builder;
use hyper::{Method, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::api::opened::Named;
use crate::client::api::opened::OpenError;
use crate::client::api::opened::Opened;
use crate::config::Secret;

/// What requests say that we are.
const USER_AGENT: &str = concat!("harness/", env!("CARGO_PKG_VERSION"));
/// How long an answer may take to begin. Longer than the service takes to stop a run.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the body of an answer may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Why a request has no answer of use.
#[derive(Debug, Display, Error)]
pub(crate) enum RequestError {
    /// Nothing listens, or the connection broke.
    #[display("the service at {address} cannot be reached: {reason}")]
    Unreachable {
        /// Where it should be.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// Something listens and says nothing.
    #[display("the service at {address} does not answer")]
    Silent {
        /// Where it is.
        address: SocketAddr,
    },
    /// Something else than the service listens there.
    #[display("what listens at {address} is not the service; it was told nothing")]
    Unproven {
        /// Where it is.
        address: SocketAddr,
    },
    /// The service says no, and why.
    #[display("{detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Why, in the service's words.
        detail: String,
    },
    /// The answer is of another shape.
    #[display("the answer of the service is not as expected: {reason}; do both have one version?")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
}

impl RequestError {
    /// Whether the same request may succeed a little later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } | Self::Unproven { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            Self::Malformed { .. } => false,
        }
    }
}

/// Parameters of a query, by name.
pub(crate) type Query<'a> = [(&'a str, String)];

/// A service and what it is to be shown, each time when it has proved itself.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    named: Named,
    token: Option<Secret>,
    info: Option<Arc<ServiceInfo>>,
}

impl Connection {
    /// Nothing is sent yet.
    pub(crate) fn new(named: Named, token: Option<Secret>) -> Self {
        Self {
            named,
            token,
            info: None,
        }
    }

    /// The same, of a service that has said what it is.
    pub(crate) fn of(self, info: ServiceInfo) -> Self {
        Self {
            info: Some(Arc::new(info)),
            ..self
        }
    }

    /// What the service said of itself when it was found.
    pub(crate) fn info(&self) -> Option<&ServiceInfo> {
        self.info.as_deref()
    }

    /// The mark by which the service tells a secret that it has in use.
    pub(crate) fn fingerprint(&self, secret: &Secret) -> String {
        self.named.key.fingerprint(secret)
    }

    /// Asks for something.
    ///
    /// # Errors
    /// If there is no answer of the expected shape.
    pub(crate) async fn get<A: DeserializeOwned>(
        &self,
        path: &str,
        query: &Query<'_>,
    ) -> Result<A, RequestError> {
        let request = self.request(Method::GET, path, query);
        self.ask(request, Bytes::new(), HEAD_TIMEOUT).await
    }

    /// Gives an order.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; the order may have been carried out.
    pub(crate) async fn order<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<A, RequestError> {
        self.send(method, path, body, HEAD_TIMEOUT).await
    }

    /// Gives an order with `POST` that takes longer than others; its answer is waited for that
    /// long.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; the order may have been carried out.
    pub(crate) async fn long_order<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<A, RequestError> {
        self.send(Method::POST, path, body, limit).await
    }

    /// Takes something away.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; it may be gone.
    pub(crate) async fn delete<A: DeserializeOwned>(&self, path: &str) -> Result<A, RequestError> {
        self.delete_with(path, &[]).await
    }

    /// Takes something away, and says more about it.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; it may be gone.
    pub(crate) async fn delete_with<A: DeserializeOwned>(
        &self,
        path: &str,
        query: &Query<'_>,
    ) -> Result<A, RequestError> {
        let request = self.request(Method::DELETE, path, query);
        self.ask(request, Bytes::new(), HEAD_TIMEOUT).await
    }

    /// Opens an event stream.
    ///
    /// # Errors
    /// If the service does not answer with one.
    pub(crate) async fn open(
        &self,
        path: &str,
        query: &Query<'_>,
        last_event_id: Option<&str>,
    ) -> Result<Opened, RequestError> {
        let mut request = self.request(Method::GET, path, query);
        request = request.header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let opened = self.opened(request, Bytes::new(), HEAD_TIMEOUT).await?;
        if opened.status().is_success() {
            return Ok(opened);
        }
        Err(self.refusal(opened).await)
    }

    fn request(&self, method: Method, path: &str, query: &Query<'_>) -> Builder {
        let mut target = path.to_owned();
        for (index, (name, value)) in query.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            target += &format!("{name}={}", encoded(value));
        }
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header("host", self.named.address.to_string())
            .header("user-agent", USER_AGENT);
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {}", token.expose())),
            None => request,
        }
    }

    async fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<A, RequestError> {
        let body = serde_json::to_vec(body).map_err(|error| malformed(&error))?;
        let request = self.request(method, path, &[]);
        let request = request.header("content-type", "application/json");
        self.ask(request, body.into(), limit).await
    }

    async fn ask<A: DeserializeOwned>(
        &self,
        request: Builder,
        body: Bytes,
        limit: Duration,
    ) -> Result<A, RequestError> {
        let opened = self.opened(request, body, limit).await?;
        if !opened.status().is_success() {
            return Err(self.refusal(opened).await);
        }
        let body = opened.whole(MAX_ANSWER_BYTES, BODY_TIMEOUT).await;
        let body = body.map_err(|error| self.unanswered(error))?;
        serde_json::from_slice(&body).map_err(|error| malformed(&error))
    }

    async fn opened(
        &self,
        request: Builder,
        body: Bytes,
        limit: Duration,
    ) -> Result<Opened, RequestError> {
        let request = request.body(Full::new(body));
        let request = request.map_err(|error| malformed(&error))?;
        let opened = Opened::open(&self.named, request, limit).await;
        opened.map_err(|error| self.unanswered(error))
    }

    async fn refusal(&self, opened: Opened) -> RequestError {
        let status = opened.status();
        match opened.whole(MAX_ANSWER_BYTES, BODY_TIMEOUT).await {
            Ok(body) => refused(status.as_u16(), &body),
            Err(error) => self.unanswered(error),
        }
    }

    fn unanswered(&self, error: OpenError) -> RequestError {
        let address = self.named.address;
        match error {
            OpenError::Silent => RequestError::Silent { address },
            OpenError::Failed(reason) => RequestError::Unreachable { address, reason },
            OpenError::Unproven => RequestError::Unproven { address },
        }
    }
}

/// What the service says no with.
fn refused(status: u16, body: &[u8]) -> RequestError {
    let detail = match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => problem.detail,
        Err(_) => {
            let known = hyper::StatusCode::from_u16(status).map(|status| status.to_string());
            format!("the service answered {}", known.unwrap_or_default())
        }
    };
    RequestError::Refused { status, detail }
}

fn malformed(error: &dyn std::error::Error) -> RequestError {
    RequestError::Malformed {
        reason: error.to_string(),
    }
}

/// The path of something of a conversation, such as `/prompt`.
pub(crate) fn path(conversation: &str, of_it: &str) -> String {
    format!("/v1/conversations/{}{of_it}", encoded(conversation))
}

/// A text as a part of a path or a query (RFC 3986 §2.1).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::testing::Server;
    use crate::client::testing::answer;

    /// Spec: [CLI-05]
    #[test]
    fn an_id_cannot_lead_to_another_route() {
        let shown = path("a/../b?c#d é", "/prompt");
        assert_eq!(
            shown,
            "/v1/conversations/a%2F..%2Fb%3Fc%23d%20%C3%A9/prompt"
        );
    }

    /// Spec: [CLI-05] [CLI-06]
    #[actix::test]
    async fn a_request_has_the_host_the_token_and_no_origin_and_a_problem_is_told_in_its_words() {
        let server = Server::start().await;
        let problem = json!({
            "type": "harness:busy", "title": "busy", "status": 409,
            "detail": "a run is going", "request_id": "r1",
        });
        server.on("/busy", vec![answer(409, &problem)]);
        server.on("/torn", vec![answer(502, &json!("no problem"))]);
        let token = Secret::from("0123456789abcdef");
        let connection = Connection::new(server.named(), Some(token));
        let order = |path: &'static str| {
            let connection = connection.clone();
            async move {
                let body = json!({});
                let sent = connection.order::<Value>(Method::POST, path, &body);
                sent.await.unwrap_err()
            }
        };
        let refusal = order("/busy").await;
        assert_eq!(refusal.to_string(), "a run is going");
        assert!(!refusal.is_passing());
        let refusal = order("/torn").await;
        assert_eq!(refusal.to_string(), "the service answered 502 Bad Gateway");
        assert!(refusal.is_passing());
        let request = server.requests().remove(0).to_ascii_lowercase();
        let host = format!("\r\nhost: {}\r\n", server.address);
        assert!(request.contains(&host), "{request}");
        assert!(request.contains("\r\nauthorization: bearer 0123456789abcdef\r\n"));
        assert!(request.contains("\r\ncontent-type: application/json\r\n"));
        assert!(!request.contains("\r\norigin:"));
    }
}
