//! Fanning events out: encode once, share the bytes, wait for nobody.

mod actor;
mod subscription;

pub use actor::BroadcastActor;
pub use subscription::{MAX_QUEUED_BYTES, MAX_QUEUED_EVENTS, Subscription};
