//! The beginning of an event stream: the position that the client sent, checked against the journal.

use actix_web::http::header::HeaderValue;
use harness_actors::broadcast::FollowerStart;
use harness_actors::journal::{Journal, PageLimit, Position};
use serde::Deserialize;

use super::ask::refuse_read;
use super::problem::Refusal;

/// The position where a client wants to begin, and its name.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct EventsQuery {
    /// A position, or the number of a record.
    after: Option<String>,
    /// Number of the last records to send.
    tail: Option<u64>,
    /// The name for the other clients.
    pub(super) name: Option<String>,
}

/// One record.
const ONE: PageLimit = PageLimit {
    records: 1,
    bytes: 1,
};

/// The beginning of the stream and its position, or the reason why it cannot begin where the client wants. The header
/// takes precedence over the query.
///
/// # Errors
/// The answer, if the journal cannot be read.
pub(super) async fn start(
    journal: &dyn Journal,
    resumed: Option<&HeaderValue>,
    query: &EventsQuery,
) -> Result<Result<(FollowerStart, Position), String>, Refusal> {
    let end = journal.end();
    // A client that has no position yet may send the header all the same.
    let resumed = resumed.filter(|header| !header.as_bytes().trim_ascii().is_empty());
    let after = query
        .after
        .as_ref()
        .filter(|after| !after.trim().is_empty());
    let shown = match (resumed, after, query.tail) {
        (Some(header), ..) => header.to_str().unwrap_or_default().to_owned(),
        (None, Some(after), _) => match after.parse() {
            Ok(seq) if seq > end.seq => {
                return Ok(Err(format!(
                    "there is no record {seq}: the last is {}",
                    end.seq
                )));
            }
            Ok(seq) => return behind(journal, seq).await.map(Ok),
            Err(_) => after.clone(),
        },
        (None, None, Some(tail)) => {
            let seq = end.seq.saturating_sub(tail);
            return behind(journal, seq).await.map(Ok);
        }
        (None, None, None) => return Ok(Ok((FollowerStart::Live, end))),
    };
    let Ok(position) = shown.parse::<Position>() else {
        return Ok(Err("that is not a position of this service".to_owned()));
    };
    if position.epoch != end.epoch {
        return Ok(Err("the position is one of another journal".to_owned()));
    }
    if position.seq > end.seq {
        return Ok(Err(format!(
            "there is no record {}: the last is {}",
            position.seq, end.seq
        )));
    }
    let found = position_at(journal, position.seq).await?;
    if found == Some(position) {
        Ok(Ok((FollowerStart::Behind(position), position)))
    } else {
        Ok(Err(
            "the journal has another record in that place".to_owned()
        ))
    }
}

async fn behind(journal: &dyn Journal, seq: u64) -> Result<(FollowerStart, Position), Refusal> {
    // A damaged record has no checksum; the position after it is valid all the same.
    let found = position_at(journal, seq).await?;
    let position = found.unwrap_or(Position {
        seq,
        ..Position::start(journal.end().epoch)
    });
    Ok((FollowerStart::Behind(position), position))
}

/// The position after a record. `None` if it cannot be read.
async fn position_at(journal: &dyn Journal, seq: u64) -> Result<Option<Position>, Refusal> {
    let Some(before) = seq.checked_sub(1) else {
        return Ok(Some(Position::start(journal.end().epoch)));
    };
    let page = journal.read(before, ONE).await;
    let page = page.map_err(|error| refuse_read(&error))?;
    let position = page.entries.first().map(|entry| entry.position);
    Ok(position.filter(|position| position.seq == seq))
}
