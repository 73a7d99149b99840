//! All conversations of a service: which are open, and how the others are found.

mod actor;
mod conversation;
mod folders;
mod fork;
mod jobs;
mod let_go;
mod list;
pub mod messages;
mod parts;
mod places;
mod removal;
mod rows;

pub use actor::{DEFAULT_CONVERSATION, DirectoryActor};
pub use conversation::{ConversationPlace, OpenedConversation};
pub use parts::{DirectoryParts, Extensions, GuidanceOf};
pub use places::MAX_OPEN_CONVERSATIONS;
