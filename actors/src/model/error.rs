//! Why the model gave no complete reply.

use std::time::Duration;

use derive_more::{Display, Error};

use crate::secret::Redaction;

/// How much of the API's own message is kept, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

/// The API's message, not longer than is good for a status.
pub(super) fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}

/// What went wrong with one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum ModelError {
    /// The API answered with an error, as a status or inside the stream.
    #[display("{kind}: {message}{}", in_brackets(*status, request_id.as_deref()))]
    Api {
        /// The HTTP status; of an error inside the stream the status that its type stands for.
        status: u16,
        /// The API's error type, such as `overloaded_error`.
        kind: String,
        /// The API's message.
        message: String,
        /// The API's name for the request.
        request_id: Option<String>,
    },
    /// No connection, or it broke.
    #[display("connection failed: {reason}")]
    Connection {
        /// The library's words.
        reason: String,
    },
    /// The API took the request and sent no response head.
    #[display("no answer within {limit:?}")]
    NoAnswer {
        /// The limit, see the setting `head_timeout`.
        limit: Duration,
    },
    /// The stream went silent.
    #[display("no byte for {limit:?}")]
    Stalled {
        /// The limit, see the setting `idle_timeout`.
        limit: Duration,
    },
    /// The stream ended before `message_stop`.
    #[display("the reply ended before message_stop")]
    Truncated,
    /// The stream breaks the rules of the API.
    #[display("malformed reply: {reason}")]
    Malformed {
        /// What was wrong.
        reason: String,
    },
    /// The input of a tool call is not a JSON object. Another attempt would not be the same call.
    #[display("malformed tool call {name}: {reason}")]
    ToolInput {
        /// The tool that was called.
        name: String,
        /// What was wrong.
        reason: String,
    },
    /// The answer is not an event stream.
    #[display("the API answered with {content} instead of an event stream; is the base URL right?")]
    NotAStream {
        /// What it is instead.
        content: String,
    },
    /// The API points elsewhere; the key is not sent there.
    #[display(
        "the API redirects to {location} (HTTP {status}); redirects are not followed, set the base URL instead"
    )]
    Redirected {
        /// The HTTP status.
        status: u16,
        /// Where to.
        location: String,
    },
    /// The request is larger than the API takes.
    #[display(
        "the conversation has grown to {bytes} bytes, and the API takes {limit}; what was new is left out; go on in a new conversation, or in a fork of an earlier part of this one"
    )]
    TooLarge {
        /// The size of the request.
        bytes: usize,
        /// The API's limit.
        limit: usize,
    },
    /// A bug: the call panicked.
    #[display("the call panicked; this is a bug of the service")]
    Panicked,
    /// The model's actor is gone or overloaded.
    #[display("the model's actor does not take the call")]
    Unavailable,
    /// The call was cancelled.
    #[display("cancelled")]
    Cancelled,
}

fn in_brackets(status: u16, request_id: Option<&str>) -> String {
    match request_id {
        Some(id) => format!(" (HTTP {status}, request {id})"),
        None => format!(" (HTTP {status})"),
    }
}

impl ModelError {
    /// The error without secrets: the API's words may quote what it was sent.
    #[must_use]
    pub(super) fn redacted(mut self, redaction: &Redaction) -> Self {
        let foreign = match &mut self {
            Self::Api { kind, message, .. } => vec![kind, message],
            Self::Redirected { location, .. } => vec![location],
            Self::NotAStream { content } => vec![content],
            Self::Connection { .. }
            | Self::NoAnswer { .. }
            | Self::Stalled { .. }
            | Self::Truncated
            | Self::Malformed { .. }
            | Self::ToolInput { .. }
            | Self::TooLarge { .. }
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => vec![],
        };
        for text in foreign {
            *text = redaction.apply(std::mem::take(text));
        }
        self
    }

    /// Whether the API refused what this very request said, so that saying its newest part again
    /// would be refused again.
    #[must_use]
    pub fn is_refused_request(&self) -> bool {
        matches!(
            self,
            Self::Api {
                status: 400 | 413 | 422,
                ..
            } | Self::TooLarge { .. }
        )
    }
}

/// Why a call of the model ended without a complete reply, all attempts considered.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[display("{}{error}", if *interrupted { "interrupted: " } else { "" })]
pub struct ModelFailure {
    /// What went wrong with the last attempt.
    pub error: ModelError,
    /// Whether the API had begun to reply. Blocks that were shown stay, the rest is missing.
    pub interrupted: bool,
}
