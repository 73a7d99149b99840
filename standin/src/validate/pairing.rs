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
    let mut awaited = Vec::new();
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
        awaited = check_server_tools(index, message, &awaited, index + 1 == messages.len())?;
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

/// Checks the calls of the tools that the server runs: each has its result in its message, or is
/// open in the last one, or is beside calls of the client's tools. The next message then has the
/// results of those and nothing else, and the reply to it has the missing result. `awaited` are the
/// calls that are open so; returns those that are behind this message.
fn check_server_tools<'a>(
    index: usize,
    message: &'a Value,
    awaited: &[AwaitedResult<'a>],
    is_last: bool,
) -> Result<Vec<AwaitedResult<'a>>, ApiError> {
    let blocks = list(&message["content"]);
    if message["role"] != "assistant" {
        let only_results = blocks.iter().all(|block| block["type"] == "tool_result");
        if let Some(AwaitedResult { id, .. }) = awaited.first()
            && (blocks.is_empty() || !only_results)
        {
            let message = format!(
                "`server_tool_use` {id} awaits its result: the message before it must have \
                 `tool_result` blocks and nothing else"
            );
            return Err(ApiError::at(format!("messages.{index}"), message));
        }
        return Ok(awaited.to_vec());
    }
    let calls = ids(blocks, "server_tool_use", "id").chain(ids(blocks, "mcp_tool_use", "id"));
    let calls: Vec<AwaitedResult<'_>> = calls
        .map(|(place, id)| AwaitedResult { index, place, id })
        .collect();
    let results: Vec<(usize, &str)> = server_results(blocks).collect();
    for (place, id) in &results {
        if !awaited.iter().chain(&calls).any(|call| call.id == *id) {
            let message = format!("unexpected `tool_use_id` {id}: no server tool was called so");
            return Err(ApiError::at(
                format!("messages.{index}.content.{place}"),
                message,
            ));
        }
    }
    let is_open = |call: &&AwaitedResult<'_>| !results.iter().any(|(_, id)| *id == call.id);
    if let Some(call) = awaited.iter().find(is_open) {
        return Err(call.missing());
    }
    let is_mixed = ids(blocks, "tool_use", "id").next().is_some();
    let open: Vec<AwaitedResult<'_>> = calls.iter().filter(is_open).copied().collect();
    match open.first() {
        Some(call) if !is_mixed && !is_last => Err(call.missing()),
        Some(_) | None => Ok(open),
    }
}

/// A call of a tool that the server runs, whose result is not in its message.
#[derive(Clone, Copy)]
struct AwaitedResult<'a> {
    /// The message.
    index: usize,
    /// The block in it.
    place: usize,
    id: &'a str,
}

impl AwaitedResult<'_> {
    fn missing(&self) -> ApiError {
        let message = format!(
            "`server_tool_use` {} was found without its result block",
            self.id
        );
        ApiError::at(
            format!("messages.{}.content.{}", self.index, self.place),
            message,
        )
    }
}

/// The results of the tools that the server runs, with the places of the blocks.
fn server_results(blocks: &[Value]) -> impl Iterator<Item = (usize, &str)> {
    let is_result = |kind: &str| kind.ends_with("_tool_result");
    let results = blocks.iter().enumerate();
    let results = results.filter(move |(_, block)| block["type"].as_str().is_some_and(is_result));
    results.filter_map(|(place, block)| Some((place, block["tool_use_id"].as_str()?)))
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
