//! Requests to one service.

use std::net::SocketAddr;
use std::time::Duration;

use awc::error::{ConnectError, SendRequestError};
use awc::http::{Method, Version, header};
use awc::{Client, ClientRequest, ClientResponse, Connector};
use derive_more::{Display, Error};
use harness_protocol::Problem;
use http_body_util::Empty;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::opened::{OpenError, Opened};
use crate::config::Secret;

/// What requests say that we are.
const USER_AGENT: &str = concat!("harness/", env!("CARGO_PKG_VERSION"));
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take to begin. Longer than the service takes to stop a run.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the body of an answer may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Why a request has no answer of use.
#[derive(Debug, Display, Error)]
pub(super) enum RequestError {
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
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            Self::Malformed { .. } => false,
        }
    }
}

/// Parameters of a query, by name.
pub(super) type Query<'a> = [(&'a str, String)];

/// A service and what it is to be shown.
#[derive(Clone)]
pub(super) struct Connection {
    client: Client,
    address: SocketAddr,
    token: Option<Secret>,
}

impl Connection {
    /// Nothing is sent yet.
    pub(super) fn new(address: SocketAddr, token: Option<Secret>) -> Self {
        let connector = Connector::new()
            .timeout(CONNECT_TIMEOUT)
            .max_http_version(Version::HTTP_11);
        // Redirects off: the token is for this address only.
        let client = Client::builder()
            .connector(connector)
            .timeout(HEAD_TIMEOUT)
            .disable_redirects()
            .add_default_header((header::USER_AGENT, USER_AGENT))
            .finish();
        Self {
            client,
            address,
            token,
        }
    }

    /// Asks for something.
    ///
    /// # Errors
    /// If there is no answer of the expected shape.
    pub(super) async fn get<A: DeserializeOwned>(
        &self,
        path: &str,
        query: &Query<'_>,
    ) -> Result<A, RequestError> {
        let request = self.request(Method::GET, path, query)?;
        self.answer(request.send().await).await
    }

    /// Gives an order.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; the order may have been carried out.
    pub(super) async fn order<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<A, RequestError> {
        let request = self.request(method, path, &[])?;
        self.answer(request.send_json(body).await).await
    }

    /// Gives an order with `POST` that takes longer than others; its answer is waited for that
    /// long.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; the order may have been carried out.
    pub(super) async fn long_order<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<A, RequestError> {
        let request = self.request(Method::POST, path, &[])?.timeout(limit);
        self.answer(request.send_json(body).await).await
    }

    /// Takes something away.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; it may be gone.
    pub(super) async fn delete<A: DeserializeOwned>(&self, path: &str) -> Result<A, RequestError> {
        self.delete_with(path, &[]).await
    }

    /// Takes something away, and says more about it.
    ///
    /// # Errors
    /// If there is no answer of the expected shape; it may be gone.
    pub(super) async fn delete_with<A: DeserializeOwned>(
        &self,
        path: &str,
        query: &Query<'_>,
    ) -> Result<A, RequestError> {
        let request = self.request(Method::DELETE, path, query)?;
        self.answer(request.send().await).await
    }

    /// Opens an event stream.
    ///
    /// # Errors
    /// If the service does not answer with one.
    pub(super) async fn open(
        &self,
        path: &str,
        query: &Query<'_>,
        last_event_id: Option<&str>,
    ) -> Result<Opened, RequestError> {
        // awc knows how to write a query; nothing is sent by it.
        let target = self.request(Method::GET, path, query)?;
        let target = target
            .get_uri()
            .path_and_query()
            .map_or(path, |it| it.as_str());
        let mut request = hyper::Request::get(target)
            .header("host", self.address.to_string())
            .header("user-agent", USER_AGENT)
            .header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {}", token.expose()));
        }
        let request = request.body(Empty::new());
        let request = request.map_err(|error| malformed(&error))?;
        let address = self.address;
        let opened = Opened::open(address, request, CONNECT_TIMEOUT, HEAD_TIMEOUT).await;
        let opened = opened.map_err(|error| match error {
            OpenError::Silent => RequestError::Silent { address },
            OpenError::Failed(reason) => RequestError::Unreachable { address, reason },
        })?;
        let status = opened.status();
        if status.is_success() {
            return Ok(opened);
        }
        let body = opened.whole(MAX_ANSWER_BYTES, BODY_TIMEOUT).await;
        Err(refused(status.as_u16(), &body.unwrap_or_default()))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        query: &Query<'_>,
    ) -> Result<ClientRequest, RequestError> {
        // A connection of its own: awc does not notice in time that the service closed one that
        // it kept, and an order must not be sent twice.
        let request = self
            .client
            .request(method, format!("http://{}{path}", self.address))
            .address(self.address)
            .insert_header((header::HOST, self.address.to_string()))
            .force_close();
        let request = match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        };
        if query.is_empty() {
            return Ok(request);
        }
        request.query(&query).map_err(|error| malformed(&error))
    }

    async fn answer<A: DeserializeOwned>(
        &self,
        sent: Result<ClientResponse, SendRequestError>,
    ) -> Result<A, RequestError> {
        let response = sent.map_err(|error| self.unsent(error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let body = self.body(response).await?;
        serde_json::from_slice(&body).map_err(|error| malformed(&error))
    }

    async fn refusal(&self, response: ClientResponse) -> RequestError {
        let status = response.status();
        let body = match self.body(response).await {
            Ok(body) => body,
            Err(error) => return error,
        };
        refused(status.as_u16(), &body)
    }

    async fn body(&self, mut response: ClientResponse) -> Result<bytes::Bytes, RequestError> {
        let address = self.address;
        let body = response.body().limit(MAX_ANSWER_BYTES);
        match tokio::time::timeout(BODY_TIMEOUT, body).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(error)) => {
                let reason = error.to_string();
                Err(RequestError::Unreachable { address, reason })
            }
            Err(_) => Err(RequestError::Silent { address }),
        }
    }

    fn unsent(&self, error: SendRequestError) -> RequestError {
        let address = self.address;
        let reason = match error {
            SendRequestError::Timeout | SendRequestError::Connect(ConnectError::Timeout) => {
                return RequestError::Silent { address };
            }
            SendRequestError::Connect(ConnectError::Io(error)) => error.to_string(),
            SendRequestError::Connect(ConnectError::Disconnected) => {
                "it closed the connection".to_owned()
            }
            SendRequestError::Response(error) => {
                return RequestError::Unreachable {
                    address,
                    reason: format!("it does not answer in HTTP: {error}"),
                };
            }
            other => other.to_string(),
        };
        RequestError::Unreachable { address, reason }
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
pub(super) fn path(conversation: &str, of_it: &str) -> String {
    let mut path = "/v1/conversations/".to_owned();
    for byte in conversation.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path += &format!("%{byte:02X}");
        }
    }
    path + of_it
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::testing::{Server, answer};

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
        let connection = Connection::new(server.address, Some(token));
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
