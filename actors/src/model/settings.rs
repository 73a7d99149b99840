//! The settings of the model, and the part of them that one request needs.

use std::time::Duration;

use super::{Credential, RetryPolicy};
use crate::secret::Redaction;

/// Settings for reaching the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The part of the API's URLs before `/v1`, without a slash at its end. Without TLS it leads to
    /// this machine or a private network, or no connection is made.
    pub base_url: String,
    /// The key or token.
    pub credential: Credential,
    /// Persistence of a call.
    pub retry: RetryPolicy,
    /// The limit for the address look-up with the connection, and again for the TLS handshake.
    pub connect_timeout: Duration,
    /// The limit from sending a request to the head of the answer.
    pub head_timeout: Duration,
    /// The limit for silence inside an answer; each byte restarts it.
    pub idle_timeout: Duration,
}

impl ModelSettings {
    /// The defaults, with this key or token.
    #[must_use]
    pub fn new(credential: Credential) -> Self {
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            credential,
            retry: RetryPolicy {
                max_retries: 4,
                max_wait: Duration::from_secs(60),
            },
            connect_timeout: Duration::from_secs(5),
            head_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(300),
        }
    }
}

/// The server, the credential and the secrets of one request.
#[cfg_attr(
    not(feature = "client"),
    expect(dead_code, reason = "no request is sent over HTTP")
)]
pub(super) struct ApiAccess<'a> {
    pub(super) settings: &'a ModelSettings,
    pub(super) credential: Credential,
    /// Secrets that must not come back from the API because a gateway may quote them.
    pub(super) redaction: &'a Redaction,
}
