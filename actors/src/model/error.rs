//! Reasons for a reply that is missing or incomplete.

use std::time::Duration;

use derive_more::{Display, Error};
use serde_json::Value;

use super::overflow::{is_overflow, window_named};
use super::reply_maximum::maximum_named;
use super::spent::is_spent;
use crate::reply::Object;
use crate::secret::Redaction;

/// Maximum size of the API's own message that is kept, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

/// Maximum size of the quote from an error's body that is not the API's JSON, in bytes.
pub(super) const MAX_QUOTED_BYTES: usize = 512;

/// The API's message, not longer than is good for a status.
fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}

/// Foreign text as part of an error message: short, on one line, without control characters and
/// without what must not be seen, which is taken out before the cut.
pub(super) fn quote(body: &[u8], redaction: &Redaction) -> String {
    if body.is_empty() {
        return "(no body)".to_owned();
    }
    if body.len() <= MAX_QUOTED_BYTES {
        let quoted = redaction.apply(String::from_utf8_lossy(body).into_owned());
        return quoted.trim().escape_debug().to_string();
    }
    let looked_at = body.len().min(MAX_QUOTED_BYTES + redaction.reach());
    let text = String::from_utf8_lossy(&body[..looked_at]);
    let quoted = redaction.apply_to_start(&text, MAX_QUOTED_BYTES);
    format!("{}…", quoted.trim().escape_debug())
}

/// The error of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The API answered with an error, as a status or inside the stream.
    #[display("{kind}: {message}{}", in_brackets(*status, request_id.as_deref()))]
    Api {
        /// The HTTP status; of an error inside the stream the status that belongs to its type.
        status: u16,
        /// The API's error type, for example `overloaded_error`.
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
        /// The window of the model, in tokens.
        window: u64,
    },
    /// The past is too long for the model, and could not be summarized.
    #[display("the past is too long for the model, and could not be summarized: {reason}")]
    Compaction {
        /// The reason.
        reason: String,
    },
    /// The system prompt could not be built.
    #[display("{reason}")]
    Prompt {
        /// The reason.
        reason: String,
    },
    /// The journal has no room for further records.
    #[display("stopped: {reason}")]
    NoRoom {
        /// The reason.
        reason: String,
    },
    /// The request does not fit the spending limit of its run.
    #[display("the spending limit is reached: {reason}")]
    SpendingLimit {
        /// The reason.
        reason: String,
    },
    /// The past cannot be projected into a request.
    #[display("{reason}")]
    Projection {
        /// The reason.
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
        /// The reason.
        reason: String,
    },
    /// The input of a tool call is too large, or that of a tool of the API is not a JSON object.
    /// Another attempt would not be the same call.
    #[display("malformed tool call {name}: {reason}")]
    ToolInput {
        /// The tool that was called.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The answer is not an event stream.
    #[display("the API answered with {content} instead of an event stream; is the base URL right?")]
    NotAStream {
        /// The content that came instead.
        content: String,
    },
    /// The API points elsewhere; the key is not sent there.
    #[display(
        "the API redirects to {location} (HTTP {status}); redirects are not followed, set the base URL instead"
    )]
    Redirected {
        /// The HTTP status.
        status: u16,
        /// The target of the redirect.
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
    /// The call has no key.
    #[display("{origin} gives no key; {reason}")]
    Key {
        /// The source of the key.
        origin: String,
        /// The reason; never holds the key.
        reason: String,
    },
    /// This program has no way to the model.
    #[display(
        "there is no way to the model: give a transport, or enable the feature `client` of harness-actors"
    )]
    NoClient,
    /// A bug: the call panicked.
    #[display("the call panicked; this is a bug of the service")]
    Panicked,
    /// The model's actor has exited or is overloaded.
    #[display("the model's actor does not take the call")]
    Unavailable,
    /// The call was cancelled.
    #[display("cancelled")]
    Cancelled,
}

/// The usual words for a status.
#[cfg(feature = "client")]
fn reason_of(status: u16) -> &'static str {
    let status = awc::http::StatusCode::from_u16(status).ok();
    let reason = status.and_then(|status| status.canonical_reason());
    reason.unwrap_or("error")
}

/// The same for a program that brings its own way to the model, which knows them as well.
#[cfg(not(feature = "client"))]
fn reason_of(_: u16) -> &'static str {
    "error"
}

fn in_brackets(status: u16, request_id: Option<&str>) -> String {
    match request_id {
        Some(id) => format!(" (HTTP {status}, request {id})"),
        None => format!(" (HTTP {status})"),
    }
}

impl ModelError {
    /// The error of an answer with another status than 200: for a [`super::Transport`] that gets such answers.
    /// `request_id` is the header of that name.
    #[must_use]
    pub fn of_answer(status: u16, body: &[u8], request_id: Option<String>) -> Self {
        Self::of_answer_without(status, body, request_id, &Redaction::default())
    }

    /// The same, without what must not be seen where a body is quoted in part.
    pub(super) fn of_answer_without(
        status: u16,
        body: &[u8],
        request_id: Option<String>,
        redaction: &Redaction,
    ) -> Self {
        let json: Option<Object> = serde_json::from_slice(body).ok();
        let field = |object: &Object, key: &str| {
            let value = object.get(key).and_then(Value::as_str);
            value.map(ToOwned::to_owned)
        };
        let error = json.as_ref().and_then(|json| json.get("error"));
        let kind = error
            .and_then(Value::as_object)
            .and_then(|error| field(error, "type"));
        let message = match error {
            Some(Value::Object(error)) => field(error, "message"),
            Some(Value::String(message)) => Some(message.clone()),
            _ => json.as_ref().and_then(|json| field(json, "message")),
        };
        // llama.cpp names the window beside its message, and not always in it.
        let n_ctx = error.and_then(|error| error.get("n_ctx")?.as_u64());
        let message = message.map(|message| match n_ctx {
            Some(n_ctx) if !message.contains(&n_ctx.to_string()) => {
                format!("{message} (n_ctx: {n_ctx})")
            }
            Some(_) | None => message,
        });
        let in_body = || json.as_ref().and_then(|json| field(json, "request_id"));
        Self::Api {
            status,
            kind: kind.unwrap_or_else(|| format!("HTTP {status} {}", reason_of(status))),
            message: message.unwrap_or_else(|| quote(body, redaction)),
            request_id: request_id.or_else(in_body),
        }
    }

    /// The error without secrets, as the API's words may quote what it was sent, and not longer
    /// than is good for a status.
    #[must_use]
    pub(super) fn redacted(mut self, redaction: &Redaction) -> Self {
        let foreign = match &mut self {
            Self::Api {
                kind,
                message,
                request_id,
                ..
            } => [kind, message].into_iter().chain(request_id).collect(),
            Self::Redirected { location, .. } => vec![location],
            Self::NotAStream { content } => vec![content],
            Self::Connection { reason }
            | Self::Malformed { reason }
            | Self::Compaction { reason }
            | Self::Prompt { reason }
            | Self::Projection { reason } => vec![reason],
            Self::Key {
                origin: name,
                reason,
            }
            | Self::ToolInput { name, reason } => vec![name, reason],
            Self::NoAnswer { .. }
            | Self::Stalled { .. }
            | Self::Truncated
            | Self::TooLarge { .. }
            | Self::TooLong { .. }
            | Self::NoRoom { .. }
            | Self::SpendingLimit { .. }
            | Self::NoClient
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => vec![],
        };
        for text in foreign {
            *text = redaction.apply(std::mem::take(text));
        }
        // Only now: a cut before could leave the start of a secret.
        if let Self::Api { message, .. } = &mut self {
            *message = shortened(std::mem::take(message));
        }
        self
    }

    /// True if the error shows that the API accepted the key of the request: the API answered, and did not refuse the
    /// key.
    #[must_use]
    pub(super) fn took_key(&self) -> bool {
        match self {
            Self::Api { status, .. } => !matches!(status, 401 | 403),
            Self::Redirected { .. }
            | Self::NotAStream { .. }
            | Self::Stalled { .. }
            | Self::Truncated
            | Self::Malformed { .. }
            | Self::ToolInput { .. } => true,
            Self::Connection { .. }
            | Self::NoAnswer { .. }
            | Self::TooLarge { .. }
            | Self::TooLong { .. }
            | Self::NoRoom { .. }
            | Self::SpendingLimit { .. }
            | Self::Compaction { .. }
            | Self::Prompt { .. }
            | Self::Projection { .. }
            | Self::Key { .. }
            | Self::NoClient
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => false,
        }
    }

    /// True if the request has outgrown what the model or the API takes, so that it is worth another attempt once the
    /// past in it is shorter. The caller asks it before [`Self::is_refused_request`], which holds for these errors too:
    /// the request itself is not at fault.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::Api { status: 413, .. } => true,
            Self::Api {
                status,
                kind,
                message,
                ..
            } => is_overflow(*status, kind, message),
            Self::Connection { .. }
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
            | Self::SpendingLimit { .. }
            | Self::Key { .. }
            | Self::NoClient
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => false,
        }
    }

    /// True if an attempt with this error before its stream cost nothing: the API answered with the error in place of a
    /// reply, or the request did not leave. An error of status 5xx without the API's own error type may be that of a
    /// gateway, behind which the request was processed.
    #[must_use]
    pub(super) fn costs_nothing(&self) -> bool {
        match self {
            Self::Api { status, kind, .. } => *status < 500 || !kind.starts_with("HTTP "),
            Self::Redirected { .. }
            | Self::TooLarge { .. }
            | Self::Key { .. }
            | Self::NoClient
            | Self::SpendingLimit { .. } => true,
            Self::Connection { .. }
            | Self::NoAnswer { .. }
            | Self::TooLong { .. }
            | Self::Compaction { .. }
            | Self::Prompt { .. }
            | Self::NoRoom { .. }
            | Self::Projection { .. }
            | Self::Stalled { .. }
            | Self::Truncated
            | Self::Malformed { .. }
            | Self::ToolInput { .. }
            | Self::NotAStream { .. }
            | Self::Panicked
            | Self::Unavailable
            | Self::Cancelled => false,
        }
    }

    /// The window of the model that the error names, in tokens, if it is that the request outgrew it.
    #[must_use]
    pub fn window(&self) -> Option<u64> {
        let Self::Api { kind, message, .. } = self else {
            return None;
        };
        self.is_too_long().then(|| window_named(kind, message))?
    }

    /// Maximum size of a reply that the API names where it refuses a larger one, in tokens. `asked` is what was asked
    /// for.
    pub(super) fn reply_maximum(&self, asked: u32) -> Option<u32> {
        let Self::Api {
            status, message, ..
        } = self
        else {
            return None;
        };
        let is_of_window = self.is_too_long();
        maximum_named(*status, message, asked).filter(|_| !is_of_window)
    }

    /// True if the API refused the content of this request, so that its newest part would be refused again. The caller
    /// asks [`Self::is_too_long`] first. A budget that is used up is no fault of the request.
    #[must_use]
    pub fn is_refused_request(&self) -> bool {
        if let Self::Api { message, .. } = self
            && is_spent(message)
        {
            return false;
        }
        matches!(
            self,
            Self::Api {
                status: 400 | 413 | 422,
                ..
            } | Self::TooLarge { .. }
        )
    }
}

/// The reason why a call of the model ended without a complete reply, all attempts considered.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{}{error}", if *interrupted { "interrupted: " } else { "" })]
#[non_exhaustive]
pub struct ModelFailure {
    /// The error of the last attempt.
    #[error(source)]
    pub error: ModelError,
    /// True if the API had begun to reply. Blocks that were shown remain, the rest is missing.
    pub interrupted: bool,
}

impl From<ModelError> for ModelFailure {
    fn from(error: ModelError) -> Self {
        Self {
            error,
            interrupted: false,
        }
    }
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

    /// Spec: [SEC-12]
    #[test]
    fn nothing_that_the_api_said_keeps_a_secret() {
        let secret = "sk-ant-0123456789";
        let said = || format!("a {secret} b");
        let redaction = Redaction::new(vec![secret.into()]);
        for error in [
            ModelError::Api {
                status: 400,
                kind: said(),
                message: said(),
                request_id: Some(said()),
            },
            ModelError::Connection { reason: said() },
            ModelError::Compaction { reason: said() },
            ModelError::Prompt { reason: said() },
            ModelError::Projection { reason: said() },
            ModelError::Malformed { reason: said() },
            ModelError::ToolInput {
                name: said(),
                reason: said(),
            },
            ModelError::NotAStream { content: said() },
            ModelError::Redirected {
                status: 302,
                location: said(),
            },
            ModelError::Key {
                origin: said(),
                reason: said(),
            },
        ] {
            let told = error.redacted(&redaction).to_string();
            assert!(told.contains("a *** b") && !told.contains(secret), "{told}");
        }
    }

    /// Spec: [SEC-22]
    #[test]
    fn a_long_message_is_cut_behind_its_secrets() {
        let secret = "sk-ant-0123456789";
        let redaction = Redaction::new(vec![secret.into()]);
        for before in MAX_MESSAGE_BYTES - secret.len()..=MAX_MESSAGE_BYTES {
            let message = format!("{}{secret}{}", "x".repeat(before), " and more".repeat(9));
            let error = api(400, "error", &message).redacted(&redaction);
            let told = error.to_string();
            assert!(!told.contains("sk-") && told.contains('…'), "{told}");
        }
    }

    /// Spec: [SEC-24]
    #[test]
    fn an_answer_other_than_that_the_key_is_none_takes_it() {
        for status in [400, 404, 429, 500, 529] {
            assert!(api(status, "error", "no").took_key(), "{status}");
        }
        for status in [401, 403] {
            assert!(!api(status, "error", "no").took_key(), "{status}");
        }
        let reason = String::new();
        assert!(!ModelError::Connection { reason }.took_key());
        assert!(ModelError::Truncated.took_key());
    }

    /// Spec: [BUDGET-05]
    #[test]
    fn only_what_the_api_declined_or_never_received_costs_nothing() {
        for error in [
            api(400, "HTTP 400 Bad Request", "no"),
            api(429, "rate_limit_error", "no"),
            api(500, "api_error", "no"),
            api(529, "overloaded_error", "no"),
            ModelError::TooLarge { bytes: 2, limit: 1 },
            ModelError::NoClient,
        ] {
            assert!(error.costs_nothing(), "{error}");
        }
        let reason = String::new();
        for error in [
            api(504, "HTTP 504 Gateway Timeout", "no"),
            ModelError::Connection { reason },
            ModelError::Truncated,
            ModelError::NoAnswer {
                limit: Duration::ZERO,
            },
        ] {
            assert!(!error.costs_nothing(), "{error}");
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
