//! The events of a conversation as a command follows them.

use crate::client::api::error::ApiError;
use crate::client::api::follower::{Follower, Step};
use crate::client::api::stream::Arrival;
use crate::client::output::Output;

/// The next event. What happens besides is written to standard error, and a break is waited out. May
/// be dropped and asked again: nothing is lost.
///
/// # Errors
/// Why there are no more.
pub(crate) async fn next_event(
    follower: &mut Follower,
    output: &mut Output,
) -> Result<Arrival, ApiError> {
    loop {
        match follower.next().await? {
            Step::Event(arrival) => return Ok(arrival),
            Step::Invalid { reason } => output.note(&format!(
                "harness: the event stream contains something that is not an event: {reason}"
            )),
            Step::Down { error, wait, .. } => {
                output.note(&format!("harness: {error}; attaching again in {wait:?}"));
                tokio::time::sleep(wait).await;
            }
            Step::Found(_) | Step::Snapshot { .. } | Step::Workflow { .. } | Step::Up => {}
        }
    }
}
