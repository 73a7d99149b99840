//! Why the model gave no complete reply.

use std::time::Duration;

use derive_more::{Display, Error};

use crate::secret::Redaction;

/// How much of the API's own message is kept, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

/// What the API, and gateways in front of it, say of a request that outgrew the model's window.
///
/// Source: answers that public trackers report.
const TOO_LONG: [&str; 9] = [
    "prompt is too long",
    "input is too long",
    "exceed context limit",
    "exceeds context limit",
    "exceed the context window",
    "exceeds the context window",
    "exceeds the model's context window",
    "maximum context length",
    "context_length_exceeded",
];

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
    /// The request does not fit the model, and no summary of the past makes it fit.
    #[display(
        "the request is too long: about {tokens} tokens, and the model takes {window}; what was \
         new in it is left out"
    )]
    TooLong {
        /// The estimate of the request, in tokens.
        tokens: u64,
        /// What the model takes, in tokens.
        window: u64,
    },
    /// The past is too long for the model, and could not be summarized.
    #[display("the past is too long for the model, and could not be summarized: {reason}")]
    Compaction {
        /// Why not.
        reason: String,
    },
    /// The system prompt could not be built.
    #[display("{reason}")]
    Prompt {
        /// Why not.
        reason: String,
    },
    /// Nothing more is to be written down.
    #[display("stopped: {reason}")]
    NoRoom {
        /// Why not.
        reason: String,
    },
    /// What is to be sent of the past cannot be made.
    #[display("{reason}")]
    Projection {
        /// Why not.
        reason: String,
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
    /// There is no key for the call.
    #[display("no key from {origin}: {reason}")]
    Key {
        /// Where it was to come from.
        origin: String,
        /// What was wrong; never holds the key.
        reason: String,
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
            Self::Connection { reason } | Self::Malformed { reason } => vec![reason],
            Self::Key { reason, .. } => vec![reason],
            Self::NoAnswer { .. }
            | Self::Stalled { .. }
            | Self::Truncated
            | Self::ToolInput { .. }
            | Self::TooLarge { .. }
            | Self::TooLong { .. }
            | Self::Compaction { .. }
            | Self::Prompt { .. }
            | Self::Projection { .. }
            | Self::NoRoom { .. }
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => vec![],
        };
        for text in foreign {
            *text = redaction.apply(std::mem::take(text));
        }
        self
    }

    /// Whether the request has outgrown what the model or the API takes, so that it is worth
    /// another attempt once the past in it is shorter. To be asked before
    /// [`Self::is_refused_request`], which holds for these errors too: nothing of such a request
    /// is wrong by itself.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::Api { status: 413, .. } => true,
            Self::Api {
                status: 400,
                kind,
                message,
                ..
            } => {
                let message = message.to_ascii_lowercase();
                !kind.contains("rate_limit") && TOO_LONG.iter().any(|said| message.contains(said))
            }
            Self::Api { .. }
            | Self::Connection { .. }
            | Self::NoAnswer { .. }
            | Self::Stalled { .. }
            | Self::Truncated
            | Self::Malformed { .. }
            | Self::ToolInput { .. }
            | Self::NotAStream { .. }
            | Self::Redirected { .. }
            | Self::TooLong { .. }
            | Self::Compaction { .. }
            | Self::Prompt { .. }
            | Self::Projection { .. }
            | Self::NoRoom { .. }
            | Self::Key { .. }
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => false,
        }
    }

    /// Whether the API refused what this very request said, so that saying its newest part again
    /// would be refused again. [`Self::is_too_long`] goes before it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: u16, kind: &str, message: &str) -> ModelError {
        ModelError::Api {
            status,
            kind: kind.to_owned(),
            message: message.to_owned(),
            request_id: None,
        }
    }

    /// Spec: [MODEL-46]
    #[test]
    fn a_request_that_outgrew_the_window_is_told_from_others() {
        let refused = |message| api(400, "invalid_request_error", message);
        for error in [
            refused("prompt is too long: 215000 tokens > 200000 maximum"),
            refused("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
            refused("Your request exceeds the context window of this model"),
            refused("This model's maximum context length is 200000 tokens"),
            refused("Input is too long for requested model."),
            api(413, "request_too_large", "Request exceeds the maximum size"),
            api(413, "HTTP 413 Payload Too Large", "(no body)"),
            ModelError::TooLarge { bytes: 2, limit: 1 },
        ] {
            assert!(error.is_too_long(), "{error}");
            // The order in which the two are asked matters.
            assert!(error.is_refused_request(), "{error}");
        }
        for error in [
            refused("messages.0: all messages must have non-empty content"),
            refused("tools.0.name: String should have at most 64 characters, it is too long"),
            api(
                429,
                "rate_limit_error",
                "prompt is too long for this minute",
            ),
            api(
                400,
                "rate_limit_error",
                "prompt is too long for this minute",
            ),
            api(400, "ThrottlingException", "Too many tokens, please wait"),
            api(529, "overloaded_error", "maximum context length"),
            ModelError::Truncated,
        ] {
            assert!(!error.is_too_long(), "{error}");
        }
    }
}
