//! Messages as a text that the model summarizes.

use harness_protocol::words;
use serde_json::Value;

use super::prompt::{enclosed, overhead};
use super::{Goal, SummaryFiles};
use crate::reply::{Block, BlockKind};
use crate::tool::Registry;
use crate::web;

/// Maximum number of characters of a result, of the input of a call and of a thought.
const MAX_RESULT: usize = 2000;
/// Maximum number of characters of a text by a person or the model.
const MAX_TEXT: usize = 20_000;
/// Maximum number of characters of the operator's instructions.
const MAX_FOCUS: usize = 4000;
/// Minimum size of a piece in bytes, however small the window is.
const MIN_PIECE: usize = 2000;

/// The texts of a message in the form of a request: an entry for each thing that was said or done.
fn entries(message: &Value) -> Vec<String> {
    let is_user = message["role"] == "user";
    let content = message["content"].as_array().map(Vec::as_slice);
    let blocks = content.unwrap_or_default().iter();
    blocks.filter_map(|block| entry(block, is_user)).collect()
}

fn entry(block: &Value, is_user: bool) -> Option<String> {
    match block["type"].as_str()? {
        "tool_result" => {
            let what = if block["is_error"] == true {
                "tool error"
            } else {
                "tool result"
            };
            return Some(quoted_turn(what, block["content"].as_str()?, MAX_RESULT));
        }
        "attachment" => return Some(attached(&block["attachment"])),
        _ => {}
    }
    let block = Block::new(block.as_object()?.clone());
    match block.kind() {
        BlockKind::Text(text) => {
            let who = if is_user { "user" } else { "assistant" };
            Some(quoted_turn(who, text, MAX_TEXT))
        }
        BlockKind::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
            Some(quoted_turn("assistant thinking", thinking, MAX_RESULT))
        }
        BlockKind::ToolCall { name, input, .. } => {
            let input = serde_json::to_string(input).unwrap_or_default();
            let call = format!("{name} {}", cut(&input, MAX_RESULT));
            Some(format!("[tool call]: {call}"))
        }
        BlockKind::ServerToolCall { .. } | BlockKind::ServerToolResult { .. } => {
            let told = words::web_step(&web::step(&block)?);
            Some(quoted_turn(block.type_name(), &told, MAX_RESULT))
        }
        BlockKind::Thinking { .. } | BlockKind::RedactedThinking | BlockKind::Unknown => None,
    }
}

/// Adds the files that the calls of a message touched.
pub(crate) fn add_files(message: &Value, tools: &Registry, files: &mut SummaryFiles) {
    let content = message["content"].as_array().map(Vec::as_slice);
    for block in content.unwrap_or_default() {
        if block["type"] == "tool_use"
            && let (Some(name), Some(input)) = (block["name"].as_str(), block["input"].as_object())
            && let Some(tool) = tools.get(name)
        {
            tool.touches(input).iter().for_each(|it| files.add(it));
        }
    }
}

/// The part that all pieces of one summary have in common.
#[derive(Debug)]
pub(crate) struct SummaryFrame {
    /// The text after the conversation.
    beside: String,
    /// Maximum size of the conversation's text in a piece, in bytes, so that the request for its summary fits into the
    /// window.
    bytes: usize,
    /// The files that were touched, also those of the earlier summary.
    pub(crate) files: SummaryFiles,
    /// The text of the earlier summary.
    pub(crate) earlier: Option<String>,
}

impl SummaryFrame {
    /// The frame of a conversation that touched these files. `corrected` returns the number of tokens that the API
    /// counts for an estimate.
    pub(crate) fn new(
        touched: &SummaryFiles,
        goal: &Goal,
        instructions: Option<&str>,
        earlier: Option<&str>,
        corrected: impl Fn(u64) -> u64,
    ) -> Self {
        let (earlier, mut files) = earlier.map_or((None, SummaryFiles::default()), |earlier| {
            let (text, files) = SummaryFiles::split(earlier);
            (Some(text.to_owned()), files)
        });
        files.add_all(touched);
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
        Self {
            beside,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX).max(MIN_PIECE),
            files,
            earlier,
        }
    }

    /// The piece of a conversation that begins at `from`, and the place where the next one begins. `None` in place of
    /// that after the last piece. `message` returns the messages by their number.
    pub(crate) fn piece(
        &self,
        message: impl Fn(usize) -> Option<Value>,
        from: TranscriptPlace,
    ) -> (String, Option<TranscriptPlace>) {
        let (text, next) = text(message, from, self.bytes);
        (enclosed("conversation", &text) + &self.beside, next)
    }
}

/// A place in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TranscriptPlace {
    message: usize,
    entry: usize,
    /// In bytes of the entry.
    offset: usize,
}

/// Entries from a place on, joined to a text of at most so many bytes, and where it ends.
fn text(
    message: impl Fn(usize) -> Option<Value>,
    mut place: TranscriptPlace,
    bytes: usize,
) -> (String, Option<TranscriptPlace>) {
    let mut text = String::new();
    while let Some(message) = message(place.message) {
        for entry in entries(&message).iter().skip(place.entry) {
            let rest = &entry[place.offset..];
            if !text.is_empty() && text.len() + 2 + rest.len() > bytes {
                return (text, Some(place));
            }
            if rest.len() > bytes {
                let part = &rest[..rest.floor_char_boundary(bytes)];
                place.offset += part.len();
                return (part.to_owned(), Some(place));
            }
            if !text.is_empty() {
                text += "\n\n";
            }
            text += rest;
            place.entry += 1;
            place.offset = 0;
        }
        place = TranscriptPlace {
            message: place.message + 1,
            ..TranscriptPlace::default()
        };
    }
    (text, None)
}

fn quoted_turn(who: &str, text: &str, max: usize) -> String {
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
