//! What of a conversation can be set: by whoever makes it, and later by any client.

use serde::{Deserialize, Serialize};

/// The settings of one conversation; what is left out is as the service has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The model to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many tokens one reply may have. At least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How many model requests one prompt may cause. At least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What the model is told before the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// How much the model thinks before it replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// The names of the tools that the model is offered; all if left out or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_tools: Option<Vec<String>>,
    /// How the tool calls of one reply are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_execution: Option<ToolExecution>,
    /// How many steering messages are said at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering_mode: Option<QueueMode>,
    /// How many follow-ups are said at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up_mode: Option<QueueMode>,
    /// The key of the API to use, by the name that an operator gave it in `config.toml`; the
    /// service's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_source: Option<String>,
    /// How many tokens a request may have, where the API does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Whether the past is summarized by itself when it outgrows the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compact: Option<bool>,
    /// How many tokens below the window the past is summarized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// How many of the last tokens are kept as they are when the rest is summarized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_tokens: Option<u64>,
    /// The model that writes summaries; the conversation's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_model: Option<String>,
    /// Whether the `AGENTS.md` files of the working folder and the state folder are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_files: Option<bool>,
}

/// How much a model thinks before it replies. A level that a model does not have is replaced by
/// the next higher one, else by the next lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingLevel {
    /// Not at all, where the model can be told so.
    Off,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    #[serde(rename = "xhigh")]
    XHigh,
    /// As much as it can.
    Max,
}

/// How the tool calls of one reply are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExecution {
    /// One after the other; behind one that fails none is run.
    #[default]
    SequentialFailFast,
    /// One after the other, all of them.
    Sequential,
    /// All at once, unless one of them may only run alone. Results come in the reply's order.
    Parallel,
}

/// How many messages of a queue are said at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    /// The oldest one.
    #[default]
    OneAtATime,
    /// All that wait.
    All,
}

/// The body of `PATCH /v1/conversations/{id}/settings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSettings {
    /// What is to change, as a JSON merge patch (RFC 7396) of [`Settings`]: a field that is null
    /// is as the service has it from then on.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// Who changes it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `GET` and `PATCH /v1/conversations/{id}/settings`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SettingsAnswer {
    /// What differs from the service's settings.
    pub settings: Settings,
    /// What the next run has.
    pub effective: Settings,
    /// The tools that there are, in their order.
    pub tools: Vec<String>,
    /// The tools that the next run offers, in their order.
    pub active_tools: Vec<String>,
}
