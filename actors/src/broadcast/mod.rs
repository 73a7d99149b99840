//! Fans events out: encodes each event once, shares its bytes, and waits for no client.

mod actor;
mod broadcaster;
mod budget;
mod follower;
mod frame;
mod lack;
pub mod messages;
mod now;
mod presence;
mod ring;
mod subscription;
mod tails;

pub use actor::BroadcastActor;
pub use broadcaster::Broadcaster;
pub use budget::{
    ANSWER_BYTES, ANSWER_GRACE, Lent, Loan, LoanPart, ReadBudget, STREAM_BYTES, STREAM_GRACE,
    TURNS, Turn,
};
pub use follower::{Followed, Follower, FollowerSource, FollowerStart, PIECE};
pub use frame::{EventView, Frame};
pub use lack::StreamEndReason;
pub use now::Now;
pub use presence::Attendance;
pub use ring::{RING_BYTES, RING_EVENTS};
pub use subscription::{BOUND, Bound, BroadcastSubscription, Delivery};
