//! Everything that actors say to each other. Orders are verbs, answers are past tense.
//!
//! Invariant: imports no actor, so that no actor needs to know another.

mod broadcast;
mod conversation;
mod model;
mod send;
mod tool;

pub use broadcast::{CloseSubscribers, Publish, Subscribe, SubscribeError};
pub use conversation::{CancelRun, RunOutcome, StopRuns, SubmitError, SubmitPrompt, WaitForEnd};
pub use model::{CancelModelCall, ModelEvent, StartModelCall};
pub use send::{publish, reply};
pub use tool::{CancelTool, RunTool, ToolEvent};
