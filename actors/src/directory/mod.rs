//! All conversations of a service: which are open, and how the others are found.

mod actor;
mod conversation;
mod fork;
mod list;
pub mod messages;
mod parts;
mod places;
mod removal;

pub use actor::{DEFAULT_CONVERSATION, DirectoryActor};
pub use conversation::Conversation;
pub use parts::{GuidanceOf, Parts, Seams};
pub use places::{MAX_OPEN_CONVERSATIONS, Place};
