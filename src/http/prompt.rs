//! Prompts: what is said now, and starts a run.

use super::problem::HandlerResult;
use super::received::Received;
use super::said::submit;

/// Starts a run of a conversation.
pub(super) async fn prompt(received: Received) -> HandlerResult {
    submit(received, None).await
}
