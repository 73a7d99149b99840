//! Conversations that begin like others.

use std::sync::Arc;

use actix::prelude::*;
use bytes::Bytes;

use super::actor::{DirectoryActor, made};
use super::messages::{ForkConversation, ForkError, Made};
use crate::conversation::{each_entry, glance_at};
use crate::ids::ItemId;
use crate::journal::{ForkedFrom, Header, Journal, NewRecord, OpenError, Record};
use crate::storage::{StorageError, aside};

/// The beginning of a journal.
#[derive(Debug)]
struct Copied {
    past: Header,
    /// The last record of it.
    seq: u64,
    entries: Vec<Bytes>,
}

/// The records of a journal up to record `seq`, or all. One that is replaced while it is read is
/// read anew: half of either past is no past.
async fn copy(
    journal: Arc<dyn Journal>,
    seq: Option<u64>,
    now_millis: u64,
) -> Result<Result<Copied, ForkError>, StorageError> {
    loop {
        let end = journal.end();
        let seq = seq.unwrap_or(end.seq);
        if seq > end.seq {
            let end = end.seq;
            return Ok(Err(ForkError::NoSuchRecord { seq, end }));
        }
        let entries = copy_entries(&*journal, seq, now_millis).await?;
        let past = journal.header();
        if journal.end().epoch == end.epoch {
            return Ok(Ok(Copied { past, seq, entries }));
        }
    }
}

/// The records of a journal up to `end`, as they stand there. What waits to be said then will be
/// said by the origin: in a fork it is withdrawn. The blocks that are unfinished at the end of the
/// journal are in it as far as they came.
async fn copy_entries(
    journal: &dyn Journal,
    end: u64,
    now_millis: u64,
) -> Result<Vec<Bytes>, StorageError> {
    let added = added_entries(journal, end, now_millis).await?;
    let mut copied = Vec::new();
    each_entry(journal, 0, end, |entry| copied.push(entry.json)).await?;
    copied.extend(added);
    Ok(copied)
}

/// What a fork has behind the records of its origin.
async fn added_entries(
    journal: &dyn Journal,
    end: u64,
    at: u64,
) -> Result<Vec<Bytes>, StorageError> {
    let (ledger, _) = glance_at(journal, end).await?;
    let mut added = Vec::new();
    for record in ledger.sealing() {
        added.push(NewRecord { at, record }.to_json()?);
    }
    let waiting = ledger.totals().queue.iter().map(|item| ItemId(item.item));
    let items: Vec<ItemId> = waiting.collect();
    if !items.is_empty() {
        let withdrawn = NewRecord {
            at,
            record: Record::Withdrawn { items, by: None },
        };
        added.push(withdrawn.to_json()?);
    }
    Ok(added)
}

impl Handler<ForkConversation> for DirectoryActor {
    type Result = ResponseFuture<Result<Made, ForkError>>;

    fn handle(&mut self, order: ForkConversation, ctx: &mut Context<Self>) -> Self::Result {
        let ForkConversation { id, seq, title } = order;
        let origin = self.opening(&id, ctx);
        let fork = self.new_id();
        let store = Arc::clone(&self.store);
        let copies = Arc::clone(&self.copies);
        let now = self.parts.clock.unix_millis();
        let own = self.own_workspace();
        Box::pin(async move {
            // Held to the end, so that it is not let go and opened a second time.
            let conversation = origin.await.map_err(ForkError::Open)?;
            let origin = Arc::clone(&conversation.journal);
            let storage = |error| ForkError::Open(OpenError::Storage(error));
            // It is never closed.
            let _copy = copies.acquire().await.ok();
            let copying = aside(id.to_string(), copy(origin, seq, now));
            let Copied { past, seq, entries } = copying.await.map_err(storage)??;
            let header = Header {
                title: title.or(past.title),
                settings: past.settings,
                workspace: past.workspace.or(Some(own)),
                forked_from: Some(ForkedFrom {
                    conversation: id.to_string(),
                    seq,
                }),
                ..Header::new(fork, now)
            };
            let created = store.create(header, entries).await;
            let journal = created.map_err(ForkError::Open)?;
            made(journal).await.map_err(ForkError::Open)
        })
    }
}

#[cfg(test)]
#[path = "fork_tests.rs"]
mod tests;
