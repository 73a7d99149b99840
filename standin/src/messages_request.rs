//! A request that passed the validator.

use serde_json::Value;

use crate::journal::find_header;

/// A valid request for a message, with short ways to what a responder asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagesRequest {
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Value,
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

    /// Whether the answer is to be a stream.
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

    /// A rough size of the prompt: a token for every four characters.
    #[must_use]
    pub fn input_tokens(&self) -> usize {
        let counted = ["system", "tools", "messages"].map(|field| &self.body[field]);
        let present = counted.iter().filter(|value| !value.is_null());
        present
            .map(|value| value.to_string().chars().count())
            .sum::<usize>()
            .div_ceil(4)
    }
}

/// A value's elements; none when it is not an array.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
