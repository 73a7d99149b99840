//! One server-sent event of a stream.

use bytes::Bytes;
use serde_json::Value;

/// Writes a value as the API does: an `event:` line with the value's `type`, a `data:` line with
/// the value, and an empty line.
#[must_use]
pub fn encode_event(value: &Value) -> Bytes {
    let name = value["type"].as_str().unwrap_or("message");
    Bytes::from(format!("event: {name}\ndata: {value}\n\n"))
}
