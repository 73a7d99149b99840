//! The configuration as `harness config` shows it: every setting, its value and its origin.
//!
//! Invariant: the value of a secret is never read here.

use std::time::Duration;

use serde_json::{Value, json};

use super::choices::{PROMPT_CACHE, QUEUE_MODE, THINKING, TOOL_EXECUTION, name_of};
use super::layers::{Source, shorten};
use super::load::Config;
use super::secret::Credential;
use super::setting::{Key, SETTINGS};
use super::value::size_text;

/// Stands for a secret that is set.
const MASK: &str = "***";
/// The widest value in the table; JSON has all of it.
const MAX_WIDTH: usize = 60;

impl Config {
    /// The settings as a table for a person, one a line.
    pub(crate) fn as_table(&self) -> String {
        let line = |row: Row| {
            let value = row.value.unwrap_or_else(|| "(unset)".to_owned());
            let value = shorten(&one_line(&value), MAX_WIDTH);
            format!("{:<18}  {value:<30}  {}\n", row.name, row.source)
        };
        self.rows().map(line).collect()
    }

    /// The settings as a JSON array of `{key, value, source}`, for a script.
    pub(crate) fn as_json(&self) -> String {
        let rows = self.rows().map(|row| {
            let source = row.source.to_string();
            json!({ "key": row.name, "value": row.value, "source": source })
        });
        format!("{:#}\n", Value::Array(rows.collect()))
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        SETTINGS
            .iter()
            .zip(&self.sources)
            .map(|(setting, source)| Row {
                name: setting.name,
                value: self.shown(setting.key, *source),
                source: *source,
            })
    }

    /// The value in effect, as text; nothing if the setting is unset.
    fn shown(&self, key: Key, source: Source) -> Option<String> {
        let given = |text: &str| (source != Source::Default).then(|| text.to_owned());
        match key {
            Key::Home => Some(self.home.display().to_string()),
            Key::ApiKey => match self.credential {
                Some(Credential::Bearer(_)) => given("(not used: auth_token wins)"),
                Some(Credential::ApiKey(_)) | None => given(MASK),
            },
            Key::AuthToken => match self.credential {
                Some(Credential::ApiKey(_)) => given("(not used: api_key wins)"),
                Some(Credential::Bearer(_)) | None => given(MASK),
            },
            Key::BaseUrl => Some(self.base_url.clone()),
            Key::Model => Some(self.model.id.to_string()),
            Key::MaxTokens => Some(self.max_tokens.to_string()),
            Key::MaxTurns => Some(self.max_turns.to_string()),
            Key::SystemPrompt => match self.system_prompt_file {
                Some(_) => given("(not used: system_prompt_file wins)"),
                None => self.system_prompt.clone(),
            },
            Key::SystemPromptFile => match &self.system_prompt_file {
                Some(path) => Some(path.display().to_string()),
                None => given("(not used: system_prompt wins)"),
            },
            Key::Thinking => self.thinking.map(|level| name_of(level, &THINKING)),
            Key::ToolExecution => Some(name_of(self.tool_execution, &TOOL_EXECUTION)),
            Key::SteeringMode => Some(name_of(self.steering_mode, &QUEUE_MODE)),
            Key::FollowUpMode => Some(name_of(self.follow_up_mode, &QUEUE_MODE)),
            Key::ContextWindow => self.context_window.map(|tokens| tokens.to_string()),
            Key::AutoCompact => Some(self.auto_compact.to_string()),
            Key::ReserveTokens => Some(self.reserve_tokens.to_string()),
            Key::KeepTokens => Some(self.keep_tokens.to_string()),
            Key::CompactionModel => self.compaction_model.clone(),
            Key::ContextFiles => Some(self.context_files.to_string()),
            Key::PromptCache => Some(name_of(self.prompt_cache, &PROMPT_CACHE)),
            Key::Workspace => Some(self.workspace.display().to_string()),
            Key::Bind => Some(self.bind.to_string()),
            Key::Port => Some(self.port.to_string()),
            Key::RequireToken => Some(self.require_token.to_string()),
            Key::Token => given(MASK),
            Key::AllowedHosts => given(&self.allowed_hosts.join(",")),
            Key::MaxRetries => Some(self.max_retries.to_string()),
            Key::MaxRetryWait => Some(duration_text(self.max_retry_wait)),
            Key::ConnectTimeout => Some(duration_text(self.connect_timeout)),
            Key::HeadTimeout => Some(duration_text(self.head_timeout)),
            Key::IdleTimeout => Some(duration_text(self.idle_timeout)),
            Key::ToolTimeout => Some(duration_text(self.tool_timeout)),
            Key::MaxSubscribers => Some(self.max_subscribers.to_string()),
            Key::MaxStateBytes => Some(self.max_state_bytes.map_or("off".to_owned(), size_text)),
            Key::Heartbeat => Some(duration_text(self.heartbeat)),
            Key::Log => Some(self.log.clone()),
        }
    }
}

/// One setting, ready to be shown.
struct Row {
    name: &'static str,
    value: Option<String>,
    source: Source,
}

/// The text without control characters, so that a value cannot break the table or the terminal.
fn one_line(text: &str) -> String {
    let escape = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.into()
        }
    };
    text.chars().map(escape).collect()
}

/// The duration as a setting would give it.
fn duration_text(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) {
        format!("{}s", millis / 1000)
    } else {
        format!("{millis}ms")
    }
}
