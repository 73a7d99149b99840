//! How a conversation is set up.

use std::time::Duration;

use derive_more::{Display, Error, From};
use harness_protocol::{QueueMode, ThinkingLevel, ToolExecution};

use crate::compaction::CompactionSettings;
use crate::directory::Seams;
use crate::model::{Caching, Credential, ModelChoice, ModelSettings, RetryPolicy};
use crate::secret::Secret;
use crate::tool::RegistryError;

/// The model that is asked when none is chosen.
pub const DEFAULT_MODEL: &str = "claude-3-haiku-20240307";

/// How a conversation is set up.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where and how the model is reached.
    pub api: ModelSettings,
    /// Which model to ask.
    pub model: ModelChoice,
    /// How many tokens one reply may have. At least 1.
    pub max_tokens: u32,
    /// What the model is told before the conversation; empty for nothing.
    pub system_prompt: String,
    /// How many model requests one prompt may cause. At least 1.
    pub max_turns: u32,
    /// How much the model thinks; as it does by itself if none.
    pub thinking: Option<ThinkingLevel>,
    /// The names of the tools that the model is offered; all if there are none. Names that no tool
    /// has are passed over.
    pub active_tools: Vec<String>,
    /// How the tool calls of one reply are run.
    pub tool_execution: ToolExecution,
    /// How many steering messages are said at once.
    pub steering_mode: QueueMode,
    /// How many follow-ups are said at once.
    pub follow_up_mode: QueueMode,
    /// How many tokens a request may have, where the API does not say it.
    pub context_window: Option<u64>,
    /// When the past is summarized.
    pub compaction: CompactionSettings,
    /// The model that writes summaries; the conversation's own if none.
    pub compaction_model: Option<String>,
    /// Whether the context files are told.
    pub context_files: bool,
    /// What the API is to remember of requests.
    pub caching: Caching,
    /// How long one tool call may take.
    pub tool_timeout: Duration,
    /// What no tool's result may show, besides the credential.
    pub secrets: Vec<Secret>,
}

impl Config {
    /// The defaults, with this model and without a key: for conversations that bring their own way to
    /// the model, see [`Seams::transport`], or find their keys, see [`Seams::keys`].
    #[must_use]
    pub fn for_model(id: &str) -> Self {
        let mut config = Self::new("");
        config.model = ModelChoice {
            id: id.into(),
            chosen: true,
        };
        config
    }

    /// The defaults, with this API key.
    #[must_use]
    pub fn new(api_key: &str) -> Self {
        Self {
            api: ModelSettings {
                base_url: "https://api.anthropic.com".to_owned(),
                credential: Credential::ApiKey(Secret::from(api_key)),
                retry: RetryPolicy {
                    max_retries: 4,
                    max_wait: Duration::from_secs(60),
                },
                connect_timeout: Duration::from_secs(5),
                head_timeout: Duration::from_secs(120),
                idle_timeout: Duration::from_secs(300),
            },
            model: ModelChoice {
                id: DEFAULT_MODEL.into(),
                chosen: false,
            },
            max_tokens: 4096,
            system_prompt: String::new(),
            max_turns: 10,
            thinking: None,
            active_tools: Vec::new(),
            tool_execution: ToolExecution::default(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
            context_window: None,
            compaction: CompactionSettings::default(),
            compaction_model: None,
            context_files: true,
            caching: Caching::default(),
            tool_timeout: Duration::from_secs(60),
            secrets: Vec::new(),
        }
    }

    pub(super) fn check(&self, seams: &Seams) -> Result<(), ConfigError> {
        let (Credential::ApiKey(secret) | Credential::Bearer(secret)) = &self.api.credential;
        // Whoever brings the way to the model, or its keys, needs no key here.
        let is_needed = seams.transport.is_none() && seams.keys.is_none();
        if is_needed && secret.expose().trim().is_empty() {
            return Err(ConfigError::NoKey);
        }
        if self.model.id.trim().is_empty() {
            return Err(ConfigError::NoModel);
        }
        for (name, value) in [
            ("max_tokens", self.max_tokens),
            ("max_turns", self.max_turns),
        ] {
            if value == 0 {
                return Err(ConfigError::Zero { name });
            }
        }
        Ok(())
    }
}

/// Why a conversation cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum ConfigError {
    /// The API is not reached without one.
    #[display("the API key must not be empty")]
    NoKey,
    /// There is nobody to ask without one.
    #[display("the model must not be blank")]
    NoModel,
    /// The number must be at least 1.
    #[display("{name} must be at least 1")]
    #[from(skip)]
    Zero {
        /// The setting.
        name: &'static str,
    },
    /// The tools cannot be offered.
    Tools(RegistryError),
}
