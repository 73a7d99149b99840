//! A conversation: what was said, and what happens next.

mod actor;
mod effect;
mod history;
mod input;
mod machine;
mod publication;

pub use actor::{ConversationActor, Downstream};
pub use effect::Effect;
pub use history::History;
pub use input::Input;
pub use machine::{Limits, Machine};
pub use publication::Publication;
