//! What crosses the wire between the service and its clients: serde types and nothing else.
//!
//! Invariant: no IO, no clock, no actor.

mod event;
mod problem;
mod rest;

pub use event::{Event, State};
pub use problem::Problem;
pub use rest::{CancelAnswer, Health, PromptAnswer, PromptOrder};
