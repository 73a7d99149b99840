//! Starts the actors of the service and says where their events go.

use std::sync::Arc;

use actix::prelude::*;
use harness_actors::compaction::CompactionSettings;
use harness_actors::directory::{DirectoryActor, Seams};
use harness_actors::journal::{FolderAttachments, JsonLinesStore};
use harness_actors::model::{
    Caching, Credential, EnvOrFileKeys, KeyResolver, ModelSettings, RetryPolicy, Transport,
};
use harness_actors::{
    AttachmentStore, Clock, Config as HarnessConfig, Redaction, Secret, Tool, parts, standard_tools,
};
use harness_protocol::ToolEntry;
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::demo::DemoTransport;
use crate::guidance::GuidanceSource;
use crate::http::{About, Attachable, Shared};
use crate::prices::KeptFor;
use crate::service::ServiceError;

/// Where the model is.
pub(crate) enum Model {
    /// At the API that the configuration names.
    Api(Credential),
    /// In this process.
    Demo,
}

/// The actors of a running service.
pub(crate) struct Actors {
    pub(crate) shared: Shared,
}

/// Starts the actors. Broadcasters have a thread of their own, so that fanning out to many
/// clients never delays the reading of a reply.
pub(crate) fn start(
    config: &Config,
    model: Model,
    token: &Secret,
    about: About,
) -> Result<Actors, ServiceError> {
    let way = Way::to(model);
    let settings = settings(config, way.credential, token);
    let clock = Clock::system();
    let tools = standard_tools(&config.workspace);
    let entry = |tool: &Arc<dyn Tool>| ToolEntry {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
    };
    let entries = tools.iter().map(entry).collect();
    let attachments: Arc<dyn AttachmentStore> = Arc::new(FolderAttachments::at(&config.home));
    let redaction = redaction(&settings);
    let guidance = GuidanceSource::load(&config.home, &config.workspace, redaction, clock);
    let seams = Seams {
        guidance: guidance.shelf().clone(),
        attachments: Arc::clone(&attachments),
        transport: way.transport,
        keys: way.keys,
        ..Seams::default()
    };
    let parts = parts(settings, tools, seams, clock, Arbiter::new().handle())?;
    let models = parts.list_models.clone();
    let store = JsonLinesStore::at(&config.home, clock);
    let shared = Shared {
        directory: DirectoryActor::new(Arc::new(store), parts).start(),
        subscribers: Arc::new(Semaphore::new(config.max_subscribers)),
        max_subscribers: config.max_subscribers,
        about: Arc::new(about),
        guidance,
        tells_context_files: config.context_files,
        heartbeat: config.heartbeat,
        attachments,
        workspace: Attachable::new(&config.workspace, &config.home),
        models,
        tools: entries,
        kept_for: match config.prompt_cache {
            Caching::OneHour => KeptFor::OneHour,
            Caching::Off | Caching::FiveMinutes => KeptFor::FiveMinutes,
        },
    };
    Ok(Actors { shared })
}

/// What guidance may not show: what no tool may show either.
fn redaction(settings: &HarnessConfig) -> Redaction {
    let (Credential::ApiKey(key) | Credential::Bearer(key)) = &settings.api.credential;
    let secrets = settings.secrets.iter().chain([key]);
    Redaction::new(secrets.cloned().collect())
}

/// How the model is reached.
struct Way {
    credential: Credential,
    /// In place of HTTP.
    transport: Option<Arc<dyn Transport>>,
    /// Where keys come from that conversations name.
    keys: Option<Arc<dyn KeyResolver>>,
}

impl Way {
    fn to(model: Model) -> Self {
        match model {
            Model::Api(credential) => Self {
                credential,
                transport: None,
                keys: Some(Arc::new(EnvOrFileKeys)),
            },
            // It needs no key, and never sees a real one.
            Model::Demo => Self {
                credential: Credential::ApiKey(Secret::from("")),
                transport: Some(Arc::new(DemoTransport::default())),
                keys: None,
            },
        }
    }
}

/// The settings of the conversation. `token` is the service's own, which no tool may show.
fn settings(config: &Config, credential: Credential, token: &Secret) -> HarnessConfig {
    HarnessConfig {
        api: ModelSettings {
            base_url: config.base_url.clone(),
            credential,
            retry: RetryPolicy {
                max_retries: config.max_retries,
                max_wait: config.max_retry_wait,
            },
            connect_timeout: config.connect_timeout,
            head_timeout: config.head_timeout,
            idle_timeout: config.idle_timeout,
        },
        model: config.model.clone(),
        max_tokens: config.max_tokens,
        system_prompt: config.system_prompt.clone().unwrap_or_default(),
        max_turns: config.max_turns,
        thinking: config.thinking,
        active_tools: Vec::new(),
        tool_execution: config.tool_execution,
        steering_mode: config.steering_mode,
        follow_up_mode: config.follow_up_mode,
        context_window: config.context_window,
        compaction: CompactionSettings {
            auto: config.auto_compact,
            reserve_tokens: config.reserve_tokens,
            keep_tokens: config.keep_tokens,
        },
        compaction_model: config.compaction_model.clone(),
        context_files: config.context_files,
        caching: config.prompt_cache,
        tool_timeout: config.tool_timeout,
        secrets: vec![token.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [LIB-06]
    #[test]
    fn the_service_and_the_library_have_the_same_defaults() {
        let mut library = HarnessConfig::new("key");
        let config = Config::of_defaults();
        let credential = Credential::ApiKey(Secret::from("key"));
        let token = Secret::from("0123456789abcdef");
        let service = settings(&config, credential, &token);
        library.secrets.push(token);
        assert_eq!(service, library);
    }
}
