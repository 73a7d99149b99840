//! Fanning events out: encode once, share the bytes, wait for nobody.

mod actor;
mod attendance;
mod follower;
mod frame;
mod ring;
mod subscription;

pub use actor::{BroadcastActor, Now};
pub use attendance::Attendance;
pub use follower::{End, Followed, Follower, Start};
pub use frame::{Frame, View};
pub use ring::{RING_BYTES, RING_EVENTS};
pub use subscription::{BOUND, Bound, Delivery, Subscription};
