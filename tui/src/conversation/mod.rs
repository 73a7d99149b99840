//! The open conversation, as the events told it.

mod asked;
mod calls;
mod entries;
mod fold;
mod live;
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

pub(crate) use part::{Author, Part, PartId, PartKind, Tool, ToolOutcome, ToolResult};
pub(crate) use store::{Applied, Conversation};
pub(crate) use waiting::Waits;

#[cfg(test)]
pub(crate) mod testing;
