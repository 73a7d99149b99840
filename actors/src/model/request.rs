//! The body of a request, in parts: what is the same from turn to turn is serialized once.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

/// The largest body that the API takes, in bytes.
///
/// Source: the API's documentation of errors, `request_too_large`.
pub const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// Which model to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The API's id of the model.
    pub id: Arc<str>,
    /// Whether the operator chose it. Only a default is ever replaced by another model.
    pub chosen: bool,
}

/// What every request of a conversation has in common.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestHead {
    model: ModelChoice,
    /// All fields but the model and the messages.
    settings: Bytes,
}

impl RequestHead {
    /// The head for these settings. `tools` are in the API's format.
    #[must_use]
    pub fn new(model: ModelChoice, max_tokens: u32, system_prompt: &str, tools: &[Value]) -> Self {
        let mut settings = format!(r#","max_tokens":{max_tokens}"#);
        if !system_prompt.is_empty() {
            settings += &format!(r#","system":{}"#, Value::from(system_prompt));
        }
        if !tools.is_empty() {
            let tools = Value::from(tools);
            settings += &format!(
                r#","tools":{tools},"tool_choice":{}"#,
                json!({"type": "auto"})
            );
        }
        settings += r#","stream":true,"messages":["#;
        Self {
            model,
            settings: settings.into(),
        }
    }

    /// A request with these messages, serialized and with commas between them.
    #[must_use]
    pub fn request(&self, messages: Vec<Bytes>) -> ModelRequest {
        ModelRequest {
            head: self.clone(),
            messages,
        }
    }
}

/// One request, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    head: RequestHead,
    messages: Vec<Bytes>,
}

impl ModelRequest {
    /// Which model to ask.
    #[must_use]
    pub fn model(&self) -> &ModelChoice {
        &self.head.model
    }

    /// The body for a model, in pieces that are sent one after the other.
    #[must_use]
    pub fn body(&self, model: &str) -> Vec<Bytes> {
        let mut pieces = Vec::with_capacity(self.messages.len() + 3);
        pieces.push(format!(r#"{{"model":{}"#, Value::from(model)).into());
        pieces.push(self.head.settings.clone());
        pieces.extend_from_slice(&self.messages);
        pieces.push(Bytes::from_static(b"]}"));
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(system_prompt: &str, tools: &[Value]) -> RequestHead {
        let model = ModelChoice {
            id: "m".into(),
            chosen: true,
        };
        RequestHead::new(model, 7, system_prompt, tools)
    }

    fn whole(head: &RequestHead) -> String {
        let messages = vec![Bytes::from_static(b"{}"), Bytes::from_static(b",{}")];
        String::from_utf8(head.request(messages).body("m\"").concat()).unwrap()
    }

    /// Spec: [MODEL-01]
    #[test]
    fn a_request_holds_model_limit_prompt_tools_and_messages() {
        let tool = json!({"name": "read", "description": "d", "input_schema": {"type": "object"}});
        let body: Value =
            serde_json::from_str(&whole(&head("be \"brief\"", std::slice::from_ref(&tool))))
                .unwrap();
        assert_eq!(
            body,
            json!({
                "model": "m\"", "max_tokens": 7, "system": "be \"brief\"", "tools": [tool],
                "tool_choice": {"type": "auto"}, "stream": true, "messages": [{}, {}],
            })
        );
    }

    /// Spec: [MODEL-02]
    #[test]
    fn what_is_empty_is_left_out() {
        let body: Value = serde_json::from_str(&whole(&head("", &[]))).unwrap();
        assert_eq!(
            body,
            json!({"model": "m\"", "max_tokens": 7, "stream": true, "messages": [{}, {}]})
        );
    }
}
