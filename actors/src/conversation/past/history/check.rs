//! Whether messages pass the API's rules on roles, calls and results.

use std::collections::HashSet;

use serde_json::Value;

/// The first place at which the API would refuse messages for the order of roles, calls and
/// results, in words for the operator. The last guard before a request, for messages that others
/// have put together.
#[must_use]
pub fn first_violation(messages: &[Value]) -> Option<String> {
    let mut ids = HashSet::new();
    let mut called: Vec<&str> = Vec::new();
    let mut awaited: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != role {
            return Some(format!("message {number} is not of the {role}"));
        }
        let blocks = message["content"].as_array().map(Vec::as_slice);
        let blocks = blocks.unwrap_or_default();
        if blocks.is_empty() {
            return Some(format!("message {number} is empty"));
        }
        if let Some(wrong) = wrong_results(blocks, &called) {
            return Some(format!("message {number}: {wrong}"));
        }
        called = of_type(blocks, "tool_use", "id").collect();
        awaited = match server_calls(role, blocks, &awaited, number + 1 == messages.len()) {
            Ok(awaited) => awaited,
            Err(wrong) => return Some(format!("message {number}: {wrong}")),
        };
        if let Some(id) = called.iter().find(|id| !ids.insert(**id)) {
            return Some(format!("message {number}: a call has the id {id} again"));
        }
        let is_blank = |block: &Value| {
            block["type"] == "text" && block["text"].as_str().is_none_or(|it| it.trim().is_empty())
        };
        if blocks.iter().any(is_blank) {
            return Some(format!("message {number} has a blank text"));
        }
    }
    let id = called.first()?;
    Some(format!("the call {id} has no result"))
}

/// The fault in the results of a message that is to answer these calls.
fn wrong_results(blocks: &[Value], called: &[&str]) -> Option<String> {
    let results: Vec<&str> = of_type(blocks, "tool_result", "tool_use_id").collect();
    if let Some(id) = called.iter().find(|id| !results.contains(id)) {
        return Some(format!("the call {id} has no result"));
    }
    if let Some(id) = results.iter().find(|id| !called.contains(id)) {
        return Some(format!("the result {id} has no call"));
    }
    let in_front = blocks.iter().take(results.len());
    if in_front
        .into_iter()
        .any(|block| block["type"] != "tool_result")
    {
        return Some("results do not come first".to_owned());
    }
    (results.len() > called.len()).then(|| "a call has two results".to_owned())
}

/// The calls of the API's own tools that are open behind a message, if `awaited` were before it;
/// else the fault in it. A call is answered in its message, or in the next reply if calls of our
/// tools are beside it and the message between has their results alone.
fn server_calls<'a>(
    role: &str,
    blocks: &'a [Value],
    awaited: &[&'a str],
    is_last: bool,
) -> Result<Vec<&'a str>, String> {
    if role == "user" {
        let has_more = blocks.iter().any(|block| block["type"] != "tool_result");
        return match awaited.first() {
            Some(id) if has_more => Err(format!("more than results, but {id} awaits its own")),
            Some(_) | None => Ok(awaited.to_vec()),
        };
    }
    let is_result = |block: &&Value| {
        let kind = block["type"].as_str();
        kind.is_some_and(|kind| kind.ends_with("_tool_result"))
    };
    let results = blocks.iter().filter(is_result);
    let results: Vec<&str> = results
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    if let Some(id) = awaited.iter().find(|id| !results.contains(id)) {
        return Err(format!(
            "the call {id} of the API's own tools has no result"
        ));
    }
    let called = of_type(blocks, "server_tool_use", "id");
    let called: Vec<&str> = called
        .chain(of_type(blocks, "mcp_tool_use", "id"))
        .collect();
    let is_known = |id: &&&str| called.contains(*id) || awaited.contains(*id);
    if let Some(id) = results.iter().find(|id| !is_known(id)) {
        return Err(format!(
            "the result {id} of the API's own tools has no call"
        ));
    }
    let open: Vec<&str> = called
        .into_iter()
        .filter(|id| !results.contains(id))
        .collect();
    let may_wait = is_last || of_type(blocks, "tool_use", "id").next().is_some();
    match open.first() {
        Some(id) if !may_wait => Err(format!(
            "the call {id} of the API's own tools has no result"
        )),
        Some(_) | None => Ok(open),
    }
}

fn of_type<'a>(blocks: &'a [Value], kind: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let blocks = blocks.iter().filter(move |block| block["type"] == kind);
    blocks.map(move |block| block[key].as_str().unwrap_or_default())
}
