//! Starts the actors of the service and says where their events go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;
use harness_actors::approval::Operators;
use harness_actors::broadcast::{
    ANSWER_BYTES, ANSWER_GRACE, ReadBudget, STREAM_BYTES, STREAM_GRACE,
};
use harness_actors::directory::{DirectoryActor, Seams};
use harness_actors::journal::{FolderAttachments, JsonLinesStore, StateDisk, StateSize};
use harness_actors::model::{
    Caching, Credential, KeyOrigin, KeyResolver, ModelSettings, NamedKeys, RetryPolicy, Transport,
};
#[cfg(target_os = "linux")]
use harness_actors::tool::{Bash, JobTool};
use harness_actors::tool::{BeforeStore, Jobs, Launching, Outputs, Tool};
use harness_actors::{
    AttachmentStore, Clock, Config as HarnessConfig, Redaction, parts, standard_tools, start_thread,
};
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::demo::DemoTransport;
use crate::guidance::GuidanceSources;
use crate::http::{About, ContainedBy, Shared};
#[cfg(target_os = "linux")]
use crate::launch::OwnLauncher;
use crate::open_files::max_open_conversations;
use crate::prices::KeptFor;
use crate::rules::KeptRules;
use crate::service_error::ServiceError;
use crate::state::TOKEN_FILE;

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
/// clients never delays the reading of a reply. What `redaction` takes out, tools and the API show
/// to nobody.
pub(crate) fn start(
    config: &Config,
    model: Model,
    redaction: &Redaction,
    about: About,
) -> Result<Actors, ServiceError> {
    let keys = keys(config);
    // Also those that no conversation has used yet. A word or a path is a mistake, and no key.
    redaction.add_all(keys.present().filter(|key| !key.is_plain()));
    let way = Way::to(model, keys);
    let settings = settings(config, way.credential);
    let clock = Clock::system();
    let jobs = Jobs::new(clock);
    let commands = Commands::of(config, &jobs);
    let mut tools = standard_tools();
    tools.extend(commands.tools);
    let size = StateSize::new(
        &config.home,
        config.max_state_bytes,
        Arc::new(StateDisk::of(&config.home)),
    )?;
    let attachments = FolderAttachments::within(&config.home, size.clone());
    attachments.sweep_unnamed(clock);
    let attachments: Arc<dyn AttachmentStore> = Arc::new(attachments);
    let guidance = GuidanceSources::load(&config.home, &config.workspace, redaction.clone(), clock);
    let sources = guidance.clone();
    let guidance_of = Arc::new(move |folder: &Path| sources.shelf(folder));
    let outputs = Outputs::at(&config.home);
    let rules = KeptRules::within(&config.home)?;
    let seams = Seams {
        guidance_of: Some(guidance_of),
        attachments: Arc::clone(&attachments),
        transport: way.transport,
        keys: way.keys,
        redaction: redaction.clone(),
        approver: Arc::new(Operators),
        rules: rules.book(),
        closed: closed_to_tools(config),
        before: Some(BeforeStore::at(&config.home, clock)),
        outputs: Some(outputs.clone()),
        launcher: commands.launcher,
        jobs: jobs.clone(),
        ..Seams::default()
    };
    let parts = parts(
        settings,
        tools,
        seams,
        config.workspace.as_path().into(),
        clock,
        Arbiter::try_new()?.handle(),
    )?;
    let models = parts.list_models.clone();
    let shelf = parts.tools.clone();
    let store = JsonLinesStore::within(&config.home, clock, size);
    let shared = Shared {
        directory: DirectoryActor::new(Arc::new(store), parts, max_open_conversations()).start(),
        subscribers: Arc::new(Semaphore::new(config.max_subscribers)),
        max_subscribers: config.max_subscribers,
        about: Arc::new(about),
        streams: ReadBudget::new(STREAM_BYTES, STREAM_GRACE),
        answers: ReadBudget::new(ANSWER_BYTES, ANSWER_GRACE),
        guidance,
        tells_context_files: config.settings.context_files,
        heartbeat: config.heartbeat,
        attachments,
        home: config.home.as_path().into(),
        workspace: config.workspace.as_path().into(),
        models,
        rules,
        tools: shelf,
        contained_by: commands.contained_by,
        jobs,
        outputs,
        redaction: redaction.clone(),
        key_sources: config.key_sources.names().into(),
        kept_for: match config.prompt_cache {
            Caching::OneHour => KeptFor::OneHour,
            Caching::Off | Caching::FiveMinutes => KeptFor::FiveMinutes,
        },
    };
    Ok(Actors { shared })
}

/// The tools that run commands, and what contains those.
struct Commands {
    tools: Vec<Arc<dyn Tool>>,
    launcher: Launching,
    contained_by: ContainedBy,
}

impl Commands {
    #[cfg(target_os = "linux")]
    fn of(config: &Config, jobs: &Jobs) -> Self {
        let launcher = OwnLauncher::new(config.sandbox, &config.sandbox_write);
        let finding = launcher.clone();
        // The first command need not wait for it, nor the start of the service.
        let found = start_thread("sandbox", move || {
            finding.found();
        });
        if let Err(error) = found {
            log::debug!("what contains commands is found later: {error}");
        }
        let environment = config.command_env.clone();
        let asked = launcher.clone();
        Self {
            launcher: Launching(Some(Arc::new(launcher.clone()))),
            tools: vec![
                Arc::new(Bash::new(Arc::new(launcher), environment, jobs.clone())),
                Arc::new(JobTool::new(jobs.clone())),
            ],
            contained_by: Arc::new(move || asked.contained_by()),
        }
    }

    /// Nothing contains commands here, and nothing would end what they leave.
    #[cfg(not(target_os = "linux"))]
    fn of(_: &Config, _: &Jobs) -> Self {
        Self {
            launcher: Launching::default(),
            tools: Vec::new(),
            contained_by: Arc::new(|| Some("none")),
        }
    }
}

/// What no tool may open, whatever name leads there: the state folder, and also by itself the token in it,
/// which may have a second name elsewhere.
fn closed_to_tools(config: &Config) -> Arc<[PathBuf]> {
    let own = [config.home.clone(), config.home.join(TOKEN_FILE)];
    own.into_iter().chain(config.deny_read.clone()).collect()
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
    fn to(model: Model, keys: NamedKeys) -> Self {
        match model {
            Model::Api(credential) => Self {
                credential,
                transport: None,
                keys: Some(Arc::new(keys)),
            },
            // It needs no key, and never sees a real one.
            Model::Demo => Self {
                credential: Credential::none(),
                transport: Some(Arc::new(DemoTransport::default())),
                keys: None,
            },
        }
    }
}

/// The keys that conversations can choose; never the service's own token.
fn keys(config: &Config) -> NamedKeys {
    let token_file = config.home.join(TOKEN_FILE).display().to_string();
    let variable = KeyOrigin::Environment("HARNESS_TOKEN".to_owned());
    let never = vec![KeyOrigin::File(token_file), variable];
    let never_these = config.token.iter().cloned().collect();
    NamedKeys::new(config.key_sources.origins.clone(), never, never_these)
}

/// How conversations are set up.
fn settings(config: &Config, credential: Credential) -> HarnessConfig {
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
        settings: config.settings.clone(),
        caching: config.prompt_cache,
        tool_timeout: config.tool_timeout,
        // All that the configuration holds are in the redaction.
        secrets: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use harness_actors::Secret;

    use super::*;

    /// Spec: [LIB-06]
    #[test]
    fn the_service_and_the_library_have_the_same_defaults() {
        let library = HarnessConfig::new("key");
        let config = Config::of_defaults();
        let credential = Credential::ApiKey(Secret::from("key"));
        let service = settings(&config, credential);
        assert_eq!(service, library);
    }
}
