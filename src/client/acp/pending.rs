//! The prompts of an editor that are not answered yet.

use serde_json::{Value, json};

use crate::client::acp::content::EditorPrompt;
use crate::client::acp::message::{RpcError, answer};
use crate::client::acp::run_end::PromptEnd;

/// A prompt that is not answered yet.
#[derive(Debug)]
pub(super) struct PendingPrompt {
    /// The request of the editor.
    pub(super) request: Value,
    /// The key that it was sent with.
    pub(super) key: String,
    /// The prompt.
    pub(super) prompt: EditorPrompt,
    /// Its run, once it is known.
    pub(super) run: Option<u64>,
    /// True while it waits for the end of another run.
    pub(super) is_waiting: bool,
    /// True if the editor has cancelled it.
    pub(super) is_cancelled: bool,
}

impl PendingPrompt {
    /// A prompt that is about to be sent.
    pub(super) fn new(request: Value, key: String, prompt: EditorPrompt) -> Self {
        Self {
            request,
            key,
            prompt,
            run: None,
            is_waiting: false,
            is_cancelled: false,
        }
    }

    /// The answer to the editor.
    pub(super) fn answer(&self, end: &PromptEnd) -> Value {
        match end {
            Ok(reason) => answer(&self.request, &json!({"stopReason": reason})),
            Err(_) if self.is_cancelled => {
                answer(&self.request, &json!({"stopReason": "cancelled"}))
            }
            Err(reason) => RpcError::failed(reason.clone()).answer(&self.request),
        }
    }
}
