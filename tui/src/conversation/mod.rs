//! The open conversation, as the events told it.

mod asked;
mod calls;
mod context;
mod entries;
mod fold;
mod live;
mod output;
mod part;
mod past;
mod pending;
mod position;
mod remarks;
mod results;
mod status;
mod store;
mod stretch;
mod waiting;

pub(crate) use context::Context;
pub(crate) use live::Growing;
pub(crate) use output::Output;
pub(crate) use part::{Author, Command, Part, PartId, PartKind, Tool, ToolOutcome, ToolResult};
pub(crate) use store::{Applied, Conversation};
pub(crate) use waiting::Waits;

#[cfg(test)]
mod output_tests;
#[cfg(test)]
pub(crate) mod testing;
