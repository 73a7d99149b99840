//! Asking the model: one request, its retries, its stream of events, its finished blocks.

mod actor;
mod assemble;
mod attempt;
mod call;
mod client;
mod error;
mod halves;
mod live_models;
mod request;
mod retry;
mod sse;
mod tool_input;

pub use actor::ModelActor;
pub use assemble::{Assembler, Step};
pub use client::{Credential, ModelSettings};
pub use error::{ModelError, ModelFailure};
pub use request::{MAX_REQUEST_BYTES, ModelChoice, ModelRequest, RequestHead};
pub use retry::RetryPolicy;
pub use sse::{MAX_EVENT_BYTES, SseLines};
