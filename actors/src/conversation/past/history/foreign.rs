//! Searches of servers that are not the API: what they found lacks the fields that the API wants to see again.

use std::collections::HashSet;

use harness_protocol::words;
use serde_json::Value;

use crate::reply::{Block, BlockKind};
use crate::web;

/// A reply in which each search that cannot be sent back became text: what was searched for, and what was found. Its
/// citations, which the API could not check, are left out.
///
/// Source: public reports on gateways that search themselves and leave `encrypted_content` out.
pub(super) fn without_foreign_searches(mut reply: Vec<Block>) -> Vec<Block> {
    let foreign: HashSet<String> = reply.iter().filter_map(foreign_result).collect();
    for block in &mut reply {
        let is_foreign = match block.kind() {
            BlockKind::ServerToolCall { id } => foreign.contains(id),
            BlockKind::ServerToolResult { call_id } => foreign.contains(call_id),
            BlockKind::Text(_) => {
                block.retain_citations(|cited| is_sealed(cited, "encrypted_index"));
                continue;
            }
            BlockKind::Thinking { .. }
            | BlockKind::RedactedThinking
            | BlockKind::ToolCall { .. }
            | BlockKind::Unknown => false,
        };
        if is_foreign && let Some(step) = web::step(block) {
            *block = Block::text(&format!("[{}]", words::web_step(&step)));
        }
    }
    reply
}

/// The id of the search of which this is a result that the API would refuse to see again.
fn foreign_result(block: &Block) -> Option<String> {
    let BlockKind::ServerToolResult { call_id } = block.kind() else {
        return None;
    };
    if block.type_name() != "web_search_tool_result" {
        return None;
    }
    let pages = block.json().get("content")?.as_array()?;
    let is_foreign = pages
        .iter()
        .any(|page| !is_sealed(page, "encrypted_content"));
    is_foreign.then(|| call_id.to_owned())
}

/// True if a page or a citation of a search has what only the API can read; true for anything else.
fn is_sealed(found: &Value, field: &str) -> bool {
    let kind = found["type"].as_str().unwrap_or_default();
    let is_of_search = kind.starts_with("web_search_result");
    !is_of_search
        || found[field]
            .as_str()
            .is_some_and(|sealed| !sealed.is_empty())
}
