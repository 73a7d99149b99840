//! No way to the model over HTTP: the program was built without the feature `client`, and gives a transport.

use bytes::Bytes;

use super::attempt::{Answer, AttemptError};
use super::client::ApiClient;
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
}

/// Sends nothing.
pub(super) async fn send(
    _: &ApiClient,
    _: Clock,
    _: usize,
    _: Vec<Bytes>,
) -> Result<Answer, AttemptError> {
    Err(AttemptError::before_stream(ModelError::NoClient))
}

/// Reads nothing.
pub(super) async fn document(_: &ApiClient, _: &str) -> Result<Vec<u8>, ModelError> {
    Err(ModelError::NoClient)
}
