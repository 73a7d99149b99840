//! The rules for tool calls and their results: each call is answered once, in the next message.

use std::collections::HashSet;

use serde_json::Value;

use super::Check;
use crate::api_error::ApiError;
use crate::messages_request::list;

/// Checks the pairing over all messages.
pub(super) fn check(messages: &Value) -> Check {
    let messages = list(messages);
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = list(&message["content"]);
        check_results(index, blocks, &open)?;
        open = ids(blocks, "tool_use", "id").map(|(_, id)| id).collect();
        for (place, id) in ids(blocks, "tool_use", "id") {
            if !seen.insert(id) {
                let path = format!("messages.{index}.content.{place}");
                return Err(ApiError::at(path, "`tool_use` ids must be unique"));
            }
        }
        check_server_tools(index, blocks, index + 1 == messages.len())?;
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(messages.len() - 1, &open))
    }
}

/// Checks that a message answers exactly the calls of the message before it.
fn check_results(index: usize, blocks: &[Value], open: &[&str]) -> Check {
    let mut answered = HashSet::new();
    for (place, id) in ids(blocks, "tool_result", "tool_use_id") {
        let path = format!("messages.{index}.content.{place}");
        if !open.contains(&id) {
            let message = format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` \
                 block must have a corresponding `tool_use` block in the previous message."
            );
            return Err(ApiError::at(path, message));
        }
        if !answered.insert(id) {
            let message = format!("each tool_use must have a single result. Found several: {id}");
            return Err(ApiError::at(path, message));
        }
    }
    let missing: Vec<&str> = open
        .iter()
        .filter(|id| !answered.contains(**id))
        .copied()
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(unanswered(index - 1, &missing))
    }
}

fn unanswered(index: usize, ids: &[&str]) -> ApiError {
    let ids = ids.join(", ");
    let message = format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message."
    );
    ApiError::at(format!("messages.{index}"), message)
}

/// Checks that a call which the server ran has its result in the same message, or is still open
/// in the last one.
fn check_server_tools(index: usize, blocks: &[Value], is_last: bool) -> Check {
    let results: HashSet<&str> = blocks
        .iter()
        .filter(|block| {
            block["type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("_tool_result"))
        })
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    let calls = ids(blocks, "server_tool_use", "id").chain(ids(blocks, "mcp_tool_use", "id"));
    for (place, id) in calls {
        if !is_last && !results.contains(id) {
            let message = format!("`server_tool_use` {id} was found without its result block");
            return Err(ApiError::at(
                format!("messages.{index}.content.{place}"),
                message,
            ));
        }
    }
    Ok(())
}

/// The ids in one kind of block, with the places of the blocks.
fn ids<'a>(
    blocks: &'a [Value],
    kind: &'a str,
    field: &'a str,
) -> impl Iterator<Item = (usize, &'a str)> {
    let of_kind = blocks
        .iter()
        .enumerate()
        .filter(move |(_, block)| block["type"] == kind);
    of_kind.filter_map(move |(place, block)| Some((place, block[field].as_str()?)))
}
