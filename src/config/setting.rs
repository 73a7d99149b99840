//! The table of settings: every name, place, default and help text, once.

/// Names a setting inside the program, in the order of [`SETTINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::enum_variant_names,
    reason = "a variant is called as its setting, api_key too"
)]
pub(super) enum Key {
    Home,
    ApiKey,
    AuthToken,
    BaseUrl,
    Model,
    MaxTokens,
    MaxTurns,
    SystemPrompt,
    SystemPromptFile,
    Thinking,
    ToolExecution,
    SteeringMode,
    FollowUpMode,
    ContextWindow,
    AutoCompact,
    ReserveTokens,
    KeepTokens,
    CompactionModel,
    ContextFiles,
    PromptCache,
    Workspace,
    Bind,
    Port,
    RequireToken,
    Token,
    AllowedHosts,
    MaxRetries,
    MaxRetryWait,
    ConnectTimeout,
    HeadTimeout,
    IdleTimeout,
    ToolTimeout,
    MaxSubscribers,
    MaxStateBytes,
    Heartbeat,
    Log,
}

impl Key {
    /// The row of the table that describes this setting.
    pub(super) fn setting(self) -> &'static Setting {
        &SETTINGS[self as usize]
    }
}

/// What an empty text says, by setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// Unset in the environment, an error in a flag or in the file.
    Refused,
    /// Unset in the environment, a deliberate nothing in a flag or in the file.
    Meant,
    /// An error wherever it stands.
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
    pub(super) env: &'static str,
    /// Its command-line flag without the dashes; a secret has none, because others can list it.
    pub(super) flag: Option<&'static str>,
    /// What the help calls the flag's value.
    pub(super) value_name: &'static str,
    /// What the flag alone stands for, if it needs no value.
    pub(super) flag_alone: Option<&'static str>,
    /// Whether config.toml may hold it.
    pub(super) in_file: bool,
    /// Whether its value must never be shown.
    pub(super) secret: bool,
    /// What an empty text says.
    pub(super) empty: Empty,
    /// Its value when no layer gives one; empty for none.
    pub(super) default: &'static str,
    /// Its value in a container when no layer gives one, if that is another.
    pub(super) in_container: Option<&'static str>,
    /// What it does, in one line.
    pub(super) help: &'static str,
}

impl Setting {
    const fn new(key: Key, name: &'static str, env: &'static str, help: &'static str) -> Self {
        Self {
            key,
            name,
            env,
            flag: None,
            value_name: "",
            flag_alone: None,
            in_file: true,
            secret: false,
            empty: Empty::Refused,
            default: "",
            in_container: None,
            help,
        }
    }

    const fn flag(self, flag: &'static str, value_name: &'static str) -> Self {
        Self {
            flag: Some(flag),
            value_name,
            ..self
        }
    }

    const fn flag_alone(self, text: &'static str) -> Self {
        Self {
            flag_alone: Some(text),
            ..self
        }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn in_container(self, default: &'static str) -> Self {
        Self {
            in_container: Some(default),
            ..self
        }
    }

    const fn secret(self) -> Self {
        Self {
            secret: true,
            ..self
        }
    }

    const fn empty(self, empty: Empty) -> Self {
        Self { empty, ..self }
    }

    const fn not_in_file(self) -> Self {
        Self {
            in_file: false,
            ..self
        }
    }
}

/// Every setting, in the order in which help and `harness config` show them.
pub(super) const SETTINGS: [Setting; 36] = [
    Setting::new(
        Key::Home,
        "home",
        "HARNESS_HOME",
        "Folder for all state and for config.toml",
    )
    .flag("home", "FOLDER")
    .default("$HOME/.harness")
    .not_in_file(),
    Setting::new(
        Key::ApiKey,
        "api_key",
        "ANTHROPIC_API_KEY",
        "API key of the Messages API",
    )
    .secret(),
    Setting::new(
        Key::AuthToken,
        "auth_token",
        "ANTHROPIC_AUTH_TOKEN",
        "Bearer token, in place of an API key",
    )
    .secret(),
    Setting::new(
        Key::BaseUrl,
        "base_url",
        "ANTHROPIC_BASE_URL",
        "Where the Messages API is",
    )
    .flag("base-url", "URL")
    .default("https://api.anthropic.com"),
    Setting::new(Key::Model, "model", "HARNESS_MODEL", "Model that answers")
        .flag("model", "MODEL")
        .default("claude-3-haiku-20240307"),
    Setting::new(
        Key::MaxTokens,
        "max_tokens",
        "HARNESS_MAX_TOKENS",
        "Longest reply in tokens",
    )
    .flag("max-tokens", "N")
    .default("4096"),
    Setting::new(
        Key::MaxTurns,
        "max_turns",
        "HARNESS_MAX_TURNS",
        "Most model requests a run",
    )
    .flag("max-turns", "N")
    .default("10"),
    Setting::new(
        Key::SystemPrompt,
        "system_prompt",
        "HARNESS_SYSTEM_PROMPT",
        "Standing instructions for the model; blank for none",
    )
    .flag("system-prompt", "TEXT")
    .empty(Empty::Meant),
    Setting::new(
        Key::SystemPromptFile,
        "system_prompt_file",
        "HARNESS_SYSTEM_PROMPT_FILE",
        "File that holds the standing instructions",
    )
    .flag("system-prompt-file", "FILE"),
    Setting::new(
        Key::Thinking,
        "thinking",
        "HARNESS_THINKING",
        "How much the model thinks: off, minimal, low, medium, high, xhigh or max; as it does by itself if unset",
    )
    .flag("thinking", "LEVEL"),
    Setting::new(
        Key::ToolExecution,
        "tool_execution",
        "HARNESS_TOOL_EXECUTION",
        "How the tool calls of one reply run: sequential_fail_fast, sequential or parallel",
    )
    .flag("tool-execution", "MODE")
    .default("sequential_fail_fast"),
    Setting::new(
        Key::SteeringMode,
        "steering_mode",
        "HARNESS_STEERING_MODE",
        "Steering messages said at once: one_at_a_time or all",
    )
    .flag("steering-mode", "MODE")
    .default("one_at_a_time"),
    Setting::new(
        Key::FollowUpMode,
        "follow_up_mode",
        "HARNESS_FOLLOW_UP_MODE",
        "Follow-ups said at once: one_at_a_time or all",
    )
    .flag("follow-up-mode", "MODE")
    .default("one_at_a_time"),
    Setting::new(
        Key::ContextWindow,
        "context_window",
        "HARNESS_CONTEXT_WINDOW",
        "Most tokens of a request, where the API does not say it",
    )
    .flag("context-window", "TOKENS"),
    Setting::new(
        Key::AutoCompact,
        "auto_compact",
        "HARNESS_AUTO_COMPACT",
        "Whether the past is summarized when it outgrows the window",
    )
    .flag("auto-compact", "BOOL")
    .default("true"),
    Setting::new(
        Key::ReserveTokens,
        "reserve_tokens",
        "HARNESS_RESERVE_TOKENS",
        "How far below the window the past is summarized, in tokens",
    )
    .flag("reserve-tokens", "TOKENS")
    .default("16384"),
    Setting::new(
        Key::KeepTokens,
        "keep_tokens",
        "HARNESS_KEEP_TOKENS",
        "How many of the last tokens a summary leaves as they are",
    )
    .flag("keep-tokens", "TOKENS")
    .default("20000"),
    Setting::new(
        Key::CompactionModel,
        "compaction_model",
        "HARNESS_COMPACTION_MODEL",
        "Model that writes summaries; the one that answers if unset",
    )
    .flag("compaction-model", "MODEL"),
    Setting::new(
        Key::ContextFiles,
        "context_files",
        "HARNESS_CONTEXT_FILES",
        "Whether the model is told the AGENTS.md of the state folder and the workspace",
    )
    .flag("context-files", "BOOL")
    .default("true"),
    Setting::new(
        Key::PromptCache,
        "prompt_cache",
        "HARNESS_PROMPT_CACHE",
        "How long the API remembers requests, to make the next cheaper: off, 5m or 1h",
    )
    .flag("prompt-cache", "TIME")
    .default("5m"),
    Setting::new(
        Key::Workspace,
        "workspace",
        "HARNESS_WORKSPACE",
        "Folder the tools work in",
    )
    .flag("workspace", "FOLDER")
    .default("."),
    Setting::new(Key::Bind, "bind", "HARNESS_BIND", "IP address to listen on")
        .flag("bind", "ADDRESS")
        .default("127.0.0.1"),
    Setting::new(
        Key::Port,
        "port",
        "HARNESS_PORT",
        "Port to listen on; 0 takes a free one",
    )
    .flag("port", "PORT")
    .default("8421"),
    Setting::new(
        Key::RequireToken,
        "require_token",
        "HARNESS_REQUIRE_TOKEN",
        "Ask every client for the token, even on this machine; true in a container",
    )
    .flag("require-token", "BOOL")
    .flag_alone("true")
    .default("false")
    .in_container("true"),
    Setting::new(
        Key::Token,
        "token",
        "HARNESS_TOKEN",
        "Token that clients send, in place of the token file",
    )
    .secret()
    .empty(Empty::Never),
    Setting::new(
        Key::AllowedHosts,
        "allowed_hosts",
        "HARNESS_ALLOWED_HOSTS",
        "More Host headers to accept, separated by commas",
    )
    .flag("allowed-hosts", "HOSTS"),
    Setting::new(
        Key::MaxRetries,
        "max_retries",
        "HARNESS_MAX_RETRIES",
        "Times a failed model request is tried again",
    )
    .flag("max-retries", "N")
    .default("4"),
    Setting::new(
        Key::MaxRetryWait,
        "max_retry_wait",
        "HARNESS_MAX_RETRY_WAIT",
        "Longest wait for retries of one request in total",
    )
    .flag("max-retry-wait", "DURATION")
    .default("60s"),
    Setting::new(
        Key::ConnectTimeout,
        "connect_timeout",
        "HARNESS_CONNECT_TIMEOUT",
        "Longest wait for a connection to the Messages API",
    )
    .flag("connect-timeout", "DURATION")
    .default("5s"),
    Setting::new(
        Key::HeadTimeout,
        "head_timeout",
        "HARNESS_HEAD_TIMEOUT",
        "Longest wait for a reply to begin",
    )
    .flag("head-timeout", "DURATION")
    .default("120s"),
    Setting::new(
        Key::IdleTimeout,
        "idle_timeout",
        "HARNESS_IDLE_TIMEOUT",
        "Longest silence inside a reply",
    )
    .flag("idle-timeout", "DURATION")
    .default("300s"),
    Setting::new(
        Key::ToolTimeout,
        "tool_timeout",
        "HARNESS_TOOL_TIMEOUT",
        "Longest run of one tool call",
    )
    .flag("tool-timeout", "DURATION")
    .default("60s"),
    Setting::new(
        Key::MaxSubscribers,
        "max_subscribers",
        "HARNESS_MAX_SUBSCRIBERS",
        "Most event streams open at once",
    )
    .flag("max-subscribers", "N")
    .default("4096"),
    Setting::new(
        Key::MaxStateBytes,
        "max_state_bytes",
        "HARNESS_MAX_STATE_BYTES",
        "Most bytes of conversations, attachments and trash in the state folder, such as 500MB or 20GiB; off for any number",
    )
    .flag("max-state-bytes", "SIZE")
    .default("20GiB"),
    Setting::new(
        Key::Heartbeat,
        "heartbeat",
        "HARNESS_HEARTBEAT",
        "Time between heartbeats on a quiet event stream",
    )
    .flag("heartbeat", "DURATION")
    .default("30s"),
    Setting::new(
        Key::Log,
        "log",
        "RUST_LOG",
        "What to log: error, warn, info, debug or trace",
    )
    .flag("log", "FILTER")
    .default("info"),
];

/// The setting that someone who wrote `name` in config.toml most likely meant.
pub(super) fn nearest(name: &str) -> Option<&'static Setting> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let in_file = || SETTINGS.iter().filter(|setting| setting.in_file);
    let by_env = in_file().find(|setting| setting.env.eq_ignore_ascii_case(&name));
    by_env.or_else(|| {
        in_file()
            .map(|setting| (distance(&name, setting.name), setting))
            .filter(|(distance, setting)| distance * 2 <= setting.name.len())
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, setting)| setting)
    })
}

/// How many letters must be added, dropped or changed to turn one name into the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        row[0] = left;
        for (cell, b) in row[1..].iter_mut().zip(to.bytes()) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = changed.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CONF-02]
    #[test]
    fn the_table_is_in_the_order_of_its_keys() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            assert_eq!(setting.key as usize, index, "{}", setting.name);
            let dashed = setting.name.replace('_', "-");
            assert!(
                setting.flag.is_none_or(|flag| flag == dashed),
                "{}",
                setting.name
            );
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
