//! A conversation: what was said, and what happens next.

mod actor;
mod calls;
mod effect;
mod ending;
mod face;
mod failure;
mod history;
mod input;
mod ledger;
mod machine;
mod orders;
mod outbox;
mod replies;
mod revival;
mod tool_calls;

pub use actor::{ConversationActor, Downstream};
pub use effect::{Effect, Passing};
pub use face::{event, is_plain, passing_event, plain, state, usage};
pub use history::History;
pub use input::Input;
pub use ledger::{INTERRUPTED, Ledger, Status};
pub use machine::{Limits, Machine, Prompt, Submitted};
pub(crate) use revival::each_entry;
pub use revival::{Glance, glance, revive};
