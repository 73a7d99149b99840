//! The rules that came with version 2026-10-21.

use serde_json::Value;

use super::Check;
use crate::api_error::ApiError;
use crate::messages_request::list;

/// Checks a body of that version.
pub(super) fn check(body: &Value) -> Check {
    let sampling = ["temperature", "top_p", "top_k"];
    if let Some(name) = sampling.iter().find(|name| body.get(**name).is_some()) {
        return Err(ApiError::at(name, "Extra inputs are not permitted"));
    }
    for (index, message) in list(&body["messages"]).iter().enumerate() {
        for (place, block) in list(&message["content"]).iter().enumerate() {
            check_block(
                &format!("messages.{index}.content.{place}"),
                &message["role"],
                block,
            )?;
        }
    }
    Ok(())
}

fn check_block(path: &str, role: &Value, block: &Value) -> Check {
    if role == "assistant" && block["type"] == "document" {
        let message = "`document` blocks can not be in a message of role \"assistant\"";
        return Err(ApiError::at(path, message));
    }
    if role == "user" && block["type"] == "text" && !list(&block["citations"]).is_empty() {
        let path = format!("{path}.text.citations");
        return Err(ApiError::at(path, "Extra inputs are not permitted"));
    }
    Ok(())
}
