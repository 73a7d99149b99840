//! Copying a journal that is replaced meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::journal::{
    AppendError, Durability, Epoch, JournalDamage, JournalEntry, JournalPage, MemoryStore,
    PageLimit, Position, Replaced,
};
use crate::storage::StorageFuture;

fn renamed(title: &str) -> NewRecord {
    NewRecord {
        at: 7,
        record: Record::Renamed {
            title: title.to_owned(),
            by: None,
        },
    }
}

/// Reads one record at a time. Before the read of that number it is replaced by a journal with
/// these titles.
struct Moving {
    inner: Arc<dyn Journal>,
    reads: AtomicUsize,
    replaced_before: usize,
    titles: &'static [&'static str],
}

impl Journal for Moving {
    fn header(&self) -> Header {
        self.inner.header()
    }

    fn end(&self) -> Position {
        self.inner.end()
    }

    fn append(
        &self,
        expected: u64,
        records: Vec<NewRecord>,
        durability: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>> {
        self.inner.append(expected, records, durability)
    }

    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>> {
        let number = self.reads.fetch_add(1, Ordering::Relaxed);
        let inner = Arc::clone(&self.inner);
        let titles = (number == self.replaced_before).then_some(self.titles);
        let limit = PageLimit {
            records: 1,
            ..limit
        };
        Box::pin(async move {
            if let Some(titles) = titles {
                let header = Header {
                    epoch: Epoch::random(),
                    ..inner.header()
                };
                let entries = titles.iter().map(|title| renamed(title).to_json().unwrap());
                let end = inner.end().seq;
                inner.replace(end, header, entries.collect()).await.unwrap();
            }
            inner.read(after, limit).await
        })
    }

    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>> {
        self.inner.check()
    }

    fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<Replaced, AppendError>> {
        self.inner.replace(expected, header, entries)
    }
}

/// All records of a journal.
async fn everything(journal: &dyn Journal) -> Vec<JournalEntry> {
    let limit = PageLimit {
        records: 99,
        bytes: usize::MAX,
    };
    journal.read(0, limit).await.unwrap().entries
}

/// Copies a journal of the titles a to d that is replaced before that read.
async fn copied(
    replaced_before: usize,
    titles: &'static [&'static str],
    seq: Option<u64>,
) -> Result<(u64, Vec<String>), ForkError> {
    let store = MemoryStore::new(Clock::system());
    let old = ["a", "b", "c", "d"].map(|title| renamed(title).to_json().unwrap());
    let header = Header::new(ConversationId::new("c"), 7);
    let inner = store.create(header, old.into()).await.unwrap();
    let moving = Arc::new(Moving {
        inner,
        reads: AtomicUsize::new(0),
        replaced_before,
        titles,
    });
    let head = |past: &Header, seq: u64| Header {
        title: Some(seq.to_string()),
        ..Header::new(ConversationId::new("fork"), past.created_at)
    };
    let fork = fork(&store, moving, seq, 9, head).await?;
    let titles = everything(&*fork).await.into_iter().map(|entry| {
        let json: serde_json::Value = serde_json::from_slice(&entry.json).unwrap();
        json["data"]["title"].as_str().unwrap().to_owned()
    });
    let seq = fork.header().title.unwrap().parse().unwrap();
    Ok((seq, titles.collect()))
}

/// Spec: [JRNL-90]
#[actix::test]
async fn a_fork_is_of_one_past_even_if_it_is_replaced_meanwhile() {
    let whole = |titles: &[&str]| {
        let titles: Vec<String> = titles.iter().map(|&title| title.to_owned()).collect();
        Ok((titles.len() as u64, titles))
    };
    assert_eq!(copied(99, &["x"], None).await, whole(&["a", "b", "c", "d"]));
    // Shorter, as long and longer ones, before the first read and later.
    for before in 0..4 {
        for titles in [
            &["x"][..],
            &["x", "y", "z", "w"],
            &["1", "2", "3", "4", "5"],
        ] {
            assert_eq!(
                copied(before, titles, None).await,
                whole(titles),
                "{before}"
            );
        }
    }
}

/// Spec: [JRNL-90]
#[actix::test]
async fn a_place_that_is_gone_meanwhile_is_no_place_to_fork_at() {
    let refused = copied(1, &["x"], Some(3)).await;
    assert_eq!(refused, Err(ForkError::NoSuchRecord { seq: 3, end: 1 }));
}

/// Spec: [CONV-173]
#[actix::test]
async fn a_fork_reads_on_when_what_was_read_is_taken() {
    const RECORDS: u64 = 20;
    let store = MemoryStore::new(Clock::system());
    let old = (0..RECORDS).map(|number| renamed(&number.to_string()).to_json().unwrap());
    let header = Header::new(ConversationId::new("c"), 7);
    let inner = store.create(header, old.collect()).await.unwrap();
    let moving = Arc::new(Moving {
        inner,
        reads: AtomicUsize::new(0),
        replaced_before: usize::MAX,
        titles: &[],
    });
    let (sender, mut entries) = JournalEntries::channel();
    let journal: Arc<dyn Journal> = moving.clone();
    // What is at the end of the journal is looked at first, one time.
    let copying = ForkOrigin::open(&journal, None).unwrap().copy(sender, 9);
    let copying = actix::spawn(copying);
    let mut taken = 0;
    loop {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let looked = 4 + RECORDS;
        let ahead = moving.reads.load(Ordering::Relaxed) as u64 - looked - taken;
        assert!(
            ahead <= 3,
            "{ahead} records were read ahead of record {taken}"
        );
        let part = entries.next().await.unwrap();
        if part.is_empty() {
            break;
        }
        taken += part.len() as u64;
    }
    assert_eq!(taken, RECORDS);
    assert!(copying.await.unwrap().is_ok());
    // A fork that takes no more ends the copy.
    let (sender, entries) = JournalEntries::channel();
    drop(entries);
    let refused = ForkOrigin::open(&journal, None)
        .unwrap()
        .copy(sender, 9)
        .await;
    assert!(matches!(refused, Err(ForkStopped::Refused)), "{refused:?}");
}
