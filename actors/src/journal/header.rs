//! The first line of a journal.

use std::path::PathBuf;

use harness_protocol::{QueueMode, ThinkingLevel, ToolExecution};
use serde::{Deserialize, Serialize};

use super::position::Epoch;
use crate::ids::ConversationId;

/// The newest format that this version reads, which is the one of journals whose conversation works
/// in another folder than the service did. All others have format 1. A journal of a newer format is
/// refused.
pub const FORMAT_VERSION: u32 = 2;

/// What is known of a conversation before its first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The conversation.
    pub conversation: ConversationId,
    /// The life of the journal.
    pub epoch: Epoch,
    /// When the conversation was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// The title that it was made with.
    pub title: Option<String>,
    /// What differs from the service's settings.
    pub settings: Settings,
    /// Where it was forked from.
    pub forked_from: Option<ForkedFrom>,
    /// The folder that it works in; the service's if none.
    pub workspace: Option<Workspace>,
}

/// The folder that a conversation works in, fixed when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Absolute, without links.
    pub folder: PathBuf,
    /// Whether it was another folder than the service's when the conversation was made. Versions
    /// that read only format 1 know nothing of folders and would work in the wrong one.
    pub is_elsewhere: bool,
}

/// The settings of one conversation; what is left out is as the service has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// The model to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many tokens one reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How many model requests one prompt may cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What the model is told before the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// How much the model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// The names of the tools that the model is offered; all if none.
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
    /// The name of the source that the key of the API comes from.
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
    /// How many of the last tokens are kept when the rest is summarized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_tokens: Option<u64>,
    /// The model that writes summaries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_model: Option<String>,
    /// Whether the `AGENTS.md` files are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_files: Option<bool>,
}

/// How long a system prompt may be, in bytes.
const MAX_SYSTEM_PROMPT: usize = 1024 * 1024;
/// The largest number of tokens that a setting can be.
const MAX_TOKENS: u64 = 1_000_000_000;
/// How long any other text may be, in bytes.
const MAX_TEXT: usize = 4096;

impl Settings {
    /// Whether the values can be, each by itself.
    ///
    /// # Errors
    /// One line that names the setting and what it can be.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("max_tokens", self.max_tokens.map(u64::from)),
            ("max_turns", self.max_turns.map(u64::from)),
            ("context_window", self.context_window),
            ("keep_tokens", self.keep_tokens),
        ] {
            if value == Some(0) {
                return Err(format!("{name} must be at least 1"));
            }
        }
        for (name, value) in [
            ("context_window", self.context_window),
            ("reserve_tokens", self.reserve_tokens),
            ("keep_tokens", self.keep_tokens),
        ] {
            if value.is_some_and(|value| value > MAX_TOKENS) {
                return Err(format!("{name} must be at most {MAX_TOKENS}"));
            }
        }
        for (name, value) in [
            ("model", &self.model),
            ("compaction_model", &self.compaction_model),
            ("key_source", &self.key_source),
        ] {
            let Some(value) = value else { continue };
            if value.trim().is_empty() {
                return Err(format!("{name} must not be blank"));
            }
            if value.len() > MAX_TEXT || value.chars().any(char::is_control) {
                return Err(format!(
                    "{name} must be one line of at most {MAX_TEXT} bytes"
                ));
            }
        }
        let prompt = self.system_prompt.as_ref().map_or(0, String::len);
        if prompt > MAX_SYSTEM_PROMPT {
            return Err(format!(
                "system_prompt must not be larger than {MAX_SYSTEM_PROMPT} bytes"
            ));
        }
        if self
            .key_source
            .as_ref()
            .is_some_and(|source| source.starts_with("sk-"))
        {
            // Not repeated: it is a key that was put in the wrong place.
            return Err("key_source must be the name of a key source, not a key".to_owned());
        }
        Ok(())
    }
}

impl From<harness_protocol::Settings> for Settings {
    fn from(settings: harness_protocol::Settings) -> Self {
        let harness_protocol::Settings {
            model,
            max_tokens,
            max_turns,
            system_prompt,
            thinking,
            active_tools,
            tool_execution,
            steering_mode,
            follow_up_mode,
            key_source,
            context_window,
            auto_compact,
            reserve_tokens,
            keep_tokens,
            compaction_model,
            context_files,
        } = settings;
        Self {
            model,
            max_tokens,
            max_turns,
            system_prompt,
            thinking,
            active_tools,
            tool_execution,
            steering_mode,
            follow_up_mode,
            key_source,
            context_window,
            auto_compact,
            reserve_tokens,
            keep_tokens,
            compaction_model,
            context_files,
        }
    }
}

impl From<Settings> for harness_protocol::Settings {
    fn from(settings: Settings) -> Self {
        let Settings {
            model,
            max_tokens,
            max_turns,
            system_prompt,
            thinking,
            active_tools,
            tool_execution,
            steering_mode,
            follow_up_mode,
            key_source,
            context_window,
            auto_compact,
            reserve_tokens,
            keep_tokens,
            compaction_model,
            context_files,
        } = settings;
        Self {
            model,
            max_tokens,
            max_turns,
            system_prompt,
            thinking,
            active_tools,
            tool_execution,
            steering_mode,
            follow_up_mode,
            key_source,
            context_window,
            auto_compact,
            reserve_tokens,
            keep_tokens,
            compaction_model,
            context_files,
        }
    }
}

/// The conversation that another one begins like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The conversation.
    pub conversation: String,
    /// The last record that both have.
    pub seq: u64,
}

impl Header {
    /// The header of a new conversation.
    #[must_use]
    pub fn new(conversation: ConversationId, created_at: u64) -> Self {
        Self {
            conversation,
            epoch: Epoch::random(),
            created_at,
            title: None,
            settings: Settings::default(),
            forked_from: None,
            workspace: None,
        }
    }
}
