//! The prompts of an editor that are not answered yet.

use serde_json::{Value, json};

use crate::client::acp::message::{RpcError, answer};
use crate::client::acp::run_end::PromptEnd;

/// A prompt that is not answered yet.
#[derive(Debug)]
pub(super) struct PendingPrompt {
    /// The request of the editor.
    pub(super) request: Value,
    /// The key that it was sent with.
    pub(super) key: String,
    /// Its run, once it is known.
    pub(super) run: Option<u64>,
    /// Its name in the queue, while it waits there.
    pub(super) item: Option<u64>,
    /// True if the editor has cancelled it.
    pub(super) is_cancelled: bool,
}

impl PendingPrompt {
    /// A prompt that is about to be sent.
    pub(super) fn new(request: Value, key: String) -> Self {
        Self {
            request,
            key,
            run: None,
            item: None,
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
