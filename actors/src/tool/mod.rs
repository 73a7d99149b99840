//! Tools: what the model may ask for, and the actor that runs them.

mod actor;
mod cap;
mod command;
mod definition;
mod grep;
mod input;
mod list_dir;
pub mod messages;
mod path;
mod procfs;
mod read;
mod registry;
#[cfg(test)]
mod testing;
mod waiting;

pub use actor::ToolActor;
pub use definition::{
    Cancellation, Tool, ToolCall, ToolContext, ToolError, ToolFuture, ToolOutcome,
};
pub use grep::Grep;
pub use list_dir::ListDir;
pub use read::Read;
#[cfg(test)]
pub(crate) use registry::tools;
pub use registry::{Registry, RegistryError};
