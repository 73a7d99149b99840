//! The answer to an attempt: the bytes of a reply, or the error in its place.

use bytes::Bytes;
use futures_util::stream::LocalBoxStream;

use super::ModelError;
use super::retry::{self, Advice};

/// The bytes of a reply as they come.
pub(super) type ReplyBytes = LocalBoxStream<'static, Result<Bytes, ModelError>>;

/// The reason why an attempt gave no reply.
#[derive(Debug)]
pub(super) struct AttemptError {
    pub(super) error: ModelError,
    pub(super) advice: Advice,
    /// True if the stream had begun.
    pub(super) in_stream: bool,
    /// True if there was a connection to the API.
    pub(super) reached: bool,
}

impl AttemptError {
    pub(super) fn before_stream(error: ModelError) -> Self {
        Self {
            advice: retry::advice_for(&error),
            error,
            in_stream: false,
            reached: true,
        }
    }

    /// True if the attempt cost nothing. What cannot be told counts as costly.
    pub(super) fn costs_nothing(&self) -> bool {
        !self.in_stream && (!self.reached || self.error.costs_nothing())
    }

    pub(super) fn in_stream(error: ModelError) -> Self {
        Self {
            advice: retry::advice_for(&error),
            error,
            in_stream: true,
            reached: true,
        }
    }
}
