//! Carries out a conversation's decisions: the actor, and the effects that wait for the journal.

mod actor;
mod approvals;
mod calls;
mod failed_append;
mod handlers;
mod jobs;
mod keep;
mod outbox;
mod replace_journal;
mod timing;
mod undo;

pub use actor::{ConversationActor, Downstream};
