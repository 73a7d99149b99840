//! Values that must never be seen: the credential for the model and the service's own token.

pub(crate) use harness_actors::Secret;
pub(crate) use harness_actors::model::Credential;

/// The fewest characters a token may have.
pub(super) const MIN_TOKEN_CHARS: usize = 16;

/// Wraps a token for the service, if it is long enough and fits an HTTP header.
pub(crate) fn as_token(text: &str) -> Option<Secret> {
    (text.len() >= MIN_TOKEN_CHARS && is_visible_ascii(text)).then(|| Secret::from(text))
}

/// True if the text is printable ASCII without spaces, which any HTTP header takes.
pub(super) fn is_visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}
