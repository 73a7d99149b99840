//! The way of the bridge to the service, which is started where none runs.

use std::cell::RefCell;
use std::time::Duration;

use harness_protocol::{ModelEntry, ModelList, PromptAnswer, PromptOrder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::client::acp::content::EditorPrompt;
use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::error::ApiError;
use crate::client::api::patience::{GivesUp, Patience};
use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::client::recipe_order::{Recipe, RecipeOrder};
use crate::client::starter::ServiceStarter;
use crate::config::ClientConfig;

/// Time during which an order whose answer was lost is sent again.
const RESENDING: Duration = Duration::from_secs(10);
/// Maximum time for the list of models, without which the present one is offered alone.
const MODELS_LIMIT: Duration = Duration::from_secs(3);

/// The way to the service.
pub(super) struct AcpService {
    starter: ServiceStarter,
    /// The name of the editor for the other clients.
    pub(super) name: RefCell<String>,
    models: RefCell<Vec<ModelEntry>>,
}

/// The answer to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptReceipt {
    /// It started this run.
    Accepted(u64),
    /// Another run is going.
    Busy,
    /// It was not accepted, for this reason.
    Refused(String),
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
    /// The way to a service, for an editor of that name.
    pub(super) fn new(starter: ServiceStarter, name: String) -> Self {
        Self {
            starter,
            name: RefCell::new(name),
            models: RefCell::default(),
        }
    }

    /// The configuration of the client.
    pub(super) fn config(&self) -> &ClientConfig {
        &self.starter.config
    }

    /// The running service; starts one if there is none.
    ///
    /// # Errors
    /// If there is none in the end.
    pub(super) async fn connection(&self) -> Result<ServiceConnection, CommandError> {
        self.starter.connection().await
    }

    /// Asks the running service.
    ///
    /// # Errors
    /// If there is no usable answer; an order may have been carried out.
    pub(super) async fn ask<A: DeserializeOwned>(&self, route: &Route<A>) -> Result<A, ApiError> {
        self.starter.ask(route).await
    }

    /// The name of the editor, as orders have it.
    pub(super) fn by(&self) -> Option<String> {
        Some(self.name.borrow().clone())
    }

    /// The retry policy for following a conversation: until the service refuses.
    pub(super) fn patience() -> Patience {
        Patience {
            first_wait: Duration::from_millis(200),
            longest_wait: Duration::from_secs(2),
            gives_up: GivesUp::Never,
            ..Patience::default()
        }
    }

    /// Asks the running service, again while there is none or the answer was lost.
    ///
    /// # Errors
    /// If there is no usable answer for ten seconds.
    pub(super) async fn ask_again<A: DeserializeOwned>(
        &self,
        route: &Route<A>,
    ) -> Result<A, ApiError> {
        let mut tries = 0;
        let began = Instant::now();
        loop {
            let error = match self.ask(route).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = Self::patience().wait(tries);
            if !may_send_again(&error) || began.elapsed() + wait > RESENDING {
                return Err(error);
            }
            tries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// A prompt in the form that the service takes: `/NAME TEXT` names a skill or a template of the folder.
    ///
    /// # Errors
    /// The reason why it is not known what the text means.
    pub(super) async fn order(
        &self,
        key: &str,
        prompt: EditorPrompt,
        folder: &str,
    ) -> Result<EditorOrder, String> {
        let by = self.name.borrow().clone();
        if let Some(named) = prompt.text.strip_prefix('/')
            && prompt.attachments.is_empty()
        {
            let parts = named.split_once(char::is_whitespace);
            let (name, text) = parts.unwrap_or((named, ""));
            let service = self.connection().await;
            service.map_err(|error| error.to_string())?;
            let commands = self.commands(folder).await;
            let commands = commands.map_err(|error| error.to_string())?;
            if let Some(command) = commands.into_iter().find(|command| command.name == name) {
                let text = text.trim().to_owned();
                let order = RecipeOrder::new(command.recipe, command.name, text, (key, &by));
                return Ok(EditorOrder::Recipe(order));
            }
        }
        Ok(EditorOrder::Text(Box::new(PromptOrder {
            content: prompt.text,
            key: Some(key.to_owned()),
            by: Some(by),
            attachments: prompt.attachments,
            ..PromptOrder::default()
        })))
    }

    /// Sends a prompt, again while its arrival is uncertain.
    pub(super) async fn send(&self, conversation: &str, order: &EditorOrder) -> PromptReceipt {
        let route = match order {
            EditorOrder::Text(order) => routes::prompt(conversation, order),
            EditorOrder::Recipe(order) => order.route(conversation),
        };
        let mut tries = 0;
        let began = Instant::now();
        loop {
            let sent = match self.connection().await {
                Ok(connection) => connection.ask(&route).await,
                Err(error) => return PromptReceipt::Refused(error.to_string()),
            };
            let error = match sent {
                Ok(PromptAnswer { run_id }) => return PromptReceipt::Accepted(run_id),
                Err(error) => ApiError::from(error),
            };
            if error.is_busy() {
                return PromptReceipt::Busy;
            }
            let wait = Self::patience().wait(tries);
            if !may_send_again(&error) || began.elapsed() + wait > RESENDING {
                return PromptReceipt::Refused(error.to_string());
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
    ///
    /// # Errors
    /// If the service does not list them.
    pub(super) async fn commands(&self, folder: &str) -> Result<Vec<OfferedCommand>, ApiError> {
        let folder = Some(folder);
        let mut commands = Vec::new();
        for (recipe, route) in [
            (Recipe::Skill, routes::skills(folder)),
            (Recipe::Template, routes::templates(folder)),
        ] {
            let NamedList { named } = self.ask_again(&route.answered_as()).await?;
            commands.extend(named.into_iter().map(|one| OfferedCommand {
                recipe,
                name: one.name,
                description: one.description,
            }));
        }
        Ok(commands)
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
