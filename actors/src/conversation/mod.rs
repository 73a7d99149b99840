//! A conversation: what was said, and what happens next.

mod actor;
mod calls;
mod changes;
mod compacting;
mod effect;
mod ending;
mod failure;
mod history;
mod input;
mod ledger;
mod machine;
pub mod messages;
mod orders;
mod outbox;
mod permanence;
mod plan;
mod projected;
mod queues;
mod replies;
mod resumption;
mod revival;
mod rewrite;
mod tool_calls;

pub use crate::event::{event, state, usage};
pub use actor::{ConversationActor, Downstream};
pub use compacting::{CompactOrder, SummaryCall};
pub use effect::Effect;
pub use history::{History, first_violation};
pub use input::Input;
pub use ledger::{INTERRUPTED, Keyed, Ledger, Named};
pub use machine::{Machine, Prompt, Submitted};
pub use plan::{Defaults, Planner, Projection, SystemPromptBuilder, TurnInfo};
pub use queues::Message;
pub use revival::{Glance, glance, revive, transcript};
pub(crate) use revival::{aside, each_entry};
