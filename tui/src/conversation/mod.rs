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
pub(crate) use live::GrowingKind;
pub(crate) use output::RunningOutput;
pub(crate) use part::{
    Author, CallOutcome, OperatorCommand, Part, PartId, PartKind, ShownResult, ToolPart,
};
pub(crate) use store::{ConversationStore, EventApplied};
pub(crate) use waiting::WaitingMessage;

#[cfg(test)]
mod output_tests;
#[cfg(test)]
pub(crate) mod testing;
