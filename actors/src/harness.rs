//! One conversation as a Rust value: the actors, wired.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use derive_more::{Display, Error, From};

use crate::broadcast::Attendance;
use crate::clock::Clock;
use crate::conversation::ConversationActor;
use crate::directory::{Defaults, Parts};
use crate::handler::{EventHandler, HandlerActor};
use crate::ids::ConversationId;
use crate::journal::{Header, Journal, MemoryJournal};
use crate::messages::{CancelRun, RunOutcome, SubmitError, SubmitPrompt, WaitForEnd};
use crate::model::{Credential, ModelActor, ModelChoice, ModelFailure, ModelSettings, RetryPolicy};
use crate::secret::{Redaction, Secret};
use crate::tool::{Grep, ListDir, Read, Registry, RegistryError, Tool, ToolActor};

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
    /// How many model requests one run may make. At least 1.
    pub max_turns: u32,
    /// How long one tool call may take.
    pub tool_timeout: Duration,
    /// What no tool's result may show, besides the credential.
    pub secrets: Vec<Secret>,
}

impl Config {
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
            tool_timeout: Duration::from_secs(60),
            secrets: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let (Credential::ApiKey(secret) | Credential::Bearer(secret)) = &self.api.credential;
        if secret.expose().trim().is_empty() {
            return Err(ConfigError::NoKey);
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

/// Why a prompt did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum PromptError {
    /// A run is going; one at a time.
    #[display("a run is going")]
    Busy,
    /// The prompt has no visible character.
    #[display("content must not be blank")]
    Blank,
    /// The run was cancelled.
    #[display("cancelled")]
    Cancelled,
    /// The model gave no complete reply.
    #[display("{_0}")]
    Failed(#[error(not(source))] ModelFailure),
    /// The journal took no more.
    #[display("the conversation could not be kept: {_0}")]
    NotKept(#[error(not(source))] String),
    /// The conversation's actor is gone.
    #[display("the conversation has ended")]
    Gone,
}

/// One conversation with a model. Lives on the actix system that it was made on; clones share
/// the conversation.
#[derive(Clone)]
pub struct Harness {
    conversation: Addr<ConversationActor>,
}

impl Harness {
    /// Starts a new conversation on this thread's arbiter, which lasts as long as the value.
    /// Without a handler it runs silently.
    ///
    /// # Errors
    /// A setting or tool that cannot work.
    pub fn new(
        config: Config,
        tools: Vec<Arc<dyn Tool>>,
        handler: Option<Arc<dyn EventHandler>>,
    ) -> Result<Self, ConfigError> {
        let clock = Clock::system();
        let header = Header::new(ConversationId::new("default"), clock.unix_millis());
        let journal = Arc::new(MemoryJournal::new(header));
        Self::with_journal(config, tools, handler, journal)
    }

    /// Goes on with the conversation of a journal, or begins it if the journal is empty.
    ///
    /// # Errors
    /// A setting or tool that cannot work.
    pub fn with_journal(
        config: Config,
        tools: Vec<Arc<dyn Tool>>,
        handler: Option<Arc<dyn EventHandler>>,
        journal: Arc<dyn Journal>,
    ) -> Result<Self, ConfigError> {
        let parts = parts(config, tools, Clock::system(), Arbiter::current())?;
        let events = HandlerActor(handler).start().recipient();
        let actor = parts.conversation(journal, Attendance::default(), events);
        Ok(Self {
            conversation: actor.start(),
        })
    }

    /// Submits a prompt and waits for the end of its run. A run that reached a limit ended well.
    /// A run whose future is dropped goes on; [`Self::cancel`] ends it.
    ///
    /// # Errors
    /// A second prompt while one runs, a blank prompt, a cancel, or an API that failed.
    pub async fn prompt(&self, content: &str) -> Result<(), PromptError> {
        let prompt = SubmitPrompt {
            content: content.to_owned(),
            ..SubmitPrompt::default()
        };
        let submitted = self.conversation.send(prompt).await;
        let run = match submitted.map_err(|_| PromptError::Gone)? {
            Ok(run) => run,
            Err(SubmitError::Busy) => return Err(PromptError::Busy),
            Err(SubmitError::Blank) => return Err(PromptError::Blank),
            Err(SubmitError::NotKept(reason)) => return Err(PromptError::NotKept(reason)),
            Err(SubmitError::Stopping | SubmitError::Deleted | SubmitError::KeyReused) => {
                return Err(PromptError::Gone);
            }
        };
        match self.conversation.send(WaitForEnd { run }).await {
            Ok(Some(RunOutcome::Ended { .. })) => Ok(()),
            Ok(Some(RunOutcome::Cancelled)) => Err(PromptError::Cancelled),
            Ok(Some(RunOutcome::Failed(failure))) => Err(PromptError::Failed(failure)),
            Ok(Some(RunOutcome::NotKept(reason))) => Err(PromptError::NotKept(reason)),
            Ok(None) | Err(_) => Err(PromptError::Gone),
        }
    }

    /// Cancels the run that is going and waits until it has stopped; harmless when idle. Tells
    /// whether there was one.
    pub async fn cancel(&self) -> bool {
        self.conversation
            .send(CancelRun::default())
            .await
            .unwrap_or(false)
    }
}

/// Starts what all conversations share, on this thread's arbiter.
///
/// # Errors
/// A setting or tool that cannot work.
pub fn parts(
    config: Config,
    tools: Vec<Arc<dyn Tool>>,
    clock: Clock,
    broadcasting: ArbiterHandle,
) -> Result<Parts, ConfigError> {
    config.check()?;
    let registry = Registry::new(tools)?;
    let definitions = registry.definitions().into();
    let harmless_tools = Arc::new(registry.harmless());
    let mut secrets = config.secrets;
    let (Credential::ApiKey(key) | Credential::Bearer(key)) = &config.api.credential;
    secrets.push(key.clone());
    let redaction = Redaction::new(secrets);
    let tools = ToolActor::new(registry, config.tool_timeout, redaction).start();
    let model = ModelActor::new(config.api, clock).start();
    Ok(Parts {
        start_model_call: model.clone().recipient(),
        cancel_model_call: model.recipient(),
        run_tool: tools.clone().recipient(),
        cancel_tool: tools.recipient(),
        tools: definitions,
        harmless_tools,
        defaults: Defaults {
            model: config.model,
            max_tokens: config.max_tokens,
            max_turns: config.max_turns,
            system_prompt: config.system_prompt,
        },
        lives: Arc::default(),
        clock,
        broadcasting,
    })
}

/// The tools that the service offers, for files relative to `workspace`.
#[must_use]
pub fn standard_tools(workspace: &Path) -> Vec<Arc<dyn Tool>> {
    let workspace = workspace.to_path_buf();
    vec![
        Arc::new(Read::new(workspace.clone())),
        Arc::new(ListDir::new(workspace.clone())),
        Arc::new(Grep::new(workspace)),
    ]
}

#[cfg(test)]
#[path = "harness_tests.rs"]
mod tests;
