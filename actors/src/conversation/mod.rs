//! A conversation: what was said, and what happens next.

mod driver;
mod machine;
pub mod messages;
mod past;

pub use crate::event::{event, state, usage};
pub use driver::{ConversationActor, Downstream};
pub use machine::{
    CompactOrder, Defaults, Effect, Input, Machine, Message, Planner, Projection, Prompt,
    Submitted, SummaryCall, SystemPromptBuilder, TurnInfo,
};
pub(crate) use past::each_entry;
pub use past::{
    Glance, History, INTERRUPTED, Keyed, Ledger, Named, first_violation, glance, revive, transcript,
};
