//! Tool calls in the form of the Agent Client Protocol.

use std::path::Path;

use harness_protocol::{Approval, Subject, words};
use serde_json::{Map, Value, json};

use crate::client::acp::content::{fenced_content, text_content};
use crate::client::acp::diff::{change_content, change_location};
use crate::visible;

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 200;
/// The tool that runs commands.
const COMMAND_TOOL: &str = "bash";

/// A call as the model made it, which has not run.
pub(super) fn pending_call(
    id: &str,
    name: &str,
    input: &Map<String, Value>,
    folder: &str,
) -> Value {
    let title = match name {
        COMMAND_TOOL => words::asked(name, input),
        _ => words::call(name, input),
    };
    json!({
        "toolCallId": id,
        "title": visible::short(&title, MAX_TITLE),
        "name": name,
        "kind": call_kind(name),
        "status": "pending",
        "rawInput": input,
        "locations": input_location(input, folder),
    })
}

/// A call that an operator is asked about.
pub(super) fn asked_call(approval: &Approval) -> Value {
    let mut content = Vec::new();
    let mut locations = Vec::new();
    let title = match &approval.subject {
        Subject::Change(change) => {
            content.extend(change_content(change));
            content.extend(change.notes.iter().map(|note| line_content(note)));
            locations.push(change_location(change));
            words::changed(change)
        }
        Subject::Command(plan) => {
            content.push(judged_content(&plan.command));
            content.extend(plan.why.as_deref().map(judged_content));
            content.push(line_content(&words::command(plan)));
            content.extend(plan.gaps.iter().map(|gap| line_content(gap)));
            plan.command.clone()
        }
        Subject::McpCall(call) => {
            content.push(judged_content(&call.input));
            content.push(line_content(&words::mcp_call(call)));
            content.extend(call.gaps.iter().map(|gap| line_content(gap)));
            format!("{}.{}", call.server, call.tool)
        }
    };
    content.push(line_content(&approval.because));
    content.extend(words::beyond_undo(&approval.subject).map(|line| text_content(&line)));
    json!({
        "toolCallId": approval.call,
        "title": visible::short(&title, MAX_TITLE),
        "kind": asked_kind(&approval.tool),
        "status": "pending",
        "content": content,
        "locations": locations,
    })
}

/// The text of a result for people: of a failure its reason.
pub(super) fn result_text(result: &str, is_error: bool) -> String {
    let read = || serde_json::from_str::<Map<String, Value>>(result).ok();
    let reason = is_error.then(read).flatten();
    let reason = reason.as_ref().and_then(|read| read.get("error")?.as_str());
    reason.unwrap_or(result).to_owned()
}

/// The kind of a tool.
pub(super) fn call_kind(name: &str) -> &'static str {
    match name {
        "read" | "list_dir" => "read",
        "grep" | "web_search" => "search",
        "edit" | "write" => "edit",
        COMMAND_TOOL | "job" => "execute",
        "web_fetch" => "fetch",
        _ => "other",
    }
}

/// A text that an operator judges, with every hidden character made visible.
fn judged_content(text: &str) -> Value {
    let lines: Vec<String> = text.lines().map(visible::judged).collect();
    fenced_content(&lines.join("\n"))
}

/// A line about a question.
fn line_content(text: &str) -> Value {
    text_content(&visible::line(text))
}

/// The kind of a tool in a question. Some clients allow what reads and searches without asking anyone.
fn asked_kind(name: &str) -> &'static str {
    match call_kind(name) {
        "read" | "search" => "other",
        kind => kind,
    }
}

fn input_location(input: &Map<String, Value>, folder: &str) -> Vec<Value> {
    let Some(path) = input.get("path").and_then(Value::as_str) else {
        return Vec::new();
    };
    let path = Path::new(folder).join(path);
    let path = path.to_string_lossy();
    match input.get("start_line").and_then(Value::as_u64) {
        Some(line) => vec![json!({"path": path, "line": line})],
        None => vec![json!({"path": path})],
    }
}
