//! The plan of one run: the settings at its beginning.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use harness_protocol::{
    FullSettings, RefusalFallback, Settings, SettingsAnswer, ThinkingLevel, WEB_TOOLS,
};
use serde_json::Value;

use super::offered::{Offered, is_active, without_names};
use crate::approval::RuleBook;
use crate::budget::{NoPrices, PriceList};
use crate::compaction::CompactionSettings;
use crate::conversation::past::History;
use crate::guidance::{Guidance, GuidanceShelf, Skill};
use crate::model::{
    Caching, DEFAULT_MODEL, EAGER_INPUT, HeadSettings, ModelChoice, RequestExtra, RequestHead,
    WebLimits, is_search, web_tools,
};
use crate::tool::{Registry, ToolShelf, defined_name};

/// The values of a conversation that sets nothing of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// The settings. Without a model, the default one is asked, or what takes its place.
    pub settings: FullSettings,
    /// The API's cache for requests.
    pub caching: Caching,
    /// True if requests go to the API of its vendor, which takes what other servers may not. Settings that leave a use
    /// open depend on it.
    pub is_vendor: bool,
}

impl Defaults {
    /// These two, and the rest as a service has it.
    #[must_use]
    pub fn new(model: &str, max_turns: u32) -> Self {
        Self {
            settings: FullSettings {
                model: Some(model.to_owned()),
                max_turns,
                ..FullSettings::default()
            },
            caching: Caching::default(),
            is_vendor: false,
        }
    }

    /// True if another model may answer where the model declines in the conversations of workflows.
    #[must_use]
    pub fn workflows_fall_back(&self) -> bool {
        self.is_vendor && self.settings.refusal_fallback == RefusalFallback::Auto
    }
}

/// The facts about the coming turn for a builder of system prompts.
#[derive(Debug)]
pub struct TurnInfo<'a> {
    /// The model that is asked.
    pub model: &'a str,
    /// How much it thinks; as it does by itself if none.
    pub thinking: Option<ThinkingLevel>,
    /// The tools that it is offered.
    pub tools: &'a Registry,
    /// The past so far. In the first turn of a run the prompt is not in it.
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
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.extensions.transport = Some(Arc::new(model.clone()));
/// options.extensions.system_prompt = Some(Arc::new(|turn: &TurnInfo<'_>| {
///     let said = turn.history.len();
///     format!("You are {}. {said} messages so far.\n{}", turn.model, listing(turn.skills))
/// }));
/// let harness = Harness::start(options)?;
/// model.push(ScriptedReply::text("Hello."));
/// harness.prompt("Hi!").await?;
/// let told = model.requests()[0]["system"][0]["text"].as_str().unwrap().to_owned();
/// assert!(told.starts_with("You are any. 0 messages so far."));
/// # Ok(())
/// # }
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
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.extensions.transport = Some(Arc::new(model.clone()));
/// // The model sees the last message only; the conversation keeps all of them.
/// options.extensions.projection = Some(Arc::new(|mut messages: Vec<Value>| {
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
/// # Ok(())
/// # }
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

/// The tools for the web of a conversation that is offered `tools`. Where its setting leaves that open, it searches
/// for good or never: the API's cache depends on it.
fn web_tools_beside(tools: &[Value], settings: &FullSettings, limits: WebLimits) -> Vec<Value> {
    web_tools(settings, tools.iter().any(is_search), limits)
}

/// The extras that these settings ask for.
fn extras(settings: &FullSettings) -> Vec<RequestExtra> {
    let falls_back = settings.refusal_fallback == RefusalFallback::On;
    [
        (falls_back, RequestExtra::RefusalFallback),
        (
            settings.clear_tool_results,
            RequestExtra::ToolResultClearing,
        ),
    ]
    .into_iter()
    .filter_map(|(is_wanted, extra)| is_wanted.then_some(extra))
    .collect()
}

/// Makes the plans of a conversation's runs.
#[derive(Clone)]
pub struct Planner {
    /// The service's values.
    pub defaults: Arc<Defaults>,
    /// The settings that the conversation was made with.
    pub made_with: Settings,
    /// All tools.
    pub tools: ToolShelf,
    /// The folder that the conversation works in.
    pub folder: Arc<Path>,
    /// The home folder of the service's user, if it is known.
    pub home: Option<Arc<Path>>,
    /// The rules of folders, for what tools may change.
    pub rules: RuleBook,
    /// The context files and skills that the model receives.
    pub guidance: GuidanceShelf,
    /// Builds the system prompt, if the program that embeds the conversation does.
    pub system_prompt: Option<Arc<dyn SystemPromptBuilder>>,
    /// Changes requests, if the program that embeds the conversation does.
    pub projection: Option<Arc<dyn Projection>>,
    /// The prices that spending limits are held with.
    pub prices: Arc<dyn PriceList>,
}

/// The plan of one run.
#[derive(Debug, Clone)]
pub(super) struct RunPlan {
    /// The settings at the beginning of the run.
    pub(super) settings: FullSettings,
    pub(super) model: ModelChoice,
    /// The system prompt with the guidance; empty where a builder makes it.
    pub(super) system_prompt: String,
    pub(super) tools: Offered,
    pub(super) key_source: Option<Arc<str>>,
    pub(super) compaction: CompactionSettings,
    pub(super) caching: Caching,
    pub(super) guidance: Arc<Guidance>,
    /// The schema that the replies are to fit.
    pub(super) schema: Option<Arc<Value>>,
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
            home: None,
            rules: RuleBook::default(),
            guidance: GuidanceShelf::default(),
            system_prompt: None,
            projection: None,
            prices: Arc::new(NoPrices),
        }
    }

    /// The settings that a run would have now, in full.
    pub(super) fn effective(&self, own: &Settings) -> Settings {
        let mut effective = Settings::from(own.over(&self.defaults.settings));
        effective
            .model
            .get_or_insert_with(|| DEFAULT_MODEL.to_owned());
        effective
    }

    /// The settings for clients, of a conversation that is offered the tools of these names.
    pub(in crate::conversation) fn view(
        &self,
        own: &Settings,
        mut tools: Vec<String>,
    ) -> SettingsAnswer {
        let active = self.active_tools(own);
        // Those of the web are as the settings have them, whatever was recorded.
        let searches = tools.iter().any(|name| name == WEB_TOOLS[0]);
        tools.retain(|name| !WEB_TOOLS.contains(&name.as_str()));
        let web = web_tools(
            &own.over(&self.defaults.settings),
            searches,
            WebLimits::default(),
        );
        tools.extend(web.iter().map(|tool| defined_name(tool).to_owned()));
        let mut active_tools = tools.clone();
        active_tools.retain(|name| is_active(active, name));
        SettingsAnswer {
            settings: own.clone(),
            effective: self.effective(own),
            tools,
            active_tools,
        }
    }

    /// The names of the tools that a run would offer now; all if there are none.
    fn active_tools<'s>(&'s self, own: &'s Settings) -> &'s [String] {
        let active = own.active_tools.as_ref();
        active.unwrap_or(&self.defaults.settings.active_tools)
    }

    /// The tools that a conversation with these settings is offered from now on.
    pub(super) fn new_tools(&self, own: &Settings) -> Vec<Value> {
        let settings = own.over(&self.defaults.settings);
        let registry = self.tools.get();
        let mut tools = registry.definitions();
        let is_eager = |tool: &&mut Value| {
            self.defaults.is_vendor && registry.has_long_inputs(defined_name(tool))
        };
        for tool in tools.iter_mut().filter(is_eager) {
            tool[EAGER_INPUT] = true.into();
        }
        let web = web_tools(&settings, self.defaults.is_vendor, WebLimits::default());
        let web = without_names(web, &tools);
        [tools, web].concat()
    }

    /// The plan of a run that begins now, in a conversation that is offered these tools.
    pub(super) fn plan(&self, own: &Settings, tools: Arc<[Value]>, limits: WebLimits) -> RunPlan {
        let settings = own.over(&self.defaults.settings);
        let web_tools = web_tools_beside(&tools, &settings, limits);
        let guidance = self.guidance.get();
        // A builder says all that is said.
        let system_prompt = if self.system_prompt.is_some() {
            String::new()
        } else {
            guidance.system_prompt(&settings.system_prompt, settings.context_files)
        };
        RunPlan {
            model: ModelChoice::from_id(settings.model.as_deref()),
            system_prompt,
            tools: Offered::new(tools, web_tools, self.active_tools(own), &self.tools),
            key_source: settings.key_source.as_deref().map(Arc::from),
            compaction: CompactionSettings::from_settings(&settings),
            caching: self.defaults.caching,
            guidance,
            settings,
            schema: None,
        }
    }

    /// The head of the requests of the coming turn.
    ///
    /// # Errors
    /// When the builder of the system prompt panics.
    pub(super) fn head(&self, plan: &RunPlan, history: &History) -> Result<RequestHead, String> {
        let built = match &self.system_prompt {
            None => None,
            Some(builder) => {
                let turn = TurnInfo {
                    model: &plan.model.id,
                    thinking: plan.settings.thinking,
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
            max_tokens: plan.settings.max_tokens,
            system_prompt: built.as_ref().unwrap_or(&plan.system_prompt),
            tools: &plan.tools.definitions(),
            thinking: plan.settings.thinking,
            temperature: plan.settings.temperature.clone(),
            stop_sequences: &plan.settings.stop_sequences,
            caching: plan.caching,
            extras: &extras(&plan.settings),
            schema: plan.schema.as_deref(),
            key_source: plan.key_source.clone(),
        }))
    }

    /// Puts a plan under these limits of the tools for the web; true if its head changes.
    pub(super) fn limit_web(&self, plan: &mut RunPlan, limits: WebLimits) -> bool {
        let web = web_tools_beside(plan.tools.list(), &plan.settings, limits);
        plan.tools.set_web(web)
    }

    /// Whether the head may be another one in every turn.
    pub(super) fn builds_each_turn(&self) -> bool {
        self.system_prompt.is_some()
    }
}
