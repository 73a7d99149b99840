//! The settings of the model, and the part of them that one request needs.

use std::time::Duration;

use super::version::ApiVersion;
use super::{Credential, RetryPolicy};
use crate::secret::Redaction;

/// The URL of the API's vendor.
const VENDOR: &str = "https://api.anthropic.com";

/// Settings for reaching the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The part of the API's URLs before `/v1`, without a slash at its end. Without TLS it leads to
    /// this machine or a private network, or no connection is made.
    pub base_url: String,
    /// The version of the API. `None` leaves it to the server, as [`Self::first_version`] has it, and
    /// asks with another where the server refuses that one.
    pub api_version: Option<ApiVersion>,
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
            base_url: VENDOR.to_owned(),
            api_version: None,
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

    /// The version that requests name first: the one that is set, else the newest at the API's vendor and the
    /// oldest at other servers, which may know no other.
    #[must_use]
    pub fn first_version(&self) -> ApiVersion {
        self.api_version.unwrap_or_else(|| {
            if self.is_vendor() {
                ApiVersion::October2026
            } else {
                ApiVersion::June2023
            }
        })
    }

    /// True if requests go to the API of its vendor.
    pub(crate) fn is_vendor(&self) -> bool {
        let rest = self.base_url.strip_prefix(VENDOR);
        let rest = rest.map(|rest| rest.strip_prefix(":443").unwrap_or(rest));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    /// Spec: [MODEL-798]
    #[test]
    fn the_vendor_is_asked_with_the_newest_version_and_others_with_the_oldest() {
        let mut settings = ModelSettings::new(Credential::ApiKey(Secret::from("k")));
        for (url, date) in [
            ("https://api.anthropic.com", "2026-10-21"),
            ("https://api.anthropic.com:443", "2026-10-21"),
            ("https://api.anthropic.com/proxy", "2026-10-21"),
            ("https://api.anthropic.com.example", "2023-06-01"),
            ("http://api.anthropic.com", "2023-06-01"),
            ("http://127.0.0.1:8080", "2023-06-01"),
        ] {
            url.clone_into(&mut settings.base_url);
            assert_eq!(settings.first_version().date(), date, "{url}");
            for set in [ApiVersion::June2023, ApiVersion::October2026] {
                let set_so = ModelSettings {
                    api_version: Some(set),
                    ..settings.clone()
                };
                assert_eq!(set_so.first_version(), set);
            }
        }
    }
}
