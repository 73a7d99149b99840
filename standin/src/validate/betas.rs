//! The betas: a field or a block of one is taken only in a request whose header names the beta.

use serde_json::Value;

use super::Check;
use crate::api_error::ApiError;
use crate::journal::find_header;
use crate::messages_request::list;

/// Maximum number of models for refusals.
const MAX_FALLBACKS: usize = 3;

/// A beta.
struct Beta {
    /// Any of these names in the header `anthropic-beta` switches it on.
    headers: &'static [&'static str],
    /// Its fields of a request, with a dot before one in an object.
    fields: &'static [&'static str],
    /// Its blocks.
    blocks: &'static [&'static str],
}

const BETAS: &[Beta] = &[
    Beta {
        headers: &["thinking-binding-controls-2026-08-01"],
        fields: &["thinking.block_binding"],
        blocks: &[],
    },
    Beta {
        headers: &["message-threads-2026-08-12"],
        fields: &["thread"],
        blocks: &[],
    },
    Beta {
        headers: &[
            "mid-conversation-tool-changes-2026-07-01",
            "inline-tools-2026-09-15",
        ],
        fields: &[],
        blocks: &["tool_addition", "tool_removal"],
    },
    Beta {
        headers: &["compact-2026-09-04"],
        fields: &["compaction"],
        blocks: &["compaction"],
    },
    Beta {
        headers: &["context-management-2025-06-27"],
        fields: &["context_management"],
        blocks: &[],
    },
    Beta {
        headers: &["server-side-fallback-2026-07-01"],
        fields: &["fallbacks"],
        blocks: &["fallback"],
    },
    Beta {
        headers: &["task-budgets-2026-03-13"],
        fields: &["output_config.task_budget"],
        blocks: &[],
    },
    Beta {
        headers: &["mcp-client-2025-04-04", "mcp-client-2025-11-20"],
        fields: &["mcp_servers"],
        blocks: &["mcp_tool_use", "mcp_tool_result"],
    },
    Beta {
        headers: &["structured-outputs-2025-11-13"],
        fields: &["output_format"],
        blocks: &[],
    },
];

/// Checks that each part of a beta goes with its header.
pub(super) fn check(headers: &[(String, String)], body: &Value) -> Check {
    let named = find_header(headers, "anthropic-beta").unwrap_or_default();
    let named: Vec<&str> = named.split(',').map(str::trim).collect();
    let is_off = |beta: &&Beta| !beta.headers.iter().any(|header| named.contains(header));
    for beta in BETAS.iter().filter(is_off) {
        for field in beta.fields {
            let pointer = format!("/{}", field.replace('.', "/"));
            if body.pointer(&pointer).is_some() {
                return Err(ApiError::at(field, "Extra inputs are not permitted"));
            }
        }
        for (index, message) in list(&body["messages"]).iter().enumerate() {
            for (place, block) in list(&message["content"]).iter().enumerate() {
                let kind = block["type"].as_str().unwrap_or_default();
                if beta.blocks.contains(&kind) {
                    let path = format!("messages.{index}.content.{place}");
                    let message =
                        format!("Input tag '{kind}' does not match any of the expected tags");
                    return Err(ApiError::at(path, message));
                }
            }
        }
    }
    check_summary(list(&body["messages"]))?;
    check_fallbacks(&body["fallbacks"])?;
    check_fallback(list(&body["messages"]))
}

/// Checks the models for refusals: those that the API chooses, or up to three.
fn check_fallbacks(fallbacks: &Value) -> Check {
    let is_named = |model: &Value| model["model"].as_str().is_some_and(|id| !id.is_empty());
    let is_taken = match fallbacks {
        Value::Null => true,
        Value::String(word) => word == "default",
        Value::Array(models) => {
            (1..=MAX_FALLBACKS).contains(&models.len()) && models.iter().all(is_named)
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if is_taken {
        return Ok(());
    }
    let message = format!("Input should be 'default' or a list of 1 to {MAX_FALLBACKS} models");
    Err(ApiError::at("fallbacks", message))
}

/// Checks that a summary of the API is alone in the first message.
fn check_summary(messages: &[Value]) -> Check {
    for (index, message) in messages.iter().enumerate() {
        let blocks = list(&message["content"]);
        let has_summary = blocks.iter().any(|block| block["type"] == "compaction");
        if has_summary && (index > 0 || blocks.len() > 1) {
            let message = "a `compaction` block must be the only one of the first message";
            return Err(ApiError::at(format!("messages.{index}"), message));
        }
    }
    Ok(())
}

/// Checks that nothing of a refused attempt is before the last fallback of a reply, but its text.
fn check_fallback(messages: &[Value]) -> Check {
    for (index, message) in messages.iter().enumerate() {
        let blocks = list(&message["content"]);
        let Some(fallback) = blocks.iter().rposition(|block| block["type"] == "fallback") else {
            continue;
        };
        let is_refused = |block: &Value| {
            let kind = block["type"].as_str().unwrap_or_default();
            ["thinking", "redacted_thinking", "tool_use"].contains(&kind)
        };
        if let Some(place) = blocks[..fallback].iter().position(is_refused) {
            let path = format!("messages.{index}.content.{place}");
            let message = "a refused attempt has nothing but text before its `fallback` block";
            return Err(ApiError::at(path, message));
        }
    }
    Ok(())
}
