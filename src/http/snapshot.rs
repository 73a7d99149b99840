//! A conversation as it is now, and its past by pages.

use std::collections::VecDeque;

use actix_web::{HttpRequest, web};
use harness_actors::broadcast::Turn;
use harness_actors::conversation::{INTERRUPTED, event, state, usage};
use harness_actors::directory::Conversation;
use harness_actors::journal::{Entry, Header, Journal, PageLimit};
use harness_actors::messages::{GetOverview, Overview};
use harness_protocol::{
    ContextFile, ConversationState, Damage, History, PastEvent, Snapshot, State, Summary,
};
use serde::Deserialize;

use super::conversations::{Name, ask, ask_conversation, open, query};
use super::problem::{Answer, Kind, Refusal};
use super::queue::in_order;
use super::server::Shared;
use super::{lent, skills};

/// How many of the last events a snapshot holds unless it is asked for another number.
pub(super) const TAIL: usize = 100;
/// How many events a page holds at most.
const MAX_EVENTS: usize = 1000;
/// How many bytes of the journal a page is made of at most, as long as it has one event.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Which part of the past is wanted.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct PastQuery {
    /// Only records before this one.
    before: Option<u64>,
    /// Only records behind this one.
    after: Option<u64>,
    /// How many events.
    limit: Option<usize>,
    /// How many events, in a snapshot.
    tail: Option<usize>,
}

/// The conversation as it is now, with the last events.
pub(super) async fn read(request: HttpRequest, id: Name, shared: web::Data<Shared>) -> Answer {
    let PastQuery { tail, .. } = query(&request)?;
    let (conversation, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| Kind::Unreadable.refuse(error.to_string()))?;
    skills::refresh(&shared).await;
    let (turn, snapshot) =
        snapshot(&shared, &conversation, &overview, tail.unwrap_or(TAIL)).await?;
    Ok(lent::json(&shared.answers, turn, &snapshot).await)
}

/// A page of the past.
pub(super) async fn history(request: HttpRequest, id: Name, shared: web::Data<Shared>) -> Answer {
    let PastQuery {
        before,
        after,
        limit,
        ..
    } = query(&request)?;
    let conversation = open(&shared, &id).await?;
    let journal = &conversation.journal;
    let turn = lent::turn(&shared).await?;
    let end = journal.end().seq;
    let limit = limit.unwrap_or(TAIL);
    let page = match (before, after) {
        (Some(_), Some(_)) => {
            let detail = "give either `before` or `after`, not both";
            return Err(Kind::BadRequest.refuse(detail));
        }
        (None, Some(after)) => page_behind(&**journal, after, end, limit).await?,
        (before, None) => {
            let end = before.map_or(end, |before| before.saturating_sub(1).min(end));
            page_up_to(&**journal, end, limit).await?
        }
    };
    Ok(lent::json(&shared.answers, turn, &page).await)
}

/// The conversation as it was looked at, and the turn in which it was, which is to end when the
/// answer is made.
///
/// # Errors
/// The answer, if it cannot be read.
pub(super) async fn snapshot(
    shared: &Shared,
    conversation: &Conversation,
    overview: &Overview,
    tail: usize,
) -> Result<(Turn, Snapshot), Refusal> {
    let journal = &conversation.journal;
    let damage = journal.check().await;
    let damage = damage.map_err(|error| Kind::Unreadable.refuse(error.to_string()))?;
    let turn = lent::turn(shared).await?;
    let seq = overview.position.seq;
    let header = journal.header();
    let is_interrupted = overview.run.is_some() && !overview.is_running;
    let (state, message) = if is_interrupted {
        (State::Error, INTERRUPTED.to_owned())
    } else {
        let status = &overview.status;
        (state(status.activity), status.message.clone())
    };
    let changed = overview.totals.settings.as_deref().cloned();
    let settings = changed.unwrap_or_else(|| header.settings.clone());
    let is_told = settings.context_files.unwrap_or(shared.tells_context_files);
    let snapshot = Snapshot {
        summary: summary(header.clone(), overview),
        state,
        message,
        settings: settings.into(),
        queue: in_order(&overview.totals),
        context_files: if is_told {
            context_files(shared)
        } else {
            Vec::new()
        },
        forked_from: header.forked_from.map(|from| (from.conversation, from.seq)),
        attached: conversation.attendance.count(),
        history: page_up_to(&**journal, seq, tail).await?,
        position: overview.position.to_string(),
        damage: (!damage.is_none()).then_some(Damage {
            parts: damage.parts,
            bytes: damage.bytes,
            file: damage.file,
        }),
    };
    Ok((turn, snapshot))
}

/// The files whose instructions a model is told.
fn context_files(shared: &Shared) -> Vec<ContextFile> {
    let guidance = shared.guidance.shelf().get();
    let files = guidance.context_files.iter();
    files
        .map(|file| ContextFile {
            path: file.path.clone(),
            bytes: file.text.len() as u64,
        })
        .collect()
}

/// How the conversation is.
pub(super) async fn overview(conversation: &Conversation) -> Result<Overview, Refusal> {
    let overview = ask(conversation.actor.send(GetOverview)).await?;
    overview.map_err(|error| Kind::Unreadable.refuse(error.to_string()))
}

/// The conversation as a list shows it.
pub(super) fn summary(header: Header, overview: &Overview) -> Summary {
    let id = header.conversation.to_string();
    summary_of(id, header.title, header.created_at, overview)
}

/// As [`summary`], of what a list knows.
pub(super) fn summary_of(
    id: String,
    title: Option<String>,
    created_at: u64,
    overview: &Overview,
) -> Summary {
    let state = match overview.run {
        Some(_) if overview.is_running => ConversationState::Running,
        Some(_) => ConversationState::Interrupted,
        None => ConversationState::Idle,
    };
    let totals = &overview.totals;
    Summary {
        id,
        title: totals.title.clone().or(title),
        state,
        run_id: overview.run.map(|run| run.0),
        prompts: totals.prompts,
        turns: totals.turns,
        records: overview.position.seq,
        usage: usage(totals),
        created_at: created_at / 1000,
        active_at: overview.active_at.max(created_at) / 1000,
        error: None,
    }
}

/// The last events up to record `end`.
async fn page_up_to(journal: &dyn Journal, end: u64, limit: usize) -> Result<History, Refusal> {
    let limit = limit.min(MAX_EVENTS);
    let mut after = end.saturating_sub(limit as u64);
    let mut kept: VecDeque<Entry> = VecDeque::new();
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
    // Where nothing can be read, the past goes on before it.
    let start = end.saturating_sub(limit as u64);
    let first = kept.front().map_or(start + 1, |entry| entry.position.seq);
    Ok(History {
        before: (first > 1).then_some(first),
        after: None,
        events: kept.iter().map(past_event).collect(),
    })
}

/// The events behind record `after`.
async fn page_behind(
    journal: &dyn Journal,
    after: u64,
    end: u64,
    limit: usize,
) -> Result<History, Refusal> {
    if after >= end {
        return Ok(History::default());
    }
    let page = read_page(journal, after, limit.min(MAX_EVENTS)).await?;
    let last = page.last().map_or(end, |entry| entry.position.seq);
    Ok(History {
        before: None,
        after: (last < end).then_some(last),
        events: page.iter().map(past_event).collect(),
    })
}

/// A page of the journal behind record `after`.
pub(super) async fn read_page(
    journal: &dyn Journal,
    after: u64,
    records: usize,
) -> Result<Vec<Entry>, Refusal> {
    let limit = PageLimit {
        records: records.max(1),
        bytes: MAX_BYTES,
    };
    let page = journal.read(after, limit).await;
    page.map(|page| page.entries)
        .map_err(|error| Kind::Unreadable.refuse(error.to_string()))
}

fn past_event(entry: &Entry) -> PastEvent {
    PastEvent {
        seq: entry.position.seq,
        id: entry.position.to_string(),
        event: event(&entry.record, entry.at / 1000),
    }
}
