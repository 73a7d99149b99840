//! Replacing the past of a conversation by a summary, for good.

use std::time::Duration;

use actix_web::HttpResponse;
use harness_actors::conversation::messages::{CompactConversation, CompactError};
use harness_protocol::{CompactAnswer, CompactOrder};

use super::ask::{Late, order_within, refuse_submit};
use super::body;
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::said::name_of;

/// Maximum size of the instructions for a summary, in bytes.
const MAX_INSTRUCTIONS: usize = 64 * 1024;
/// No time limit: a compaction ends by itself, or is cancelled.
const LIMIT: Duration = Duration::MAX;

/// Compacts a conversation, and answers when that is done, which may take minutes.
pub(super) async fn compact(it: Received) -> HandlerResult {
    let order: CompactOrder = body::json_or_default(&it.request, it.payload).await?;
    let instructions = order.instructions.filter(|text| !text.trim().is_empty());
    let length = instructions.as_ref().map_or(0, String::len);
    if length > MAX_INSTRUCTIONS {
        let detail = format!("instructions may have {MAX_INSTRUCTIONS} bytes; these have {length}");
        return Err(Kind::BadRequest.refuse(detail));
    }
    let compact = CompactConversation {
        force: order.force,
        instructions,
        by: name_of(order.by),
    };
    let (shared, id) = (it.shared.into_inner(), it.id);
    // A separate task: a client that disconnects drops only this handler.
    let asked = async move { order_within(LIMIT, &shared, &id, compact, Late::Order).await };
    let asked = actix_web::rt::spawn(asked).await.map_err(|error| {
        Kind::NotKnown.refuse(format!(
            "the compaction is gone: {error}; look whether it was done"
        ))
    })?;
    let (_, compacted) = asked?;
    let compacted = compacted.map_err(|error| refuse_compact(&error))?;
    Ok(HttpResponse::Ok().json(CompactAnswer {
        compacted: compacted.compacted,
        tokens_before: compacted.tokens_before,
        tokens_after: compacted.tokens_after,
        archive: compacted.archive,
    }))
}

fn refuse_compact(error: &CompactError) -> Refusal {
    match error {
        CompactError::Order(error) => refuse_submit(error),
        CompactError::Summary(_) => Kind::CompactionFailed.refuse(error.to_string()),
        CompactError::Cancelled => Kind::Cancelled.refuse("the compaction was cancelled"),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError as _;
    use harness_actors::conversation::messages::SubmitError;

    use super::*;

    /// Spec: [HTTP-67]
    #[test]
    fn why_nothing_was_compacted_is_told_by_the_status() {
        for (error, status) in [
            (CompactError::Order(SubmitError::Busy), 409),
            (CompactError::Cancelled, 409),
            (CompactError::Summary("overloaded".to_owned()), 502),
            (CompactError::Order(SubmitError::Stopping), 503),
        ] {
            let refusal = refuse_compact(&error);
            assert_eq!(refusal.status_code().as_u16(), status, "{refusal}");
        }
        let failed = CompactError::Summary("overloaded".to_owned());
        assert!(refuse_compact(&failed).to_string().contains("overloaded"));
    }
}
