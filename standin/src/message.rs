//! A message of the model, put together block by block, and its form as a stream.

use std::time::Duration;

use serde_json::{Value, json};

use crate::block::Block;
use crate::event::encode_event;
use crate::gate::Gate;
use crate::messages_request::MessagesRequest;
use crate::reply::Step;
use crate::signature::fallback_model;

/// A message of the model. It streams when the request asks for a stream, and is one JSON
/// document otherwise.
#[derive(Debug, Clone, Default)]
pub struct Message {
    id: Option<String>,
    parts: Vec<Part>,
    stop_reason: Option<Value>,
    stop_details: Option<Value>,
    usage: Option<Value>,
    cleared: Option<u64>,
    words_per_delta: Option<usize>,
    delta_pause: Option<Duration>,
    delta_gates: Vec<(usize, Gate)>,
}

#[derive(Debug, Clone)]
enum Part {
    Block(Block),
    Gate(Gate),
    Sleep(Duration),
}

impl Message {
    /// A message without any block.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text block.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::Block(Block::Text(text.into())))
    }

    /// Adds a thinking block with its signature.
    #[must_use]
    pub fn thinking(self, thinking: impl Into<String>, signature: impl Into<String>) -> Self {
        let (thinking, signature) = (thinking.into(), signature.into());
        self.part(Part::Block(Block::Thinking {
            thinking,
            signature,
        }))
    }

    /// Adds a thinking block that the server signs itself, so that it notices when the block is sent back after
    /// something else, by another model or changed. Its text is omitted if the request asks for that; the newer models
    /// omit it by default.
    #[must_use]
    pub fn signed_thinking(self, thinking: impl Into<String>) -> Self {
        self.part(Part::Block(Block::Unsigned(thinking.into())))
    }

    /// Reports that results of tools were left out of the request, with their size in tokens.
    #[must_use]
    pub fn cleared(mut self, tokens: u64) -> Self {
        self.cleared = Some(tokens);
        self
    }

    /// Adds a redacted thinking block.
    #[must_use]
    pub fn redacted_thinking(self, data: impl Into<String>) -> Self {
        self.block(json!({"type": "redacted_thinking", "data": data.into()}))
    }

    /// Adds a tool call.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers write the input as a literal"
    )]
    pub fn tool_use(self, id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        self.raw_tool_use(id, name, input.to_string())
    }

    /// Adds a tool call whose input is streamed as this text, be it JSON or not.
    #[must_use]
    pub fn raw_tool_use(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        let (id, name, input) = (id.into(), name.into(), input.into());
        self.part(Part::Block(Block::ToolUse { id, name, input }))
    }

    /// Adds any block. The kinds with separate methods stream in deltas; of others, `content_block_start` contains
    /// everything.
    #[must_use]
    pub fn block(self, block: Value) -> Self {
        self.part(Part::Block(Block::from(block)))
    }

    /// Stops between the blocks until the gate is open.
    #[must_use]
    pub fn gate(self, gate: &Gate) -> Self {
        self.part(Part::Gate(gate.clone()))
    }

    /// Rests between the blocks.
    #[must_use]
    pub fn sleep(self, duration: Duration) -> Self {
        self.part(Part::Sleep(duration))
    }

    /// Stops after the `n`-th delta of the message, counted from 1, until the gate is open.
    #[must_use]
    pub fn gate_after_delta(mut self, n: usize, gate: &Gate) -> Self {
        self.delta_gates.push((n, gate.clone()));
        self
    }

    /// Rests after every delta.
    #[must_use]
    pub fn delta_pause(mut self, pause: Duration) -> Self {
        self.delta_pause = Some(pause);
        self
    }

    /// Sets the number of words in a delta of text or thinking. The default is 3.
    #[must_use]
    pub fn words_per_delta(mut self, words: usize) -> Self {
        self.words_per_delta = Some(words);
        self
    }

    /// Sets the message id, which is made from the request id by default.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the stop reason: `tool_use` if there is a tool call and `end_turn` otherwise, unless
    /// told. A stream can also say `null`.
    #[must_use]
    pub fn stop_reason(mut self, reason: impl Into<Value>) -> Self {
        self.stop_reason = Some(reason.into());
        self
    }

    /// Adds `stop_details`, for example a refusal's category.
    #[must_use]
    pub fn stop_details(mut self, details: Value) -> Self {
        self.stop_details = Some(details);
        self
    }

    /// Sets the final `usage`, which is estimated unless told. A stream can also say `null`.
    #[must_use]
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = Some(usage);
        self
    }

    fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    fn signed(mut self, request: &MessagesRequest) -> Self {
        let mut model = request.model().to_owned();
        let mut sign = |part| match part {
            Part::Block(block) => {
                if let Some(next) = fallback_model(&block.to_value()) {
                    next.clone_into(&mut model);
                }
                Part::Block(block.signed(request, &model))
            }
            Part::Gate(_) | Part::Sleep(_) => part,
        };
        self.parts = self.parts.into_iter().map(&mut sign).collect();
        self
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().filter_map(|part| match part {
            Part::Block(block) => Some(block),
            Part::Gate(_) | Part::Sleep(_) => None,
        })
    }

    fn delta_fields(&self) -> Value {
        let calls = self
            .blocks()
            .any(|block| block.to_value()["type"] == "tool_use");
        let usual = if calls { "tool_use" } else { "end_turn" };
        let reason = self.stop_reason.clone().unwrap_or_else(|| usual.into());
        let mut fields = json!({"stop_reason": reason, "stop_sequence": null});
        if let Some(details) = &self.stop_details {
            fields["stop_details"] = details.clone();
        }
        fields
    }

    fn final_usage(&self, request: &MessagesRequest) -> Value {
        let written: usize = self
            .blocks()
            .map(|block| block.to_value().to_string().len())
            .sum();
        self.usage
            .clone()
            .unwrap_or_else(|| usage(request, written.div_ceil(4)))
    }

    /// The message before its first block.
    fn opening(&self, request: &MessagesRequest, request_id: &str) -> Value {
        let id = self
            .id
            .clone()
            .unwrap_or_else(|| request_id.replace("req_", "msg_"));
        json!({
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": request.model(),
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage(request, 1),
        })
    }

    /// The message as one JSON document, after the gates and rests between its blocks.
    pub(crate) fn document(self, request: &MessagesRequest, request_id: &str) -> Vec<Step> {
        self.signed(request).as_document(request, request_id)
    }

    fn as_document(&self, request: &MessagesRequest, request_id: &str) -> Vec<Step> {
        let mut message = self.opening(request, request_id);
        message["content"] = self.blocks().map(Block::to_value).collect();
        message["usage"] = self.final_usage(request);
        if let (Some(message), Value::Object(fields)) =
            (message.as_object_mut(), self.delta_fields())
        {
            message.extend(fields);
        }
        let mut steps: Vec<Step> = self.parts.iter().filter_map(Part::pause).collect();
        steps.push(Step::Send(message.to_string().into()));
        steps
    }

    /// The message as a stream: each `Send` is one event.
    pub(crate) fn stream(self, request: &MessagesRequest, request_id: &str) -> Vec<Step> {
        self.signed(request).as_stream(request, request_id)
    }

    fn as_stream(&self, request: &MessagesRequest, request_id: &str) -> Vec<Step> {
        let send = |value: Value| Step::Send(encode_event(&value));
        let opening = self.opening(request, request_id);
        let mut steps = vec![send(json!({"type": "message_start", "message": opening}))];
        let mut index = 0;
        let mut sent_deltas = 0;
        for part in &self.parts {
            let Part::Block(block) = part else {
                steps.extend(part.pause());
                continue;
            };
            let start = block.start();
            steps.push(send(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            ));
            if index == 0 {
                steps.push(send(json!({"type": "ping"})));
            }
            for delta in block.deltas(self.words_per_delta.unwrap_or(3)) {
                steps.push(send(
                    json!({"type": "content_block_delta", "index": index, "delta": delta}),
                ));
                sent_deltas += 1;
                steps.extend(self.delta_pause.map(Step::Sleep));
                let gates = self.delta_gates.iter().filter(|(n, _)| *n == sent_deltas);
                steps.extend(gates.map(|(_, gate)| Step::Wait(gate.clone())));
            }
            steps.push(send(json!({"type": "content_block_stop", "index": index})));
            index += 1;
        }
        let (delta, usage) = (self.delta_fields(), self.final_usage(request));
        let mut end = json!({"type": "message_delta", "delta": delta, "usage": usage});
        if let Some(tokens) = self.cleared {
            let edit = json!({"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1,
                              "cleared_input_tokens": tokens});
            end["context_management"] = json!({"applied_edits": [edit]});
        }
        steps.push(send(end));
        steps.push(send(json!({"type": "message_stop"})));
        steps
    }
}

impl Part {
    fn pause(&self) -> Option<Step> {
        match self {
            Self::Block(_) => None,
            Self::Gate(gate) => Some(Step::Wait(gate.clone())),
            Self::Sleep(duration) => Some(Step::Sleep(*duration)),
        }
    }
}

impl From<Vec<Value>> for Message {
    fn from(blocks: Vec<Value>) -> Self {
        blocks.into_iter().fold(Self::new(), Self::block)
    }
}

fn usage(request: &MessagesRequest, output_tokens: usize) -> Value {
    let mut usage = request.input.to_json();
    usage["output_tokens"] = output_tokens.into();
    usage
}
