//! The rules for messages: roles, content, and which blocks may follow which.

use serde_json::Value;

use super::{Check, blocks, only};
use crate::api_error::ApiError;
use crate::messages_request::{MessagesRequest, list};

/// Checks the list of messages apart from the pairing of tool calls.
pub(super) fn check(messages: &Value) -> Check {
    let Value::Array(messages) = messages else {
        return Err(ApiError::at("messages", "Input should be a valid list"));
    };
    for (index, message) in messages.iter().enumerate() {
        check_message(index, message)?;
    }
    match messages.first() {
        None => return Err(ApiError::at("messages", "at least one message is required")),
        Some(first) if first["role"] != "user" && !is_summary(first) => {
            return Err(ApiError::at(
                "messages",
                "first message must use the \"user\" role",
            ));
        }
        Some(_) => {}
    }
    check_end(messages)
}

fn check_message(index: usize, message: &Value) -> Check {
    let path = format!("messages.{index}");
    let Value::Object(fields) = message else {
        return Err(ApiError::at(path, "Input should be a message"));
    };
    only(&format!("{path}."), fields, &[&["role", "content"]])?;
    let role = message["role"].as_str().unwrap_or_default();
    if !["user", "assistant", "system"].contains(&role) {
        let message = "Input should be 'user' or 'assistant'";
        return Err(ApiError::at(format!("{path}.role"), message));
    }
    match &message["content"] {
        Value::String(text) if !text.trim().is_empty() => Ok(()),
        Value::Array(blocks) if !blocks.is_empty() => {
            for (place, block) in blocks.iter().enumerate() {
                blocks::check(&format!("{path}.content.{place}"), role, block)?;
            }
            check_order(&path, role, blocks)
        }
        Value::String(_) | Value::Array(_) => Err(ApiError::at(
            path,
            "all messages must have non-empty content",
        )),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let message = "Input should be a string or a list of blocks";
            Err(ApiError::at(format!("{path}.content"), message))
        }
    }
}

/// Checks which blocks follow which within one message.
fn check_order(path: &str, role: &str, blocks: &[Value]) -> Check {
    if role == "assistant" {
        if let Some(place) = first_after(blocks, is("tool_use"), is("text")) {
            let path = format!("{path}.content.{place}");
            return Err(ApiError::at(
                path,
                "text must not follow a `tool_use` block",
            ));
        }
        let last = blocks.last().map(|block| &block["type"]);
        if last.is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking") {
            let message = "The final block in an assistant message cannot be `thinking`";
            return Err(ApiError::at(
                format!("{path}.content.{}", blocks.len() - 1),
                message,
            ));
        }
        return Ok(());
    }
    let other = |block: &Value| block["type"] != "tool_result";
    if let Some(place) = first_after(blocks, other, is("tool_result")) {
        let path = format!("{path}.content.{place}");
        return Err(ApiError::at(
            path,
            "`tool_result` blocks must come before all other blocks",
        ));
    }
    Ok(())
}

/// The place of the first block of a later kind that follows one of an earlier kind.
fn first_after(
    blocks: &[Value],
    earlier: impl Fn(&Value) -> bool,
    later: impl Fn(&Value) -> bool,
) -> Option<usize> {
    let start = blocks.iter().position(earlier)?;
    blocks
        .iter()
        .skip(start)
        .position(later)
        .map(|place| start + place)
}

fn is(kind: &str) -> impl Fn(&Value) -> bool {
    move |block| block["type"] == kind
}

/// True if a message is a summary of the API, which takes the place of the past.
fn is_summary(message: &Value) -> bool {
    list(&message["content"])
        .iter()
        .any(|block| block["type"] == "compaction")
}

/// Refuses a prefilled answer; only a server tool's pause may be continued.
fn check_end(messages: &[Value]) -> Check {
    let Some(last) = messages.last().filter(|last| last["role"] == "assistant") else {
        return Ok(());
    };
    let blocks = list(&last["content"]);
    // An open tool call has a clearer message.
    if blocks
        .iter()
        .any(|block| block["type"] == "server_tool_use" || block["type"] == "tool_use")
    {
        return Ok(());
    }
    Err(ApiError::invalid(
        "This model does not support assistant message prefill. \
         The conversation must end with a user message.",
    ))
}

/// Each pair of neighbours with the same role. The real API joins them; a client that means to
/// alternate roles has a fault when it sends them.
#[must_use]
pub fn strict_roles(request: &MessagesRequest) -> Vec<String> {
    let pairs = request.messages().windows(2).enumerate();
    pairs
        .filter(|(_, pair)| pair[0]["role"] == pair[1]["role"])
        .map(|(index, pair)| {
            format!(
                "messages.{}: follows a message of the same role {}",
                index + 1,
                pair[1]["role"]
            )
        })
        .collect()
}
