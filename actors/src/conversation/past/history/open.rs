//! The user message at the end, which grows until the model replies to it.

use std::sync::Arc;

use harness_protocol::Attachment;
use serde::Serialize;
use serde_json::Value;

use super::estimate;
use super::message::{Item, SerializedMessage, text_block};
use crate::journal::Unanswered;
use crate::reply::{Block, BlockKind};

/// A user message: the results for the last reply's calls, then prompts.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenMessage {
    pub(super) calls: Vec<OpenCall>,
    pub(super) unanswered: Unanswered,
    pub(super) parts: Vec<PromptPart>,
    /// The jobs whose ends are in it.
    pub(super) job_ends: Vec<u64>,
}

/// A call of the last reply.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) id: String,
    pub(super) result: Option<(String, bool)>,
}

/// A result in the API's format.
#[derive(Serialize)]
struct ToolResultBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_use_id: &'a str,
    content: &'a str,
    is_error: bool,
}

impl ToolResultBlock<'_> {
    /// Its text may be very large: it is written without another copy.
    fn json(&self) -> String {
        // Texts and a truth value always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A part of the prompts.
#[derive(Debug, Clone)]
pub(super) enum PromptPart {
    Text(String),
    Attachments(Arc<[Attachment]>),
}

impl OpenMessage {
    /// The message in which the calls of a reply are answered.
    pub(super) fn answering(reply: &[&Block], unanswered: Unanswered) -> Self {
        let call = |block: &&Block| {
            let BlockKind::ToolCall { id, .. } = block.kind() else {
                return None;
            };
            Some(OpenCall {
                id: id.to_owned(),
                result: None,
            })
        };
        Self {
            calls: reply.iter().filter_map(call).collect(),
            unanswered,
            parts: Vec::new(),
            job_ends: Vec::new(),
        }
    }

    /// The open message before it was sealed; `skipped` blocks in front of it are left out.
    pub(super) fn reopened(message: &SerializedMessage, skipped: usize) -> Option<Self> {
        let message = message.value();
        let content = message.get("content")?.as_array()?;
        let mut open = Self::default();
        for block in content.iter().skip(skipped) {
            let text = |key: &str| Some(block.get(key)?.as_str()?.to_owned());
            match block.get("type")?.as_str()? {
                "tool_result" => open.calls.push(OpenCall {
                    id: text("tool_use_id")?,
                    result: Some((text("content")?, block.get("is_error")?.as_bool()?)),
                }),
                "attachment" => {
                    let attachment = block.get("attachment")?.clone();
                    open.attach(&[serde_json::from_value(attachment).ok()?]);
                }
                _ => open.parts.push(PromptPart::Text(text("text")?)),
            }
        }
        Some(open)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.parts.is_empty()
    }

    /// Adds what goes with a prompt.
    pub(super) fn attach(&mut self, attachments: &[Attachment]) {
        if attachments.is_empty() {
            return;
        }
        if let Some(PromptPart::Attachments(before)) = self.parts.last_mut() {
            *before = before.iter().chain(attachments).cloned().collect();
        } else {
            self.parts.push(PromptPart::Attachments(attachments.into()));
        }
    }

    /// Its content, with the summary between results and prompts.
    pub(super) fn items(&self, summary: Option<&str>) -> Vec<Item> {
        let results = self
            .calls
            .iter()
            .map(|call| Item::Json(self.result(call).json()));
        let summary = summary.map(|summary| Item::Json(text_block(summary)));
        let prompts = self.parts.iter().map(|part| match part {
            PromptPart::Text(text) => Item::Json(text_block(text)),
            PromptPart::Attachments(attachments) => Item::Attachments(Arc::clone(attachments)),
        });
        results.chain(summary).chain(prompts).collect()
    }

    /// The results alone.
    pub(super) fn results(&self) -> impl Iterator<Item = Value> {
        let value = |result: ToolResultBlock<'_>| serde_json::to_value(&result).unwrap_or_default();
        self.calls.iter().map(move |call| value(self.result(call)))
    }

    fn result<'a>(&'a self, call: &'a OpenCall) -> ToolResultBlock<'a> {
        let (content, is_error) = match &call.result {
            Some((text, is_error)) => (text.as_str(), *is_error),
            None => (self.unanswered.text(), true),
        };
        ToolResultBlock {
            kind: "tool_result",
            tool_use_id: &call.id,
            content,
            is_error,
        }
    }

    /// Its size, without the summary. A call without a result counts nothing: it gets one.
    pub(super) fn chars(&self) -> u64 {
        let results = self.calls.iter().filter_map(|call| call.result.as_ref());
        let results: u64 = results.map(|(text, _)| estimate::chars(text)).sum();
        results.saturating_add(self.prompt_chars())
    }

    /// The size of its prompts.
    pub(super) fn prompt_chars(&self) -> u64 {
        let parts = self.parts.iter().map(|part| match part {
            PromptPart::Text(text) => estimate::chars(text),
            PromptPart::Attachments(attachments) => attachments
                .iter()
                .map(estimate::attachment)
                .fold(0, u64::saturating_add),
        });
        parts.fold(0, u64::saturating_add)
    }
}
