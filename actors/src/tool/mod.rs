//! Tools: what the model may ask for, and the actor that runs them.

use std::sync::Arc;

mod actor;
mod approved;
mod bash;
mod basic_pattern;
mod binary_file;
mod cap;
mod change;
mod closed;
mod command;
mod definition;
mod edit;
mod error;
mod extent;
mod grep;
mod input;
mod job_note;
mod launch;
mod list_dir;
mod live;
mod look_alikes;
pub mod messages;
mod outcome;
mod path;
mod plain_launcher;
mod plan;
mod procfs;
mod protected;
mod read;
mod registry;
mod seen;
mod send_order;
mod shelf;
#[cfg(test)]
mod testing;
mod waiting;
mod write;

pub use actor::ToolActor;
pub use approved::ApprovedContents;
pub use bash::{Bash, JobTool, Jobs, OutputRange, Outputs};
pub(crate) use bash::{Lifeline, ProcessEnd, TempFolder, environment, linked, run_into};
#[cfg(feature = "mcp")]
pub(crate) use bash::{keep_search_path, run_with_pipes, server_reach};
#[cfg(feature = "mcp")]
pub(crate) use cap::{MAX_TEXT_BYTES, capped};
pub use change::{BeforeStore, FileUndo};
pub use closed::{check_opened as check_opened_file, check_path as check_closed_path};
pub use definition::{Cancellation, Tool, ToolCall, ToolContext, ToolFuture, Touched};
pub use edit::Edit;
pub use error::ToolError;
pub use extent::ExtentNote;
pub use grep::Grep;
pub use job_note::{EndedJob, JobNote};
pub use launch::{
    Contained, Denial, FileCopy, Launch, LaunchOrder, LaunchReport, Launcher, Launching,
};
pub use list_dir::ListDir;
pub use live::LiveOutput;
pub(crate) use live::Wrote;
pub use outcome::{StartedJob, ToolOutcome};
pub use plain_launcher::PlainLauncher;
pub use plan::{EffectError, PlanFuture, PlannedAction, digest};
pub use protected::is_protected;
pub use read::Read;
#[cfg(test)]
pub(crate) use registry::tools;
pub use registry::{Registry, RegistryError, defined_name};
pub use seen::{SeenBefore, SeenFile, SeenFiles};
pub use send_order::send_order;
pub use shelf::{FolderShelves, ToolShelf};
pub use write::Write;

/// The name under which a job is stopped by the model.
pub(crate) const THE_MODEL: &str = "the model";

/// The names of the tools that need a [`Launcher`].
pub const COMMAND_TOOLS: [&str; 2] = ["bash", "job"];

/// The tools that the service offers. Relative paths start at the folder of the conversation.
#[must_use]
pub fn standard_tools() -> Vec<Arc<dyn Tool>> {
    let mut tools = reading_tools();
    tools.extend([Arc::new(Edit) as Arc<dyn Tool>, Arc::new(Write)]);
    tools
}

/// Those that only read: all that there were in the versions that kept no list of a conversation's tools.
pub(crate) fn reading_tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(Read), Arc::new(ListDir), Arc::new(Grep)]
}

/// True if a change that was begun has been made, by the look of its file; none if that is another one by
/// now. Blocks.
pub(crate) fn has_happened(change: &harness_protocol::FileChange) -> Option<bool> {
    change::has_happened(change)
}

/// Removes what killed services left beside files that a conversation knows. Blocks.
pub(crate) fn sweep_beside(seen: &SeenBefore) {
    change::sweep_beside(seen);
}
