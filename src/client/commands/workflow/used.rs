//! The usage of a workflow, in words.

use harness_actors::workflow::file::duration;
use harness_protocol::WorkflowSpent;

/// Tokens, money and time.
pub(super) fn spent(it: WorkflowSpent) -> String {
    let cents = it.cost_micro_usd.saturating_add(5_000) / 10_000;
    format!(
        "{} tokens, {}.{:02} US dollars, {} of work",
        it.tokens,
        cents / 100,
        cents % 100,
        duration::text(it.active_ms / 1_000)
    )
}
