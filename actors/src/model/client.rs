//! The HTTP client that talks to the Messages API, and its settings.

use std::rc::Rc;
use std::time::Duration;

use awc::http::Version;
use awc::http::header;
use awc::{Client, ClientRequest, Connector};

use super::connector::ApiConnector;
use super::{Credential, ModelError, ModelSeams, RetryPolicy, Transport};
use crate::attachment::AttachmentStore;
use crate::ids::ConversationId;
use crate::limit::within;
use crate::secret::{Redaction, Secret};

/// The version of the API that this client speaks.
const API_VERSION: &str = "2023-06-01";
/// How many calls may be under way at once.
const MAX_CONNECTIONS: usize = 4096;
/// How long finding a key may take.
const KEY_TIMEOUT: Duration = Duration::from_secs(10);

/// What is said behind the refusal of a request that had no key.
const NO_KEY: &str = "; no key was sent: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN for the service, \
    and start it again";

/// Where and how the model is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The part of the API's URLs before `/v1`, without a slash at its end. Without TLS it leads to
    /// this machine or a private network, or no connection is made.
    pub base_url: String,
    /// The key or token.
    pub credential: Credential,
    /// How persistent a call is.
    pub retry: RetryPolicy,
    /// The limit for the address look-up with the connection, and again for the TLS handshake.
    pub connect_timeout: Duration,
    /// The limit from sending a request to the head of the answer.
    pub head_timeout: Duration,
    /// The limit for silence inside an answer; any byte starts it anew.
    pub idle_timeout: Duration,
}

/// A client for one arbiter.
#[derive(Clone)]
pub(super) struct ApiClient {
    client: Client,
    settings: Rc<ModelSettings>,
    /// A key that was resolved for this call, in place of the settings' credential.
    resolved: Option<Secret>,
    /// What must not come back from the API.
    redaction: Redaction,
    seams: Rc<ModelSeams>,
}

impl ApiClient {
    pub(super) fn new(settings: ModelSettings, seams: ModelSeams) -> Self {
        // HTTP/1.1 only: a call then owns its connection, and dropping the call closes it.
        let connector = Connector::new()
            .connector(ApiConnector::new(settings.connect_timeout))
            // The connector has its limit itself.
            .timeout(Duration::MAX)
            .handshake_timeout(settings.connect_timeout)
            .limit(MAX_CONNECTIONS)
            .max_http_version(Version::HTTP_11);
        // Redirects off: awc would send the key on to another host.
        let client = Client::builder()
            .connector(connector)
            // A limit of awc looks at its clock before it looks at the socket.
            .disable_timeout()
            .disable_redirects()
            .add_default_header((
                header::USER_AGENT,
                concat!("harness/", env!("CARGO_PKG_VERSION")),
            ))
            .add_default_header(("anthropic-version", API_VERSION))
            .finish();
        let (Credential::ApiKey(secret) | Credential::Bearer(secret)) = &settings.credential;
        seams.redaction.add(secret.clone());
        Self {
            client,
            settings: Rc::new(settings),
            resolved: None,
            redaction: seams.redaction.clone(),
            seams: Rc::new(seams),
        }
    }

    /// The client for one call: with the key that its source, or the service's resolver, has now.
    pub(super) async fn for_call(&self, source: Option<&str>) -> Result<Self, ModelError> {
        let no_key = |reason: &str| {
            let origin = source.map(|source| format!("the key source {source:?}"));
            let error = ModelError::Key {
                origin: origin.unwrap_or_else(|| "the service's own source".to_owned()),
                reason: reason.to_owned(),
            };
            // A resolver may quote the key that it had before.
            error.redacted(&self.redaction)
        };
        let Some(keys) = &self.seams.keys else {
            let Some(_) = source else {
                return Ok(self.clone());
            };
            return Err(no_key("this service resolves no keys"));
        };
        let resolved = within(KEY_TIMEOUT, keys.resolve(source));
        let key = match resolved.await {
            Some(Ok(key)) => key.filter(|key| !key.expose().is_empty()),
            Some(Err(reason)) => return Err(no_key(&reason)),
            None => return Err(no_key(&format!("nothing within {KEY_TIMEOUT:?}"))),
        };
        let Some(key) = key else {
            return Ok(Self {
                resolved: None,
                ..self.clone()
            });
        };
        if !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(no_key("it has characters that no key has"));
        }
        Ok(Self {
            redaction: self.redaction.with(&key),
            resolved: Some(key),
            ..self.clone()
        })
    }

    /// The client with what that conversation must not see.
    pub(super) fn of(self, conversation: &ConversationId) -> Self {
        Self {
            redaction: self.redaction.of(conversation),
            ..self
        }
    }

    /// Notes that the API took the key of this call, so that it is one: from now on the
    /// conversation that brought it does not see it.
    pub(super) fn learn_key(&self, conversation: &ConversationId) {
        if let Some(key) = &self.resolved {
            self.redaction.learn(conversation, key.clone());
        }
    }

    /// An error, with how to give a key where the server asked for one and none was sent.
    pub(super) fn with_hint_of_key(&self, mut error: ModelError) -> ModelError {
        if let ModelError::Api {
            status: 401,
            message,
            ..
        } = &mut error
            && self.credential().is_none()
        {
            message.push_str(NO_KEY);
        }
        error
    }

    /// What requests go through in place of HTTP.
    pub(super) fn transport(&self) -> Option<&dyn Transport> {
        self.seams.transport.as_deref()
    }

    /// Where the contents of attachments are.
    pub(super) fn attachments(&self) -> &dyn AttachmentStore {
        &*self.seams.attachments
    }

    /// The credential of this call.
    pub(super) fn credential(&self) -> Credential {
        match &self.resolved {
            Some(key) => Credential::ApiKey(key.clone()),
            None => self.settings.credential.clone(),
        }
    }

    pub(super) fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// What must not come back from the API: secrets that a gateway may quote, the key of this call
    /// among them.
    pub(super) fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    pub(super) fn post(&self, path: &str) -> ClientRequest {
        self.authorized(
            self.client
                .post(format!("{}{path}", self.settings.base_url)),
        )
    }

    pub(super) fn get(&self, path: &str) -> ClientRequest {
        self.authorized(self.client.get(format!("{}{path}", self.settings.base_url)))
    }

    /// Each request has a connection of its own: no connection is left open after a cancel, and
    /// none that the server closed in the meantime is used again, which awc does not notice in
    /// time.
    fn authorized(&self, request: ClientRequest) -> ClientRequest {
        let request = request.force_close();
        match self.credential() {
            credential if credential.is_none() => request,
            Credential::ApiKey(key) => request.insert_header(("x-api-key", key.expose())),
            Credential::Bearer(token) => request.bearer_auth(token.expose()),
        }
    }
}
