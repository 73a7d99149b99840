//! Conversations that begin like others.

use std::sync::Arc;

use actix::prelude::*;
use bytes::Bytes;
use futures_util::future::join;
use harness_protocol::{JobEnd, Settings, Withdrawal};

use super::actor::{DirectoryActor, made};
use super::messages::{ForkConversation, ForkError, MadeConversation};
use crate::conversation::{Ledger, Reading, glance_at};
use crate::ids::ItemId;
use crate::journal::{
    EntriesSender, ForkedFrom, Header, Journal, JournalEntries, JournalStore, NewRecord, OpenError,
    Position, Record,
};
use crate::storage::{StorageError, aside};

/// The reason why a copy was not made.
#[derive(Debug)]
enum ForkStopped {
    /// The journal was replaced while it was read.
    Replaced,
    /// The fork refused further records.
    Refused,
    /// The journal cannot be read.
    Storage(StorageError),
}

/// The origin of a fork: the beginning of a journal.
struct ForkOrigin {
    journal: Arc<dyn Journal>,
    end: Position,
    past: Header,
    /// The last record of it.
    seq: u64,
}

impl ForkOrigin {
    /// The records of a journal up to record `seq`, or all.
    fn open(journal: &Arc<dyn Journal>, seq: Option<u64>) -> Result<Self, ForkError> {
        let end = journal.end();
        let seq = seq.unwrap_or(end.seq);
        if seq > end.seq {
            let end = end.seq;
            return Err(ForkError::NoSuchRecord { seq, end });
        }
        Ok(Self {
            journal: Arc::clone(journal),
            end,
            past: journal.header(),
            seq,
        })
    }

    /// Sends the records to a fork unchanged. A message that waits at that record will be sent by the origin: in a fork
    /// it is withdrawn. The blocks that are unfinished at the end of the journal are copied with their content so far.
    /// Half of either past would make a wrong past: if the journal is replaced meanwhile, the fork is not made.
    async fn copy(self, fork: EntriesSender, now_millis: u64) -> Result<(), ForkStopped> {
        let journal = &*self.journal;
        let added = added_entries(journal, self.seq, now_millis).await;
        let added = added.map_err(ForkStopped::Storage)?;
        let mut reading = Reading::new(journal, 0, self.seq);
        while let Some(entries) = reading.next().await.map_err(ForkStopped::Storage)? {
            let entries = entries.into_iter().map(|entry| entry.json).collect();
            if !fork.send(entries).await {
                return Err(ForkStopped::Refused);
            }
        }
        if self.journal.end().epoch != self.end.epoch {
            return Err(ForkStopped::Replaced);
        }
        if fork.send(added).await && fork.end().await {
            Ok(())
        } else {
            Err(ForkStopped::Refused)
        }
    }
}

/// Makes a fork of a journal's records up to record `seq`, or of all. A journal that is replaced meanwhile is read
/// again. `head` makes the header of the fork from that of the origin and the last record that it has of it.
async fn fork(
    store: &dyn JournalStore,
    journal: Arc<dyn Journal>,
    seq: Option<u64>,
    now_millis: u64,
    head: impl Fn(&Header, u64) -> Header,
) -> Result<Arc<dyn Journal>, ForkError> {
    loop {
        let origin = ForkOrigin::open(&journal, seq)?;
        let header = head(&origin.past, origin.seq);
        let path = origin.past.conversation.to_string();
        let (sender, entries) = JournalEntries::channel();
        let copying = async move { Ok(origin.copy(sender, now_millis).await) };
        let (copied, created) =
            join(aside(path, copying), store.create_from(header, entries)).await;
        match copied.unwrap_or_else(|error| Err(ForkStopped::Storage(error))) {
            Ok(()) | Err(ForkStopped::Refused) => return created.map_err(ForkError::Open),
            Err(ForkStopped::Storage(error)) => {
                return Err(ForkError::Open(OpenError::Storage(error)));
            }
            Err(ForkStopped::Replaced) => {}
        }
    }
}

/// The records of a fork after those of its origin.
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
    for record in ungranted(&ledger) {
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

/// Takes back in a fork what operators granted to its origin: the mode, the rules, and the approval that
/// is open there.
fn ungranted(ledger: &Ledger) -> Vec<Record> {
    let mut records = Vec::new();
    if let Some(open) = ledger.approvals().open() {
        records.push(Record::ApprovalWithdrawn {
            id: open.id,
            reason: Withdrawal::Forked,
            by: None,
        });
    }
    // They are its origin's.
    for job in ledger.open_jobs() {
        records.push(Record::JobEnded {
            job,
            end: JobEnd::Forked,
            changes: None,
        });
    }
    if !ledger.totals().rules.is_empty() {
        records.push(Record::RulesChanged {
            added: Vec::new(),
            removed: ledger.totals().rules.clone(),
            by: None,
        });
    }
    if let Some(settings) = ledger.settings().filter(|settings| settings.mode.is_some()) {
        records.push(Record::SettingsChanged {
            settings: without_mode(settings),
            by: None,
        });
    }
    records
}

fn without_mode(settings: &Settings) -> Settings {
    Settings {
        mode: None,
        ..settings.clone()
    }
}

impl Handler<ForkConversation> for DirectoryActor {
    type Result = ResponseFuture<Result<MadeConversation, ForkError>>;

    fn handle(&mut self, order: ForkConversation, ctx: &mut Context<Self>) -> Self::Result {
        let ForkConversation { id, seq, title } = order;
        let origin = self.opening(&id, ctx);
        let new = self.new_id();
        let store = Arc::clone(&self.store);
        let copies = Arc::clone(&self.copies);
        let now = self.parts.clock.unix_millis();
        let own = self.own_workspace();
        Box::pin(async move {
            // Held to the end, so that it is not let go and opened a second time.
            let conversation = origin.await.map_err(ForkError::Open)?;
            let origin = Arc::clone(&conversation.journal);
            // It is never closed.
            let _copy = copies.acquire().await.ok();
            let head = |past: &Header, seq| Header {
                title: title.clone().or_else(|| past.title.clone()),
                settings: without_mode(&past.settings),
                workspace: past.workspace.clone().or_else(|| Some(own.clone())),
                forked_from: Some(ForkedFrom {
                    conversation: id.to_string(),
                    seq,
                }),
                ..Header::new(new.clone(), now)
            };
            let journal = fork(&*store, origin, seq, now, head).await?;
            made(journal).await.map_err(ForkError::Open)
        })
    }
}

#[cfg(test)]
#[path = "fork_tests.rs"]
mod tests;
