//! What a journal remembers: one durable fact a record.
//!
//! Records are a format of their own, apart from what crosses the wire and from what the machine
//! is told: journals outlive both.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::RunId;
use crate::reply::{Block, Object};

/// One durable fact of a conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Record {
    /// A run began.
    RunStarted {
        /// The run.
        run: RunId,
    },
    /// A prompt was accepted.
    Prompt {
        /// The run that it started.
        run: RunId,
        /// The text.
        content: String,
        /// The key under which a repetition of the prompt is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Who sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The conversation is doing something else now.
    Status {
        /// What.
        activity: Activity,
        /// The running tool's name, an error's text or a remark.
        message: String,
    },
    /// The model is asked.
    TurnStarted {
        /// The run.
        run: RunId,
        /// Counts the turns of the run from 1.
        turn: u32,
    },
    /// A block of the reply is complete, or a cancel cut it short.
    Block {
        /// Its place in the reply.
        index: u64,
        /// The block as the API sent it.
        block: Block,
        /// Whether it was cut short.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    /// The reply is complete.
    ReplyEnded {
        /// The API's id of the reply.
        id: String,
        /// The model that replied.
        model: String,
        /// Why the reply ended, in the API's words.
        stop_reason: String,
        /// The token counts as the API reported them.
        usage: Object,
        /// Whether the reply goes on when it is sent back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        paused: bool,
        /// What those calls are answered with that get no result.
        unanswered: Unanswered,
    },
    /// There is no complete reply.
    ReplyFailed {
        /// Why.
        error: String,
        /// What its calls are answered with.
        unanswered: Unanswered,
        /// Whether the API refused the request for its content, so that what was new in it is
        /// left out of later ones.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
    /// A tool call has its result.
    ToolResult {
        /// The id of the call.
        id: String,
        /// What came out.
        result: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// The calls of the reply that have no result get none.
    CallsSkipped {
        /// Why.
        reason: Unanswered,
    },
    /// A turn is over, with its tools.
    TurnEnded {
        /// The run.
        run: RunId,
        /// Counts the turns of the run from 1.
        turn: u32,
        /// How.
        outcome: Outcome,
    },
    /// A run is over.
    RunEnded {
        /// The run.
        run: RunId,
        /// How.
        outcome: Outcome,
        /// Why, when it is not the usual end.
        message: String,
        /// The sums over the whole conversation so far, so that its end tells of its beginning.
        totals: Totals,
        /// Who cancelled it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The conversation has another title.
    Renamed {
        /// The title.
        title: String,
        /// Who gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A record of a type that this version does not know; kept as it is.
    #[serde(skip)]
    Unknown {
        /// Its type.
        kind: String,
        /// Its data.
        data: Box<RawValue>,
    },
}

/// What a conversation is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// No run is going.
    Idle,
    /// The model is being asked.
    Thinking,
    /// A tool call was made.
    RunningTool,
    /// The run failed.
    Error,
}

/// How a turn or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it should, or at a limit.
    Completed,
    /// An operator cancelled it.
    Cancelled,
    /// It failed.
    Error,
    /// The service was stopped or died.
    Interrupted,
}

/// Why a call has no result of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unanswered {
    /// An earlier call of the same reply failed.
    EarlierToolFailed,
    /// An operator cancelled the run.
    Cancelled,
    /// The reply broke off.
    #[default]
    Interrupted,
    /// The API declined to answer.
    Refused,
}

impl Unanswered {
    /// What the model is told.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::EarlierToolFailed => "not executed: an earlier tool failed",
            Self::Cancelled => "not executed: cancelled by user",
            Self::Interrupted => "not executed: the reply was interrupted",
            Self::Refused => "not executed: the request was refused",
        }
    }
}

/// Sums over a whole conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// The title, if it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many runs were started; also the number of the last one.
    pub runs: u64,
    /// How many prompts were accepted.
    pub prompts: u64,
    /// How many turns were started.
    pub turns: u64,
    /// Tokens that the model was sent, without those from its cache.
    pub input_tokens: u64,
    /// Tokens that the model replied with.
    pub output_tokens: u64,
    /// Tokens that the API wrote to its cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens that the API read from its cache.
    pub cache_read_input_tokens: u64,
}

impl Record {
    /// The types that this version knows.
    pub const KNOWN: [&'static str; 12] = [
        "run_started",
        "prompt",
        "status",
        "turn_started",
        "block",
        "reply_ended",
        "reply_failed",
        "tool_result",
        "calls_skipped",
        "turn_ended",
        "run_ended",
        "renamed",
    ];
}

/// As JSON, since unknown data has no other form.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let json = |record: &Self| {
            if let Self::Unknown { kind, data } = record {
                return Some(format!("{kind}{data}"));
            }
            serde_json::to_string(record).ok()
        };
        json(self) == json(other)
    }
}
