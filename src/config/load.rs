//! The checked configuration, made from its layers in one place.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_actors::DEFAULT_MODEL;
use harness_actors::model::{ApiVersion, Caching};
use harness_protocol::{FullSettings, SETTINGS, Settings, StartOptions};
use nix::fcntl::OFlag;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::address::{HostPort, allowed_hosts, bind};
use super::base_url::base_url;
use super::choices::{
    API_VERSION, PROMPT_CACHE, SANDBOX, SandboxSetting, choice, of_kind, variables,
};
use super::closed::closed;
use super::container::is_container;
use super::error::SettingError;
use super::flags::SettingFlags;
use super::key_sources::KeySources;
use super::layers::{GivenValues, Layers};
use super::raw::{RawSetting, SettingSource};
use super::secret::{Credential, Secret};
use super::setting::Key;
use super::value::{
    duration, duration_or_off, folder, header_text, key, prompt_file, size, switch, token,
    whole_number,
};

/// The name of the settings file in the state folder.
const FILE_NAME: &str = "config.toml";
/// The domain of the API itself, which takes no request without a key.
const OWN_DOMAIN: &str = "anthropic.com";
/// The largest settings file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Every setting of the service, checked.
#[derive(Debug, Clone)]
pub(crate) struct LoadedConfig {
    /// The state folder, absolute; not opened and perhaps not there yet.
    pub(crate) home: PathBuf,
    /// The credential for the Messages API, if one was given.
    pub(crate) credential: Option<Credential>,
    /// The URL of the Messages API, without a slash or `/v1` at the end.
    pub(crate) base_url: String,
    /// The version of the API. `None` finds out which one the server takes.
    pub(crate) api_version: Option<ApiVersion>,
    /// True if it may be plain http to a private network.
    pub(crate) allow_private_http: bool,
    /// The settings of conversations that set nothing else.
    pub(crate) settings: FullSettings,
    /// The API's cache for requests.
    pub(crate) prompt_cache: Caching,
    /// The folder the tools work in, absolute and without links.
    pub(crate) workspace: PathBuf,
    /// Places that no tool may open.
    pub(crate) deny_read: Vec<PathBuf>,
    /// The setting for the containment of commands.
    pub(crate) sandbox: SandboxSetting,
    /// More folders that commands may write.
    pub(crate) sandbox_write: Vec<PathBuf>,
    /// Environment variables that commands get besides what programs need.
    pub(crate) command_env: Vec<String>,
    /// The address to listen on.
    pub(crate) bind: IpAddr,
    /// The port to listen on; 0 takes a free one.
    pub(crate) port: u16,
    /// True if even clients on this machine need the token.
    pub(crate) require_token: bool,
    /// The token clients send; without it the token file holds one.
    pub(crate) token: Option<Secret>,
    /// Further values of the `Host` header to accept, in lower case.
    pub(crate) allowed_hosts: Vec<String>,
    /// Maximum number of retries of a failed model request.
    pub(crate) max_retries: u32,
    /// The longest wait for retries of one model request in total.
    pub(crate) max_retry_wait: Duration,
    /// The longest wait for a connection to the Messages API.
    pub(crate) connect_timeout: Duration,
    /// The longest wait for a reply to begin.
    pub(crate) head_timeout: Duration,
    /// The longest silence inside a reply.
    pub(crate) idle_timeout: Duration,
    /// The longest run of one tool call.
    pub(crate) tool_timeout: Duration,
    /// The most event streams open at once.
    pub(crate) max_subscribers: usize,
    /// Maximum number of workflows that work at once.
    pub(crate) max_workflows: usize,
    /// Time that an attempt of a workflow waits for a provider that does not answer. `None` if it does not wait.
    pub(crate) workflow_patience: Option<Duration>,
    /// True if workflows that were at work when the service ended continue when it starts again.
    pub(crate) workflow_auto_resume: bool,
    /// Maximum size of the conversations, attachments and trash, in bytes. `None` if there is no limit.
    pub(crate) max_state_bytes: Option<u64>,
    /// The time between heartbeats on a quiet event stream.
    pub(crate) heartbeat: Duration,
    /// The filter of the log, as in `RUST_LOG`.
    pub(crate) log: String,
    /// The sources of keys that conversations can choose.
    pub(crate) key_sources: KeySources,
    /// Every secret that a layer holds, in use or not.
    pub(crate) secrets: Vec<Secret>,
    /// The source of each setting, in the order of the table.
    pub(super) sources: Vec<SettingSource>,
    /// The file that gave the standing instructions, if one did.
    pub(super) system_prompt_file: Option<PathBuf>,
    /// The flags and variables, without secrets.
    pub(crate) start: StartOptions,
}

impl LoadedConfig {
    /// Gathers the layers of this process, creating nothing, and checks them.
    ///
    /// # Errors
    /// If config.toml or a setting cannot be used; the error is one line with the fix.
    pub(crate) fn from_process(flags: &SettingFlags) -> Result<Self, SettingError> {
        Self::gather(Layers::of_process(flags)?)
    }

    /// The id of the model that answers.
    pub(crate) fn model(&self) -> &str {
        self.settings.model.as_deref().unwrap_or(DEFAULT_MODEL)
    }

    /// The host of the API, with its port if the URL has one.
    pub(crate) fn api_host(&self) -> &str {
        let behind_scheme = self.base_url.split_once("://").map_or("", |(_, rest)| rest);
        behind_scheme.split('/').next().unwrap_or_default()
    }

    /// True if it is the API itself and not another server with the same protocol.
    fn is_of_the_api(&self) -> bool {
        HostPort::parse(self.api_host()).is_some_and(|host| host.is_of(OWN_DOMAIN))
    }

    /// Adds config.toml to the layers, if there is one, and checks them.
    pub(super) fn gather(mut layers: Layers) -> Result<Self, SettingError> {
        layers.read_file()?;
        Self::load(&layers)
    }

    /// The configuration of a service without any setting.
    #[cfg(test)]
    pub(crate) fn of_defaults() -> Self {
        let layers = Layers {
            flags: SettingFlags::default(),
            environment: [("HOME".into(), "/nowhere".into())].into(),
            file: None,
            current_dir: std::env::temp_dir(),
            in_container: false,
        };
        Self::load(&layers).unwrap()
    }

    /// Checks every setting. Reads nothing but the layers and the files that they name.
    ///
    /// # Errors
    /// If a setting cannot be used; the error is one line with the fix.
    pub(crate) fn load(layers: &Layers) -> Result<Self, SettingError> {
        let given = layers.resolve()?;
        let workspace = given.raw(Key::Workspace);
        let prompt = StandingPrompt::choose(&given, layers)?;
        let allow_private_http = switch(given.raw(Key::AllowPrivateHttp))?;
        let config = Self {
            home: layers.home()?,
            credential: credential(&given)?,
            base_url: base_url(given.raw(Key::BaseUrl), allow_private_http)?,
            api_version: choice(given.raw(Key::ApiVersion), &API_VERSION)?,
            allow_private_http,
            settings: of_conversations(&given, prompt.text)?,
            prompt_cache: choice(given.raw(Key::PromptCache), &PROMPT_CACHE)?,
            workspace: folder(workspace, &layers.absolute(&workspace.text))?,
            deny_read: closed(given.raw(Key::DenyRead), layers)?,
            sandbox: choice(given.raw(Key::Sandbox), &SANDBOX)?,
            sandbox_write: closed(given.raw(Key::SandboxWrite), layers)?,
            command_env: variables(given.raw(Key::CommandEnv))?,
            bind: bind(given.raw(Key::Bind))?,
            port: whole_number(given.raw(Key::Port), 0..=65535)?,
            require_token: switch(given.raw(Key::RequireToken))?,
            token: if_given(given.raw(Key::Token), token)?,
            allowed_hosts: allowed_hosts(given.raw(Key::AllowedHosts))?,
            max_retries: whole_number(given.raw(Key::MaxRetries), 0..=20)?,
            max_retry_wait: duration(given.raw(Key::MaxRetryWait))?,
            connect_timeout: duration(given.raw(Key::ConnectTimeout))?,
            head_timeout: duration(given.raw(Key::HeadTimeout))?,
            idle_timeout: duration(given.raw(Key::IdleTimeout))?,
            tool_timeout: duration(given.raw(Key::ToolTimeout))?,
            max_subscribers: whole_number(given.raw(Key::MaxSubscribers), 1..=100_000)?,
            max_workflows: whole_number(given.raw(Key::MaxWorkflows), 1..=1000)?,
            workflow_patience: duration_or_off(given.raw(Key::WorkflowPatience))?,
            workflow_auto_resume: switch(given.raw(Key::WorkflowAutoResume))?,
            max_state_bytes: size(given.raw(Key::MaxStateBytes))?,
            heartbeat: duration(given.raw(Key::Heartbeat))?,
            log: header_text(given.raw(Key::Log))?,
            sources: given.sources(),
            key_sources: given.key_sources.clone(),
            secrets: given.secrets.clone(),
            system_prompt_file: prompt.file,
            start: given.start(&layers.current_dir),
        };
        if !config.bind.is_loopback() && !config.require_token {
            return Err(given.raw(Key::Bind).refuse(
                "stay on this machine unless a token is required; \
                 add --require-token or bind 127.0.0.1",
            ));
        }
        Ok(config)
    }

    /// True if a layer gave the port.
    pub(crate) fn is_port_chosen(&self) -> bool {
        self.sources[Key::Port.place()] != SettingSource::Default
    }

    /// The credential for the Messages API. A server other than the API may require none. `demo` is the command that
    /// works without.
    ///
    /// # Errors
    /// If none was given and the API requires one; the line names the place to put it.
    pub(crate) fn require_credential(&self, demo: &str) -> Result<Credential, SettingError> {
        match &self.credential {
            Some(credential) => Ok(credential.clone()),
            None if !self.is_of_the_api() => Ok(Credential::none()),
            None => {
                let path = self.home.join(FILE_NAME);
                Err(SettingError::new(format!(
                    "no API key: set ANTHROPIC_API_KEY (or api_key in {}), \
                     or try the built-in demo with: {demo}",
                    path.display()
                )))
            }
        }
    }
}

impl Layers {
    /// The layers of this process, without the file.
    pub(super) fn of_process(flags: &SettingFlags) -> Result<Self, SettingError> {
        let current_dir = std::env::current_dir().map_err(|error| {
            SettingError::new(format!(
                "cannot find the current directory: {error}; change to one that exists"
            ))
        })?;
        let environment = std::env::vars_os().collect();
        Ok(Self {
            flags: flags.clone(),
            in_container: is_container(Path::new("/"), &environment),
            environment,
            file: None,
            current_dir,
        })
    }

    /// Adds config.toml, if there is one.
    pub(super) fn read_file(&mut self) -> Result<(), SettingError> {
        let path = self.home()?.join(FILE_NAME);
        self.file = read_file(&path).map_err(|error| {
            let path = path.display();
            SettingError::new(format!(
                "cannot read {path}: {error}; make it a readable UTF-8 file or remove it"
            ))
        })?;
        Ok(())
    }
}

/// The text of config.toml, if there is one. Opening it does not block if it is not a file, and reading stops at the
/// maximum size of a configuration.
fn read_file(path: &Path) -> io::Result<Option<String>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes"
        )));
    }
    Ok(Some(text))
}

/// The defaults of conversations. The standing instructions may be those of a file.
fn of_conversations(
    given: &GivenValues,
    system_prompt: Option<String>,
) -> Result<FullSettings, SettingError> {
    let mut values = Map::new();
    for setting in SETTINGS {
        let key = Key::OfConversations(setting.name);
        let raws = given.all().iter().filter(|raw| raw.key == key);
        for raw in raws.filter(|raw| raw.is_given() && key != Key::SYSTEM_PROMPT) {
            values.insert(setting.name.to_owned(), of_kind(raw, setting.kind)?);
        }
    }
    let mut set = Settings::deserialize(Value::from(values))
        .map_err(|error| SettingError::new(error.to_string()))?;
    set.system_prompt = system_prompt;
    Ok(set.over(&FullSettings::default()))
}

/// The checked value of a setting that may be unset.
fn if_given<T>(
    raw: &RawSetting,
    check: impl FnOnce(&RawSetting) -> Result<T, SettingError>,
) -> Result<Option<T>, SettingError> {
    raw.is_given().then(|| check(raw)).transpose()
}

/// Takes the credential of the higher layer; within one layer the bearer token wins.
fn credential(given: &GivenValues) -> Result<Option<Credential>, SettingError> {
    let (api_key, auth_token) = (given.raw(Key::ApiKey), given.raw(Key::AuthToken));
    if !api_key.is_given() && !auth_token.is_given() {
        return Ok(None);
    }
    if auth_token.source.rank() >= api_key.source.rank() {
        return Ok(Some(Credential::Bearer(key(auth_token)?)));
    }
    Ok(Some(Credential::ApiKey(key(api_key)?)))
}

/// The standing instructions and the file they were read from.
struct StandingPrompt {
    text: Option<String>,
    file: Option<PathBuf>,
}

impl StandingPrompt {
    /// Takes the text or the file, whichever the higher layer gives.
    fn choose(given: &GivenValues, layers: &Layers) -> Result<Self, SettingError> {
        let (text, file) = (
            given.raw(Key::SYSTEM_PROMPT),
            given.raw(Key::SystemPromptFile),
        );
        let not_blank = |text: String| (!text.trim().is_empty()).then_some(text);
        if !file.is_given() || text.source.rank() > file.source.rank() {
            return Ok(Self {
                text: not_blank(text.text.clone()),
                file: None,
            });
        }
        if text.source.rank() == file.source.rank() {
            return Err(SettingError::new(format!(
                "system_prompt and system_prompt_file exclude each other, got both (from {} and {}); \
                 leave one out",
                text.source, file.source
            )));
        }
        let path = layers.absolute(&file.text);
        Ok(Self {
            text: not_blank(prompt_file(file, &path)?),
            file: Some(path),
        })
    }
}
