//! The API's way to refuse a request.

use std::fmt;

use serde_json::{Value, json};

/// One refusal: the status, the error type and the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The API's name of the kind of error, for example `invalid_request_error`.
    pub kind: String,
    /// The fault, opening with the path of the offending field.
    pub message: String,
}

impl ApiError {
    /// A refusal with any status and type.
    pub fn new(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            kind: kind.into(),
            message: message.into(),
        }
    }

    /// A 400 `invalid_request_error`.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// A 400 about one field.
    pub(crate) fn at(path: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self::invalid(format!("{path}: {message}"))
    }

    /// A 401 `authentication_error`.
    pub(crate) fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(401, "authentication_error", message)
    }

    /// A 404 `not_found_error`.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not_found_error", message)
    }

    /// The body of the answer, and equally the data of an `error` event.
    pub(crate) fn to_json(&self, request_id: &str) -> Value {
        json!({
            "type": "error",
            "error": { "type": self.kind, "message": self.message },
            "request_id": request_id,
        })
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status, self.kind, self.message)
    }
}

impl std::error::Error for ApiError {}
