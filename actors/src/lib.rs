//! The actors of a conversation with a model.
//!
//! ```text
//! prompt -> ConversationActor -> ModelActor -> ConversationActor -> ToolActor -> ConversationActor -> ...
//!                 |
//!                 +-- each fact -> journal -> BroadcastActor -> every subscriber
//! ```
//!
//! * [`conversation`] decides, in a pure machine; its actor only maps messages.
//! * [`model`] streams one reply from the Messages API, with retries.
//! * [`tool`] runs tools, a few at once for all conversations.
//! * [`journal`] keeps every fact before anybody sees it.
//! * [`broadcast`] fans events out and waits for nobody.
//! * [`directory`] finds conversations, and starts their actors when they are needed.
//!
//! What each of them is told is in its `messages`, such as [`model::messages`].
//!
//! An order ends with exactly one terminal answer; a late answer is known by its call id and
//! ignored. Fields point downstream, answers go to the `reply_to` of the question, and no handler
//! waits for another actor.
//!
//! [`Harness`] is one conversation as a value, for use from Rust.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod approval;
pub mod attachment;
pub mod beneath;
pub mod broadcast;
mod clock;
pub mod compaction;
pub mod conversation;
pub mod directory;
pub mod event;
pub mod guidance;
mod harness;
mod ids;
pub mod journal;
mod lexical;
mod limit;
pub mod model;
mod reply;
mod secret;
mod send;
pub mod storage;
mod threads;
pub mod tool;

pub use attachment::{AttachmentStore, MemoryAttachments};
pub use clock::Clock;
pub use harness::{
    Config, ConfigError, EventHandler, Harness, HarnessError, Options, Snapshot, Subscription,
    parts,
};
pub use ids::{CallId, ConversationId, ItemId, RunId};
pub use limit::within;
pub use model::DEFAULT_MODEL;
pub use reply::{Block, BlockKind, Object, ReplyEnd, StopReason, Usage};
pub use secret::{Redaction, Secret};
pub use send::tell;
pub use threads::{BlockingError, blocking, start_thread};
pub use tool::{Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, standard_tools};
