//! The settings of a conversation: one table, from which everything that names them is made.
//!
//! A new setting is a row of the table below, and the place that goes by it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::setting::{SettingKind, SettingRow};

/// Makes the table and the structs that have a field for each of its rows. A row is the name, its
/// type, the type that it has where nothing is left out with its value there, its kind and its help.
macro_rules! settings {
    ($($(#[$doc:meta])+ $name:ident: $type:ty => $full:ty = $default:expr, $kind:expr, $help:literal;)+) => {
        /// The settings of one conversation; what is left out is as the service has it.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct Settings {
            $($(#[$doc])+ #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $name: Option<$type>,)+
        }

        /// Settings of which nothing is left out. The default is that of a service without any configuration.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct FullSettings {
            $($(#[$doc])+ pub $name: $full,)+
        }

        impl Default for FullSettings {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// Changes of settings, each checked by itself: a JSON merge patch (RFC 7396).
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
        pub struct SettingsPatch {
            $(#[serde(skip_serializing_if = "Option::is_none")]
            $name: Option<Option<$type>>,)+
        }

        /// Every setting of a conversation, in the order in which they are shown.
        pub const SETTINGS: &[SettingRow] = &[
            $(SettingRow { name: stringify!($name), kind: $kind, help: $help },)+
        ];

        impl Settings {
            /// The same, with the defaults in place of what is left out.
            #[must_use]
            pub fn over(&self, defaults: &FullSettings) -> FullSettings {
                FullSettings {
                    $($name: <$full as Full<$type>>::or(self.$name.as_ref(), &defaults.$name),)+
                }
            }
        }

        impl From<FullSettings> for Settings {
            fn from(full: FullSettings) -> Self {
                Self { $($name: Full::<$type>::some(full.$name),)+ }
            }
        }

        impl SettingsPatch {
            /// Reads a patch; null takes a setting back.
            ///
            /// # Errors
            /// One line that names a setting that there is not, or one with a value that it cannot
            /// have and what it can be.
            pub fn parse(patch: Map<String, Value>) -> Result<Self, String> {
                let mut parsed = Self::default();
                for (name, value) in patch {
                    let setting = SettingRow::named(&name)?;
                    match setting.name {
                        $(stringify!($name) => parsed.$name = Some(checked(setting, &value)?),)+
                        _ => {}
                    }
                }
                Ok(parsed)
            }

            /// These settings with the changes.
            #[must_use]
            pub fn apply(self, to: &Settings) -> Settings {
                Settings {
                    $($name: self.$name.unwrap_or_else(|| to.$name.clone()),)+
                }
            }
        }
    };
}

settings! {
    /// The model to ask.
    model: String => Option<String> = None,
        SettingKind::Model, "Model that answers";
    /// Maximum number of tokens of one reply; [`OWN_LIMIT`] for as many as the model may.
    max_tokens: u32 => u32 = 4096,
        SettingKind::integer("N", 0, u32::MAX as u64).of_services(0, 1_000_000),
        "Longest reply in tokens; 0 for the model's own limit";
    /// Maximum number of model requests that one prompt may cause. At least 1.
    max_turns: u32 => u32 = 10,
        SettingKind::integer("N", 1, u32::MAX as u64).of_services(1, 1_000_000), "Most model requests a run";
    /// The standing instructions that the model gets before the conversation; empty for none.
    system_prompt: String => String = String::new(),
        SettingKind::Text, "Standing instructions for the model; blank for none";
    /// Thinking level of the model; the model's default if left out.
    thinking: ThinkingLevel => Option<ThinkingLevel> = None,
        SettingKind::OneOf("LEVEL", THINKING_LEVELS),
        "How much the model thinks: off, minimal, low, medium, high, xhigh or max; as it does by itself if unset";
    /// Sampling temperature of a reply; the model's default if left out.
    temperature: Number => Option<Number> = None,
        SettingKind::Decimal("NUMBER", 0, 1),
        "How much is left to chance, where the model takes that and does not think; as it has it if unset";
    /// The texts that end a reply where the model would write them.
    stop_sequences: Vec<String> => Vec<String> = Vec::new(),
        SettingKind::Texts, "Texts that end a reply where the model would write them";
    /// Permission to have another model answer where the model declines.
    refusal_fallback: RefusalFallback => RefusalFallback = RefusalFallback::default(),
        SettingKind::OneOf("WHEN", &["auto", "on", "off"]),
        "Whether the API has another model answer where the model declines: on, off, or auto in workflows at api.anthropic.com";
    /// The names of the tools that the model is offered; all if empty, and none if it is [`NO_TOOLS`] alone. Unknown
    /// names are ignored.
    active_tools: Vec<String> => Vec<String> = Vec::new(),
        SettingKind::Names, "Tools that the model is offered; all if empty, or none";
    /// Permission to search the web with the API's own tool.
    web_search: WebSearch => WebSearch = WebSearch::default(),
        SettingKind::OneOf("WHEN", &["auto", "on", "off"]),
        "Whether the model may search the web with the API's own tool: on, off, or auto for new conversations at api.anthropic.com";
    /// True if the model may fetch pages of the web with the API's own tool.
    web_fetch: bool => bool = false,
        SettingKind::Switch,
        "Whether the model may fetch pages of the web with the API's own tool, which can carry data out";
    /// The domains that the API's tools for the web may reach, or with `-` in front those that they may not; all if
    /// empty.
    web_domains: Vec<String> => Vec<String> = Vec::new(),
        SettingKind::Domains,
        "Domains that search and fetch may reach, or with - in front those that they may not; all if empty";
    /// The order in which the tool calls of one reply run.
    tool_execution: ToolExecution => ToolExecution = ToolExecution::default(),
        SettingKind::OneOf("MODE", &["sequential_fail_fast", "sequential", "parallel"]),
        "How the tool calls of one reply run: sequential_fail_fast, sequential or parallel";
    /// The kinds of changes by tools that need an operator's approval.
    mode: ApprovalMode => ApprovalMode = ApprovalMode::default(),
        SettingKind::OneOf("MODE", &["plan", "ask", "edits", "sandbox", "locked"]),
        "What tools may change: plan nothing, ask before, edits in the workspace, sandbox, or locked to what rules allow";
    /// Maximum time that an approval waits for an answer, in seconds; no limit if left out.
    approval_timeout: u64 => Option<u64> = None,
        SettingKind::integer("SECONDS", 1, MAX_SECONDS),
        "Seconds that an approval waits for an answer; as long as it takes if unset";
    /// The mode of the steering queue: one message at a time, or all.
    steering_mode: QueueMode => QueueMode = QueueMode::default(),
        SettingKind::OneOf("MODE", QUEUE_MODES), "Steering messages said at once: one_at_a_time or all";
    /// The mode of the follow-up queue: one message at a time, or all.
    follow_up_mode: QueueMode => QueueMode = QueueMode::default(),
        SettingKind::OneOf("MODE", QUEUE_MODES), "Follow-ups said at once: one_at_a_time or all";
    /// The key of the API to use, by the name that an operator gave it in `config.toml`; the
    /// service's own if left out.
    key_source: String => Option<String> = None,
        SettingKind::KeySource, "Key to use, by its name in key_sources of config.toml";
    /// Maximum number of tokens of a request, for models whose window the API does not report.
    context_window: u64 => Option<u64> = None,
        SettingKind::integer("TOKENS", 1, MAX_TOKENS),
        "Most tokens of a request, where the API does not say it";
    /// True if the past is summarized automatically when it outgrows the window.
    auto_compact: bool => bool = true,
        SettingKind::Switch, "Whether the past is summarized when it outgrows the window";
    /// The distance below the window at which the past is summarized, in tokens; 0 for the default.
    reserve_tokens: u64 => u64 = 16_384,
        SettingKind::integer("TOKENS", 0, MAX_TOKENS).of_services(1, MAX_TOKENS),
        "How far below the window the past is summarized, in tokens";
    /// Number of the last tokens that remain unchanged when the rest is summarized.
    keep_tokens: u64 => u64 = 20_000,
        SettingKind::integer("TOKENS", 1, MAX_TOKENS),
        "How many of the last tokens a summary leaves as they are";
    /// The model that writes summaries; the conversation's own if left out.
    compaction_model: String => Option<String> = None,
        SettingKind::Model, "Model that writes summaries; the one that answers if unset";
    /// True if the API leaves the oldest results of tools out of long requests.
    clear_tool_results: bool => bool = false,
        SettingKind::Switch,
        "Whether the API leaves the oldest results of tools out of long requests";
    /// True if the model receives the `AGENTS.md` files of the working folder and the state folder.
    context_files: bool => bool = true,
        SettingKind::Switch,
        "Whether the model receives the AGENTS.md of the state folder and the workspace";
    /// True if an idle conversation begins a run by itself when one of its jobs ends.
    wake: bool => bool = false,
        SettingKind::Switch,
        "Whether an idle conversation begins a run by itself when one of its jobs ends";
}

/// In place of a number of tokens: the model's own limit of a reply.
pub const OWN_LIMIT: u32 = 0;
/// In place of all names of tools: the model is offered none.
pub const NO_TOOLS: &str = "none";
/// The names of the tools for the web, which the API runs itself: the one that searches and the one that fetches.
pub const WEB_TOOLS: [&str; 2] = ["web_search", "web_fetch"];
/// The largest number of tokens that a setting can be.
const MAX_TOKENS: u64 = 1_000_000_000;
/// The longest time that can be set: a year.
const MAX_SECONDS: u64 = 366 * 24 * 60 * 60;
/// The names of [`QueueMode`].
const QUEUE_MODES: &[&str] = &["one_at_a_time", "all"];
/// The levels of thinking, from little to much.
pub const THINKING_LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The type of a setting where nothing is left out: a value, or one that may be missing even there.
trait Full<T> {
    fn or(own: Option<&T>, default: &Self) -> Self;
    fn some(self) -> Option<T>;
}

impl<T: Clone> Full<T> for T {
    fn or(own: Option<&T>, default: &Self) -> Self {
        own.unwrap_or(default).clone()
    }

    fn some(self) -> Option<T> {
        Some(self)
    }
}

impl<T: Clone> Full<T> for Option<T> {
    fn or(own: Option<&T>, default: &Self) -> Self {
        own.or(default.as_ref()).cloned()
    }

    fn some(self) -> Self {
        self
    }
}

/// True if this list of active tools is [`NO_TOOLS`] alone.
#[must_use]
pub fn are_no_tools(active: &[String]) -> bool {
    matches!(active, [name] if name == NO_TOOLS)
}

impl FullSettings {
    /// The value of a setting as a text; nothing if it is missing or empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let mut values = serde_json::to_value(Settings::from(self.clone())).ok()?;
        match values.get_mut(name)?.take() {
            Value::String(text) => Some(text).filter(|text| !text.is_empty()),
            Value::Array(names) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                Some(names.join(", ")).filter(|text| !text.is_empty())
            }
            value => Some(value.to_string()),
        }
    }
}

fn checked<T: DeserializeOwned>(setting: &SettingRow, value: &Value) -> Result<Option<T>, String> {
    if value.is_null() {
        return Ok(None);
    }
    setting.check(value)?;
    T::deserialize(value).map_or_else(|_| Err(setting.refuse(value)), |value| Ok(Some(value)))
}

/// The thinking level of a model. A level that a model does not have is replaced by the next higher one, else by the
/// next lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingLevel {
    /// No thinking, if the model can be used without it.
    Off,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    #[serde(rename = "xhigh")]
    XHigh,
    /// As much as it can.
    Max,
}

/// The order in which the tool calls of one reply run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExecution {
    /// One after the other; after a call that fails, no other is run.
    #[default]
    SequentialFailFast,
    /// One after the other, all of them.
    Sequential,
    /// All at once, unless one of them may only run alone. Results come in the reply's order.
    Parallel,
}

/// How much of what tools change is asked before. A mode refuses a call and never changes the list of
/// tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Nothing is changed.
    Plan,
    /// Operators are asked before every change that no rule allows.
    #[default]
    Ask,
    /// Files in the conversation's folder are changed without asking, except those that tell other
    /// programs what to do.
    Edits,
    /// As `edits`; commands run unasked where they are contained.
    Sandbox,
    /// Only changes that a rule allows are made, and no operator is asked.
    Locked,
}

/// The conversations in which the model may search the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebSearch {
    /// In conversations that began where the service offers it by itself.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The conversations in which the API may have another model answer where the model declines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalFallback {
    /// In those of workflows, if the service asks the API's vendor.
    #[default]
    Auto,
    /// In all.
    On,
    /// In none.
    Off,
}

/// Number of messages that are taken from a queue at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    /// The oldest one.
    #[default]
    OneAtATime,
    /// All that wait.
    All,
}

/// The body of `PATCH /v1/conversations/{id}/settings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSettings {
    /// The changes, as a JSON merge patch (RFC 7396) of [`Settings`]: a field that is null is as
    /// the service has it from then on.
    pub settings: Map<String, Value>,
    /// The name of the client that changes them, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `GET` and `PATCH /v1/conversations/{id}/settings`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SettingsAnswer {
    /// The settings in which it differs from the service.
    pub settings: Settings,
    /// The settings of the next run.
    pub effective: Settings,
    /// The tools that there are, in their order.
    pub tools: Vec<String>,
    /// The tools that the next run offers, in their order.
    pub active_tools: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(patch: Value) -> Result<SettingsPatch, String> {
        let Value::Object(patch) = patch else {
            panic!("{patch}");
        };
        SettingsPatch::parse(patch)
    }

    /// Spec: [CONF-68]
    #[test]
    fn each_name_of_a_value_is_one_on_the_wire_and_there_is_no_other() {
        for setting in SETTINGS {
            let SettingKind::OneOf(_, names) = setting.kind else {
                continue;
            };
            for name in names {
                parse(json!({ setting.name: name })).unwrap();
            }
            let settings = json!({ setting.name: "?" });
            let told = Settings::deserialize(settings).unwrap_err().to_string();
            let known: Vec<&str> = told.split('`').skip(3).step_by(2).collect();
            assert_eq!(known, names, "{}", setting.name);
        }
    }

    /// Spec: [CONF-68]
    #[test]
    fn every_setting_takes_the_values_of_its_kind_and_is_what_it_was_set_to() {
        for setting in SETTINGS {
            let value = match setting.kind {
                SettingKind::Model | SettingKind::Text | SettingKind::KeySource => json!("x"),
                SettingKind::Whole { own, .. } => json!(own.1),
                SettingKind::Switch => json!(false),
                SettingKind::Decimal(_, _, to) => json!(to),
                SettingKind::OneOf(_, names) => json!(names[1]),
                SettingKind::Names | SettingKind::Texts => json!(["a", "b"]),
                SettingKind::Domains => json!(["a.example", "b.example"]),
            };
            let set = json!({ setting.name: value });
            let settings = parse(set.clone()).unwrap().apply(&Settings::default());
            assert_eq!(serde_json::to_value(&settings).unwrap(), set);
            let full = settings.over(&FullSettings::default());
            let shown = serde_json::to_value(Settings::from(full)).unwrap();
            assert_eq!(shown[setting.name], set[setting.name]);
            let taken_back = parse(json!({ setting.name: null })).unwrap();
            assert_eq!(taken_back.apply(&settings), Settings::default());
        }
    }

    /// Spec: [CONF-68]
    #[test]
    fn a_patch_changes_what_it_names_and_nothing_else() {
        let own = parse(json!({"model": "m", "max_turns": 3})).unwrap();
        let own = own.apply(&Settings::default());
        let patch = parse(json!({"model": null, "keep_tokens": 5})).unwrap();
        let changed = patch.apply(&own);
        let expected = Settings {
            max_turns: Some(3),
            keep_tokens: Some(5),
            ..Settings::default()
        };
        assert_eq!(changed, expected);
        let full = changed.over(&FullSettings::default());
        assert_eq!((full.max_turns, full.max_tokens), (3, 4096));
        assert_eq!(full.text("max_turns").as_deref(), Some("3"));
        assert_eq!(
            (full.text("thinking"), full.text("system_prompt")),
            (None, None)
        );
    }
}
