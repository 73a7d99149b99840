//! The tool calls of a session that have no result yet.

use std::collections::HashMap;

use harness_protocol::{Event, FileChange, HistoryPage, WebStep, words};
use serde_json::{Map, Value, json};

use crate::client::acp::content::{fenced_content, text_content};
use crate::client::acp::diff::{change_content, change_location};
use crate::client::acp::tool_call::{call_kind, pending_call, result_text};
use crate::visible;

/// Maximum size of the part of a running call's output that is shown, in bytes.
pub(super) const MAX_OUTPUT: usize = 8 * 1024;
/// The number of the first source that is named.
const FIRST_SOURCE: usize = 1;
/// Maximum length of a command in a title, in characters.
const MAX_COMMAND: usize = 200;

/// The calls without a result.
#[derive(Debug)]
pub(super) struct SessionCalls {
    open: HashMap<String, SessionCall>,
    /// The call of a tool that the API runs.
    web: Option<String>,
    /// The beginning of the names that are given here.
    prefix: String,
    /// Number of calls that were given a name here.
    named: u64,
}

/// A call without a result.
#[derive(Debug, Default)]
struct SessionCall {
    tool: String,
    is_begun: bool,
    /// The end of its output so far, and the offset behind it.
    output: String,
    offset: u64,
    has_new_output: bool,
    /// The changes that it made.
    content: Vec<Value>,
    locations: Vec<Value>,
}

impl SessionCalls {
    /// No calls. The names that are given to calls here begin with a prefix.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            open: HashMap::new(),
            web: None,
            prefix: prefix.to_owned(),
            named: 0,
        }
    }

    /// Adds the calls of the past that have no result.
    pub(super) fn restore(&mut self, history: &HistoryPage) {
        for past in &history.events {
            match &past.event {
                Event::ToolCall { id, name, .. } => {
                    let call = self.open.entry(id.clone()).or_default();
                    call.tool.clone_from(name);
                }
                Event::ToolResult { id, .. } => {
                    self.open.remove(id);
                }
                Event::CallsSkipped { .. } | Event::RunEnded { .. } => self.open.clear(),
                _ => {}
            }
        }
    }

    /// Adds a call of the model. Returns the update.
    pub(super) fn add(
        &mut self,
        id: String,
        tool: String,
        input: &Map<String, Value>,
        folder: &str,
    ) -> Value {
        let mut call = pending_call(&id, &tool, input, folder);
        call["sessionUpdate"] = "tool_call".into();
        let open = SessionCall {
            tool,
            ..SessionCall::default()
        };
        self.open.insert(id, open);
        call
    }

    /// The update of a call whose effect begins, at the first time.
    pub(super) fn begin(&mut self, id: &str) -> Option<Value> {
        let call = self.open.get_mut(id).filter(|call| !call.is_begun)?;
        call.is_begun = true;
        Some(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress",
        }))
    }

    /// Adds output of a call at its offset. What was missed before it is left out.
    pub(super) fn add_output(&mut self, id: &str, offset: u64, text: &str) {
        let Some(call) = self.open.get_mut(id) else {
            return;
        };
        if offset != call.offset {
            call.output.clear();
        }
        call.offset = offset.saturating_add(text.len() as u64);
        call.output.push_str(text);
        call.has_new_output = true;
        if call.output.len() > MAX_OUTPUT {
            let start = call
                .output
                .ceil_char_boundary(call.output.len() - MAX_OUTPUT);
            call.output.drain(..start);
        }
    }

    /// True if a call has written something that was not sent.
    pub(super) fn have_new_output(&self) -> bool {
        self.open.values().any(|call| call.has_new_output)
    }

    /// The updates with the output of calls that have written something.
    pub(super) fn new_output(&mut self) -> Vec<Value> {
        let waiting = self.open.iter_mut().filter(|(_, call)| call.has_new_output);
        let updates = waiting.map(|(id, call)| {
            call.has_new_output = false;
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress",
                "content": [fenced_content(&call.output)],
            })
        });
        updates.collect()
    }

    /// Adds changes of files that a call made.
    pub(super) fn add_changes(&mut self, id: &str, changes: &[FileChange]) {
        if let Some(call) = self.open.get_mut(id) {
            call.content.extend(changes.iter().flat_map(change_content));
            call.locations.extend(changes.iter().map(change_location));
        }
    }

    /// Ends a call with its result. Returns the update.
    pub(super) fn end(&mut self, id: &str, result: &str, is_error: bool) -> Option<Value> {
        let call = self.open.remove(id)?;
        let mut content = call.content;
        // A diff says more than that the file was changed.
        if content.is_empty() || is_error || call_kind(&call.tool) != "edit" {
            content.push(fenced_content(&result_text(result, is_error)));
        }
        let mut finished = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id,
            "status": if is_error { "failed" } else { "completed" },
            "content": content, "rawOutput": result,
        });
        if !call.locations.is_empty() {
            finished["locations"] = call.locations.into();
        }
        Some(finished)
    }

    /// Ends all calls for a reason. Returns the updates.
    pub(super) fn skip(&mut self, reason: &str) -> Vec<Value> {
        let mut ids: Vec<String> = self.open.keys().cloned().collect();
        ids.sort_unstable();
        ids.iter()
            .filter_map(|id| self.end(id, reason, true))
            .collect()
    }

    /// The update of a step of a tool that the API runs.
    pub(super) fn web_step(&mut self, step: &WebStep) -> Option<Value> {
        let (status, content) = match step {
            WebStep::Called { tool, .. } => {
                let id = self.next_id();
                self.web = Some(id.clone());
                return Some(json!({
                    "sessionUpdate": "tool_call", "toolCallId": id, "title": words::web_step(step),
                    "kind": call_kind(tool), "status": "in_progress",
                }));
            }
            WebStep::Found { sources } => ("completed", words::web_sources(sources, FIRST_SOURCE)),
            WebStep::Failed { error } => ("failed", error.clone()),
        };
        let id = self.web.take()?;
        Some(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
            "content": [text_content(&content)],
        }))
    }

    /// The update of a command of an operator.
    pub(super) fn shell(&mut self, command: &str, result: &str, is_error: bool) -> Value {
        json!({
            "sessionUpdate": "tool_call", "toolCallId": self.next_id(),
            "title": visible::short(&format!("! {command}"), MAX_COMMAND), "kind": "execute",
            "status": if is_error { "failed" } else { "completed" },
            "content": [fenced_content(result)],
        })
    }

    fn next_id(&mut self) -> String {
        self.named += 1;
        format!("{}-call-{}", self.prefix, self.named)
    }
}
