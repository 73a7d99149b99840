//! Requests to one service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use derive_more::{Display, Error};
use harness_protocol::{Problem, ServiceInfo};
use http_body_util::Full;
use hyper::Request;
use hyper::http::request::Builder;
use serde::de::DeserializeOwned;

use crate::client::api::opened::{ExchangeError, NamedService, OpenedAnswer};
use crate::client::api::route::Route;
use crate::client::api::stream::ClientEventStream;
use crate::config::Secret;

/// The name of this client in requests.
const USER_AGENT: &str = concat!("harness/", env!("CARGO_PKG_VERSION"));
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
        /// The system's error.
        reason: String,
    },
    /// Something listens and says nothing.
    #[display("the service at {address} does not answer")]
    Silent {
        /// Where it is.
        address: SocketAddr,
    },
    /// Something else than the service listens there.
    #[display("what listens at {address} is not the service; nothing was sent to it")]
    Unproven {
        /// Where it is.
        address: SocketAddr,
    },
    /// The service says no, and why.
    #[display("{detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The kind of problem, as the service names it; empty if it does not.
        kind: String,
        /// Why, in the service's words.
        detail: String,
    },
    /// The answer is of another shape.
    #[display("the answer of the service is not as expected: {reason}; do both have one version?")]
    Malformed {
        /// The fault in it.
        reason: String,
    },
}

impl RequestError {
    /// Whether the service refuses because of a problem of this kind, such as `busy`.
    pub(crate) fn is_of_kind(&self, name: &str) -> bool {
        let of_service = |kind: &str| kind.rsplit(':').next() == Some(name);
        matches!(self, Self::Refused { kind, .. } if of_service(kind))
    }

    /// Whether the same request may succeed a little later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } | Self::Unproven { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500..),
            Self::Malformed { .. } => false,
        }
    }
}

/// A service and what it is to be shown, each time when it has proved itself.
#[derive(Debug, Clone)]
pub(crate) struct ServiceConnection {
    named: NamedService,
    token: Option<Secret>,
    info: Option<Arc<ServiceInfo>>,
}

impl ServiceConnection {
    /// Nothing is sent yet.
    pub(crate) fn new(named: NamedService, token: Option<Secret>) -> Self {
        Self {
            named,
            token,
            info: None,
        }
    }

    /// The same, of a service that has said what it is.
    pub(crate) fn with_info(self, info: ServiceInfo) -> Self {
        Self {
            info: Some(Arc::new(info)),
            ..self
        }
    }

    /// The service's description of itself when it was found.
    pub(crate) fn info(&self) -> Option<&ServiceInfo> {
        self.info.as_deref()
    }

    /// The mark by which the service tells a secret that it has in use.
    pub(crate) fn fingerprint(&self, secret: &Secret) -> String {
        self.named.key.fingerprint(secret)
    }

    /// Asks for something, or gives an order.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; an order may have been carried out.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        route: &Route<A>,
    ) -> Result<A, RequestError> {
        let opened = self.answered(route, self.request(route)).await?;
        let body = opened.read_body(MAX_ANSWER_BYTES, BODY_TIMEOUT).await;
        let body = body.map_err(|error| self.unanswered(error))?;
        serde_json::from_slice(&body).map_err(|error| malformed(&error))
    }

    /// Asks for a text.
    ///
    /// # Errors
    /// If there is no answer.
    pub(crate) async fn text(&self, route: &Route<String>) -> Result<String, RequestError> {
        let opened = self.answered(route, self.request(route)).await?;
        let body = opened.read_body(MAX_ANSWER_BYTES, BODY_TIMEOUT).await;
        let body = body.map_err(|error| self.unanswered(error))?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Opens an event stream.
    ///
    /// # Errors
    /// If the service does not answer with one.
    pub(super) async fn open(
        &self,
        route: &Route<ClientEventStream>,
        last_event_id: Option<&str>,
    ) -> Result<OpenedAnswer, RequestError> {
        let mut request = self.request(route);
        request = request.header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        self.answered(route, request).await
    }

    fn request<A>(&self, route: &Route<A>) -> Builder {
        let request = Request::builder()
            .method(&route.method)
            .uri(&route.target)
            .header("host", self.named.address.to_string())
            .header("user-agent", USER_AGENT);
        let request = match &route.condition {
            Some(tag) => request.header("if-match", tag),
            None => request,
        };
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {}", token.expose())),
            None => request,
        }
    }

    /// The service's answer to a request, unless it refuses.
    async fn answered<A>(
        &self,
        route: &Route<A>,
        mut request: Builder,
    ) -> Result<OpenedAnswer, RequestError> {
        let body = route.body.as_ref().map_err(|error| malformed(error))?;
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(Full::new(body.clone()));
        let request = request.map_err(|error| malformed(&error))?;
        let opened = OpenedAnswer::open(&self.named, request, route.limit).await;
        let opened = opened.map_err(|error| self.unanswered(error))?;
        if opened.status().is_success() {
            return Ok(opened);
        }
        Err(self.refusal(opened).await)
    }

    async fn refusal(&self, opened: OpenedAnswer) -> RequestError {
        let status = opened.status();
        match opened.read_body(MAX_ANSWER_BYTES, BODY_TIMEOUT).await {
            Ok(body) => refused(status.as_u16(), &body),
            Err(error) => self.unanswered(error),
        }
    }

    fn unanswered(&self, error: ExchangeError) -> RequestError {
        let address = self.named.address;
        match error {
            ExchangeError::Silent => RequestError::Silent { address },
            ExchangeError::Failed(reason) => RequestError::Unreachable { address, reason },
            ExchangeError::Unproven => RequestError::Unproven { address },
        }
    }
}

/// The error for a refusal of the service.
fn refused(status: u16, body: &[u8]) -> RequestError {
    let (kind, detail) = match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => (problem.kind, problem.detail),
        Err(_) => {
            let known = hyper::StatusCode::from_u16(status).map(|status| status.to_string());
            let detail = format!("the service answered {}", known.unwrap_or_default());
            (String::new(), detail)
        }
    };
    RequestError::Refused {
        status,
        kind,
        detail,
    }
}

fn malformed(error: &dyn std::error::Error) -> RequestError {
    RequestError::Malformed {
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::testing::{Server, answer};

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
        let connection = ServiceConnection::new(server.named(), Some(token));
        let order = |path: &'static str| {
            let connection = connection.clone();
            async move {
                let body = json!({});
                let sent = connection.ask(&Route::<Value>::post(path, &body)).await;
                sent.unwrap_err()
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
