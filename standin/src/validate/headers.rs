//! The rules for a request's headers.

use super::Check;
use crate::api_error::ApiError;
use crate::journal::find_header;

/// The version that takes no sampling parameters, no citations of users and no documents in replies.
const STRICT_VERSION: &str = "2026-10-21";

/// True if a request names that version.
pub(super) fn is_strict(headers: &[(String, String)]) -> bool {
    find_header(headers, "anthropic-version") == Some(STRICT_VERSION)
}

/// Checks what every endpoint asks for: one key and the version.
pub(crate) fn check_headers(headers: &[(String, String)]) -> Check {
    let key = find_header(headers, "x-api-key");
    let bearer = find_header(headers, "authorization");
    match (key, bearer) {
        (Some(_), Some(_)) => Err(ApiError::unauthenticated(
            "only one of x-api-key and authorization may be sent",
        )),
        (None, None) => Err(ApiError::unauthenticated("x-api-key header is required")),
        (Some(key), None) if key.trim().is_empty() => {
            Err(ApiError::unauthenticated("invalid x-api-key"))
        }
        (None, Some(bearer))
            if bearer
                .strip_prefix("Bearer ")
                .is_none_or(|token| token.trim().is_empty()) =>
        {
            Err(ApiError::unauthenticated("invalid bearer token"))
        }
        (Some(_), None) | (None, Some(_)) => Ok(()),
    }?;
    match find_header(headers, "anthropic-version") {
        None => Err(ApiError::at("anthropic-version", "header is required")),
        Some("2023-01-01" | "2023-06-01" | STRICT_VERSION) => Ok(()),
        Some(other) => Err(ApiError::at(
            "anthropic-version",
            format!("\"{other}\" is not a valid version"),
        )),
    }
}

/// Checks that the content type of a body is JSON.
pub(crate) fn check_content_type(headers: &[(String, String)]) -> Check {
    let given = find_header(headers, "content-type").unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ApiError::at(
        "content-type",
        "Input should be application/json",
    ))
}
