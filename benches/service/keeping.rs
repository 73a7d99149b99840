//! The cost of keeping a block that is not finished beside the journal: the deltas of a reply a
//! second, with it and without.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, future, stream};
use harness_actors::journal::{
    AppendError, Durability, Header, Journal, JournalDamage, JournalPage, JournalStore as _,
    JsonLinesStore, NewRecord, PageLimit, Position, Replaced,
};
use harness_actors::model::{ModelError, Transport, TransportRequest, TransportStream};
use harness_actors::storage::{StorageError, StorageFuture};
use harness_actors::{Clock, Config, ConversationId, Harness, Options};

const DELTAS: usize = 200_000;
const PAIRS: usize = 10;

pub(crate) fn run() {
    for (what, burst) in [("one at a time", 1), ("in bursts of 64", 64)] {
        let chunks = chunks(burst);
        // The first pair warms up.
        let mut pairs: Vec<(f64, f64)> = (0..=PAIRS).map(|pair| seconds(pair, &chunks)).collect();
        pairs.remove(0);
        let with = median(pairs.iter().map(|(with, _)| *with));
        let without = median(pairs.iter().map(|(_, without)| *without));
        let ratio = median(pairs.iter().map(|(with, without)| with / without));
        println!(
            "deltas that come {what}: {:.0}/s kept beside the journal, {:.0}/s not kept; median ratio of {PAIRS} pairs {ratio:.3}",
            DELTAS as f64 / with,
            DELTAS as f64 / without,
        );
    }
}

/// The durations of the same reply with and without the file, in alternating order.
fn seconds(pair: usize, chunks: &Arc<[Bytes]>) -> (f64, f64) {
    if pair.is_multiple_of(2) {
        let with = reply(chunks, true);
        (with, reply(chunks, false))
    } else {
        let without = reply(chunks, false);
        (reply(chunks, true), without)
    }
}

fn reply(chunks: &Arc<[Bytes]>, is_kept: bool) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    actix::System::new().block_on(async {
        let clock = Clock::system();
        let header = Header::new(ConversationId::new("bench"), clock.unix_millis());
        let journal = JsonLinesStore::at(folder.path(), clock).open_or_new(header);
        let journal = journal.await.unwrap();
        let mut options = Options::new(Config::for_model("any"));
        options.extensions.transport = Some(Arc::new(Deltas(Arc::clone(chunks))));
        options.journal = Some(if is_kept {
            journal
        } else {
            Arc::new(Unkept(journal))
        });
        let harness = Harness::start(options).unwrap();
        let began = Instant::now();
        harness.prompt("go").await.unwrap();
        began.elapsed().as_secs_f64()
    })
}

/// The reply, with so many deltas in each chunk.
fn chunks(burst: usize) -> Arc<[Bytes]> {
    let stream = String::from_utf8(crate::stream(DELTAS)).unwrap();
    let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
    let chunks = events.chunks(burst).map(|events| events.concat().into());
    chunks.collect()
}

/// A model that replies as fast as its reply is taken; each chunk waits for its turn.
struct Deltas(Arc<[Bytes]>);

impl Transport for Deltas {
    fn send(&self, _: TransportRequest) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        let chunks: Vec<Bytes> = self.0.to_vec();
        let stream = stream::iter(chunks).then(async |chunk| {
            tokio::task::yield_now().await;
            Ok(chunk)
        });
        future::ready(Ok(stream.boxed())).boxed()
    }
}

/// A journal that keeps nothing beside its records.
struct Unkept(Arc<dyn Journal>);

impl Journal for Unkept {
    fn header(&self) -> Header {
        self.0.header()
    }

    fn end(&self) -> Position {
        self.0.end()
    }

    fn append(
        &self,
        expected: u64,
        records: Vec<NewRecord>,
        durability: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>> {
        self.0.append(expected, records, durability)
    }

    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>> {
        self.0.read(after, limit)
    }

    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>> {
        self.0.check()
    }

    fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<Replaced, AppendError>> {
        self.0.replace(expected, header, entries)
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}
