//! A strict stand-in for Anthropic's Messages API, in the same process: the upstream of the
//! tests, where every byte of a reply can be scripted, and the demo model.
//!
//! ```text
//! connection -> incoming -> routes -> validate -> Responder -> Reply -> wire -> connection
//!                  |          |                                             |
//!                  |          +-- in_process: the same without a connection +
//!                  +-- journal: every request that arrived, and when its client left
//! ```
//!
//! Invariant: nothing here knows Harness's own types. It speaks the API as the service would
//! meet it, so that a misunderstanding cannot be shared by both sides.

mod api_error;
mod block;
mod cache;
mod capabilities;
mod catalogue;
mod connection;
mod demo;
mod event;
mod gate;
mod in_process;
mod incoming;
mod journal;
mod message;
mod messages_request;
mod model;
mod prefix;
mod reply;
mod responder;
mod routes;
mod server;
mod signature;
#[cfg(test)]
mod tests;
mod turns;
mod validate;
mod wire;

pub use api_error::ApiError;
pub use cache::InputUsage;
pub use capabilities::{Binding, Capabilities};
pub use catalogue::Catalogue;
pub use demo::Demo;
pub use event::encode_event;
pub use gate::Gate;
pub use in_process::{Answer, AnswerBody, BrokenOff, DemoModel};
pub use journal::{Outcome, Received};
pub use message::Message;
pub use messages_request::MessagesRequest;
pub use model::{Listing, Model};
pub use prefix::prefix_break;
pub use reply::{Reply, Step};
pub use responder::{Responder, Script};
pub use server::Standin;
pub use turns::{Hold, Turns, prose};
pub use validate::{Endpoint, strict_roles, validate};
