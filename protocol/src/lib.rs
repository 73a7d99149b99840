//! What crosses the wire between the service and its clients: serde types and nothing else.
//!
//! Invariant: no IO, no clock, no actor.

mod conversations;
mod event;
mod problem;
mod rest;

pub use conversations::{
    ChangeConversation, ConversationPage, ConversationState, Damage, Deleted, ForkOrder, History,
    NewConversation, PastEvent, Settings, Snapshot, Summary,
};
pub use event::{DeltaKind, Event, Outcome, State, Usage};
pub use problem::Problem;
pub use rest::{CancelAnswer, CancelOrder, Discovery, Health, PromptAnswer, PromptOrder};
