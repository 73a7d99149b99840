//! A conversation: what was said, and what happens next.

mod driver;
mod machine;
pub mod messages;
mod past;
mod retrying;

pub use crate::event::{event, state, usage};
pub use driver::{ConversationActor, Downstream};
pub use machine::{
    ConversationOrder, Defaults, Effect, Input, Machine, OrderResult, Planner, Projection,
    SummaryCall, SystemPromptBuilder, TurnInfo,
};
pub use past::{
    Glance, History, INTERRUPTED, Keyed, KeyedState, Ledger, first_violation, glance, revive,
    transcript,
};
pub(crate) use past::{Reading, glance_at};
pub(crate) use retrying::waits as retry_waits;
