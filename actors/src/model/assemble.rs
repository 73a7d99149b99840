//! The events of one stream, put together to the blocks of a reply.

use std::borrow::Cow;
use std::collections::BTreeMap;

use harness_protocol::DeltaKind;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ModelError;
use super::surrogates::{self, FirstHalf};
use super::tool_input::{self, InputError};
use crate::reply::{Block, INPUT_ERROR, Object, ReplyEnd, StopReason};

/// Maximum size of a reply's content, in bytes.
const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;
/// Maximum size of a tool call's input, in bytes.
const MAX_TOOL_INPUT_BYTES: usize = 1024 * 1024;

/// The result of one event of the stream.
#[derive(Debug, PartialEq)]
pub enum AssembledStep {
    /// Nothing that can be shown yet.
    Nothing,
    /// A piece of an open block.
    Delta {
        /// The block's place in the reply.
        index: u64,
        /// The kind of block that the piece belongs to.
        kind: DeltaKind,
        /// Offset of the piece in its block, in bytes.
        offset: u64,
        /// The piece; never empty.
        text: String,
    },
    /// A block is complete.
    Block(u64, Block),
    /// The reply is complete, with the blocks that were still open.
    Finished(Vec<(u64, Block)>, ReplyEnd),
}

/// Assembles one reply. Events, deltas and blocks of unknown types are skipped or carried along.
#[derive(Debug, Default)]
pub struct Assembler {
    started: bool,
    /// The index of the next block to open; indexes have no gaps.
    next_index: u64,
    open: BTreeMap<u64, OpenBlock>,
    end: ReplyEnd,
    bytes: usize,
}

/// A block that has begun.
#[derive(Debug)]
struct OpenBlock {
    json: Object,
    /// The text so far of whatever the block is made of: text, thinking or a tool's input.
    text: String,
    /// Stopped, but kept back: its input was cut, and only the stop reason tells whether that
    /// is an error.
    stopped: bool,
    /// The first half of a character that the text so far ends with.
    half: Option<FirstHalf>,
}

/// The events that mean something here; `ping` does not.
const EVENTS: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

#[derive(Deserialize)]
struct Tagged<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct MessageStart<'a> {
    #[serde(borrow)]
    message: MessageHead<'a>,
}

#[derive(Deserialize)]
struct MessageHead<'a> {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
    /// Counts that cannot be read are no reason to lose a reply.
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageDelta<'a> {
    #[serde(default)]
    delta: Option<EndFields>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    /// The API's report on what it left out of the request.
    #[serde(default)]
    context_management: Value,
}

/// The fields of an event that belong to the end of a reply.
#[derive(Deserialize, Default)]
struct EndFields {
    #[serde(default)]
    stop_reason: Value,
    #[serde(default)]
    stop_sequence: Value,
    #[serde(default)]
    stop_details: Value,
}

#[derive(Deserialize)]
struct BlockStart {
    index: u64,
    content_block: Object,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    partial_json: Option<Cow<'a, str>>,
    #[serde(default)]
    signature: Option<String>,
    /// Of a summary.
    #[serde(default)]
    content: Value,
    #[serde(default)]
    encrypted_content: Value,
    #[serde(default)]
    citation: Option<Value>,
}

#[derive(Deserialize)]
struct BlockStop {
    index: u64,
}

impl Assembler {
    /// Takes the data of one event. `name` is the event's name, for servers that leave the type
    /// out of the data.
    ///
    /// # Errors
    /// An error that the API sent, or a stream that breaks the API's rules. The assembler must
    /// not be used after either.
    pub fn take(&mut self, name: &str, data: &str) -> Result<AssembledStep, ModelError> {
        // The type in an event's data identifies it, or its name where a server omits the type. An event of another
        // name may contain anything.
        let is_foreign = !matches!(name, "" | "message") && !EVENTS.contains(&name);
        let tagged = if data.trim_start().starts_with('{') {
            parse(data)
        } else {
            Err(malformed("an event is not a JSON object"))
        };
        let Tagged { kind } = match tagged {
            Err(_) if is_foreign || data == "[DONE]" => return Ok(AssembledStep::Nothing),
            tagged => tagged?,
        };
        match kind.as_deref().unwrap_or(name) {
            "message_start" => self.start(parse(data)?),
            "content_block_start" => self.open_block(parse(data)?, data.len()),
            "content_block_delta" => match parse(data) {
                Ok(event) => self.extend_block(event, data.len()),
                Err(_) => self.extend_by_half(data),
            },
            // Stopping a block before the reply began loses nothing; the SDKs let it pass too.
            "content_block_stop" if !self.started => Ok(AssembledStep::Nothing),
            "content_block_stop" => self.stop_block(parse::<BlockStop>(data)?.index),
            "message_delta" => self.change_end(parse(data)?),
            "message_stop" => self.finish(),
            "error" => Err(api_error(&parse::<Object>(data)?)),
            _ => Ok(AssembledStep::Nothing),
        }
    }

    /// The open text blocks that are not empty, with their text so far.
    #[must_use]
    pub fn partial_texts(&self) -> Vec<(u64, Block)> {
        let text = |block: &OpenBlock| {
            (block.kind() == "text" && !block.text.is_empty()).then(|| Block::text(&block.text))
        };
        self.open
            .iter()
            .filter_map(|(index, block)| Some((*index, text(block)?)))
            .collect()
    }

    fn start(&mut self, event: MessageStart<'_>) -> Result<AssembledStep, ModelError> {
        if std::mem::replace(&mut self.started, true) {
            return Err(malformed("a second message_start"));
        }
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        self.end.id = text(event.message.id);
        self.end.model = text(event.message.model);
        self.count_tokens(event.message.usage);
        Ok(AssembledStep::Nothing)
    }

    fn open_block(&mut self, event: BlockStart, size: usize) -> Result<AssembledStep, ModelError> {
        // llama.cpp leaves `message_start` out if its first token is a part of a character.
        self.started = true;
        self.count(size)?;
        let BlockStart {
            index,
            content_block: mut json,
        } = event;
        if index != self.next_index {
            return Err(malformed(format_args!(
                "block {index} was opened, and {} is next",
                self.next_index
            )));
        }
        self.next_index += 1;
        json.remove(INPUT_ERROR);
        // From here on another model replies.
        if let Some("fallback") = json.get("type").and_then(Value::as_str)
            && let Some(Value::String(model)) = json.get("to").and_then(|to| to.get("model"))
        {
            self.end.model.clone_from(model);
        }
        let mut text = String::new();
        for key in text_keys(&json) {
            if let Some(Value::String(begun)) = json.get_mut(*key) {
                text = std::mem::take(begun);
            }
        }
        if json.get("type").and_then(Value::as_str) == Some("tool_use") {
            let named = |key: &str| matches!(json.get(key), Some(Value::String(_)));
            if !named("id") || !named("name") {
                return Err(malformed("a tool call without id or name"));
            }
        }
        let block = OpenBlock {
            json,
            text,
            stopped: false,
            half: None,
        };
        let begun = block.delta(index, 0);
        self.open.insert(index, block);
        Ok(begun)
    }

    fn extend_block(
        &mut self,
        event: BlockDelta<'_>,
        size: usize,
    ) -> Result<AssembledStep, ModelError> {
        self.expect_started("content_block_delta")?;
        let index = event.index;
        let not_open = || malformed(format_args!("a delta for block {index}, which is not open"));
        let block = self
            .open
            .get_mut(&index)
            .filter(|block| !block.stopped)
            .ok_or_else(not_open)?;
        let begun = block.text.len();
        let kept = block.extend(event.delta, size);
        if block.is_call() && block.text.len() > MAX_TOOL_INPUT_BYTES {
            let reason = format!("its input is larger than {MAX_TOOL_INPUT_BYTES} bytes");
            return Err(block.input_error(&reason));
        }
        let step = block.delta(index, begun);
        self.count(kept)?;
        Ok(step)
    }

    /// Adds a delta that begins or ends inside a character, and therefore must be mended before it can be read.
    fn extend_by_half(&mut self, data: &str) -> Result<AssembledStep, ModelError> {
        let index = parse::<BlockStop>(data)?.index;
        let earlier = self.open.get(&index).and_then(|block| block.half);
        let mended = surrogates::mend(data, earlier);
        let event = parse(&mended.json)?;
        if let Some(block) = self.open.get_mut(&index).filter(|_| mended.is_joined) {
            block.half = None;
        }
        let step = self.extend_block(event, data.len())?;
        if let Some(block) = self.open.get_mut(&index) {
            block.half = mended.first_half;
        }
        Ok(step)
    }

    fn stop_block(&mut self, index: u64) -> Result<AssembledStep, ModelError> {
        let not_open = || malformed(format_args!("block {index} was stopped and is not open"));
        let block = self.open.get_mut(&index).ok_or_else(not_open)?;
        if std::mem::replace(&mut block.stopped, true) {
            return Err(not_open());
        }
        match block.finish() {
            Ok(()) => {}
            Err(InputError::Incomplete) => return Ok(AssembledStep::Nothing),
            Err(error @ InputError::Invalid(_)) => block.reject_input(&error)?,
        }
        let block = self.open.remove(&index).ok_or_else(not_open)?;
        Ok(AssembledStep::Block(index, Block::new(block.json)))
    }

    fn change_end(&mut self, event: MessageDelta<'_>) -> Result<AssembledStep, ModelError> {
        self.expect_started("message_delta")?;
        let fields = event.delta.unwrap_or_default();
        if let Value::String(reason) = fields.stop_reason {
            self.end.stop_reason = reason.as_str().into();
        }
        if let Value::String(sequence) = fields.stop_sequence {
            self.end.stop_sequence = Some(sequence);
        }
        if let Value::Object(details) = fields.stop_details {
            self.end.stop_details = details;
        }
        self.count_tokens(event.usage);
        self.end.usage.note_cleared(&event.context_management);
        Ok(AssembledStep::Nothing)
    }

    fn count_tokens(&mut self, usage: Option<&RawValue>) {
        if let Some(Ok(usage)) = usage.map(|usage| serde_json::from_str(usage.get())) {
            self.end.usage.update(&usage);
        }
    }

    /// Ends the reply. A block that is still open counts with its content so far; a call of a tool does so only if the
    /// API reports that it cut the reply, and otherwise has a bad input. Neither is ever run.
    fn finish(&mut self) -> Result<AssembledStep, ModelError> {
        self.expect_started("message_stop")?;
        let was_cut = matches!(
            self.end.stop_reason,
            StopReason::MaxTokens | StopReason::ContextWindowExceeded
        );
        let mut blocks = Vec::new();
        for (index, mut block) in std::mem::take(&mut self.open) {
            if block.is_call() && was_cut {
                let input = tool_input::parse_incomplete(&block.text);
                block.json.insert("input".to_owned(), Value::Object(input));
            } else if block.is_call() {
                block.reject_input(&InputError::Incomplete)?;
            } else if block.finish().is_err() {
                continue;
            }
            blocks.push((index, Block::new(block.json)));
        }
        Ok(AssembledStep::Finished(
            blocks,
            std::mem::take(&mut self.end),
        ))
    }

    fn expect_started(&self, event: &str) -> Result<(), ModelError> {
        if self.started {
            Ok(())
        } else {
            Err(malformed(format_args!("{event} before message_start")))
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes > MAX_REPLY_BYTES {
            return Err(malformed(format_args!(
                "the reply is larger than {MAX_REPLY_BYTES} bytes"
            )));
        }
        Ok(())
    }
}

impl OpenBlock {
    fn kind(&self) -> &str {
        let kind = self.json.get("type").and_then(Value::as_str);
        kind.unwrap_or_default()
    }

    fn is_call(&self) -> bool {
        is_call(self.kind())
    }

    /// The text that was added since it had that length, if clients can follow the block.
    fn delta(&self, index: u64, begun: usize) -> AssembledStep {
        let kind = match self.kind() {
            "text" => DeltaKind::Text,
            "thinking" => DeltaKind::Reasoning,
            "tool_use" => DeltaKind::ToolInput,
            _ => return AssembledStep::Nothing,
        };
        match self.text.get(begun..) {
            Some(text) if !text.is_empty() => AssembledStep::Delta {
                index,
                kind,
                offset: begun as u64,
                text: text.to_owned(),
            },
            Some(_) | None => AssembledStep::Nothing,
        }
    }

    /// Adds a delta from an event of `size` bytes, and tells how many bytes of it are kept. A
    /// delta that does not fit the block is skipped.
    fn extend(&mut self, delta: Delta<'_>, size: usize) -> usize {
        let piece = match (self.kind(), &*delta.kind) {
            ("text", "text_delta") => delta.text,
            ("thinking", "thinking_delta") => delta.thinking,
            (kind, "input_json_delta") if is_call(kind) => delta.partial_json,
            ("thinking", "signature_delta") => {
                let signature = delta.signature.map_or(Value::Null, Value::String);
                self.json.insert("signature".to_owned(), signature);
                return size;
            }
            ("compaction", "compaction_delta") => {
                if !delta.encrypted_content.is_null() {
                    self.json
                        .insert("encrypted_content".to_owned(), delta.encrypted_content);
                }
                // Each has the whole content so far.
                self.text.clear();
                let text = delta.content.as_str();
                text.map(|text| text.to_owned().into())
            }
            ("text", "citations_delta") => {
                if !self.json.get("citations").is_some_and(Value::is_array) {
                    self.json
                        .insert("citations".to_owned(), Value::Array(Vec::new()));
                }
                if let Some(Value::Array(citations)) = self.json.get_mut("citations") {
                    citations.extend(delta.citation);
                }
                return size;
            }
            _ => None,
        };
        let piece = piece.unwrap_or_default();
        self.end_half();
        self.text.push_str(&piece);
        piece.len()
    }

    /// An unpaired surrogate becomes U+FFFD.
    fn end_half(&mut self) {
        if self.half.take().is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Puts the collected text where it belongs in the block.
    fn finish(&mut self) -> Result<(), InputError> {
        self.end_half();
        let key = match self.kind() {
            key @ ("text" | "thinking") => key.to_owned(),
            // It may have none.
            "compaction" if self.text.is_empty() => return Ok(()),
            "compaction" => "content".to_owned(),
            kind if is_call(kind) => {
                // Some servers send the whole input with the start of the block.
                if !self.text.is_empty()
                    || !matches!(self.json.get("input"), Some(Value::Object(_)))
                {
                    let input = tool_input::parse(&self.text)?;
                    self.json.insert("input".to_owned(), Value::Object(input));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.json.insert(key, std::mem::take(&mut self.text).into());
        Ok(())
    }

    /// Makes a call with a bad input one that is answered with an error, which the model can mend.
    /// A call of the API's own tools fails the reply: the service does not answer it.
    fn reject_input(&mut self, error: &InputError) -> Result<(), ModelError> {
        if self.kind() != "tool_use" {
            return Err(self.input_error(&error.to_string()));
        }
        let answer = tool_input::answer(&self.text, error);
        self.json
            .insert("input".to_owned(), Value::Object(Object::new()));
        self.json.insert(INPUT_ERROR.to_owned(), answer.into());
        Ok(())
    }

    fn input_error(&self, reason: &str) -> ModelError {
        let name = self.json.get("name").and_then(Value::as_str);
        ModelError::ToolInput {
            name: name.unwrap_or("without a name").to_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// The fields of a block whose texts its deltas continue.
fn text_keys(block: &Object) -> &'static [&'static str] {
    match block.get("type").and_then(Value::as_str) {
        Some("compaction") => &["content"],
        _ => &["text", "thinking"],
    }
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
}

fn malformed(reason: impl std::fmt::Display) -> ModelError {
    ModelError::Malformed {
        reason: reason.to_string(),
    }
}

fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data)
        .map_err(|error| malformed(format_args!("an event is not as expected: {error}")))
}

/// An error inside the stream. It has no separate status, so it gets the one that the API answers with when it knows
/// before the stream begins.
fn api_error(event: &Object) -> ModelError {
    let error = event.get("error").and_then(Value::as_object);
    let text = |object: Option<&Object>, key: &str| {
        let text = object
            .and_then(|object| object.get(key))
            .and_then(Value::as_str);
        text.map(ToOwned::to_owned)
    };
    let kind = text(error, "type").unwrap_or_else(|| "api_error".to_owned());
    let status = match kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    ModelError::Api {
        status,
        kind,
        message: text(error, "message").unwrap_or_default(),
        request_id: text(Some(event), "request_id"),
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
