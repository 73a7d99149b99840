//! One request to the service, and the type of its answer.

use std::fmt::Display;
use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde::Serialize;

/// How long an answer may take to begin. Longer than the service takes to stop a run.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// One request, which may be sent again unchanged; it is answered with an `A`.
#[derive(Debug)]
pub(crate) struct Route<A> {
    pub(super) method: Method,
    /// The path and the query.
    pub(super) target: String,
    /// Nothing, or JSON.
    pub(super) body: serde_json::Result<Bytes>,
    /// How long the answer may take to begin.
    pub(super) limit: Duration,
    /// The version that must not have changed, as `If-Match` names it.
    pub(super) condition: Option<String>,
    answer: PhantomData<fn() -> A>,
}

impl<A> Route<A> {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), Ok(Bytes::new()))
    }

    pub(super) fn post(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::new(Method::POST, path.into(), json(body))
    }

    pub(super) fn put(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::new(Method::PUT, path.into(), json(body))
    }

    pub(super) fn patch(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self::new(Method::PATCH, path.into(), json(body))
    }

    pub(super) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path.into(), Ok(Bytes::new()))
    }

    fn new(method: Method, target: String, body: serde_json::Result<Bytes>) -> Self {
        Self {
            method,
            target,
            body,
            limit: HEAD_TIMEOUT,
            condition: None,
            answer: PhantomData,
        }
    }

    /// The bytes to send.
    #[cfg(test)]
    pub(crate) fn sent(&self) -> &[u8] {
        self.body.as_deref().unwrap()
    }

    /// The same with a parameter, if it has a value.
    pub(super) fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            let mark = if self.target.contains('?') { '&' } else { '?' };
            self.target += &format!("{mark}{name}={}", encoded(&value.to_string()));
        }
        self
    }

    /// The same, whose answer may take that long to begin.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The same, done only while this is what is there.
    pub(super) fn over(self, tag: &str) -> Self {
        Self {
            condition: Some(format!("\"{tag}\"")),
            ..self
        }
    }

    /// The same, whose answer is read as another type, such as the JSON that it is.
    pub(crate) fn answered_as<B>(self) -> Route<B> {
        Route {
            method: self.method,
            target: self.target,
            body: self.body,
            limit: self.limit,
            condition: self.condition,
            answer: PhantomData,
        }
    }
}

fn json(body: &impl Serialize) -> serde_json::Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from)
}

/// A text as a part of a path or a query (RFC 3986 §2.1).
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}
