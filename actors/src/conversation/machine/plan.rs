//! What one run is to be like: the settings as they are when it begins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use harness_protocol::{QueueMode, ThinkingLevel, ToolExecution};
use serde_json::Value;

use super::offered::{Offered, is_active};
use crate::compaction::CompactionSettings;
use crate::conversation::messages::SettingsView;
use crate::conversation::past::History;
use crate::guidance::{Guidance, GuidanceShelf, Skill};
use crate::journal::Settings;
use crate::model::{Caching, HeadSettings, ModelChoice, RequestHead};
use crate::tool::{Registry, ToolShelf};

/// The settings of a conversation that says nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// Which model to ask.
    pub model: ModelChoice,
    /// How many tokens one reply may have.
    pub max_tokens: u32,
    /// How many model requests one prompt may cause.
    pub max_turns: u32,
    /// What the model is told before the conversation; empty for nothing.
    pub system_prompt: String,
    /// How much the model thinks; as it does by itself if none.
    pub thinking: Option<ThinkingLevel>,
    /// The names of the tools that the model is offered; all if none.
    pub active_tools: Vec<String>,
    /// How the tool calls of one reply are run.
    pub tool_execution: ToolExecution,
    /// How many steering messages are said at once.
    pub steering_mode: QueueMode,
    /// How many follow-ups are said at once.
    pub follow_up_mode: QueueMode,
    /// How many tokens a request may have, where the API does not say it.
    pub context_window: Option<u64>,
    /// When the past is summarized.
    pub compaction: CompactionSettings,
    /// The model that writes summaries; the conversation's own if none.
    pub compaction_model: Option<String>,
    /// Whether the context files are told.
    pub context_files: bool,
    /// What the API is to remember of requests.
    pub caching: Caching,
}

impl Defaults {
    /// These two, and the rest as the service has it.
    #[must_use]
    pub fn new(model: ModelChoice, max_turns: u32) -> Self {
        Self {
            model,
            max_tokens: 4096,
            max_turns,
            system_prompt: String::new(),
            thinking: None,
            active_tools: Vec::new(),
            tool_execution: ToolExecution::default(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
            context_window: None,
            compaction: CompactionSettings::default(),
            compaction_model: None,
            context_files: true,
            caching: Caching::default(),
        }
    }
}

/// What a builder of system prompts sees of the turn that is about to begin.
#[derive(Debug)]
pub struct TurnInfo<'a> {
    /// The model that is asked.
    pub model: &'a str,
    /// How much it thinks; as it does by itself if none.
    pub thinking: Option<ThinkingLevel>,
    /// The tools that it is offered.
    pub tools: &'a Registry,
    /// What was said so far. In the first turn of a run the prompt is not in it.
    pub history: &'a History,
    /// The skills.
    pub skills: &'a [Skill],
}

/// Builds the system prompt before every turn. It must not wait for anything.
///
/// ```
/// use std::sync::Arc;
///
/// use harness_actors::conversation::TurnInfo;
/// use harness_actors::guidance::listing;
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, Harness, Options};
///
/// # actix::System::new().block_on(async {
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.seams.transport = Some(Arc::new(model.clone()));
/// options.seams.system_prompt = Some(Arc::new(|turn: &TurnInfo<'_>| {
///     let said = turn.history.len();
///     format!("You are {}. {said} messages so far.\n{}", turn.model, listing(turn.skills))
/// }));
/// let harness = Harness::start(options)?;
/// model.push(ScriptedReply::text("Hello."));
/// harness.prompt("Hi!").await?;
/// let told = model.requests()[0]["system"][0]["text"].as_str().unwrap().to_owned();
/// assert!(told.starts_with("You are any. 0 messages so far."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait SystemPromptBuilder: Send + Sync + 'static {
    /// The system prompt of the turn; empty for none.
    fn build(&self, turn: &TurnInfo<'_>) -> String;
}

impl<F> SystemPromptBuilder for F
where
    F: Fn(&TurnInfo<'_>) -> String + Send + Sync + 'static,
{
    fn build(&self, turn: &TurnInfo<'_>) -> String {
        self(turn)
    }
}

/// Changes what is sent to the model of the past. It must not wait for anything.
///
/// ```
/// use std::sync::Arc;
///
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, Harness, Options};
/// use serde_json::{Value, json};
///
/// # actix::System::new().block_on(async {
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.seams.transport = Some(Arc::new(model.clone()));
/// // The model sees the last message only; the conversation keeps all of them.
/// options.seams.projection = Some(Arc::new(|mut messages: Vec<Value>| {
///     messages.split_off(messages.len() - 1)
/// }));
/// let harness = Harness::start(options)?;
/// for text in ["one", "two"] {
///     model.push(ScriptedReply::text("Yes."));
///     harness.prompt(text).await?;
/// }
/// let sent = &model.requests()[1]["messages"];
/// assert_eq!(sent[0]["content"][0]["text"], "two");
/// assert_eq!(harness.messages().await?.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait Projection: Send + Sync + 'static {
    /// The messages to send in place of these, in the API's format: the first is the user's, roles
    /// alternate, and every tool call has its result in the next message. What cannot be sent fails
    /// the run.
    fn project(&self, messages: Vec<Value>) -> Vec<Value>;
}

impl<F> Projection for F
where
    F: Fn(Vec<Value>) -> Vec<Value> + Send + Sync + 'static,
{
    fn project(&self, messages: Vec<Value>) -> Vec<Value> {
        self(messages)
    }
}

/// Makes the plans of a conversation's runs.
#[derive(Clone)]
pub struct Planner {
    /// What the service has.
    pub defaults: Arc<Defaults>,
    /// What the conversation was made with.
    pub made_with: Settings,
    /// All tools.
    pub tools: ToolShelf,
    /// The folder that the conversation works in.
    pub folder: Arc<Path>,
    /// What the model is told besides.
    pub guidance: GuidanceShelf,
    /// Builds the system prompt, if somebody does.
    pub system_prompt: Option<Arc<dyn SystemPromptBuilder>>,
    /// Changes what is sent, if somebody does.
    pub projection: Option<Arc<dyn Projection>>,
}

/// What one run is like.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) model: ModelChoice,
    pub(super) max_tokens: u32,
    pub(super) max_turns: u32,
    pub(super) system_prompt: String,
    pub(super) thinking: Option<ThinkingLevel>,
    pub(super) tools: Offered,
    pub(super) tool_execution: ToolExecution,
    pub(super) steering_mode: QueueMode,
    pub(super) follow_up_mode: QueueMode,
    pub(super) key_source: Option<Arc<str>>,
    pub(super) context_window: Option<u64>,
    pub(super) compaction: CompactionSettings,
    pub(super) compaction_model: Option<String>,
    pub(super) caching: Caching,
    pub(super) guidance: Arc<Guidance>,
}

impl Planner {
    /// A planner of these defaults, and nothing else.
    #[must_use]
    pub fn new(defaults: Defaults) -> Self {
        Self {
            defaults: Arc::new(defaults),
            made_with: Settings::default(),
            tools: ToolShelf::default(),
            folder: Path::new(".").into(),
            guidance: GuidanceShelf::default(),
            system_prompt: None,
            projection: None,
        }
    }

    /// What a run would have now, in full.
    pub(super) fn effective(&self, own: &Settings) -> Settings {
        let defaults = &*self.defaults;
        let active = own.active_tools.as_ref().unwrap_or(&defaults.active_tools);
        let compaction = &defaults.compaction;
        Settings {
            model: Some(
                own.model
                    .as_deref()
                    .unwrap_or(&defaults.model.id)
                    .to_owned(),
            ),
            max_tokens: own.max_tokens.or(Some(defaults.max_tokens)),
            max_turns: own.max_turns.or(Some(defaults.max_turns)),
            system_prompt: own
                .system_prompt
                .clone()
                .or_else(|| Some(defaults.system_prompt.clone())),
            thinking: own.thinking.or(defaults.thinking),
            active_tools: Some(active.clone()),
            tool_execution: own.tool_execution.or(Some(defaults.tool_execution)),
            steering_mode: own.steering_mode.or(Some(defaults.steering_mode)),
            follow_up_mode: own.follow_up_mode.or(Some(defaults.follow_up_mode)),
            key_source: own.key_source.clone(),
            context_window: own.context_window.or(defaults.context_window),
            auto_compact: own.auto_compact.or(Some(compaction.auto)),
            reserve_tokens: own.reserve_tokens.or(Some(compaction.reserve_tokens)),
            keep_tokens: own.keep_tokens.or(Some(compaction.keep_tokens)),
            compaction_model: own
                .compaction_model
                .clone()
                .or_else(|| defaults.compaction_model.clone()),
            context_files: own.context_files.or(Some(defaults.context_files)),
        }
    }

    /// The settings as they are shown, of a conversation that is offered the tools of these names.
    pub(in crate::conversation) fn view(&self, own: &Settings, tools: Vec<String>) -> SettingsView {
        let active = self.active_tools(own);
        let mut active_tools = tools.clone();
        active_tools.retain(|name| is_active(active, name));
        SettingsView {
            own: own.clone(),
            effective: self.effective(own),
            tools,
            active_tools,
        }
    }

    /// The names of the tools that a run would offer now; all if there are none.
    fn active_tools<'s>(&'s self, own: &'s Settings) -> &'s [String] {
        let active = own.active_tools.as_ref();
        active.unwrap_or(&self.defaults.active_tools)
    }

    /// The plan of a run that begins now, in a conversation that is offered these tools.
    pub(super) fn plan(&self, own: &Settings, tools: Arc<[Value]>) -> Plan {
        let defaults = &*self.defaults;
        let model = own.model.as_deref().map_or_else(
            || defaults.model.clone(),
            |id| ModelChoice {
                id: id.into(),
                chosen: true,
            },
        );
        let base = own.system_prompt.as_ref();
        let base = base.unwrap_or(&defaults.system_prompt);
        let with_context_files = own.context_files.unwrap_or(defaults.context_files);
        let guidance = self.guidance.get();
        // A builder says all that is said.
        let system_prompt = if self.system_prompt.is_some() {
            String::new()
        } else {
            guidance.system_prompt(base, with_context_files)
        };
        let compaction = &defaults.compaction;
        Plan {
            model,
            max_tokens: own.max_tokens.unwrap_or(defaults.max_tokens),
            max_turns: own.max_turns.unwrap_or(defaults.max_turns),
            system_prompt,
            thinking: own.thinking.or(defaults.thinking),
            tools: Offered::new(tools, self.active_tools(own), &self.tools),
            tool_execution: own.tool_execution.unwrap_or(defaults.tool_execution),
            steering_mode: own.steering_mode.unwrap_or(defaults.steering_mode),
            follow_up_mode: own.follow_up_mode.unwrap_or(defaults.follow_up_mode),
            key_source: own.key_source.as_deref().map(Arc::from),
            context_window: own.context_window.or(defaults.context_window),
            compaction: CompactionSettings {
                auto: own.auto_compact.unwrap_or(compaction.auto),
                reserve_tokens: own.reserve_tokens.unwrap_or(compaction.reserve_tokens),
                keep_tokens: own.keep_tokens.unwrap_or(compaction.keep_tokens),
            }
            .or_default(),
            compaction_model: own
                .compaction_model
                .clone()
                .or_else(|| defaults.compaction_model.clone()),
            caching: defaults.caching,
            guidance,
        }
    }

    /// What the requests of the coming turn begin with.
    ///
    /// # Errors
    /// When the builder of the system prompt panics.
    pub(super) fn head(&self, plan: &Plan, history: &History) -> Result<RequestHead, String> {
        let built = match &self.system_prompt {
            None => None,
            Some(builder) => {
                let turn = TurnInfo {
                    model: &plan.model.id,
                    thinking: plan.thinking,
                    tools: &plan.tools.now(),
                    history,
                    skills: &plan.guidance.skills,
                };
                let built = catch_unwind(AssertUnwindSafe(|| builder.build(&turn)));
                Some(built.map_err(|_| "the builder of the system prompt panicked".to_owned())?)
            }
        };
        Ok(RequestHead::new(HeadSettings {
            model: plan.model.clone(),
            max_tokens: plan.max_tokens,
            system_prompt: built.as_ref().unwrap_or(&plan.system_prompt),
            tools: &plan.tools.definitions(),
            thinking: plan.thinking,
            caching: plan.caching,
            key_source: plan.key_source.clone(),
        }))
    }

    /// Whether the head may be another one in every turn.
    pub(super) fn builds_each_turn(&self) -> bool {
        self.system_prompt.is_some()
    }
}
