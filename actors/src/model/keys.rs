//! Sources for the key of a call, other than the settings.

use futures_util::future::BoxFuture;

use super::KeyOrigin;
use crate::secret::Secret;

/// The credential of the service. Never both: the API refuses that. An empty one is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An API key, sent as `x-api-key`.
    ApiKey(Secret),
    /// A bearer token, sent as `authorization`.
    Bearer(Secret),
}

impl Credential {
    /// No proof at all, for servers that ask for none: nothing is sent.
    #[must_use]
    pub fn none() -> Self {
        Self::ApiKey(Secret::from(""))
    }

    /// True if no credential is sent.
    #[must_use]
    pub fn is_none(&self) -> bool {
        let (Self::ApiKey(secret) | Self::Bearer(secret)) = self;
        secret.expose().is_empty()
    }
}

/// Finds the key for a call. Asked before every call of the model, so that a key may change while
/// the service runs.
pub trait KeyResolver: Send + Sync + 'static {
    /// The key from a source, or, without one, for conversations that name none. Nothing, or an
    /// empty key, means the one from the settings.
    ///
    /// # Errors
    /// Why there is none, in words that do not hold the key.
    fn resolve(&self, source: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>>;

    /// The place that the key of a source comes from, for example `api_key from ANTHROPIC_API_KEY`, for the operator of
    /// a key that the API refuses. `None` hides the place.
    fn origin(&self, source: Option<&str>) -> Option<String> {
        source.map(|source| format!("the key source {source:?}"))
    }
}

/// Reads keys from the sources `env:NAME` and `file:PATH`, afresh each time; see [`KeyOrigin`].
///
/// For programs that name the sources themselves. A user who may name a source can send any variable, and any private
/// file of one line, to the API; where another party runs the API, take [`super::NamedKeys`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EnvOrFileKeys;

impl KeyResolver for EnvOrFileKeys {
    fn resolve(&self, source: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>> {
        let Some(source) = source.map(ToOwned::to_owned) else {
            return Box::pin(async { Ok(None) });
        };
        Box::pin(async move {
            let origin: KeyOrigin = source.parse()?;
            origin.read_aside().await.map(Some)
        })
    }
}
