//! A request that passed the validator.

use serde_json::Value;

use crate::cache::InputUsage;
use crate::journal::find_header;

/// A valid request for a message, with short ways to what a responder asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagesRequest {
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Value,
    /// Number of its tokens, and the part of them that was cached.
    pub input: InputUsage,
}

impl MessagesRequest {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// The model that is asked for.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// True if the answer has to be a stream.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.body["stream"] == Value::Bool(true)
    }

    /// The messages in their order.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        list(&self.body["messages"])
    }

    /// The content blocks of the last message; a plain string counts as one text block.
    #[must_use]
    pub fn last_content(&self) -> Vec<Value> {
        let content = self.messages().last().map(|message| &message["content"]);
        match content {
            Some(Value::String(text)) => vec![serde_json::json!({"type": "text", "text": text})],
            Some(blocks) => list(blocks).to_vec(),
            None => Vec::new(),
        }
    }

    /// The names of the tools that the request offers.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        list(&self.body["tools"])
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect()
    }

    /// The size of the prompt: a token for every four characters, unless the model counts
    /// otherwise, and fixed numbers for images and documents.
    #[must_use]
    pub fn input_tokens(&self) -> usize {
        usize::try_from(self.input.total()).unwrap_or(usize::MAX)
    }

    /// True if it wants a summary of a conversation: it offers no tools, and its last message holds the conversation in
    /// a `<conversation>` element.
    #[must_use]
    pub fn wants_summary(&self) -> bool {
        let holds = |block: &Value| {
            let text = block["text"].as_str().unwrap_or_default();
            text.contains("<conversation>") && text.contains("</conversation>")
        };
        list(&self.body["tools"]).is_empty() && self.last_content().iter().any(holds)
    }
}

/// A value's elements; none when it is not an array.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
