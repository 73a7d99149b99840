//! A conversation: what was said, and what happens next.

mod actor;
mod history;
mod machine;
mod publication;

pub use actor::{ConversationActor, Downstream};
pub use history::{History, Unanswered};
pub use machine::{Effect, Input, Limits, Machine};
pub use publication::Publication;
