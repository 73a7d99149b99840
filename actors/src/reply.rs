//! A model's reply: content blocks and how the reply ended.

use std::fmt;

use harness_protocol::{ModelFallback, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::secret::Redaction;

/// A JSON object, its fields in the order in which they came.
pub type Object = Map<String, Value>;

/// One finished content block, kept exactly as the API sent it, so that it can be sent back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block(Object);

/// The field of a call whose input is not a JSON object: the error that answers it. Its `input` is
/// empty then, since the API takes nothing but an object back. The API does not see the field.
pub(crate) const INPUT_ERROR: &str = "input_error";

/// The kind of a block, for those that the service treats apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BlockKind<'a> {
    /// Text for the operator.
    Text(&'a str),
    /// Thinking, with the signature that lets it be sent back.
    Thinking {
        /// The thought; empty when the API was asked to leave it out.
        thinking: &'a str,
        /// Missing when the block was cut before it arrived.
        signature: Option<&'a str>,
    },
    /// Thinking that only the API can read.
    RedactedThinking,
    /// A call of one of our tools.
    ToolCall {
        /// Links the call to its result.
        id: &'a str,
        /// The tool.
        name: &'a str,
        /// The tool's input.
        input: &'a Object,
    },
    /// A call of a tool that the API runs itself.
    ServerToolCall {
        /// Links the call to its result.
        id: &'a str,
    },
    /// The result of a tool that the API ran itself.
    ServerToolResult {
        /// The id of the call.
        call_id: &'a str,
    },
    /// A block of a type that this version does not know.
    Unknown,
}

impl Block {
    /// Whether it is thinking, readable or not.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        matches!(
            self.kind(),
            BlockKind::Thinking { .. } | BlockKind::RedactedThinking
        )
    }

    /// True if the block marks that the API refused with one model and replies with another one
    /// from here on.
    #[must_use]
    pub(crate) fn is_fallback(&self) -> bool {
        self.type_name() == "fallback"
    }

    /// The models and the reason of a fallback. `None` for any other block, or if it names no models.
    #[must_use]
    pub(crate) fn fallback(&self) -> Option<ModelFallback> {
        let model = |side: &str| self.0.get(side)?.get("model")?.as_str().map(str::to_owned);
        let category = self
            .0
            .get("trigger")
            .and_then(|trigger| trigger.get("category"));
        let (from, to) = (model("from")?, model("to")?);
        self.is_fallback().then(|| ModelFallback {
            from,
            to,
            category: category.and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// A block as the API sent it.
    #[must_use]
    pub fn new(json: Object) -> Self {
        Self(json)
    }

    /// A text block.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut json = Object::new();
        json.insert("type".into(), "text".into());
        json.insert("text".into(), text.into());
        Self(json)
    }

    /// A call of one of our tools.
    #[must_use]
    pub fn tool_call(id: &str, name: &str, input: Object) -> Self {
        let mut json = Object::new();
        json.insert("type".into(), "tool_use".into());
        json.insert("id".into(), id.into());
        json.insert("name".into(), name.into());
        json.insert("input".into(), Value::Object(input));
        Self(json)
    }

    /// The kind of the block.
    #[must_use]
    pub fn kind(&self) -> BlockKind<'_> {
        let text = |key: &str| self.0.get(key).and_then(Value::as_str);
        match self.type_name() {
            "text" => BlockKind::Text(text("text").unwrap_or_default()),
            "thinking" => BlockKind::Thinking {
                thinking: text("thinking").unwrap_or_default(),
                signature: text("signature").filter(|signature| !signature.is_empty()),
            },
            "redacted_thinking" if text("data").is_some() => BlockKind::RedactedThinking,
            "tool_use" => match (text("id"), text("name"), self.0.get("input")) {
                (Some(id), Some(name), Some(Value::Object(input))) => {
                    BlockKind::ToolCall { id, name, input }
                }
                _ => BlockKind::Unknown,
            },
            "server_tool_use" | "mcp_tool_use" if text("name").is_some() => {
                text("id").map_or(BlockKind::Unknown, |id| BlockKind::ServerToolCall { id })
            }
            kind if kind.ends_with("_tool_result") => text("tool_use_id")
                .map_or(BlockKind::Unknown, |call_id| BlockKind::ServerToolResult {
                    call_id,
                }),
            _ => BlockKind::Unknown,
        }
    }

    /// The error that answers a call whose input is not a JSON object.
    #[must_use]
    pub fn input_error(&self) -> Option<&str> {
        self.0.get(INPUT_ERROR).and_then(Value::as_str)
    }

    /// The API's type of the block.
    #[must_use]
    pub fn type_name(&self) -> &str {
        let name = self.0.get("type").and_then(Value::as_str);
        name.unwrap_or_default()
    }

    /// The block as the API sent it.
    #[must_use]
    pub fn json(&self) -> &Object {
        &self.0
    }

    /// A text without the white space at its end.
    pub(crate) fn trim_end(&mut self) {
        if let BlockKind::Text(text) = self.kind() {
            let text = text.trim_end().to_owned();
            self.0.insert("text".into(), text.into());
        }
    }

    /// The block without the citations that are not wanted.
    pub(crate) fn retain_citations(&mut self, is_wanted: impl FnMut(&Value) -> bool) {
        let Some(Value::Array(citations)) = self.0.get_mut("citations") else {
            return;
        };
        let before = citations.len();
        citations.retain(is_wanted);
        // A list that came empty is sent back so.
        if before > 0 && citations.is_empty() {
            self.0.remove("citations");
        }
    }

    /// The block under another id.
    pub(crate) fn set_id(&mut self, id: String) {
        self.0.insert("id".into(), id.into());
    }
}

/// Why a reply ended.
///
/// Source: the API's documentation of `stop_reason`. A value that is not listed counts as an end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StopReason {
    /// The model was done. Also when the API gave no reason.
    #[default]
    EndTurn,
    /// The limit of output tokens was reached.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// The model waits for tool results.
    ToolUse,
    /// A long turn was paused; it continues when the reply is sent back unchanged.
    PauseTurn,
    /// The API declined to answer.
    Refusal,
    /// The context window is full.
    ContextWindowExceeded,
    /// A reason that this version does not know.
    Other(String),
}

impl StopReason {
    /// True if the API awaits results before it continues, of tools that the client runs or of its
    /// own.
    #[must_use]
    pub(crate) fn awaits_results(&self) -> bool {
        matches!(self, Self::ToolUse | Self::PauseTurn)
    }
}

impl From<&str> for StopReason {
    fn from(reason: &str) -> Self {
        match reason {
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "tool_use" => Self::ToolUse,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            "model_context_window_exceeded" => Self::ContextWindowExceeded,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// The rounds and attempts that a reply is made of, each with its counts.
const ROUNDS: &str = "iterations";
/// The tokens that the API left out of the request, which it reports beside the counts.
const CLEARED: &str = "cleared_input_tokens";

/// Token counts of a reply, as the API reported them; later reports replace earlier ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage(Object);

impl From<Object> for Usage {
    fn from(report: Object) -> Self {
        Self(report)
    }
}

impl Usage {
    /// Takes over every field of a report that is not null.
    pub fn update(&mut self, report: &Object) {
        for (key, value) in report {
            if !value.is_null() {
                self.0.insert(key.clone(), value.clone());
            }
        }
    }

    /// A count by its name in the API, such as `output_tokens`. Missing, negative or absurd
    /// counts become 0 or the largest count: servers other than the API send all of these.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(Value::Number(number)) => number.as_u64().unwrap_or_else(|| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the cast saturates, which is what is wanted"
                )]
                number.as_f64().map_or(0, |count| count as u64)
            }),
            _ => 0,
        }
    }

    /// The counts that have a price.
    #[must_use]
    pub fn counts(&self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.count("input_tokens"),
            output_tokens: self.count("output_tokens"),
            cache_creation_input_tokens: self.count("cache_creation_input_tokens"),
            cache_read_input_tokens: self.count("cache_read_input_tokens"),
            web_search_requests: self.searches(),
        }
    }

    /// The searches of the web that the API ran.
    fn searches(&self) -> u64 {
        let ran = self.0.get("server_tool_use").and_then(Value::as_object);
        ran.map_or(0, |ran| Self(ran.clone()).count("web_search_requests"))
    }

    /// The counts that have a price, each with the model that they are for: of every attempt and every round that the
    /// reply is made of, where the API reports them, else of the reply, whose model is `replied`.
    #[must_use]
    pub fn by_model(&self, replied: &str) -> Vec<(String, TokenUsage)> {
        let own = self.counts();
        let rounds = self.rounds();
        let rounds = rounds.iter().map(|round| {
            let model = round.0.get("model").and_then(Value::as_str);
            // Searches are counted beside the rounds.
            let counts = TokenUsage {
                web_search_requests: 0,
                ..round.counts()
            };
            (model.unwrap_or(replied).to_owned(), counts)
        });
        let counts = |(_, counts): &(String, TokenUsage)| *counts != TokenUsage::default();
        let mut counted: Vec<(String, TokenUsage)> = rounds.filter(counts).collect();
        if counted.is_empty() {
            return vec![(replied.to_owned(), own)];
        }
        if own.web_search_requests > 0 {
            let searches = TokenUsage {
                web_search_requests: own.web_search_requests,
                ..TokenUsage::default()
            };
            counted.push((replied.to_owned(), searches));
        }
        counted
    }

    /// Number of tokens of the request and the reply, with what the API left out of the request: of the last round,
    /// where the API reports rounds.
    #[must_use]
    pub fn context(&self) -> u64 {
        let counts = match self.rounds().last() {
            Some(last) if last.counts() != TokenUsage::default() => last.counts(),
            Some(_) | None => self.counts(),
        };
        [
            counts.input_tokens,
            counts.cache_creation_input_tokens,
            counts.cache_read_input_tokens,
            counts.output_tokens,
            self.cleared(),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// True if the API reports each round.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        !self.rounds().is_empty()
    }

    /// Number of tokens that the API left out of the request.
    #[must_use]
    pub fn cleared(&self) -> u64 {
        self.count(CLEARED)
    }

    /// Notes how many tokens the API left out of the request, by its report on the edits that it made.
    pub(crate) fn note_cleared(&mut self, report: &Value) {
        let edits = report["applied_edits"].as_array().map(Vec::as_slice);
        let cleared = edits
            .unwrap_or_default()
            .iter()
            .filter_map(|edit| edit[CLEARED].as_u64());
        let cleared = cleared.fold(0, u64::saturating_add);
        if cleared > 0 {
            self.0.insert(CLEARED.to_owned(), cleared.into());
        }
    }

    /// Names the model of each round that the API reports without one: the one that replied, but where another one
    /// declined before, the one that was asked.
    pub(crate) fn name_models(&mut self, asked: &str, replied: &str) {
        let is_behind = |round: &Value| round["type"] == "fallback_message";
        let Some(rounds) = self.0.get_mut(ROUNDS).and_then(Value::as_array_mut) else {
            return;
        };
        let has_fallback = rounds.iter().any(is_behind);
        for round in rounds {
            let is_of_asked = has_fallback && !is_behind(round);
            let model = if is_of_asked { asked } else { replied };
            if let Some(round) = round.as_object_mut()
                && round.get("model").is_none_or(Value::is_null)
            {
                round.insert("model".to_owned(), model.into());
            }
        }
    }

    fn rounds(&self) -> Vec<Self> {
        let rounds = self.0.get(ROUNDS).and_then(Value::as_array);
        let rounds = rounds.into_iter().flatten().filter_map(Value::as_object);
        rounds.cloned().map(Self).collect()
    }

    /// Everything that was reported.
    #[must_use]
    pub fn json(&self) -> &Object {
        &self.0
    }
}

/// How a whole reply ended, with what the API said about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyEnd {
    /// The API's id of the reply; empty if it gave none.
    pub id: String,
    /// The model that replied, as the API named it.
    pub model: String,
    /// Why the reply ended.
    pub stop_reason: StopReason,
    /// The stop sequence that was met.
    pub stop_sequence: Option<String>,
    /// Details that the API added to the reason, such as a refusal's category.
    pub stop_details: Object,
    /// The final token counts.
    pub usage: Usage,
}

impl ReplyEnd {
    /// The end without what must not be seen.
    #[must_use]
    pub(crate) fn redacted(self, redaction: &Redaction) -> Self {
        let details = Value::from(self.stop_details).to_string();
        Self {
            id: redaction.apply(self.id),
            model: redaction.apply(self.model),
            stop_reason: match self.stop_reason {
                StopReason::Other(other) => StopReason::Other(redaction.apply(other)),
                known @ (StopReason::EndTurn
                | StopReason::MaxTokens
                | StopReason::StopSequence
                | StopReason::ToolUse
                | StopReason::PauseTurn
                | StopReason::Refusal
                | StopReason::ContextWindowExceeded) => known,
            },
            stop_sequence: self.stop_sequence.map(|text| redaction.apply(text)),
            // It stays JSON, unless a secret is some.
            stop_details: serde_json::from_str(&redaction.apply(details)).unwrap_or_default(),
            usage: self.usage,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextWindowExceeded => "model_context_window_exceeded",
            Self::Other(other) => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [MODEL-19]
    #[test]
    fn absurd_token_counts_saturate() {
        let mut usage = Usage::default();
        let report = r#"{"a":5,"b":-3,"c":1e300,"d":null,"e":"x","f":7.9}"#;
        usage.update(&serde_json::from_str(report).unwrap());
        let counts: Vec<u64> = ["a", "b", "c", "d", "e", "f", "missing"]
            .map(|name| usage.count(name))
            .to_vec();
        assert_eq!(counts, [5, 0, u64::MAX, 0, 0, 7, 0]);
    }

    fn usage(report: Value) -> Usage {
        let Value::Object(report) = report else {
            panic!("{report}");
        };
        report.into()
    }

    /// Spec: [MODEL-804]
    #[test]
    fn each_attempt_of_a_reply_counts_for_its_model() {
        let round = |kind: &str, model: Value, input: u64, output: u64| {
            json!({"type": kind, "model": model, "input_tokens": input, "output_tokens": output,
                   "cache_read_input_tokens": 100})
        };
        let mut usage = usage(json!({
            "input_tokens": 30, "output_tokens": 7, "server_tool_use": {"web_search_requests": 2},
            "iterations": [
                round("message", Value::Null, 20, 5),
                round("fallback_message", Value::Null, 30, 7),
                round("advisor_message", json!("other"), 1, 1),
                round("message", json!("asked"), 2, 2),
            ],
        }));
        usage.name_models("asked", "replied");
        let told: Vec<_> = usage
            .by_model("replied")
            .into_iter()
            .map(|(model, of)| {
                (
                    model,
                    of.input_tokens,
                    of.output_tokens,
                    of.web_search_requests,
                )
            })
            .collect();
        let of = |model: &str, input, output, searches| (model.to_owned(), input, output, searches);
        assert_eq!(
            told,
            [
                of("asked", 20, 5, 0),
                of("replied", 30, 7, 0),
                of("other", 1, 1, 0),
                of("asked", 2, 2, 0),
                of("replied", 0, 0, 2),
            ]
        );
        assert_eq!((usage.context(), usage.has_rounds()), (104, true));
    }

    /// Spec: [MODEL-804]
    #[test]
    fn a_round_without_a_name_is_of_the_model_that_replied() {
        let round = json!({"type": "message", "model": null, "input_tokens": 2});
        let mut usage = usage(json!({"input_tokens": 4, "iterations": [round, round]}));
        usage.name_models("alias", "full-name");
        let models: Vec<String> = usage
            .by_model("full-name")
            .into_iter()
            .map(|(model, _)| model)
            .collect();
        assert_eq!(models, ["full-name", "full-name"]);
    }

    /// Spec: [MODEL-804]
    #[test]
    fn without_rounds_the_counts_are_of_the_reply() {
        for rounds in [
            Value::Null,
            json!([]),
            json!("?"),
            json!([{"type": "message"}, 7]),
        ] {
            let usage = usage(json!({"input_tokens": 3, "output_tokens": 4, "iterations": rounds}));
            let of_reply = usage.by_model("m");
            assert_eq!(of_reply, [("m".to_owned(), usage.counts())]);
            assert_eq!(usage.context(), 7);
        }
    }

    /// Spec: [MODEL-805]
    #[test]
    fn what_the_api_left_out_of_the_request_belongs_to_the_context() {
        let mut usage = usage(json!({"input_tokens": 3, "output_tokens": 4}));
        for odd in [
            json!(null),
            json!([]),
            json!({"applied_edits": [{"cleared_input_tokens": "?"}]}),
        ] {
            usage.note_cleared(&odd);
        }
        assert_eq!(usage.cleared(), 0);
        let edit = |tokens: u64| json!({"type": "clear_tool_uses_20250919", "cleared_input_tokens": tokens});
        usage.note_cleared(&json!({"applied_edits": [edit(20), edit(5)]}));
        assert_eq!((usage.cleared(), usage.context()), (25, 32));
    }

    /// Spec: [EVENT-801]
    #[test]
    fn a_fallback_names_its_models_and_its_reason() {
        let block = |json: Value| Block::new(json.as_object().unwrap().clone());
        let hop = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"},
                         "trigger": {"type": "refusal", "category": "cyber"}});
        let told = block(hop).fallback().unwrap();
        assert_eq!(
            (&*told.from, &*told.to, told.category.as_deref()),
            ("a", "b", Some("cyber"))
        );
        for none in [
            json!({"type": "fallback"}),
            json!({"type": "fallback", "from": {"model": 1}, "to": {"model": "b"}}),
            json!({"type": "text", "from": {"model": "a"}, "to": {"model": "b"}}),
        ] {
            assert_eq!(block(none).fallback(), None);
        }
    }
}
