//! The configuration of a conversation.

use std::time::Duration;

use derive_more::{Display, Error, From};
use harness_protocol::FullSettings;

use crate::directory::Extensions;
use crate::model::{Caching, Credential, ModelSettings};
use crate::secret::Secret;
use crate::tool::RegistryError;

/// The configuration of a conversation. It is made by [`Self::new`] or [`Self::for_model`], and its fields are changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The address of the API, its credential and the limits of requests.
    pub api: ModelSettings,
    /// The settings of the conversation as long as nothing else is set. Without a model,
    /// [`crate::model::DEFAULT_MODEL`] is asked, or its successor.
    pub settings: FullSettings,
    /// The API's cache for requests.
    pub caching: Caching,
    /// Time limit of one tool call.
    pub tool_timeout: Duration,
    /// Secrets that no tool's result may show, besides the credential.
    pub secrets: Vec<Secret>,
}

impl Config {
    /// The defaults, with this model and without a key: for conversations that bring their own way to
    /// the model, see [`Extensions::transport`], or find their keys, see [`Extensions::keys`].
    #[must_use]
    pub fn for_model(id: &str) -> Self {
        Self::new("").with_model(id)
    }

    /// The defaults, with this API key.
    #[must_use]
    pub fn new(api_key: &str) -> Self {
        Self {
            api: ModelSettings::new(Credential::ApiKey(Secret::from(api_key))),
            settings: FullSettings::default(),
            caching: Caching::default(),
            tool_timeout: Duration::from_secs(60),
            secrets: Vec::new(),
        }
    }

    /// The same with another model.
    #[must_use]
    pub fn with_model(mut self, id: &str) -> Self {
        self.settings.model = Some(id.to_owned());
        self
    }

    /// The same with another API, whose URLs begin with that, without a slash at its end.
    #[must_use]
    pub fn with_base_url(mut self, url: &str) -> Self {
        url.clone_into(&mut self.api.base_url);
        self
    }

    pub(super) fn check(&self, extensions: &Extensions) -> Result<(), ConfigError> {
        if cfg!(not(feature = "client")) && extensions.transport.is_none() {
            return Err(ConfigError::NoTransport);
        }
        let (Credential::ApiKey(secret) | Credential::Bearer(secret)) = &self.api.credential;
        // A program that brings the way to the model, or its keys, needs no key here.
        let is_needed = extensions.transport.is_none() && extensions.keys.is_none();
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

/// The reason why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
#[non_exhaustive]
pub enum ConfigError {
    /// The crate was built without its HTTP client, so another way to the model is needed.
    #[display(
        "there is no way to the model: give Extensions::transport, or enable the feature `client` of harness-actors"
    )]
    NoTransport,
    /// The conversation needs a separate thread, and the system gives none. This is temporary.
    #[display("a thread for the conversation cannot be started: {reason}; try again in a moment")]
    #[from(skip)]
    NoThread {
        /// The system's words.
        reason: String,
    },
    /// The API is not reached without a key.
    #[display("the API key must not be empty")]
    NoKey,
    /// The model to ask is missing.
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
