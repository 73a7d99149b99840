//! The past of a conversation by pages.

use std::collections::VecDeque;

use actix_web::{HttpRequest, web};
use harness_actors::conversation::event;
use harness_actors::journal::{Journal, JournalEntry, PageLimit};
use harness_protocol::{HistoryPage, PastEvent};
use serde::Deserialize;

use super::ask::{Name, open, query, refuse_read};
use super::lent;
use super::problem::{HandlerResult, Kind, Refusal};
use super::shared::HttpShared;

/// Default number of events in a snapshot.
pub(super) const TAIL: usize = 100;
/// Maximum number of events on a page.
const MAX_EVENTS: usize = 1000;
/// Maximum number of bytes of the journal that a page is made of, once it has an event.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The requested part of the past.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct PastQuery {
    /// Only records before this one.
    before: Option<u64>,
    /// Only records after this one.
    after: Option<u64>,
    /// Maximum number of events.
    limit: Option<usize>,
}

/// A page of the past.
pub(super) async fn history(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let wanted = query(&request)?;
    let conversation = open(&shared, &id).await?;
    page_of(&*conversation.journal, wanted, &shared).await
}

/// The part of a journal that is wanted.
///
/// # Errors
/// The answer, if what is wanted makes no sense or the journal cannot be read.
pub(super) async fn page_of(
    journal: &dyn Journal,
    wanted: PastQuery,
    shared: &HttpShared,
) -> HandlerResult {
    let PastQuery {
        before,
        after,
        limit,
    } = wanted;
    let turn = lent::turn(shared).await?;
    let end = journal.end().seq;
    let limit = limit.unwrap_or(TAIL);
    let page = match (before, after) {
        (Some(_), Some(_)) => {
            let detail = "give either `before` or `after`, not both";
            return Err(Kind::BadRequest.refuse(detail));
        }
        (None, Some(after)) => page_behind(journal, after, end, limit).await?,
        (before, None) => {
            let end = before.map_or(end, |before| before.saturating_sub(1).min(end));
            page_up_to(journal, end, limit).await?
        }
    };
    Ok(lent::json(&shared.answers, turn, &page).await)
}

/// The last events up to record `end`.
pub(super) async fn page_up_to(
    journal: &dyn Journal,
    end: u64,
    limit: usize,
) -> Result<HistoryPage, Refusal> {
    let limit = limit.min(MAX_EVENTS);
    let mut after = end.saturating_sub(limit as u64);
    let mut kept: VecDeque<JournalEntry> = VecDeque::new();
    let mut bytes = 0;
    while after < end {
        let page = read_page(journal, after, limit).await?;
        after = page.last().map_or(end, |entry| entry.position.seq);
        for entry in page {
            if entry.position.seq <= end {
                bytes += entry.json.len();
                kept.push_back(entry);
            }
        }
        while bytes > MAX_BYTES && kept.len() > 1 {
            bytes -= kept.pop_front().map_or(0, |entry| entry.json.len());
        }
    }
    // Before records that cannot be read, the past continues.
    let start = end.saturating_sub(limit as u64);
    let first = kept.front().map_or(start + 1, |entry| entry.position.seq);
    Ok(HistoryPage {
        before: (first > 1).then_some(first),
        after: None,
        events: kept.iter().map(past_event).collect(),
    })
}

/// The events after record `after`.
async fn page_behind(
    journal: &dyn Journal,
    after: u64,
    end: u64,
    limit: usize,
) -> Result<HistoryPage, Refusal> {
    if after >= end {
        return Ok(HistoryPage::default());
    }
    let page = read_page(journal, after, limit.min(MAX_EVENTS)).await?;
    let last = page.last().map_or(end, |entry| entry.position.seq);
    Ok(HistoryPage {
        before: None,
        after: (last < end).then_some(last),
        events: page.iter().map(past_event).collect(),
    })
}

/// A page of the journal after record `after`.
pub(super) async fn read_page(
    journal: &dyn Journal,
    after: u64,
    records: usize,
) -> Result<Vec<JournalEntry>, Refusal> {
    let limit = PageLimit {
        records: records.max(1),
        bytes: MAX_BYTES,
    };
    let page = journal.read(after, limit).await;
    page.map(|page| page.entries)
        .map_err(|error| refuse_read(&error))
}

fn past_event(entry: &JournalEntry) -> PastEvent {
    PastEvent {
        seq: entry.position.seq,
        id: entry.position.to_string(),
        event: event(&entry.record, entry.at / 1000),
    }
}
