//! What carries a conversation's decisions out: the actor, and what waits for the journal.

mod actor;
mod approvals;
mod calls;
mod failed_append;
mod handlers;
mod jobs;
mod keep;
mod outbox;
mod replace_journal;
mod undo;

pub use actor::{ConversationActor, Downstream};
