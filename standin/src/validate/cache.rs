//! The rules for cache breakpoints.

use serde_json::Value;

use super::{Check, only};
use crate::api_error::ApiError;
use crate::messages_request::list;

const MAX_BREAKPOINTS: usize = 4;

/// Checks the form and the number of `cache_control`s.
pub(super) fn check(body: &Value) -> Check {
    let mut found = Vec::new();
    for field in ["tools", "system"] {
        collect_all(field, &body[field], &mut found);
    }
    for (index, message) in list(&body["messages"]).iter().enumerate() {
        let path = format!("messages.{index}.content");
        collect_all(&path, &message["content"], &mut found);
        for (place, block) in list(&message["content"]).iter().enumerate() {
            if block["type"] == "tool_result" {
                collect_all(
                    &format!("{path}.{place}.content"),
                    &block["content"],
                    &mut found,
                );
            }
        }
    }
    // One for the whole request counts as one on its last block.
    collect("cache_control", body, &mut found);
    let mut has_short = false;
    for (path, control) in &found {
        let ttl = &control["ttl"];
        if control["type"] != "ephemeral" || !(ttl.is_null() || ttl == "5m" || ttl == "1h") {
            let message = "Input should be of type 'ephemeral' with a ttl of '5m' or '1h'";
            return Err(ApiError::at(path, message));
        }
        if let Some(fields) = control.as_object() {
            only(&format!("{path}.ephemeral."), fields, &[&["type", "ttl"]])?;
        }
        if has_short && ttl == "1h" {
            let message = "a block with a ttl of '1h' must not come after one with a ttl of '5m'";
            return Err(ApiError::at(path, message));
        }
        has_short |= ttl != "1h";
    }
    if found.len() > MAX_BREAKPOINTS {
        let message = format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {}.",
            found.len()
        );
        return Err(ApiError::invalid(message));
    }
    Ok(())
}

fn collect_all<'a>(path: &str, items: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    for (index, item) in list(items).iter().enumerate() {
        collect(&format!("{path}.{index}.cache_control"), item, found);
    }
}

fn collect<'a>(path: &str, item: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    if let Some(control) = item
        .get("cache_control")
        .filter(|control| !control.is_null())
    {
        found.push((path.to_owned(), control));
    }
}
