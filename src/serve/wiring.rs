//! Starts the actors of the service and says where their events go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;
use harness_actors::approval::Operators;
use harness_actors::broadcast::{
    ANSWER_BYTES, ANSWER_GRACE, ReadBudget, STREAM_BYTES, STREAM_GRACE,
};
use harness_actors::budget::PriceList;
use harness_actors::directory::{DirectoryActor, Extensions};
use harness_actors::journal::{FolderAttachments, JsonLinesStore, StateDisk, StateSize};
use harness_actors::mcp::{McpPool, PoolParts};
use harness_actors::model::{
    Caching, Credential, KeyOrigin, KeyResolver, ModelSettings, NamedKeys, RetryPolicy, Transport,
};
#[cfg(target_os = "linux")]
use harness_actors::tool::{Bash, JobTool};
use harness_actors::tool::{
    BeforeStore, Contained, FolderShelves, Jobs, Launch, LaunchOrder, Launcher, Launching, Outputs,
    Tool, ToolShelf,
};
use harness_actors::workflow::hooks::Hooks;
use harness_actors::workflow::keeper::{
    Directory, WorkSlots, WorkflowFiles, WorkflowParts, WorkflowsActor,
};
use harness_actors::workflow::machine::ProviderPatience;
use harness_actors::{
    AttachmentStore, Clock, Config as HarnessConfig, Redaction, parts, standard_tools, start_thread,
};
use harness_protocol::Access;
use tokio::sync::Semaphore;

use crate::config::LoadedConfig;
use crate::file_search::FileSearch;
use crate::guidance::GuidanceSources;
use crate::http::{CommandsAreNear, ContainedBy, HttpShared, ServiceAbout};
#[cfg(target_os = "linux")]
use crate::launch::{OwnLauncher, remove_left_folders};
use crate::os::fd_limits::max_open_conversations;
use crate::serve::demo::DemoTransport;
use crate::serve::error::ServiceError;
use crate::serve::folder_rules::KeptRules;
use crate::serve::mcp::{McpError, McpServers};
use crate::serve::pricing::{BudgetPrices, KeptFor, Prices, PricesFileError};
use crate::state_dir::{StateFolder, TOKEN_FILE};

/// Where the model is.
pub(crate) enum ModelPlace {
    /// At the API that the configuration names.
    Api(Credential),
    /// In this process.
    Demo,
}

/// The actors of a running service.
pub(crate) struct Actors {
    pub(crate) shared: HttpShared,
}

/// How long workflows wait for a provider that does not answer.
fn patience(config: &LoadedConfig) -> ProviderPatience {
    let longest = config.workflow_patience.unwrap_or_default();
    ProviderPatience::of_ms(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX))
}

/// Starts the actors. Broadcasters have a thread of their own, so that fanning out to many
/// clients never delays the reading of a reply. What `redaction` takes out, tools and the API show
/// to nobody.
pub(crate) fn start(
    config: &LoadedConfig,
    state: &StateFolder,
    model: ModelPlace,
    redaction: &Redaction,
    about: ServiceAbout,
) -> Result<Actors, ServiceError> {
    let way = ModelWay::to(model, keys(config, redaction));
    let settings = settings(config, way.credential);
    let clock = Clock::system();
    let jobs = Jobs::new(clock);
    let commands = Commands::from_config(config, &jobs);
    let mut tools = standard_tools();
    tools.extend(commands.tools);
    let disk = Arc::new(StateDisk::for_home(&config.home));
    let size = StateSize::new(&config.home, config.max_state_bytes, disk)?;
    let attachments = attachments(config, &size, clock);
    let guidance = GuidanceSources::load(&config.home, &config.workspace, redaction.clone(), clock);
    let sources = guidance.clone();
    let guidance_of = Arc::new(move |folder: &Path| sources.shelf(folder));
    let outputs = Outputs::at(&config.home);
    let rules = KeptRules::within(&config.home)?;
    let mut extensions = Extensions::default();
    extensions.guidance_of = Some(guidance_of);
    extensions.attachments = Arc::clone(&attachments);
    extensions.transport = way.transport;
    extensions.keys = way.keys;
    extensions.redaction = redaction.clone();
    extensions.approver = Arc::new(Operators);
    extensions.rules = rules.book();
    extensions.closed = closed_to_tools(config);
    extensions.before = Some(BeforeStore::at(&config.home, clock));
    extensions.outputs = Some(outputs.clone());
    extensions.launcher = commands.launcher.clone();
    extensions.jobs = jobs.clone();
    let (prices, budget_prices) = prices(config)?;
    extensions.prices = Arc::clone(&budget_prices);
    let broadcasting = Arbiter::try_new()?.handle();
    let parts = parts(
        settings,
        tools,
        extensions,
        config.workspace.as_path().into(),
        clock,
        broadcasting.clone(),
    )?;
    let (models, shelf) = (parts.list_models.clone(), parts.tools.clone());
    let offered = (shelf.clone(), parts.extensions.folder_tools.clone());
    let falls_back = parts.defaults.workflows_fall_back();
    let store = JsonLinesStore::within(&config.home, clock, size.clone());
    let directory = DirectoryActor::new(Arc::new(store), parts, max_open_conversations()).start();
    let launcher = or_none(&commands.launcher);
    let mcp = mcp_servers(config, Arc::clone(&launcher), offered, redaction)?;
    let workflows = WorkflowsActor::new(WorkflowParts {
        store: Arc::new(JsonLinesStore::of_workflows(&config.home, clock, size)),
        directory: Directory {
            open: directory.clone().recipient(),
            create: directory.clone().recipient(),
        },
        launcher,
        clock,
        redaction: redaction.clone(),
        closed: closed_to_tools(config),
        files: WorkflowFiles::at(&config.home),
        worktrees: worktrees(),
        home: config.home.clone(),
        broadcasting,
        patience: patience(config),
        auto_resume: config.workflow_auto_resume,
        room: WorkSlots::new(config.max_workflows),
        prices: budget_prices,
        falls_back,
        hooks: Hooks::default(),
    });
    let shared = HttpShared {
        directory,
        workflows: workflows.start(),
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
        state: state.clone(),
        tries_disk: Arc::default(),
        workspace: config.workspace.as_path().into(),
        models,
        files: FileSearch::without(&config.home),
        rules,
        tools: shelf,
        mcp,
        contained_by: commands.contained_by,
        commands_are_near: commands.are_near,
        jobs,
        outputs,
        closed: closed_to_tools(config),
        redaction: redaction.clone(),
        key_sources: config.key_sources.names().into(),
        kept_for: kept_for(config),
        prices,
    };
    Ok(Actors { shared })
}

/// The MCP servers, of which none is started here.
fn mcp_servers(
    config: &LoadedConfig,
    launcher: Arc<dyn Launcher>,
    (shelf, folders): (ToolShelf, FolderShelves),
    redaction: &Redaction,
) -> Result<McpServers, McpError> {
    let pool = McpPool::new(PoolParts {
        launcher,
        passed: config.command_env.clone(),
        redaction: redaction.clone(),
        closed: closed_to_tools(config),
        own_variables: config.key_sources.variables(),
    });
    McpServers::within(&config.home, pool, shelf, folders, redaction.clone())
}

/// The files that go with messages.
fn attachments(config: &LoadedConfig, size: &StateSize, clock: Clock) -> Arc<dyn AttachmentStore> {
    let attachments = FolderAttachments::within(&config.home, size.clone());
    attachments.sweep_unnamed(clock);
    Arc::new(attachments)
}

/// The tools that run commands, and what contains those.
struct Commands {
    tools: Vec<Arc<dyn Tool>>,
    launcher: Launching,
    contained_by: ContainedBy,
    are_near: CommandsAreNear,
}

impl Commands {
    #[cfg(target_os = "linux")]
    fn from_config(config: &LoadedConfig, jobs: &Jobs) -> Self {
        let launcher = OwnLauncher::new(config.sandbox, &config.sandbox_write);
        let finding = launcher.clone();
        // The first command need not wait for it, nor the start of the service.
        let found = start_thread("sandbox", move || {
            finding.found();
            remove_left_folders();
        });
        if let Err(error) = found {
            log::debug!("what contains commands is found later: {error}");
        }
        let environment = config.command_env.clone();
        let asked = launcher.clone();
        let near = launcher.near_commands().clone();
        Self {
            launcher: Launching(Some(Arc::new(launcher.clone()))),
            tools: vec![
                Arc::new(
                    Bash::new(Arc::new(launcher), environment, jobs.clone())
                        .remembering(&config.home),
                ),
                Arc::new(JobTool::new(jobs.clone())),
            ],
            contained_by: Arc::new(move || asked.contained_by()),
            are_near: Arc::new(move || near.are_there()),
        }
    }

    /// Nothing contains commands here, and nothing would end what they leave.
    #[cfg(not(target_os = "linux"))]
    fn from_config(_: &LoadedConfig, _: &Jobs) -> Self {
        Self {
            launcher: Launching::default(),
            tools: Vec::new(),
            contained_by: Arc::new(|| Some("none")),
            are_near: Arc::new(|| false),
        }
    }
}

/// A launcher that may be one that starts nothing.
fn or_none(launcher: &Launching) -> Arc<dyn Launcher> {
    let launcher = launcher.0.clone();
    launcher.unwrap_or_else(|| Arc::new(NoLauncher))
}

/// The launcher where nothing contains commands.
struct NoLauncher;

impl Launcher for NoLauncher {
    fn containment(&self, _: Access, _: bool, _: &Path) -> Result<Contained, String> {
        Err("nothing contains commands on this system, so none is run".to_owned())
    }

    fn launch(&self, _: &LaunchOrder) -> std::io::Result<Launch> {
        let reason = "nothing contains commands on this system, so none is run";
        Err(std::io::Error::other(reason))
    }
}

/// The folder of the worktrees of workflows: not in the state folder, which no tool may see.
pub(crate) fn worktrees() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = named("HARNESS_WORKTREES") {
        return folder.into();
    }
    let cache = named("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || named("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).unwrap_or_else(std::env::temp_dir);
    cache.join("harness").join("worktrees")
}

/// How long the API keeps what is written to its cache.
fn kept_for(config: &LoadedConfig) -> KeptFor {
    match config.prompt_cache {
        Caching::OneHour => KeptFor::OneHour,
        Caching::Off | Caching::FiveMinutes => KeptFor::FiveMinutes,
    }
}

/// The prices of tokens, and the same as budgets are held with them.
fn prices(config: &LoadedConfig) -> Result<(Arc<Prices>, Arc<dyn PriceList>), PricesFileError> {
    let prices = Arc::new(Prices::within(&config.home)?);
    let budget_prices = BudgetPrices {
        prices: Arc::clone(&prices),
        kept: kept_for(config),
    };
    Ok((prices, Arc::new(budget_prices)))
}

/// The places that no tool may open, whatever name leads there: the state folder, and also by itself the
/// token in it, which may have a second name elsewhere.
pub(crate) fn closed_to_tools(config: &LoadedConfig) -> Arc<[PathBuf]> {
    let own = [config.home.clone(), config.home.join(TOKEN_FILE)];
    own.into_iter().chain(config.deny_read.clone()).collect()
}

/// How the model is reached.
struct ModelWay {
    credential: Credential,
    /// In place of HTTP.
    transport: Option<Arc<dyn Transport>>,
    /// Where keys come from that conversations name.
    keys: Option<Arc<dyn KeyResolver>>,
}

impl ModelWay {
    fn to(model: ModelPlace, keys: NamedKeys) -> Self {
        match model {
            ModelPlace::Api(credential) => Self {
                credential,
                transport: None,
                keys: Some(Arc::new(keys)),
            },
            // It needs no key, and never sees a real one.
            ModelPlace::Demo => Self {
                credential: Credential::none(),
                transport: Some(Arc::new(DemoTransport::default())),
                keys: None,
            },
        }
    }
}

/// The keys that conversations can choose; never the service's own token. They are masked from now on.
fn keys(config: &LoadedConfig, redaction: &Redaction) -> NamedKeys {
    let token_file = config.home.join(TOKEN_FILE).display().to_string();
    let variable = KeyOrigin::Environment("HARNESS_TOKEN".to_owned());
    let never = vec![KeyOrigin::File(token_file), variable];
    let never_these = config.token.iter().cloned().collect();
    let keys = NamedKeys::new(config.key_sources.origins.clone(), never, never_these)
        .with_own_from(config.credential_origin());
    // Also those that no conversation has used yet. A word or a path is a mistake, and no key.
    redaction.add_all(keys.present().filter(|key| !key.is_plain()));
    keys
}

/// How conversations are set up.
fn settings(config: &LoadedConfig, credential: Credential) -> HarnessConfig {
    let mut settings = HarnessConfig::new("");
    settings.api = ModelSettings::new(credential);
    settings.api.base_url.clone_from(&config.base_url);
    settings.api.api_version = config.api_version;
    settings.api.retry = RetryPolicy {
        max_retries: config.max_retries,
        max_wait: config.max_retry_wait,
    };
    settings.api.connect_timeout = config.connect_timeout;
    settings.api.head_timeout = config.head_timeout;
    settings.api.idle_timeout = config.idle_timeout;
    settings.settings = config.settings.clone();
    settings.caching = config.prompt_cache;
    settings.tool_timeout = config.tool_timeout;
    // All secrets that the configuration holds are in the redaction, so none is named here.
    settings
}

#[cfg(test)]
mod tests {
    use harness_actors::Secret;

    use super::*;

    /// Spec: [LIB-06]
    #[test]
    fn the_service_and_the_library_have_the_same_defaults() {
        let library = HarnessConfig::new("key");
        let config = LoadedConfig::of_defaults();
        let credential = Credential::ApiKey(Secret::from("key"));
        let service = settings(&config, credential);
        assert_eq!(service, library);
    }
}
