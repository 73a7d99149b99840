//! The body of every HTTP error: `application/problem+json` (RFC 9457).

use serde::{Deserialize, Serialize};

/// An error in answer to a request, and how to cure it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Names the kind of problem: a URI that is compared, not fetched.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem in words; the same for every occurrence.
    pub title: String,
    /// The HTTP status code.
    pub status: u16,
    /// This occurrence in words, with the fix where there is one.
    pub detail: String,
    /// Names this occurrence in the service's log.
    pub request_id: String,
}
