//! Fanning events out: encode once, share the bytes, wait for nobody.

mod actor;
mod subscription;

pub use actor::BroadcastActor;
pub use subscription::{BOUND, Bound, STALLED_AFTER, STALLED_BOUND, Subscription};
