//! Messages as a text that the model summarizes.

use serde_json::Value;

use super::prompt::{enclosed, overhead};
use super::{Files, Goal};
use crate::reply::{Block, BlockKind};
use crate::tool::Registry;

/// How many characters of a result, of the input of a call and of a thought are told.
const MAX_RESULT: usize = 2000;
/// How many characters of what a person or the model said are told.
const MAX_TEXT: usize = 20_000;
/// How many characters of the operator's instructions are told.
const MAX_FOCUS: usize = 4000;
/// A piece has at least so many bytes, however small the window is.
const MIN_PIECE: usize = 2000;

/// What is to be summarized: an entry for each thing that was said or done.
#[derive(Debug)]
pub(crate) struct Transcript<'t> {
    /// They know which files their calls touched.
    tools: &'t Registry,
    entries: Vec<String>,
    files: Files,
}

impl<'t> Transcript<'t> {
    /// Nothing yet.
    pub(crate) fn new(tools: &'t Registry) -> Self {
        Self {
            tools,
            entries: Vec::new(),
            files: Files::default(),
        }
    }

    /// Adds a message, in the form of a request.
    pub(crate) fn add(&mut self, message: &Value) {
        let is_user = message["role"] == "user";
        let content = message["content"].as_array().map(Vec::as_slice);
        for block in content.unwrap_or_default() {
            if let Some(entry) = self.entry(block, is_user) {
                self.entries.push(entry);
            }
        }
    }

    fn entry(&mut self, block: &Value, is_user: bool) -> Option<String> {
        match block["type"].as_str()? {
            "tool_result" => {
                let what = if block["is_error"] == true {
                    "tool error"
                } else {
                    "tool result"
                };
                return Some(said(what, block["content"].as_str()?, MAX_RESULT));
            }
            "attachment" => return Some(attached(&block["attachment"])),
            _ => {}
        }
        let block = Block::new(block.as_object()?.clone());
        match block.kind() {
            BlockKind::Text(text) => {
                let who = if is_user { "user" } else { "assistant" };
                Some(said(who, text, MAX_TEXT))
            }
            BlockKind::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                Some(said("assistant thinking", thinking, MAX_RESULT))
            }
            BlockKind::ToolCall { name, input, .. } => {
                let tool = self.tools.get(name);
                let touched = tool.map(|tool| tool.touches(input));
                touched.iter().flatten().for_each(|it| self.files.add(it));
                let input = serde_json::to_string(input).unwrap_or_default();
                let call = format!("{name} {}", cut(&input, MAX_RESULT));
                Some(format!("[tool call]: {call}"))
            }
            BlockKind::ServerToolCall { .. } | BlockKind::ServerToolResult { .. } => {
                let json = serde_json::to_string(block.json()).unwrap_or_default();
                Some(said(block.type_name(), &json, MAX_RESULT))
            }
            BlockKind::Thinking { .. } | BlockKind::RedactedThinking | BlockKind::Unknown => None,
        }
    }

    /// The pieces, each short enough that the request for its summary fits into the window; the
    /// files, and the text of the earlier summary. `corrected` says how many tokens the API
    /// counts for an estimate.
    pub(crate) fn pieces(
        self,
        goal: &Goal,
        instructions: Option<&str>,
        earlier: Option<&str>,
        corrected: impl Fn(u64) -> u64,
    ) -> (Vec<String>, Files, Option<String>) {
        let (earlier, mut files) = earlier.map_or((None, Files::default()), |earlier| {
            let (text, files) = Files::split(earlier);
            (Some(text.to_owned()), files)
        });
        files.add_all(&self.files);
        let mut beside = String::new();
        let lists = files.lists();
        if !lists.is_empty() {
            beside += "\n\n";
            beside += &enclosed("files", &lists);
        }
        let focus = instructions.map(str::trim).unwrap_or_default();
        if !focus.is_empty() {
            beside += "\n\nThe summary is to attend above all to this:\n";
            beside += &enclosed("focus", &cut(focus, MAX_FOCUS));
        }
        let earlier_bytes = earlier.as_deref().map_or(0, str::len) as u64;
        let beside_bytes = (beside.len() + overhead()) as u64;
        let earlier_tokens = corrected(earlier_bytes / 4).max(goal.summary_tokens);
        let room = (goal.window.saturating_sub(goal.window / 4))
            .saturating_sub(goal.summary_tokens)
            .saturating_sub(earlier_tokens)
            .saturating_sub(corrected(beside_bytes / 4));
        // Bytes are at least as many as characters, so a piece is rather too short than too long.
        let per_thousand = corrected(1000).max(1);
        let bytes = room.saturating_mul(4 * 1000) / per_thousand;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(MIN_PIECE);
        let texts = divided(&self.entries, bytes);
        let pieces = texts
            .into_iter()
            .map(|text| enclosed("conversation", &text) + &beside)
            .collect();
        (pieces, files, earlier)
    }
}

/// Entries joined to texts of at most so many bytes; at least one text.
fn divided(entries: &[String], bytes: usize) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text = String::new();
    for entry in entries {
        let mut rest = entry.as_str();
        if !text.is_empty() && text.len() + 2 + rest.len() > bytes {
            texts.push(std::mem::take(&mut text));
        }
        while rest.len() > bytes {
            let (part, after) = rest.split_at(rest.floor_char_boundary(bytes));
            texts.push(part.to_owned());
            rest = after;
        }
        if !text.is_empty() {
            text += "\n\n";
        }
        text += rest;
    }
    if !text.is_empty() || texts.is_empty() {
        texts.push(text);
    }
    texts
}

fn said(who: &str, text: &str, max: usize) -> String {
    format!("[{who}]: {}", cut(text, max))
}

/// The beginning of a text, with a note if there was more.
fn cut(text: &str, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return text.to_owned();
    };
    let (begin, rest) = text.split_at(end);
    let more = rest.chars().count();
    format!("{begin}\n[… {more} more characters are left out]")
}

fn attached(attachment: &Value) -> String {
    let text = |key: &str| attachment[key].as_str().unwrap_or_default();
    let name = match text("name") {
        "" => "a file without a name",
        name => name,
    };
    let kind = text("media_type");
    format!("[user attached]: {name} ({kind})")
}
