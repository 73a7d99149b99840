//! Copying a journal that is replaced meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::journal::{
    AppendError, Damage, Durability, Epoch, JournalStore as _, MemoryStore, Page, PageLimit,
    Position, Replaced,
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

    fn read(&self, after: u64, limit: PageLimit) -> StorageFuture<Result<Page, StorageError>> {
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

    fn check(&self) -> StorageFuture<Result<Damage, StorageError>> {
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
    let copied = copy(moving, seq, 9).await.unwrap()?;
    let titles = copied.entries.iter().map(|json| {
        let json: serde_json::Value = serde_json::from_slice(json).unwrap();
        json["data"]["title"].as_str().unwrap().to_owned()
    });
    Ok((copied.seq, titles.collect()))
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
