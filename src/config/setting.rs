//! The table of settings: every name, place, default and help text, once.

use std::sync::LazyLock;

use super::closed::DEFAULT as DENY_READ;
use harness_actors::DEFAULT_MODEL;
use harness_protocol::FullSettings;

/// Makes the names of settings inside the program and their rows, all in one table. A row is that
/// name, the setting's name, what else there is to it, and what it does in one line.
macro_rules! settings {
    ($($(#[$doc:meta])+ $rows:ident {
        $($key:ident $name:literal $($part:ident($($given:expr)?))*, $help:literal;)+
    })+) => {
        /// Names a setting inside the program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(
            clippy::enum_variant_names,
            reason = "a variant is called as its setting, api_key too"
        )]
        pub(super) enum Key {
            $($($key,)+)+
            /// The default of a setting of conversations, by its name.
            OfConversations(&'static str),
            SystemPromptFile,
        }

        $($(#[$doc])+ fn $rows() -> Vec<Setting> {
            vec![$(Setting::new(Key::$key, $name, $help)$(.$part($($given)?))*,)+]
        })+
    };
}

settings! {
    /// The settings that are shown before those of conversations.
    before_conversations {
        Home "home" flag("FOLDER") default("$HOME/.harness") not_in_file(),
            "Folder for all state and for config.toml";
        ApiKey "api_key" env("ANTHROPIC_API_KEY") secret(),
            "API key of the Messages API";
        AuthToken "auth_token" env("ANTHROPIC_AUTH_TOKEN") secret(),
            "Bearer token, in place of an API key";
        BaseUrl "base_url" env("ANTHROPIC_BASE_URL") flag("URL") default("https://api.anthropic.com"),
            "Where the Messages API is";
        ApiVersion "api_version" flag("VERSION") default("auto"),
            "Version of the Messages API: auto takes the newest at api.anthropic.com and 2023-06-01 elsewhere, or 2023-06-01 or 2026-10-21";
        AllowPrivateHttp "allow_private_http" flag("BOOL") flag_alone("true") default("false"),
            "Whether plain http may go to a private network, where any machine can read the key and all that is said";
    }

    /// The settings that are shown after those of conversations.
    behind_conversations {
        PromptCache "prompt_cache" flag("TIME") default("5m"),
            "How long the API remembers requests, to make the next cheaper: off, 5m or 1h";
        Workspace "workspace" flag("FOLDER") default("."),
            "Folder the tools work in";
        DenyRead "deny_read" flag("PATHS") default(DENY_READ) empty(Empty::Meant),
            "Files and folders that no tool may open, separated by commas";
        Sandbox "sandbox" flag("WHEN") default("auto"),
            "What contains commands: auto takes what the machine has, required runs none without, off contains none";
        SandboxWrite "sandbox_write" flag("PATHS") empty(Empty::Meant),
            "More folders that commands may write, separated by commas";
        CommandEnv "command_env" flag("NAMES") empty(Empty::Meant),
            "Environment variables that commands get besides what programs need, separated by commas";
        Bind "bind" flag("ADDRESS") default("127.0.0.1"),
            "IP address to listen on";
        Port "port" flag("PORT") default("8421"),
            "Port to listen on; 0 takes a free one";
        RequireToken "require_token" flag("BOOL") flag_alone("true") default("false") in_container("true"),
            "Ask every client for the token, even on this machine; true in a container";
        Token "token" secret() empty(Empty::Never),
            "Token that clients send, in place of the token file";
        AllowedHosts "allowed_hosts" flag("HOSTS"),
            "More Host headers to accept, separated by commas";
        MaxRetries "max_retries" flag("N") default("4"),
            "Times a failed model request is tried again";
        MaxRetryWait "max_retry_wait" flag("DURATION") default("60s"),
            "Longest wait for retries of one request in total";
        ConnectTimeout "connect_timeout" flag("DURATION") default("5s"),
            "Longest wait for a connection to the Messages API";
        HeadTimeout "head_timeout" flag("DURATION") default("120s"),
            "Longest wait for a reply to begin";
        IdleTimeout "idle_timeout" flag("DURATION") default("300s"),
            "Longest silence inside a reply";
        ToolTimeout "tool_timeout" flag("DURATION") default("60s"),
            "Longest run of one tool call";
        MaxSubscribers "max_subscribers" flag("N") default("4096"),
            "Most event streams open at once";
        MaxWorkflows "max_workflows" flag("N") default("2"),
            "Most workflows that work at once";
        WorkflowPatience "workflow_patience" flag("DURATION") default("6h"),
            "Longest wait of a workflow's attempt for a provider that does not answer, behind all retries; off for none";
        WorkflowAutoResume "workflow_auto_resume" flag("BOOL") flag_alone("true") default("true"),
            "Let workflows go on by themselves that were at work when the service ended";
        MaxStateBytes "max_state_bytes" flag("SIZE") default("20GiB"),
            "Most bytes of conversations, attachments and trash in the state folder, such as 500MB or 20GiB; off for any number";
        Heartbeat "heartbeat" flag("DURATION") default("30s"),
            "Time between heartbeats on a quiet event stream";
        Log "log" env("RUST_LOG") flag("FILTER") default("info"),
            "What to log: error, warn, info, debug or trace";
    }
}

impl Key {
    /// The standing instructions for the model.
    pub(super) const SYSTEM_PROMPT: Self = Self::OfConversations("system_prompt");

    /// The row of the table that describes this setting.
    pub(super) fn setting(self) -> &'static Setting {
        &SETTINGS[self.place()]
    }

    /// The place of that row. Every key has one.
    pub(super) fn place(self) -> usize {
        let mut rows = SETTINGS.iter();
        rows.position(|setting| setting.key == self)
            .unwrap_or_default()
    }
}

/// The meaning of an empty text, by setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// Unset in the environment, an error in a flag or in the file.
    Refused,
    /// Unset in the environment, a deliberate nothing in a flag or in the file.
    Meant,
    /// An error in every layer.
    Never,
}

/// One setting: how each layer names it and how it is explained.
#[derive(Debug)]
pub(super) struct Setting {
    /// Names the setting inside the program.
    pub(super) key: Key,
    /// Its key in config.toml, and its name in errors.
    pub(super) name: &'static str,
    /// Its environment variable.
    pub(super) env: String,
    /// Its command-line flag without the dashes; a secret has none, because others can list it.
    pub(super) flag: Option<String>,
    /// The word for the flag's value in the help.
    pub(super) value_name: &'static str,
    /// The value of the flag alone, if it needs no value.
    pub(super) flag_alone: Option<&'static str>,
    /// True if config.toml may hold it.
    pub(super) in_file: bool,
    /// True if its value must never be shown.
    pub(super) secret: bool,
    /// The meaning of an empty text.
    pub(super) empty: Empty,
    /// Its value when no layer gives one; empty for none.
    pub(super) default: String,
    /// Its value in a container when no layer gives one, if that is another.
    pub(super) in_container: Option<&'static str>,
    /// Its effect, in one line.
    pub(super) help: &'static str,
}

impl Setting {
    /// A setting whose variable has the same name unless [`Self::env`] changes it.
    fn new(key: Key, name: &'static str, help: &'static str) -> Self {
        Self {
            key,
            name,
            env: format!("HARNESS_{}", name.to_ascii_uppercase()),
            flag: None,
            value_name: "",
            flag_alone: None,
            in_file: true,
            secret: false,
            empty: Empty::Refused,
            default: String::new(),
            in_container: None,
            help,
        }
    }

    fn env(mut self, variable: &str) -> Self {
        variable.clone_into(&mut self.env);
        self
    }

    /// Gives it a flag of its name, with a value that is called so.
    fn flag(self, value_name: &'static str) -> Self {
        Self {
            flag: Some(self.name.replace('_', "-")),
            value_name,
            ..self
        }
    }

    fn flag_alone(self, text: &'static str) -> Self {
        Self {
            flag_alone: Some(text),
            ..self
        }
    }

    fn default(self, default: &str) -> Self {
        Self {
            default: default.to_owned(),
            ..self
        }
    }

    fn in_container(self, default: &'static str) -> Self {
        Self {
            in_container: Some(default),
            ..self
        }
    }

    fn secret(self) -> Self {
        Self {
            secret: true,
            ..self
        }
    }

    fn empty(self, empty: Empty) -> Self {
        Self { empty, ..self }
    }

    fn not_in_file(self) -> Self {
        Self {
            in_file: false,
            ..self
        }
    }
}

/// Every setting, in the order in which help and `harness config` show them.
pub(super) static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let mut rows = before_conversations();
    rows.extend(of_conversations());
    rows.extend(behind_conversations());
    rows
});

/// The settings that are defaults of conversations, as the table of those has them.
fn of_conversations() -> Vec<Setting> {
    let defaults = FullSettings::default();
    let mut rows = Vec::new();
    for setting in harness_protocol::SETTINGS {
        let Some(value_name) = setting.kind.called() else {
            continue;
        };
        let default = defaults.text(setting.name).unwrap_or_default();
        let key = Key::OfConversations(setting.name);
        let row = Setting::new(key, setting.name, setting.help).flag(value_name);
        rows.push(match key {
            Key::OfConversations("model") => row.default(DEFAULT_MODEL),
            Key::SYSTEM_PROMPT => row.empty(Empty::Meant),
            _ => row.default(&default),
        });
        if key == Key::SYSTEM_PROMPT {
            let file = "File that holds the standing instructions";
            rows.push(Setting::new(Key::SystemPromptFile, "system_prompt_file", file).flag("FILE"));
        }
    }
    rows
}

/// The setting that someone who wrote `name` in config.toml most likely meant.
pub(super) fn nearest(name: &str) -> Option<&'static Setting> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let in_file = || SETTINGS.iter().filter(|setting| setting.in_file);
    let by_env = in_file().find(|setting| setting.env.eq_ignore_ascii_case(&name));
    by_env.or_else(|| {
        let meant = harness_actors::nearest(&name, in_file().map(|setting| setting.name))?;
        in_file().find(|setting| setting.name == meant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CONF-02]
    #[test]
    fn each_row_is_found_by_its_key() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            assert_eq!(setting.key.place(), index, "{}", setting.name);
        }
    }

    /// Spec: [CONF-68]
    #[test]
    fn what_a_conversation_can_have_a_service_can_have_for_all() {
        for setting in harness_protocol::SETTINGS {
            let row = SETTINGS.iter().find(|row| row.name == setting.name);
            let flag = row.and_then(|row| row.flag.as_deref());
            let expected = setting.name.replace('_', "-");
            let is_own = setting.name == "key_source";
            assert_eq!(flag, (!is_own).then_some(&*expected));
        }
    }

    /// Spec: [CONF-07]
    #[test]
    fn the_nearest_name_is_found_only_when_it_is_near() {
        for (name, meant) in [
            ("prot", Some(Key::Port)),
            ("idle_time", Some(Key::IdleTimeout)),
            ("colour", None),
        ] {
            assert_eq!(nearest(name).map(|setting| setting.key), meant, "{name}");
        }
    }
}
