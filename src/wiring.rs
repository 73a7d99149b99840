//! Starts the actors of the service and says where their events go.

use std::sync::Arc;

use actix::prelude::*;
use harness_actors::broadcast::{
    ANSWER_BYTES, ANSWER_GRACE, ReadBudget, STREAM_BYTES, STREAM_GRACE,
};
use harness_actors::compaction::CompactionSettings;
use harness_actors::directory::{DirectoryActor, Seams};
use harness_actors::journal::{FolderAttachments, JsonLinesStore, StateSize, SystemDisk};
use harness_actors::model::{
    Caching, Credential, EnvOrFileKeys, KeyResolver, ModelSettings, RetryPolicy,
};
use harness_actors::{
    AttachmentStore, Clock, Config as HarnessConfig, Secret, Tool, parts, standard_tools,
};
use harness_protocol::ToolEntry;
use harness_standin::Standin;
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::guidance::GuidanceSource;
use crate::http::Shared;
use crate::open_files::max_open_conversations;
use crate::prices::KeptFor;
use crate::service::ServiceError;

/// Where the model is.
pub(crate) enum Model {
    /// At the API that the configuration names.
    Api(Credential),
    /// In this process.
    Demo(Standin),
}

/// The actors of a running service.
pub(crate) struct Actors {
    pub(crate) shared: Shared,
    /// The demo model lives as long as the service.
    _model: Model,
}

/// Starts the actors. Broadcasters have a thread of their own, so that fanning out to many
/// clients never delays the reading of a reply.
pub(crate) fn start(
    config: &Config,
    model: Model,
    token: &Secret,
    epoch: String,
) -> Result<Actors, ServiceError> {
    let (base_url, credential) = match &model {
        Model::Api(credential) => (config.base_url.clone(), credential.clone()),
        // The stand-in never sees a real key.
        Model::Demo(standin) => (standin.base_url(), Credential::ApiKey(Secret::from("demo"))),
    };
    let settings = settings(config, base_url, credential, token);
    let clock = Clock::system();
    let tools = standard_tools(&config.workspace);
    let entry = |tool: &Arc<dyn Tool>| ToolEntry {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
    };
    let entries = tools.iter().map(entry).collect();
    let size = StateSize::new(&config.home, config.max_state_bytes, Arc::new(SystemDisk));
    let attachments = FolderAttachments::within(&config.home, size.clone());
    attachments.sweep_unnamed(clock);
    let attachments: Arc<dyn AttachmentStore> = Arc::new(attachments);
    let guidance = GuidanceSource::load(&config.home, &config.workspace, clock);
    let seams = Seams {
        guidance: guidance.shelf().clone(),
        attachments: Arc::clone(&attachments),
        keys: keys(&model),
        ..Seams::default()
    };
    let parts = parts(settings, tools, seams, clock, Arbiter::new().handle())?;
    let models = parts.list_models.clone();
    let store = JsonLinesStore::within(&config.home, clock, size);
    let shared = Shared {
        directory: DirectoryActor::new(Arc::new(store), parts, max_open_conversations()).start(),
        subscribers: Arc::new(Semaphore::new(config.max_subscribers)),
        max_subscribers: config.max_subscribers,
        streams: ReadBudget::new(STREAM_BYTES, STREAM_GRACE),
        answers: ReadBudget::new(ANSWER_BYTES, ANSWER_GRACE),
        epoch,
        guidance,
        tells_context_files: config.context_files,
        heartbeat: config.heartbeat,
        attachments,
        workspace: config.workspace.clone(),
        models,
        tools: entries,
        kept_for: match config.prompt_cache {
            Caching::OneHour => KeptFor::OneHour,
            Caching::Off | Caching::FiveMinutes => KeptFor::FiveMinutes,
        },
    };
    Ok(Actors {
        shared,
        _model: model,
    })
}

/// Where keys come from that conversations name; the stand-in never sees a real one.
fn keys(model: &Model) -> Option<Arc<dyn KeyResolver>> {
    match model {
        Model::Api(_) => Some(Arc::new(EnvOrFileKeys)),
        Model::Demo(_) => None,
    }
}

/// The settings of the conversation. `token` is the service's own, which no tool may show.
fn settings(
    config: &Config,
    base_url: String,
    credential: Credential,
    token: &Secret,
) -> HarnessConfig {
    HarnessConfig {
        api: ModelSettings {
            base_url,
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
        let service = settings(&config, config.base_url.clone(), credential, &token);
        library.secrets.push(token);
        assert_eq!(service, library);
    }
}
