//! The way of the bridge to the service, which is started where none runs.

use std::cell::RefCell;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use harness_protocol::{ModelEntry, ModelList, PromptAnswer, PromptOrder, Queue, QueueAnswer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::process::Command;
use tokio::time::Instant;

use crate::client::acp::content::EditorPrompt;
use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::discovery::{self, DiscoveryError};
use crate::client::api::error::ApiError;
use crate::client::api::patience::{GivesUp, Patience};
use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::client::recipe_order::{Recipe, RecipeOrder};
use crate::config::ClientConfig;

/// Time during which a prompt whose answer was lost is sent again.
const RESENDING: Duration = Duration::from_secs(10);
/// Maximum time for the list of models, without which the present one is offered alone.
const MODELS_LIMIT: Duration = Duration::from_secs(3);

/// The way to the service.
pub(super) struct AcpService {
    pub(super) config: ClientConfig,
    /// The name of the editor for the other clients.
    pub(super) name: RefCell<String>,
    is_demo: bool,
    models: RefCell<Vec<ModelEntry>>,
}

/// The place that a prompt was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptPlace {
    /// It started this run.
    Run(u64),
    /// It waits for the end of another one, under this name.
    Queue(u64),
}

/// A prompt on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditorOrder {
    /// A text with files.
    Text(Box<PromptOrder>),
    /// A skill or a template.
    Recipe(RecipeOrder),
}

/// A command that an editor can offer: a skill or a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfferedCommand {
    pub(super) recipe: Recipe,
    pub(super) name: String,
    pub(super) description: String,
}

/// The answer to `GET /v1/skills` and `GET /v1/templates`.
#[derive(Debug, Deserialize)]
struct NamedList {
    #[serde(alias = "skills", alias = "templates")]
    named: Vec<NamedText>,
}

#[derive(Debug, Deserialize)]
struct NamedText {
    name: String,
    #[serde(default)]
    description: String,
}

impl AcpService {
    /// The way to the service of a state folder. `is_demo` is true if one that is started is the demo.
    pub(super) fn new(config: &ClientConfig, name: String, is_demo: bool) -> Self {
        Self {
            config: config.clone(),
            name: RefCell::new(name),
            is_demo,
            models: RefCell::default(),
        }
    }

    /// The name of the editor, as orders have it.
    pub(super) fn by(&self) -> Option<String> {
        Some(self.name.borrow().clone())
    }

    /// The retry policy for following a conversation: it sees a restart of the service through.
    pub(super) fn patience() -> Patience {
        Patience {
            first_wait: Duration::from_millis(200),
            longest_wait: Duration::from_secs(2),
            gives_up: GivesUp::WithoutService(8),
            ..Patience::default()
        }
    }

    /// The running service; starts one if there is none.
    ///
    /// # Errors
    /// If there is none in the end.
    pub(super) async fn connection(&self) -> Result<ServiceConnection, CommandError> {
        match discovery::find(&self.config).await {
            Err(DiscoveryError::None { .. }) => {
                self.start().await?;
                Ok(discovery::find(&self.config).await?)
            }
            found => Ok(found?),
        }
    }

    /// Starts a service by a process of its own that ends then: editors end all descendants of an agent, and the service
    /// is to continue.
    async fn start(&self) -> Result<(), CommandError> {
        let system = |error: io::Error| CommandError::System {
            reason: format!("cannot start the service: {error}"),
        };
        let program = std::env::current_exe().map_err(system)?;
        let mut starter = Command::new(program);
        starter
            .args(["acp", "--only-start", "--home"])
            .arg(&self.config.home);
        if self.is_demo {
            starter.arg("--demo");
        }
        let started = starter
            .stdin(Stdio::null())
            .output()
            .await
            .map_err(system)?;
        if started.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&started.stderr);
        let reason = reason.trim().trim_start_matches("harness: ").to_owned();
        Err(CommandError::System { reason })
    }

    /// Asks the running service.
    ///
    /// # Errors
    /// If there is no usable answer; an order may have been carried out.
    pub(super) async fn ask<A: DeserializeOwned>(&self, route: &Route<A>) -> Result<A, ApiError> {
        Ok(discovery::find(&self.config).await?.ask(route).await?)
    }

    /// A prompt in the form that the service takes: `/NAME TEXT` names a skill or a template of the folder.
    pub(super) async fn order(&self, key: &str, prompt: EditorPrompt, folder: &str) -> EditorOrder {
        let by = self.name.borrow().clone();
        if let Some(named) = prompt.text.strip_prefix('/')
            && prompt.attachments.is_empty()
        {
            let parts = named.split_once(char::is_whitespace);
            let (name, text) = parts.unwrap_or((named, ""));
            let mut commands = self.commands(folder).await.into_iter();
            if let Some(command) = commands.find(|command| command.name == name) {
                let text = text.trim().to_owned();
                let order = RecipeOrder::new(command.recipe, command.name, text, (key, &by));
                return EditorOrder::Recipe(order);
            }
        }
        EditorOrder::Text(Box::new(PromptOrder {
            content: prompt.text,
            key: Some(key.to_owned()),
            by: Some(by),
            attachments: prompt.attachments,
            ..PromptOrder::default()
        }))
    }

    /// Sends a prompt, or lets it wait for the end of the run that is going. It is sent again while its arrival is
    /// uncertain.
    ///
    /// # Errors
    /// The reason why it was not accepted.
    pub(super) async fn send(
        &self,
        conversation: &str,
        prompt: &EditorOrder,
    ) -> Result<PromptPlace, String> {
        let route = match prompt {
            EditorOrder::Text(order) => routes::prompt(conversation, order),
            EditorOrder::Recipe(order) => order.route(conversation),
        };
        let mut tries = 0;
        let began = Instant::now();
        loop {
            let connection = self.connection().await.map_err(|error| error.to_string())?;
            let error = match connection.ask(&route).await {
                Ok(PromptAnswer { run_id }) => return Ok(PromptPlace::Run(run_id)),
                Err(error) => ApiError::from(error),
            };
            let error = match (error.is_busy(), prompt) {
                (true, EditorOrder::Text(order)) => {
                    let route = routes::queue(conversation, Queue::FollowUp, order);
                    match connection.ask(&route).await {
                        Ok(QueueAnswer { item }) => return Ok(PromptPlace::Queue(item)),
                        Err(error) => ApiError::from(error),
                    }
                }
                (_, _) => error,
            };
            let wait = Self::patience().wait(tries);
            if !may_send_again(&error) || began.elapsed() + wait > RESENDING {
                return Err(error.to_string());
            }
            tries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// The models to choose from; none if the service does not list them in time.
    pub(super) async fn models(&self) -> Vec<ModelEntry> {
        let known = self.models.borrow().clone();
        if !known.is_empty() {
            return known;
        }
        let route = routes::models().within(MODELS_LIMIT);
        let listed = tokio::time::timeout(MODELS_LIMIT, self.ask(&route)).await;
        match listed {
            Ok(Ok(ModelList { models })) => {
                self.models.replace(models.clone());
                models
            }
            Ok(Err(error)) => {
                log::info!("the models are not listed: {error}");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// The skills and templates of a folder.
    pub(super) async fn commands(&self, folder: &str) -> Vec<OfferedCommand> {
        let folder = Some(folder);
        let mut commands = Vec::new();
        for (recipe, route) in [
            (Recipe::Skill, routes::skills(folder)),
            (Recipe::Template, routes::templates(folder)),
        ] {
            match self.ask(&route.answered_as::<NamedList>()).await {
                Ok(NamedList { named }) => {
                    commands.extend(named.into_iter().map(|one| OfferedCommand {
                        recipe,
                        name: one.name,
                        description: one.description,
                    }));
                }
                Err(error) => log::info!("no commands can be offered: {error}"),
            }
        }
        commands
    }
}

/// True if the prompt may be accepted a little later: its answer was lost, or the service stops and may start again.
fn may_send_again(error: &ApiError) -> bool {
    let is_stopping = matches!(
        error,
        ApiError::Request(RequestError::Refused { status: 503, .. })
    );
    is_stopping || error.may_send_again()
}
