//! The configuration as `harness config` shows it: every setting, its value and its origin.
//!
//! Invariant: the value of a secret is never shown here.

use std::time::Duration;

use harness_protocol::{SettingRow as OfConversations, SettingValue};
use serde_json::{Value, json};

use super::choices::{API_VERSION, PROMPT_CACHE, SANDBOX, name_of};
use super::key_sources;
use super::load::LoadedConfig;
use super::raw::SettingSource;
use super::secret::{Credential, Secret};
use super::setting::{Key, SETTINGS, Setting};
use super::value::size_text;
use crate::difference::{SettingDifference, differences};
use crate::visible;

/// The text in place of a secret that is set.
const MASK: &str = "***";
/// The widest value in the table; JSON has all of it.
const MAX_WIDTH: usize = 60;

impl LoadedConfig {
    /// The settings as a table for a person, one a line, with those of the running service where
    /// they differ.
    pub(crate) fn as_table(&self, running: Option<&RunningSettings>) -> String {
        let line = |row: SettingLine| {
            let value = row.value.unwrap_or_else(|| "(unset)".to_owned());
            let value = visible::short(&value, MAX_WIDTH);
            let differs = running.and_then(|running| running.difference(row.name));
            let beside = differs.map_or_else(String::new, |difference| {
                let said = visible::short(&difference.of_service(), MAX_WIDTH);
                format!("   (running service: {said})")
            });
            format!("{:<18}  {value:<30}  {}{beside}\n", row.name, row.source)
        };
        self.rows().map(line).collect()
    }

    /// The settings as a JSON object with `items`, each `{key, value, source}` with a value of its
    /// type, for a script; with a running service, each has `running`, which is `{value, source,
    /// differs}`.
    pub(crate) fn as_json(&self, running: Option<&RunningSettings>) -> String {
        let rows = self.rows().map(|row| {
            let source = row.source.to_string();
            let value = |text: Option<&str>| text.map_or(Value::Null, |text| typed(row.name, text));
            let shown = value(row.value.as_deref());
            let mut shown = json!({ "key": row.name, "value": shown, "source": source });
            if let Some(of_service) = running.and_then(|running| running.value(row.name)) {
                let differs = running.is_some_and(|it| it.difference(row.name).is_some());
                shown["running"] = json!({
                    "value": value(of_service.value.as_deref()), "source": of_service.source,
                    "differs": differs,
                });
            }
            shown
        });
        format!("{}\n", json!({ "items": rows.collect::<Vec<_>>() }))
    }

    /// The settings for clients of the running service. A secret in use is represented by its `fingerprint`.
    pub(crate) fn values(&self, fingerprint: impl Fn(&Secret) -> String) -> Vec<SettingValue> {
        let value = |(setting, row): (&Setting, SettingLine)| SettingValue {
            key: row.name.to_owned(),
            value: row.value,
            source: row.source.to_string(),
            fingerprint: self.secret_in_use(setting.key).map(&fingerprint),
        };
        SETTINGS.iter().zip(self.rows()).map(value).collect()
    }

    /// The setting that gives the credential of requests, and where it is from.
    pub(crate) fn credential_origin(&self) -> Option<String> {
        let key = match self.credential.as_ref()? {
            Credential::ApiKey(_) => Key::ApiKey,
            Credential::Bearer(_) => Key::AuthToken,
        };
        let source = self.sources.get(key.place())?;
        Some(format!("{} from {source}", key.setting().name))
    }

    fn secret_in_use(&self, key: Key) -> Option<&Secret> {
        match (key, &self.credential) {
            (Key::ApiKey, Some(Credential::ApiKey(secret)))
            | (Key::AuthToken, Some(Credential::Bearer(secret))) => Some(secret),
            (Key::Token, _) => self.token.as_ref(),
            _ => None,
        }
    }

    fn rows(&self) -> impl Iterator<Item = SettingLine> {
        SETTINGS
            .iter()
            .zip(&self.sources)
            .map(|(setting, source)| SettingLine {
                name: setting.name,
                value: self.display_value(setting.key, *source),
                source: *source,
            })
            .chain([self.key_sources_row()])
    }

    /// The names of the sources of keys, without the places of the keys.
    fn key_sources_row(&self) -> SettingLine {
        let names = self.key_sources.names();
        let line = self.key_sources.line;
        SettingLine {
            name: key_sources::NAME,
            value: (!names.is_empty()).then(|| names.join(", ")),
            source: line.map_or(SettingSource::Default, |line| SettingSource::File { line }),
        }
    }

    /// The value in effect, as text; nothing if the setting is unset.
    fn display_value(&self, key: Key, source: SettingSource) -> Option<String> {
        let given = |text: &str| (source != SettingSource::Default).then(|| text.to_owned());
        match key {
            Key::Home => Some(self.home.display().to_string()),
            Key::ApiKey => match self.credential {
                Some(Credential::Bearer(_)) => given("(not used: auth_token wins)"),
                Some(Credential::ApiKey(_)) | None => given(MASK),
            },
            Key::AuthToken => match self.credential {
                Some(Credential::ApiKey(_)) => given("(not used: api_key wins)"),
                Some(Credential::Bearer(_)) | None => given(MASK),
            },
            Key::BaseUrl => Some(self.base_url.clone()),
            Key::ApiVersion => Some(name_of(self.api_version, &API_VERSION)),
            Key::AllowPrivateHttp => Some(self.allow_private_http.to_string()),
            Key::SYSTEM_PROMPT if self.system_prompt_file.is_some() => {
                given("(not used: system_prompt_file wins)")
            }
            Key::OfConversations("model") => Some(self.model().to_owned()),
            Key::OfConversations(name) => self.settings.text(name),
            Key::SystemPromptFile => match &self.system_prompt_file {
                Some(path) => Some(path.display().to_string()),
                None => given("(not used: system_prompt wins)"),
            },
            Key::PromptCache => Some(name_of(self.prompt_cache, &PROMPT_CACHE)),
            Key::Workspace => Some(self.workspace.display().to_string()),
            Key::DenyRead => {
                let paths = self.deny_read.iter().map(|path| path.display().to_string());
                Some(paths.collect::<Vec<_>>().join(","))
            }
            Key::Sandbox => Some(name_of(self.sandbox, &SANDBOX)),
            Key::SandboxWrite => {
                let paths = self
                    .sandbox_write
                    .iter()
                    .map(|path| path.display().to_string());
                given(&paths.collect::<Vec<_>>().join(","))
            }
            Key::CommandEnv => given(&self.command_env.join(",")),
            Key::Bind => Some(self.bind.to_string()),
            Key::Port => Some(self.port.to_string()),
            Key::RequireToken => Some(self.require_token.to_string()),
            Key::Token => given(MASK),
            Key::AllowedHosts => given(&self.allowed_hosts.join(",")),
            Key::MaxRetries => Some(self.max_retries.to_string()),
            Key::MaxRetryWait => Some(duration_text(self.max_retry_wait)),
            Key::ConnectTimeout => Some(duration_text(self.connect_timeout)),
            Key::HeadTimeout => Some(duration_text(self.head_timeout)),
            Key::IdleTimeout => Some(duration_text(self.idle_timeout)),
            Key::ToolTimeout => Some(duration_text(self.tool_timeout)),
            Key::MaxSubscribers => Some(self.max_subscribers.to_string()),
            Key::MaxWorkflows => Some(self.max_workflows.to_string()),
            Key::WorkflowPatience => Some(
                self.workflow_patience
                    .map_or("off".to_owned(), duration_text),
            ),
            Key::WorkflowAutoResume => Some(self.workflow_auto_resume.to_string()),
            Key::MaxStateBytes => Some(self.max_state_bytes.map_or("off".to_owned(), size_text)),
            Key::Heartbeat => Some(duration_text(self.heartbeat)),
            Key::Log => Some(self.log.clone()),
        }
    }
}

/// The settings of the running service, beside those of this shell.
#[derive(Debug, Clone)]
pub(crate) struct RunningSettings {
    values: Vec<SettingValue>,
    differences: Vec<SettingDifference>,
}

impl RunningSettings {
    /// Those of a service, and where they differ from those of a shell.
    pub(crate) fn new(service: Vec<SettingValue>, shell: &[SettingValue]) -> Self {
        Self {
            differences: differences(&service, shell),
            values: service,
        }
    }

    fn value(&self, key: &str) -> Option<&SettingValue> {
        self.values.iter().find(|value| value.key == key)
    }

    fn difference(&self, key: &str) -> Option<&SettingDifference> {
        self.differences.iter().find(|it| it.key == key)
    }
}

/// The shown text of a setting as a value of its type: a number, a switch, a list, or a text.
fn typed(name: &str, text: &str) -> Value {
    if let Ok(setting) = OfConversations::named(name) {
        return setting.kind.read(text);
    }
    let setting = SETTINGS.iter().find(|setting| setting.name == name);
    let parsed = match setting.map(|setting| setting.value_name) {
        Some("N" | "PORT" | "BOOL") => serde_json::from_str(text).ok(),
        Some("PATHS" | "NAMES" | "HOSTS") => {
            let parts = text.split(',').filter(|part| !part.is_empty());
            Some(parts.map(Value::from).collect())
        }
        _ => None,
    };
    parsed.unwrap_or_else(|| text.into())
}

/// One setting, ready to be shown.
struct SettingLine {
    name: &'static str,
    value: Option<String>,
    source: SettingSource,
}

/// The duration as a setting would give it.
fn duration_text(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) {
        format!("{}s", millis / 1000)
    } else {
        format!("{millis}ms")
    }
}
