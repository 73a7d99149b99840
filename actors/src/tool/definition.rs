//! The definition of a tool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::approved::ApprovedContents;
use super::bash::Outputs;
use super::change::BeforeStore;
use super::error::ToolError;
use super::extent::ExtentNote;
use super::job_note::JobNote;
use super::launch::Launching;
use super::live::LiveOutput;
use super::plan::PlanFuture;
use super::seen::SeenFiles;
use crate::ids::ConversationId;
use crate::reply::Object;
use crate::secret::Redaction;

/// Tells a running tool that its result is no longer wanted.
pub type Cancellation = tokio_util::sync::CancellationToken;

/// A tool's work.
pub type ToolFuture<'a> = BoxFuture<'a, Result<String, ToolError>>;

/// Something that the model can ask for. Users of this crate add their own.
///
/// ```
/// use harness_actors::{Cancellation, Object, Tool, ToolFuture};
/// use serde_json::{Value, json};
///
/// struct Shout;
///
/// impl Tool for Shout {
///     fn name(&self) -> &str {
///         "shout"
///     }
///
///     fn description(&self) -> &str {
///         "Returns the text in capitals."
///     }
///
///     fn input_schema(&self) -> Value {
///         json!({
///             "type": "object",
///             "properties": {"text": {"type": "string"}},
///             "required": ["text"],
///         })
///     }
///
///     fn execute(&self, input: Object, _: Cancellation) -> ToolFuture<'_> {
///         Box::pin(async move {
///             let text = input.get("text").and_then(Value::as_str).ok_or("text is required")?;
///             Ok(text.to_uppercase())
///         })
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The name by which the model calls the tool: 1 to 64 letters, digits, `_` or `-`.
    fn name(&self) -> &str;

    /// The description of the tool for the model.
    fn description(&self) -> &str;

    /// The JSON schema of the input; its type is `object`.
    fn input_schema(&self) -> Value;

    /// Whether the tool changes anything. What led to a call is on disk before such a tool runs.
    fn has_effects(&self) -> bool {
        true
    }

    /// Whether the tool may only run while no other one does. The calls of a reply that has one
    /// such call are run one after the other.
    fn runs_alone(&self) -> bool {
        false
    }

    /// True if inputs of the tool may be long: the API is to stream them before it knows that they are JSON.
    fn has_long_inputs(&self) -> bool {
        false
    }

    /// Whether the tool ends by itself in a time of its own, so that the limit of all tools is not for it.
    fn bounds_itself(&self) -> bool {
        false
    }

    /// The files that a call with this input reads and changes. They are named in the summary that takes
    /// the place of a long past.
    fn touches(&self, _input: &Object) -> Vec<Touched> {
        Vec::new()
    }

    /// Runs the tool. The future must not block its thread. When `cancellation` fires it should
    /// stop what it started and return; a little later it is dropped.
    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_>;

    /// Finds what a call would change, and changes nothing. `None` if the tool changes nothing that
    /// operators are asked about; it is run as it is then.
    fn plan(&self, _input: Object, _context: ToolContext) -> PlanFuture<'_> {
        Box::pin(async { Ok(None) })
    }

    /// Runs the tool for a conversation: in its folder, and with a way to show output meanwhile.
    /// Also for tools that cut what they return: secrets are taken out of every result, but of one
    /// that was cut before, the start of a secret could be left.
    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        self.execute(input, context.cancellation)
    }
}

/// A file that a call touches, by the path that the model gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// It is read.
    Read(String),
    /// It is made, changed or removed.
    Changed(String),
}

/// The context of a call of a tool: everything besides its input.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The id of the call, as the model gave it; clients know the call by it.
    pub call_id: String,
    /// The conversation that makes the call.
    pub conversation: ConversationId,
    /// The folder that the conversation works in: relative paths start there.
    pub folder: Arc<Path>,
    /// Where the last command was at its end.
    pub command_folder: Option<PathBuf>,
    /// The jobs that the conversation has on record.
    pub jobs: Arc<[JobNote]>,
    /// Tells that the result is no longer wanted.
    pub cancellation: Cancellation,
    /// Takes out what the conversation must not see.
    pub redaction: Redaction,
    /// Shows operators what the call does before its result is there.
    pub output: LiveOutput,
    /// The contents of files that the model knows.
    pub seen: SeenFiles,
    /// The contents that tools gave to files with the operator's permission.
    pub approved: ApprovedContents,
    /// Takes how much the call brings.
    pub extent: ExtentNote,
    /// Folders that are closed to tools, whatever name leads there.
    pub closed: Arc<[PathBuf]>,
    /// Where the contents of files before changes are kept; nowhere if none.
    pub before: Option<BeforeStore>,
    /// Starts programs; without it they are started unchanged.
    pub launcher: Launching,
    /// Where the outputs of commands are kept that are too long to be shown; nowhere if none.
    pub outputs: Option<Outputs>,
}

impl ToolContext {
    /// A context for the tool alone, in the process's own folder, in which nothing is taken out.
    #[must_use]
    pub fn new(cancellation: Cancellation) -> Self {
        Self {
            call_id: String::new(),
            conversation: ConversationId::new("alone"),
            command_folder: None,
            jobs: Arc::default(),
            outputs: None,
            launcher: Launching::default(),
            folder: Path::new(".").into(),
            cancellation,
            redaction: Redaction::default(),
            output: LiveOutput::default(),
            seen: SeenFiles::default(),
            approved: ApprovedContents::default(),
            extent: ExtentNote::default(),
            closed: Arc::default(),
            before: None,
        }
    }

    /// The same in another folder.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            ..self
        }
    }
}

/// A call of a tool, as the model asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Links the call to its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The tool's input.
    pub input: Object,
    /// The error that answers the call if the model's input was not a JSON object.
    pub input_error: Option<String>,
}
