//! No way to the model over HTTP: the program was built without the feature `client`, and gives a transport.

use bytes::Bytes;

use super::answer::{AttemptError, ReplyBytes};
use super::extras::ExtraSet;
use super::settings::ApiAccess;
use super::version::ApiVersion;
use super::{ModelError, ModelSettings};
use crate::clock::Clock;

/// No connections.
#[derive(Clone)]
pub(super) struct Http;

impl Http {
    /// Makes nothing.
    pub(super) fn new(_: &ModelSettings) -> Self {
        Self
    }

    /// Fails: this build has no client.
    pub(super) async fn send(
        &self,
        _: &ApiAccess<'_>,
        _: Clock,
        _: (ApiVersion, &ExtraSet),
        _: usize,
        _: Vec<Bytes>,
    ) -> Result<ReplyBytes, AttemptError> {
        Err(AttemptError::before_stream(ModelError::NoClient))
    }

    /// Fails: this build has no client.
    pub(super) async fn document(&self, _: &ApiAccess<'_>, _: &str) -> Result<Vec<u8>, ModelError> {
        Err(ModelError::NoClient)
    }
}
