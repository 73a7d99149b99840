//! The parts of a conversation on the screen.

use harness_protocol::Extent;

use super::output::RunningOutput;

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
    /// The record that it began with. `None` until it has one.
    pub(crate) seq: Option<u64>,
    /// The time of the record, in Unix seconds.
    pub(crate) at: Option<u64>,
    /// The value itself.
    pub(crate) kind: PartKind,
}

/// The kind of a part. All texts are as they arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// An operator's request.
    User {
        /// The prompt.
        content: String,
        /// The operator.
        by: Author,
        /// True until the service has it on record.
        is_pending: bool,
        /// True if it waited in a queue, and so began no run.
        is_queued: bool,
        /// The files that go with it, in words.
        files: Vec<String>,
    },
    /// A text of the reply, in Markdown.
    Text {
        /// Its entries.
        content: String,
        /// True while it grows.
        is_live: bool,
        /// True when a cancel cut it short.
        is_cut: bool,
    },
    /// Thinking.
    Reasoning {
        /// Its entries.
        content: String,
        /// True while it grows.
        is_live: bool,
        /// Time that the model thought, in milliseconds, if it is known.
        duration_ms: Option<u64>,
    },
    /// A tool call with its outcome.
    Tool(ToolPart),
    /// A command that an operator ran.
    Command(OperatorCommand),
    /// The end of a run: how long it took and what it used.
    RunEnd {
        /// The line.
        facts: String,
    },
    /// The past before a summary replaced it for the model.
    Summary {
        /// The operation.
        title: String,
        /// The summary.
        content: String,
    },
    /// Files that a tool changed.
    Change {
        /// The operation.
        title: String,
        /// The lines that are new and gone.
        diff: String,
        /// True if the diff is longer than shown.
        is_cut: bool,
    },
    /// A remark: how a run ended, what could not be read.
    Note {
        /// The text.
        text: String,
        /// True if the note reports a failure.
        is_error: bool,
    },
}

/// The author of something.
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
pub(crate) struct ToolPart {
    /// Links the call to its result; empty while the call is being written.
    pub(crate) call_id: String,
    /// The tool; empty while the call is being written.
    pub(crate) name: String,
    /// Its input in short; empty while the call is being written.
    pub(crate) asked: String,
    /// Its input as JSON text, with the part that is known.
    pub(crate) input: String,
    /// The outcome.
    pub(crate) outcome: CallOutcome,
    /// Its output before its result is there.
    pub(crate) output: Option<Box<RunningOutput>>,
}

/// A command that an operator ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperatorCommand {
    /// The line for the shell.
    pub(crate) command: String,
    /// Its output, with one last line: how it ended.
    pub(crate) result: ShownResult,
    /// The name of the client that ran it.
    pub(crate) by: Option<String>,
    /// True if the model does not receive it.
    pub(crate) is_hidden: bool,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// The model is still writing it.
    Writing,
    /// Its turn has not come.
    Waiting,
    /// It runs.
    Running,
    /// It ended.
    Ended(ShownResult),
    /// It was not run.
    Skipped {
        /// The reason.
        reason: String,
    },
}

/// The result of a tool in its shown form: a JSON object with one text in it is that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownResult {
    /// Its lines; at most the first [`crate::part_view::MAX_RESULT_LINES`] and one, unless `is_whole`.
    pub(crate) text: String,
    /// Number of lines of the whole result.
    pub(crate) lines: usize,
    /// True if `text` has all lines.
    pub(crate) is_whole: bool,
    /// True if the call failed.
    pub(crate) is_error: bool,
    /// Its last line, or the beginning of that: how a command ended.
    pub(crate) last_line: String,
    /// Size of the result, if the tool counted it.
    pub(crate) extent: Option<Extent>,
    /// Time that the tool ran, in milliseconds, if it is known.
    pub(crate) duration_ms: Option<u64>,
    /// The record of the result.
    pub(crate) seq: u64,
}
