//! What a conversation is made of on the screen.

use super::output::Output;

/// Names a part for as long as the conversation is open. Later parts have greater ids; where a part
/// was removed its id is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PartId(pub(crate) i64);

/// One part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Names it.
    pub(crate) id: PartId,
    /// Changes whenever something in it does.
    pub(crate) revision: u32,
    /// The record that it began with; none while there is no record of it.
    pub(crate) seq: Option<u64>,
    /// When that was, in Unix seconds.
    pub(crate) at: Option<u64>,
    /// What it is.
    pub(crate) kind: PartKind,
}

/// What a part is. All texts are as they arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// What an operator asked.
    User {
        /// The prompt.
        content: String,
        /// Who.
        by: Author,
        /// True until the service has it on record.
        is_pending: bool,
        /// Whether it waited in a queue, and so began no run.
        is_queued: bool,
    },
    /// A text of the reply, in Markdown.
    Text {
        /// What there is of it.
        content: String,
        /// True while it grows.
        is_live: bool,
        /// True when a cancel cut it short.
        is_cut: bool,
    },
    /// Thinking.
    Reasoning {
        /// What there is of it.
        content: String,
        /// True while it grows.
        is_live: bool,
    },
    /// A tool call with what came of it.
    Tool(Tool),
    /// The past before it was replaced by a summary, as far as the model is told.
    Summary {
        /// What was done.
        title: String,
        /// The summary.
        content: String,
    },
    /// Files that a tool changed.
    Change {
        /// What was done.
        title: String,
        /// The lines that are new and gone.
        diff: String,
        /// Whether the diff goes on.
        is_cut: bool,
    },
    /// A remark: how a run ended, what could not be read.
    Note {
        /// What to say.
        text: String,
        /// Whether something went wrong.
        is_error: bool,
    },
}

/// Who sent something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Author {
    /// This client.
    You,
    /// The client of that name.
    Named(String),
    /// A client that gave no name.
    Unnamed,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Links the call to its result; empty while the call is being written.
    pub(crate) call_id: String,
    /// The tool; empty while the call is being written.
    pub(crate) name: String,
    /// Its input as JSON text, as far as it is known.
    pub(crate) input: String,
    /// What came of it.
    pub(crate) outcome: ToolOutcome,
    /// What it shows before its result is there.
    pub(crate) output: Option<Box<Output>>,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    /// The model is still writing it.
    Writing,
    /// Its turn has not come.
    Waiting,
    /// It runs.
    Running,
    /// It ended.
    Ended(ToolResult),
    /// It was not run.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// What a tool returned, as it is shown: a JSON object with one text in it is that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// Its lines; no more than the first [`crate::part_view::MAX_RESULT_LINES`] and one, unless
    /// `is_whole`.
    pub(crate) text: String,
    /// How many lines there are in all.
    pub(crate) lines: usize,
    /// Whether `text` has them all.
    pub(crate) is_whole: bool,
    /// Whether the call failed.
    pub(crate) is_error: bool,
    /// The record of the result.
    pub(crate) seq: u64,
}
