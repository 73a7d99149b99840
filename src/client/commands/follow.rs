//! The events of a conversation as a command follows them.

use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowerEvent};
use crate::client::api::stream::Arrival;
use crate::client::output::Output;

/// The next event. What happens besides is written to standard error, and a break is waited out. May
/// be dropped and asked again: nothing is lost.
///
/// # Errors
/// Why there are no more.
pub(crate) async fn next_event(
    follower: &mut EventFollower,
    output: &mut Output,
) -> Result<Arrival, ApiError> {
    loop {
        match follower.next().await? {
            FollowerEvent::Event(arrival) => return Ok(arrival),
            FollowerEvent::Invalid { reason } => output.note(&format!(
                "harness: the event stream contains something that is not an event: {reason}"
            )),
            FollowerEvent::Down { error, wait, .. } => {
                output.note(&format!("harness: {error}; attaching again in {wait:?}"));
                tokio::time::sleep(wait).await;
            }
            FollowerEvent::Found(_)
            | FollowerEvent::Snapshot { .. }
            | FollowerEvent::Workflow { .. }
            | FollowerEvent::Up => {}
        }
    }
}
