//! How a conversation is set up.

use std::time::Duration;

use derive_more::{Display, Error, From};
use harness_protocol::FullSettings;

use crate::directory::Seams;
use crate::model::{Caching, Credential, ModelSettings, RetryPolicy};
use crate::secret::Secret;
use crate::tool::RegistryError;

/// How a conversation is set up.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where and how the model is reached.
    pub api: ModelSettings,
    /// What the conversation has as long as nothing else is set. Without a model, [`crate::model::DEFAULT_MODEL`]
    /// is asked, or what takes its place.
    pub settings: FullSettings,
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
        config.settings.model = Some(id.to_owned());
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
            settings: FullSettings::default(),
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
        let model = self.settings.model.as_ref();
        if model.is_some_and(|id| id.trim().is_empty()) {
            return Err(ConfigError::NoModel);
        }
        for (name, value) in [
            ("max_tokens", self.settings.max_tokens),
            ("max_turns", self.settings.max_turns),
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
