//! The body of a request, in parts: what is the same from turn to turn is serialized once.

use std::sync::Arc;

use bytes::Bytes;
use harness_protocol::{Attachment, OWN_LIMIT, ThinkingLevel, words};
use serde_json::{Number, Value, json};

use super::extras::{self, EAGER_INPUT, ExtraSet, RequestExtra, without_fallbacks};
use super::files::{Sight, blocks, most_tokens, needs_sight, placeholder};
use super::left_out::LeftOut;
use super::thinking::{ThinkingFields, takes_temperature, thinking_fields};
use super::version::ApiVersion;
use super::web_tools::{are_refused, in_words, is_server_tool, is_thinking};
use super::{ModelError, ModelInfo};
use crate::attachment::AttachmentStore;
use crate::budget::RequestSize;

/// Maximum size of a reply that every model in service allows, in tokens; most allow more.
///
/// Source: the API's documentation of models.
const ANY_MODELS_LIMIT: u32 = 32_000;
/// Size of a token in bytes, for models whose rate is unknown. Most are larger.
const TOKEN_BYTES: u64 = 3;

/// The largest window of any model, in tokens: an API refuses a longer request.
const LARGEST_WINDOW: u64 = 1_000_000;
/// Tokens that the API adds to a request, at most: its own instructions for tools, and the marks of messages.
const UNSEEN_TOKENS: u64 = 1024;

/// The model that is asked when none is chosen.
pub const DEFAULT_MODEL: &str = "claude-3-haiku-20240307";

/// The model to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The API's id of the model.
    pub id: Arc<str>,
    /// True if the operator chose it. Only a default is ever replaced by another model.
    pub chosen: bool,
}

impl ModelChoice {
    /// The model of that id; without one, the default.
    #[must_use]
    pub fn from_id(id: Option<&str>) -> Self {
        Self {
            id: id.unwrap_or(DEFAULT_MODEL).into(),
            chosen: id.is_some(),
        }
    }
}

/// The part that every request of a conversation has in common, until its settings change.
#[derive(Debug, Clone)]
pub struct HeadSettings<'a> {
    /// The model to ask.
    pub model: ModelChoice,
    /// Maximum number of tokens of one reply; [`OWN_LIMIT`] for as many as the model may.
    pub max_tokens: u32,
    /// The standing instructions before the conversation; empty for none.
    pub system_prompt: &'a str,
    /// The tools on offer, in the API's format.
    pub tools: &'a [Value],
    /// Thinking level. `None` uses the model's default.
    pub thinking: Option<ThinkingLevel>,
    /// Sampling temperature, where the model takes one. `None` uses the model's default.
    pub temperature: Option<Number>,
    /// The texts that end a reply.
    pub stop_sequences: &'a [String],
    /// The API's cache for requests.
    pub caching: Caching,
    /// The extras to use, where the server and the model take them.
    pub extras: &'a [RequestExtra],
    /// The JSON Schema that the reply is to fit, where the server takes one.
    pub schema: Option<&'a Value>,
    /// Source of the key. `None` uses the key of the settings.
    pub key_source: Option<Arc<str>>,
}

impl HeadSettings<'_> {
    /// These two, and nothing else.
    #[must_use]
    pub fn plain(model: ModelChoice, max_tokens: u32) -> Self {
        Self {
            model,
            max_tokens,
            system_prompt: "",
            tools: &[],
            thinking: None,
            temperature: None,
            stop_sequences: &[],
            caching: Caching::Off,
            extras: &[],
            schema: None,
            key_source: None,
        }
    }
}

/// Time for which the API remembers a request, so that the next one is cheaper.
///
/// Source: the API's documentation of prompt caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caching {
    /// No caching.
    Off,
    /// Everything, for 5 minutes after its last use.
    #[default]
    FiveMinutes,
    /// Everything, for an hour after its last use.
    OneHour,
}

impl Caching {
    /// The last field of the block up to which the API is to remember a request; with a comma in
    /// front, or nothing.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Off => "",
            Self::FiveMinutes => r#","cache_control":{"type":"ephemeral"}"#,
            Self::OneHour => r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        }
    }
}

/// The start of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestHead {
    model: ModelChoice,
    max_tokens: u32,
    /// The parts of the fields that do not depend on the model.
    parts: Arc<HeadParts>,
    /// All fields but the model, the limit, what depends on the model, and the messages.
    settings: Bytes,
    /// Number of tools: of the service, and in all.
    tools: (usize, usize),
    fingerprint: Arc<str>,
    tokens: u64,
    thinking: Option<ThinkingLevel>,
    temperature: Option<Number>,
    extras: ExtraSet,
    /// The JSON Schema that the reply is to fit, in JSON.
    schema: Option<Arc<str>>,
    key_source: Option<Arc<str>>,
}

impl RequestHead {
    /// The head for these settings. The same settings give the same bytes, which the API's
    /// memory of earlier requests depends on.
    #[must_use]
    pub fn new(settings: HeadSettings<'_>) -> Self {
        let HeadSettings {
            model,
            max_tokens,
            system_prompt,
            tools,
            thinking,
            temperature,
            stop_sequences,
            caching,
            extras,
            schema,
            key_source,
        } = settings;
        let mark = caching.mark();
        let tools = match schema {
            Some(_) => &without_citations(tools),
            None => tools,
        };
        let tools_json = Value::from(tools).to_string();
        let of_server = tools.iter().filter(|tool| is_server_tool(tool)).count();
        let is_eager = tools.iter().any(|tool| tool.get(EAGER_INPUT).is_some());
        let schema: Option<Arc<str>> = schema.map(|schema| schema.to_string().into());
        let parts = HeadParts {
            system_prompt: system_prompt.to_owned(),
            tools: tools.to_vec(),
            stop_sequences: stop_sequences.to_vec(),
            mark,
        };
        Self {
            fingerprint: fingerprint(
                [&*model.id, system_prompt, &tools_json]
                    .into_iter()
                    .chain(schema.as_deref()),
            )
            .into(),
            tokens: estimate(system_prompt)
                + schema.as_deref().map_or(0, estimate)
                + if tools.is_empty() {
                    0
                } else {
                    estimate(&tools_json)
                },
            model,
            max_tokens,
            settings: parts.fields(&parts.tools),
            tools: (tools.len() - of_server, tools.len()),
            parts: Arc::new(parts),
            thinking,
            temperature,
            extras: extras
                .iter()
                .copied()
                .chain(schema.as_ref().map(|_| RequestExtra::ReplySchema))
                .chain(is_eager.then_some(RequestExtra::EagerInput))
                .collect(),
            schema,
            key_source,
        }
    }

    /// Identifies the model, the system prompt, the tools and the schema of the reply: thinking that was signed after them
    /// is invalid after others. The same in every process and version.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The estimate of everything before the messages, in tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The model to ask.
    #[must_use]
    pub fn model(&self) -> &ModelChoice {
        &self.model
    }

    /// Source of the key. `None` uses the key of the settings.
    #[must_use]
    pub fn key_source(&self) -> Option<&Arc<str>> {
        self.key_source.as_ref()
    }

    /// A request with these messages. `lacks_thinking`: the reply whose calls are answered last has no thinking before
    /// them, which not every kind of thinking allows.
    #[must_use]
    pub fn request(&self, messages: Vec<RequestPiece>, lacks_thinking: bool) -> ModelRequest {
        ModelRequest {
            head: self.clone(),
            messages,
            lacks_thinking,
            counted: None,
            reply_limit: None,
            has_server_tools: true,
            has_thinking: true,
            fallbacks: PastFallbacks::None,
            refused_extras: ExtraSet::new(),
        }
    }
}

/// The tools without citations in fetched pages, which the API does not take beside a schema of the reply.
fn without_citations(tools: &[Value]) -> Vec<Value> {
    let mut tools = tools.to_vec();
    for tool in tools.iter_mut().filter(|tool| is_server_tool(tool)) {
        if let Some(citations) = tool.get_mut("citations") {
            *citations = json!({"enabled": false});
        }
    }
    tools
}

/// The parts of the fields of a request that do not depend on the model.
#[derive(Debug, PartialEq)]
struct HeadParts {
    system_prompt: String,
    tools: Vec<Value>,
    stop_sequences: Vec<String>,
    /// See [`Caching::mark`].
    mark: &'static str,
}

impl HeadParts {
    /// The fields with these tools, each with a comma in front. The API remembers the tools up to the last one that it
    /// is given at once: it refuses a mark at one that it loads later.
    fn fields(&self, tools: &[Value]) -> Bytes {
        let mark = self.mark;
        let mut fields = String::new();
        if !self.system_prompt.is_empty() {
            let text = Value::from(self.system_prompt.as_str());
            fields += &format!(r#","system":[{{"type":"text","text":{text}{mark}}}]"#);
        }
        if !tools.is_empty() {
            let marked = tools.iter().rposition(|tool| tool["defer_loading"] != true);
            let serialized = |(place, tool): (usize, &Value)| {
                let tool = tool.to_string();
                // A tool is an object with a name, so the mark is not its first field.
                match tool.strip_suffix('}') {
                    Some(start) if !mark.is_empty() && marked == Some(place) => {
                        format!("{start}{mark}}}")
                    }
                    Some(_) | None => tool,
                }
            };
            let tools: Vec<String> = tools.iter().enumerate().map(serialized).collect();
            let choice = json!({"type": "auto"});
            fields += &format!(r#","tools":[{}],"tool_choice":{choice}"#, tools.join(","));
        }
        if !self.stop_sequences.is_empty() {
            let texts = Value::from(self.stop_sequences.as_slice());
            fields += &format!(r#","stop_sequences":{texts}"#);
        }
        (fields + r#","stream":true"#).into()
    }

    /// The tools without those that the API runs itself, or without the field for eager inputs.
    fn tools(&self, has_server_tools: bool, is_eager: bool) -> Vec<Value> {
        let mut tools = self.tools.clone();
        tools.retain(|tool| has_server_tools || !is_server_tool(tool));
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            if !is_eager {
                tool.remove(EAGER_INPUT);
            }
        }
        tools
    }
}

/// The field of a request for the effort and the schema of the reply, with a comma in front; empty for neither.
fn output_config(effort: Option<&str>, schema: Option<&str>) -> String {
    let effort = effort.map(|effort| format!(r#""effort":"{effort}""#));
    let format =
        schema.map(|schema| format!(r#""format":{{"type":"json_schema","schema":{schema}}}"#));
    let parts: Vec<String> = effort.into_iter().chain(format).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(r#","output_config":{{{}}}"#, parts.join(","))
    }
}

/// Estimated size of a text, in tokens.
fn estimate(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// A digest of these texts and where they end: FNV-1a of 64 bits, in hexadecimal digits.
fn fingerprint<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = texts.flat_map(|text| text.bytes().chain([0]));
    let digest = bytes.fold(OFFSET, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    format!("{digest:016x}")
}

/// A piece of the messages of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestPiece {
    /// JSON that is sent unchanged, with its commas.
    Json(Bytes),
    /// Content blocks of these files, with commas between them; their contents are looked up when
    /// the request is sent. One text for all of them if the model cannot see.
    Attachments(Arc<[Attachment]>),
}

/// The replies of the past that have the mark of a change of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PastFallbacks {
    /// None.
    #[default]
    None,
    /// Some.
    Some,
    /// Some, and among them the one that the request continues, or whose calls it answers.
    InLast,
}

/// The beginning of a request whose tokens the API has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedBeginning {
    /// Number of its tokens, with those before the messages.
    pub tokens: u64,
    /// Size of its messages without files.
    pub bytes: u64,
    /// Number of its files.
    pub files: u64,
}

/// One request, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    head: RequestHead,
    messages: Vec<RequestPiece>,
    lacks_thinking: bool,
    /// The beginning that the API has counted, if it has.
    counted: Option<CountedBeginning>,
    /// Maximum size of the reply that the spending limit and the API allow, in tokens.
    reply_limit: Option<u32>,
    /// False if the tools that the API runs itself, and their blocks in the past, are not sent.
    has_server_tools: bool,
    /// False if the thinking of the past is not sent.
    has_thinking: bool,
    /// The replies of the past that have the mark of a change of the model.
    fallbacks: PastFallbacks,
    /// The extras that the server refuses.
    refused_extras: ExtraSet,
}

impl ModelRequest {
    /// The same request, of which the API has counted the beginning.
    #[must_use]
    pub fn with_counted(mut self, counted: Option<CountedBeginning>) -> Self {
        self.counted = counted;
        self
    }

    /// The same request, in which replies of the past may have the mark of a change of the model.
    #[must_use]
    pub fn with_fallbacks(mut self, fallbacks: PastFallbacks) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    /// The extras that the request has for a model.
    pub(super) fn extras(&self, info: Option<&ModelInfo>) -> ExtraSet {
        let others = info.and_then(|info| info.allowed_fallback_models.as_ref());
        let is_of_use = |extra: &&RequestExtra| match extra {
            RequestExtra::RefusalFallback => others.is_none_or(|others| !others.is_empty()),
            RequestExtra::ToolResultClearing => self.head.tools.1 > 0,
            RequestExtra::ReplySchema | RequestExtra::EagerInput => true,
        };
        let wanted = self.head.extras.difference(&self.refused_extras);
        wanted.filter(is_of_use).copied().collect()
    }

    /// Uses none of these extras. Returns `false` if that was so before.
    pub(super) fn leave_extras_out(&mut self, refused: &ExtraSet) -> bool {
        let before = self.refused_extras.len();
        self.refused_extras.extend(refused);
        self.refused_extras.len() > before
    }

    /// Sends no tool that the API runs itself: their definitions are left out, and their steps in the past become
    /// texts. Returns `false` if that was so before.
    pub(super) fn leave_server_tools_out(&mut self) -> bool {
        std::mem::replace(&mut self.has_server_tools, false)
    }

    /// Sends no thinking of the past. Returns `false` if that was so before.
    pub(super) fn leave_thinking_out(&mut self) -> bool {
        self.lacks_thinking = true;
        std::mem::replace(&mut self.has_thinking, false)
    }

    /// True if an error refuses thinking of the past, and the request has some.
    ///
    /// Source: the API's texts for thinking that was changed, or signed behind another beginning.
    pub(super) fn is_refused_for_thinking(&self, error: &ModelError) -> bool {
        let ModelError::Api {
            status: 400,
            message,
            ..
        } = error
        else {
            return false;
        };
        let message = message.to_ascii_lowercase();
        let reasons = ["signature", "is bound to", "cannot be modified"];
        let is_named =
            message.contains("thinking") && reasons.iter().any(|reason| message.contains(reason));
        is_named && self.has_thinking && self.has_in_past("\"signature\":")
    }

    /// True if an error refuses the tools that the API runs itself, or their steps in the past, and the request has
    /// some.
    pub(super) fn is_refused_for_server_tools(&self, error: &ModelError) -> bool {
        let (own, all) = self.head.tools;
        let has_some = own < all || self.has_server_steps();
        self.has_server_tools && has_some && are_refused(error, own, all)
    }

    /// True if the past may have steps of tools that the API ran itself.
    fn has_server_steps(&self) -> bool {
        self.has_in_past("server_tool_use") || self.has_in_past("_tool_result\"")
    }

    /// True if the messages have that text anywhere, so that a look into them is worth it.
    fn has_in_past(&self, text: &str) -> bool {
        self.messages.iter().any(|piece| match piece {
            RequestPiece::Json(json) => {
                std::str::from_utf8(json).is_ok_and(|json| json.contains(text))
            }
            RequestPiece::Attachments(_) => false,
        })
    }

    /// The fields before the messages that do not depend on the model, with the extras of its tools.
    fn settings(&self, extras: &ExtraSet) -> Bytes {
        let lacks = |extra| self.head.extras.contains(&extra) && !extras.contains(&extra);
        let is_eager = !lacks(RequestExtra::EagerInput);
        let (own, all) = self.head.tools;
        if is_eager && (self.has_server_tools || own == all) {
            return self.head.settings.clone();
        }
        let parts = &self.head.parts;
        parts.fields(&parts.tools(self.has_server_tools, is_eager))
    }

    /// Lowers the maximum size of the reply, in tokens.
    pub(super) fn limit_reply(&mut self, limit: u32) {
        let lowest = self.reply_limit.map_or(limit, |known| known.min(limit));
        self.reply_limit = Some(lowest);
    }

    /// Size of the schema of the reply, in bytes.
    fn schema_bytes(&self) -> u64 {
        self.head
            .schema
            .as_ref()
            .map_or(0, |schema| schema.len() as u64)
    }

    /// The largest possible size of the request and its reply for this model. A token has at least one byte.
    pub(super) fn largest_size(&self, info: Option<&ModelInfo>) -> RequestSize {
        let window = info.and_then(|info| info.max_input_tokens);
        let window = window
            .filter(|window| *window > 0)
            .unwrap_or(LARGEST_WINDOW);
        let json = self.messages.iter().map(|piece| match piece {
            RequestPiece::Json(json) => json.len() as u64,
            RequestPiece::Attachments(_) => 0,
        });
        let bytes = json.fold(0, u64::saturating_add);
        let (counted, new_bytes, old_files) = match self.counted {
            Some(counted) => (
                counted.tokens,
                bytes.saturating_sub(counted.bytes),
                counted.files,
            ),
            None => (0, bytes.saturating_add(self.head.settings.len() as u64), 0),
        };
        let old_files = usize::try_from(old_files).unwrap_or(usize::MAX);
        let files = self.files().flatten().skip(old_files).map(most_tokens);
        let input = files.fold(counted, u64::saturating_add);
        let input = input
            .saturating_add(new_bytes)
            .saturating_add(self.schema_bytes())
            .saturating_add(UNSEEN_TOKENS);
        RequestSize {
            input: input.min(window),
            output: self.limit(info),
        }
    }

    /// The model to ask.
    #[must_use]
    pub fn model(&self) -> &ModelChoice {
        &self.head.model
    }

    /// Source of the key. `None` uses the key of the settings.
    #[must_use]
    pub fn key_source(&self) -> Option<&Arc<str>> {
        self.head.key_source()
    }

    /// The body for a model, in pieces that are sent one after the other. Without thinking, and
    /// with a word in place of the files: what they hold, and what the model can do, is looked up
    /// only when the request is sent.
    #[must_use]
    pub fn body(&self, model: &str) -> Vec<Bytes> {
        let mut pieces = self.start(model, self.limit(None), ("", &self.head.extras));
        pieces.extend(self.messages.iter().map(|piece| match piece {
            RequestPiece::Json(json) => json.clone(),
            RequestPiece::Attachments(files) => placeholder(files),
        }));
        pieces.push(END);
        rewritten(pieces, &self.rewrites(&ExtraSet::new()))
    }

    /// True if the body depends on the abilities of the model.
    pub(super) fn needs_info(&self) -> bool {
        let has_images = |piece: &RequestPiece| match piece {
            RequestPiece::Json(_) => false,
            RequestPiece::Attachments(files) => files.iter().any(needs_sight),
        };
        self.head.thinking.is_some()
            || self.head.extras.contains(&RequestExtra::RefusalFallback)
            || self.head.max_tokens > ANY_MODELS_LIMIT
            || self.head.max_tokens == OWN_LIMIT
            || self.messages.iter().any(has_images)
    }

    /// The files that it has, those of one message together, the newest last.
    pub(super) fn files(&self) -> impl DoubleEndedIterator<Item = &[Attachment]> {
        self.messages.iter().filter_map(|piece| match piece {
            RequestPiece::Json(_) => None,
            RequestPiece::Attachments(files) => Some(&**files),
        })
    }

    /// Maximum size of the reply, in tokens. The API refuses a limit above the model's own, and what it refuses is left
    /// out of later requests, so it is lowered where that is known.
    fn limit(&self, info: Option<&ModelInfo>) -> u32 {
        let most = info.and_then(|info| info.max_tokens);
        let most = most.and_then(|most| u32::try_from(most).ok());
        let most = most.filter(|most| *most > 0);
        let limit = match (self.head.max_tokens, most) {
            (OWN_LIMIT, most) => most.unwrap_or(ANY_MODELS_LIMIT).min(self.room(info)),
            (asked, Some(most)) => asked.min(most),
            (asked, None) => asked,
        };
        limit.min(self.reply_limit.unwrap_or(u32::MAX))
    }

    /// The number of tokens that the window leaves for the reply, about: an API may refuse a request
    /// that could outgrow the window with its reply. At least half the window, or as many as any
    /// model may reply: a past that leaves less is summarized.
    fn room(&self, info: Option<&ModelInfo>) -> u32 {
        let window = info.and_then(|info| info.max_input_tokens);
        let Some(window) = window.filter(|window| *window > 0) else {
            return u32::MAX;
        };
        let messages = self.messages.iter().map(|piece| match piece {
            RequestPiece::Json(json) => json.len(),
            RequestPiece::Attachments(_) => 0,
        });
        let bytes = messages.fold(self.head.settings.len(), usize::saturating_add);
        let bytes = (bytes as u64).saturating_add(self.schema_bytes());
        let left = window.saturating_sub(bytes / TOKEN_BYTES);
        let least = window.div_ceil(2).min(u64::from(ANY_MODELS_LIMIT));
        u32::try_from(left.max(least)).unwrap_or(u32::MAX)
    }

    /// The body for this model, with the abilities that are known of it.
    pub(super) async fn whole_body(
        &self,
        target: RequestTarget<'_>,
        left_out: &LeftOut,
        store: &dyn AttachmentStore,
    ) -> Result<Vec<Bytes>, ModelError> {
        let RequestTarget {
            model,
            info,
            extras,
            ..
        } = target;
        let limit = self.limit(info);
        let mut pieces = self.start(model, limit, (&self.of_model(target).sent, extras));
        let mut size: usize = pieces.iter().map(Bytes::len).sum();
        for piece in &self.messages {
            let piece = match piece {
                RequestPiece::Json(json) => json.clone(),
                RequestPiece::Attachments(files) => {
                    blocks(files, store, Sight::from_model(info), left_out, size).await?
                }
            };
            size = size.saturating_add(piece.len());
            pieces.push(piece);
        }
        pieces.push(END);
        Ok(rewritten(pieces, &self.rewrites(extras)))
    }

    /// The changes of the body that a server needs which does not take all of it.
    fn rewrites(&self, extras: &ExtraSet) -> Vec<fn(&mut Value)> {
        let mut rewrites: Vec<fn(&mut Value)> = Vec::new();
        if !self.has_server_tools && self.has_server_steps() {
            rewrites.push(in_words);
        }
        if !self.has_thinking {
            rewrites.push(without_thinking);
        }
        if self.lacks_fallbacks(extras) {
            rewrites.push(without_fallbacks);
        }
        rewrites
    }

    /// True if the marks of changes of the model are left out of the past.
    fn lacks_fallbacks(&self, extras: &ExtraSet) -> bool {
        self.fallbacks != PastFallbacks::None && !extras.contains(&RequestExtra::RefusalFallback)
    }

    /// The settings that a model is not sent, and why, for the operator.
    pub(super) fn not_sent(&self, target: RequestTarget<'_>) -> Option<String> {
        let reasons = self.of_model(target).not_sent;
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn start(&self, model: &str, limit: u32, (of_model, extras): (&str, &ExtraSet)) -> Vec<Bytes> {
        let mut pieces = Vec::with_capacity(self.messages.len() + 4);
        let model = Value::from(model);
        pieces.push(format!(r#"{{"model":{model},"max_tokens":{limit}"#).into());
        pieces.push(self.settings(extras));
        pieces.push(format!(r#"{of_model},"messages":["#).into());
        pieces
    }

    /// The fields whose values depend on what the model can do.
    fn of_model(&self, target: RequestTarget<'_>) -> OfModel {
        let RequestTarget {
            model,
            info,
            version,
            extras,
        } = target;
        let loses_it = self.fallbacks == PastFallbacks::InLast && self.lacks_fallbacks(extras);
        let lacks_thinking = self.lacks_thinking || loses_it;
        let mut fields = OfModel::default();
        let mut thinking = ThinkingFields::default();
        if let Some(level) = self.head.thinking {
            let limit = self.limit(info);
            match thinking_fields(level, info, model, limit, lacks_thinking) {
                Ok(found) => thinking = found,
                Err(reason) => fields.not_sent.push(format!(
                    "the level of thinking {} is not sent to {model}: {reason}",
                    words::thinking(level)
                )),
            }
        }
        fields.sent += &thinking.thinking();
        let schema = self.head.schema.as_deref();
        let schema = schema.filter(|_| extras.contains(&RequestExtra::ReplySchema));
        fields.sent += &output_config(thinking.effort, schema);
        if let Some(temperature) = &self.head.temperature {
            if !takes_temperature(model) {
                let reason = format!("the temperature is not sent to {model}: it takes none");
                fields.not_sent.push(reason);
            } else if !version.takes_temperature() {
                fields.not_sent.push(format!(
                    "the temperature is not sent to {model}: version {} of the API takes none",
                    version.date()
                ));
            } else if thinking.thinks() {
                let reason = format!("the temperature is not sent to {model}: it thinks");
                fields.not_sent.push(reason);
            } else {
                fields.sent += &format!(r#","temperature":{temperature}"#);
            }
        }
        fields.sent += &extras::fields(extras);
        fields
    }
}

/// The model that a request is written for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTarget<'a> {
    /// Its id.
    pub(super) model: &'a str,
    /// Its abilities, where they are known.
    pub(super) info: Option<&'a ModelInfo>,
    /// The version of the API that it is asked with.
    pub(super) version: ApiVersion,
    /// The extras that it is asked with.
    pub(super) extras: &'a ExtraSet,
}

/// The fields of a request that depend on the model.
#[derive(Debug, Default)]
struct OfModel {
    /// Each with a comma in front.
    sent: String,
    /// The reasons why other files are left out.
    not_sent: Vec<String>,
}

/// A body with these changes. Unchanged if it is no JSON, which the API will tell.
fn rewritten(pieces: Vec<Bytes>, rewrites: &[fn(&mut Value)]) -> Vec<Bytes> {
    if rewrites.is_empty() {
        return pieces;
    }
    let Ok(mut body) = serde_json::from_slice::<Value>(&pieces.concat()) else {
        return pieces;
    };
    for rewrite in rewrites {
        rewrite(&mut body);
    }
    vec![body.to_string().into()]
}

/// A body without all thinking.
fn without_thinking(body: &mut Value) {
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| !is_thinking(block));
        }
    }
}

/// The end of every body.
const END: Bytes = Bytes::from_static(b"]}");

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
