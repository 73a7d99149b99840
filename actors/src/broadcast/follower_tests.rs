#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::future::{FutureExt as _, ready};
use harness_protocol::{DeltaKind, Event};
use proptest::prelude::*;
use proptest::sample::select;

use super::super::actor::tests::{at, decoded, idle, text};
use super::super::{Attendance, BroadcastActor, Frame, STREAM_BYTES, STREAM_GRACE};
use super::*;
use crate::broadcast::messages::{CloseSubscribers, Publish};
use crate::event::event;
use crate::ids::ConversationId;
use crate::journal::{
    Activity, AppendError, Durability, Header, JournalDamage, JournalEntry, JournalPage,
    MemoryJournal, NewRecord, PageLimit, Record, Replaced,
};
use crate::reply::Block;
use crate::send::tell;
use crate::storage::{StorageError, StorageFuture};

const ALL: u64 = 3000;

pub(in super::super) fn memory() -> Arc<MemoryJournal> {
    let header = Header::new(ConversationId::new("c"), 0);
    Arc::new(MemoryJournal::new(header))
}

pub(in super::super) fn broadcaster(position: Position) -> Addr<BroadcastActor> {
    let id = ConversationId::new("c");
    BroadcastActor::new(id, position, idle(), Attendance::default()).start()
}

fn follower(
    journal: Arc<dyn Journal>,
    broadcast: &Addr<BroadcastActor>,
    view: EventView,
    start: FollowerStart,
) -> Follower {
    within(&budget(), journal, broadcast, view, start)
}

fn budget() -> ReadBudget {
    ReadBudget::new(STREAM_BYTES, STREAM_GRACE)
}

pub(in super::super) fn within(
    budget: &ReadBudget,
    journal: Arc<dyn Journal>,
    broadcast: &Addr<BroadcastActor>,
    view: EventView,
    start: FollowerStart,
) -> Follower {
    let source = FollowerSource {
        journal,
        broadcast: broadcast.clone().recipient(),
        attendance: Attendance::default(),
        budget: budget.clone(),
    };
    Follower::new(source, view, None, start)
}

/// Behind that record of the journal as it is.
pub(in super::super) fn behind(journal: &dyn Journal, seq: u64) -> FollowerStart {
    let start = Position::start(journal.end().epoch);
    FollowerStart::Behind(Position { seq, ..start })
}

pub(in super::super) fn status(message: &str) -> Record {
    Record::Status {
        activity: Activity::Thinking,
        message: message.to_owned(),
    }
}

/// Appends a record and tells what to publish.
pub(in super::super) fn write(journal: &MemoryJournal, record: Record) -> Publish {
    let event = event(&record, 1);
    let records = vec![NewRecord { at: 1000, record }];
    let appended = journal.append(journal.end().seq, records, Durability::Written);
    let position = appended.now_or_never().unwrap().unwrap()[0];
    Publish::Lasting { position, event }
}

/// The events that one client saw, checked as they come.
#[derive(Default)]
struct Seen {
    seqs: Vec<u64>,
    live_from: Option<u64>,
    /// The open block, as far as it came since the client was live.
    open: Option<(u64, String)>,
    finished_blocks: u64,
    ended: Option<StreamEndReason>,
}

impl Seen {
    fn take(&mut self, followed: Followed) {
        let bytes = match followed {
            Followed::Frame(bytes) => bytes,
            Followed::Live(position) => {
                assert_eq!(self.live_from.replace(position.seq), None);
                return;
            }
            Followed::Ended(end) => {
                self.ended = Some(end);
                return;
            }
        };
        let frame = std::str::from_utf8(&bytes).unwrap();
        let id = frame
            .strip_prefix("id: ")
            .map(|rest| rest.split_once('\n').unwrap().0);
        // What tells that a client is live repeats where it began.
        let is_record = !matches!(decoded(&bytes), Event::Attached { .. });
        if let Some(id) = id.filter(|_| is_record) {
            let position: Position = id.parse().unwrap();
            self.seqs.push(position.seq);
        }
        match decoded(&bytes) {
            Event::Attached { .. } => self.open = None,
            Event::Delta {
                index,
                offset,
                text,
                ..
            } => {
                assert!(index >= self.finished_blocks, "a piece of what is finished");
                if offset == 0 {
                    self.open = Some((index, text));
                    return;
                }
                let (open, so_far) = self.open.as_mut().unwrap();
                assert_eq!((*open, so_far.len() as u64), (index, offset));
                so_far.push_str(&text);
            }
            Event::Text { content, .. } => {
                let (number, _) = content.split_once(':').unwrap();
                let number: u64 = number.parse().unwrap();
                if let Some((open, so_far)) = self.open.take() {
                    assert_eq!(open, number);
                    assert!(content.starts_with(&so_far));
                }
                self.finished_blocks = number + 1;
            }
            _ => {}
        }
    }

    /// Takes what is there, at most so much.
    fn poll(&mut self, follower: &mut Follower, most: usize) {
        for _ in 0..most {
            match follower.next().now_or_never() {
                Some(Some(followed)) => self.take(followed),
                Some(None) | None => return,
            }
        }
    }
}

/// How a reader reads: how much at every so many-th record, and where it starts.
#[derive(Debug, Clone)]
struct Reading {
    every: u64,
    most: usize,
    /// At which record it attaches.
    attaches: u64,
    /// How many records before that it starts; none to start live.
    behind: Option<u64>,
    view: EventView,
}

fn reading() -> impl Strategy<Value = Reading> {
    let every = prop_oneof![1..10_u64, 100..800_u64, 2000..4000_u64];
    let most = prop_oneof![1..20_usize, 100..3000_usize];
    let behind = prop::option::weighted(0.7, 0..ALL);
    let view = select(vec![EventView::Full, EventView::Full, EventView::Plain]);
    (every, most, 0..ALL, behind, view).prop_map(|(every, most, attaches, behind, view)| Reading {
        every,
        most,
        attaches,
        behind,
        view,
    })
}

async fn follow(readings: &[Reading], size: usize, pause: u64) {
    let journal = memory();
    let broadcast = broadcaster(journal.end());
    let to = broadcast.clone().recipient();
    let mut readers: Vec<Option<(Follower, Seen, u64)>> = readings.iter().map(|_| None).collect();
    let mut block = 0;
    for seq in 1..=ALL {
        let is_block = !seq.is_multiple_of(3);
        if is_block {
            let content = format!("{block}:{}", "x".repeat(size));
            let (first, rest) = content.split_at(content.len() / 2);
            for (offset, piece) in [(0, first), (first.len(), rest)] {
                let delta = Event::Delta {
                    index: block,
                    kind: DeltaKind::Text,
                    offset: offset as u64,
                    text: piece.to_owned(),
                };
                tell(&to, Publish::Passing(delta));
                if seq.is_multiple_of(pause) {
                    tokio::task::yield_now().await;
                }
            }
            let record = Record::Block {
                duration_ms: None,
                index: 0,
                block: Block::text(&content),
                partial: false,
            };
            tell(&to, write(&journal, record));
            block += 1;
        } else {
            // The plain view does not show these.
            let title = "t".to_owned();
            tell(&to, write(&journal, Record::Renamed { title, by: None }));
        }
        if seq.is_multiple_of(pause) {
            tokio::task::yield_now().await;
        }
        for (reader, reading) in readers.iter_mut().zip(readings) {
            if seq == reading.attaches + 1 {
                let start = reading.behind.map(|behind| seq.saturating_sub(behind + 1));
                let from = start.map_or(FollowerStart::Live, |seq| behind(&*journal, seq));
                let journal = Arc::clone(&journal) as Arc<dyn Journal>;
                let follower = follower(journal, &broadcast, reading.view, from);
                *reader = Some((follower, Seen::default(), start.unwrap_or_default()));
            }
            if let Some((follower, seen, _)) = reader
                && seq.is_multiple_of(reading.every)
            {
                seen.poll(follower, reading.most);
            }
        }
    }
    let closing = CloseSubscribers(Closing::Stopping);
    let mut left = readers.len();
    for (reader, reading) in readers.iter_mut().zip(readings) {
        let (follower, seen, _) = reader.as_mut().unwrap();
        if reading.behind.is_none() && seen.live_from.is_none() {
            seen.take(follower.next().await.unwrap());
        }
        while seen.seqs.last().is_none_or(|last| *last < ALL - 1) && seen.live_from != Some(ALL) {
            seen.take(follower.next().await.unwrap());
        }
        left -= 1;
        if left == 0 {
            broadcast.send(closing).await.unwrap();
        }
    }
    for (reader, reading) in readers.into_iter().zip(readings) {
        let (mut follower, mut seen, start) = reader.unwrap();
        while let Some(followed) = follower.next().await {
            seen.take(followed);
        }
        assert_eq!(seen.ended, Some(StreamEndReason::Closed(Closing::Stopping)));
        let first = seen.live_from.unwrap_or(start) + 1;
        let is_shown = |seq: &u64| reading.view == EventView::Full || !seq.is_multiple_of(3);
        let expected: Vec<u64> = (first..=ALL).filter(is_shown).collect();
        assert_eq!(seen.seqs, expected, "{reading:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Spec: [HTTP-31] [HTTP-35] [EVENT-11]
    #[test]
    fn every_client_gets_each_record_once_and_in_order_however_slow_it_is(
        readings in prop::collection::vec(reading(), 1..6),
        size in select(vec![10_usize, 700, 1500]),
        pause in select(vec![1_u64, 7, 500]),
    ) {
        actix::System::new().block_on(follow(&readings, size, pause));
    }
}

/// A journal with these records, which counts how often it is read.
struct Fake {
    entries: Mutex<Vec<JournalEntry>>,
    end: u64,
    error: Option<StorageError>,
    reads: AtomicU64,
}

impl Fake {
    fn new(seqs: &[u64], end: u64) -> Self {
        let entry = |seq: &u64| JournalEntry {
            position: at(*seq),
            at: 1000,
            record: status(&seq.to_string()),
            json: Bytes::new(),
        };
        Self {
            entries: Mutex::new(seqs.iter().map(entry).collect()),
            end,
            error: None,
            reads: AtomicU64::new(0),
        }
    }
}

fn unused<T: Send + 'static>() -> StorageFuture<Result<T, AppendError>> {
    let (expected, end) = (0, 0);
    Box::pin(ready(Err(AppendError::Conflict { expected, end })))
}

impl Journal for Fake {
    fn header(&self) -> Header {
        Header::new(ConversationId::new("c"), 0)
    }

    fn end(&self) -> Position {
        at(self.end)
    }

    fn append(
        &self,
        _: u64,
        _: Vec<NewRecord>,
        _: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>> {
        unused()
    }

    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(error) = &self.error {
            return Box::pin(ready(Err(error.clone())));
        }
        let entries = self.entries.lock().unwrap();
        let behind = entries.iter().filter(|entry| entry.position.seq > after);
        let mut page = JournalPage {
            entries: behind.cloned().collect(),
            at_end: true,
        };
        page.at_end = page.entries.len() <= limit.records;
        page.entries.truncate(limit.records);
        Box::pin(ready(Ok(page)))
    }

    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>> {
        Box::pin(ready(Ok(JournalDamage::default())))
    }

    fn replace(
        &self,
        _: u64,
        _: Header,
        _: Vec<Bytes>,
    ) -> StorageFuture<Result<Replaced, AppendError>> {
        unused()
    }
}

/// The items that are there after all actors had time.
pub(in super::super) async fn seen(follower: &mut Follower) -> Vec<Followed> {
    let mut seen = Vec::new();
    for _ in 0..50 {
        tokio::task::yield_now().await;
        while let Some(Some(followed)) = follower.next().now_or_never() {
            seen.push(followed);
        }
    }
    seen
}

fn frames(seen: &[Followed]) -> Vec<String> {
    let frame = |followed: &Followed| match followed {
        Followed::Frame(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => format!("{other:?}"),
    };
    seen.iter().map(frame).collect()
}

fn shown(seq: u64) -> String {
    let event = event(&status(&seq.to_string()), 1);
    let frame = Frame::lasting(at(seq), &event);
    String::from_utf8(frame.bytes(EventView::Full).unwrap().to_vec()).unwrap()
}

/// Spec: [EVENT-15]
#[actix::test]
async fn what_cannot_be_read_is_told() {
    for (seqs, end, after, before) in [(vec![1, 2, 5], 5, 2, 5), (vec![1, 2], 4, 2, 5)] {
        let journal = Arc::new(Fake::new(&seqs, end));
        let broadcast = broadcaster(at(end));
        let start = behind(&*journal, 0);
        let mut plain = follower(journal.clone(), &broadcast, EventView::Plain, start);
        let comment = ": records 3 to 4 cannot be read\n\n".to_owned();
        let mut expected = vec![shown(1), shown(2), comment];
        expected.extend((before..=end).map(shown));
        assert_eq!(frames(&seen(&mut plain).await), expected);

        let start = behind(&*journal, 1);
        let mut full = follower(journal, &broadcast, EventView::Full, start);
        let seen = seen(&mut full).await;
        let Followed::Frame(gap) = &seen[1] else {
            panic!("{seen:?}");
        };
        assert_eq!(decoded(gap), Event::Gap { after, before });
        assert_eq!(seen.len() as u64, 3 + (end + 1 - before));
    }
}

/// Spec: [HTTP-36]
#[actix::test]
async fn a_journal_that_cannot_be_read_ends_the_stream_with_the_reason() {
    let mut journal = Fake::new(&[1], 1);
    let error = StorageError {
        doing: "read".to_owned(),
        path: "x".to_owned(),
        reason: "no".to_owned(),
    };
    journal.error = Some(error.clone());
    let broadcast = broadcaster(at(1));
    let start = behind(&journal, 0);
    let mut client = follower(Arc::new(journal), &broadcast, EventView::Plain, start);
    let ended = Followed::Ended(StreamEndReason::Unreadable(error.to_string()));
    assert_eq!(client.next().await, Some(ended));
    assert_eq!(client.next().await, None);
}

/// Spec: [HTTP-34]
#[actix::test]
async fn a_closed_broadcaster_ends_followers_behind_what_it_sent_them() {
    for closing in [Closing::Stopping, Closing::Deleted] {
        let journal = memory();
        let broadcast = broadcaster(journal.end());
        let start = behind(&*journal, 0);
        let mut client = follower(journal.clone(), &broadcast, EventView::Plain, start);
        assert_eq!(seen(&mut client).await, []);
        tell(&broadcast.clone().recipient(), write(&journal, status("x")));
        broadcast.send(CloseSubscribers(closing)).await.unwrap();
        let seen = seen(&mut client).await;
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1], Followed::Ended(StreamEndReason::Closed(closing)));
        assert_eq!(client.next().await, None);
    }
}

/// Spec: [HTTP-37]
#[actix::test]
async fn what_the_broadcaster_has_not_shown_is_not_read_ahead_of_it() {
    tokio::time::pause();
    let journal = Arc::new(Fake::new(&[1, 2, 3, 4, 5], 5));
    let broadcast = broadcaster(at(3));
    let start = behind(&*journal, 0);
    let mut client = follower(journal.clone(), &broadcast, EventView::Plain, start);
    assert_eq!(
        frames(&seen(&mut client).await),
        [shown(1), shown(2), shown(3)]
    );
    // Its start was read from the journal.
    let start = behind(&*journal, 5);
    let mut ahead = follower(journal.clone(), &broadcast, EventView::Plain, start);
    assert_eq!(seen(&mut ahead).await, []);
    let reads = journal.reads.load(Ordering::Relaxed);
    assert!(reads < 5, "it was read {reads} times");

    let to = broadcast.recipient();
    for seq in 4..=6 {
        let event = event(&status(&seq.to_string()), 1);
        let position = at(seq);
        tell(&to, Publish::Lasting { position, event });
    }
    assert_eq!(
        frames(&seen(&mut client).await),
        [shown(4), shown(5), shown(6)]
    );
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(frames(&seen(&mut ahead).await), [shown(6)]);
    tell(&to, Publish::Passing(text("passing")));
}

/// Puts a journal with other records in place of the one there is.
pub(in super::super) fn rewrite(journal: &MemoryJournal, messages: &[&str]) -> Position {
    let entry = |message: &&str| {
        let record = status(message);
        NewRecord { at: 2000, record }.to_json().unwrap()
    };
    let header = Header::new(ConversationId::new("c"), 0);
    let entries = messages.iter().map(entry).collect();
    let replacing = journal.replace(journal.end().seq, header, entries);
    replacing.now_or_never().unwrap().unwrap().position
}

/// Spec: [EVENT-19]
#[actix::test]
async fn a_journal_that_is_replaced_ends_every_stream_and_mixes_none() {
    tokio::time::pause();
    let replaced = Followed::Ended(StreamEndReason::Closed(Closing::Replaced));
    // Shorter than the old one, as long, and longer; told to the broadcaster at once or later.
    for (count, told_later) in [(1, true), (400, false), (400, true), (900, true)] {
        let journal = memory();
        let broadcast = broadcaster(journal.end());
        let to = broadcast.clone().recipient();
        let mut live = follower(
            journal.clone(),
            &broadcast,
            EventView::Full,
            FollowerStart::Live,
        );
        for number in 0..400 {
            tell(&to, write(&journal, status(&format!("old {number}"))));
        }
        let start = behind(&*journal, 0);
        let mut past = follower(journal.clone(), &broadcast, EventView::Full, start);
        let mut before = Vec::new();
        while before.len() < 3 {
            before.push(past.next().await.unwrap());
        }
        let shown = seen(&mut live).await;
        assert!(shown.len() > 1);
        let position = rewrite(&journal, &vec!["new"; count]);
        let mut early = follower(
            journal.clone(),
            &broadcast,
            EventView::Full,
            FollowerStart::Live,
        );
        let early_start = behind(&*journal, position.seq);
        let mut waits = follower(journal.clone(), &broadcast, EventView::Full, early_start);
        if !told_later {
            tell(&to, Publish::Rewritten { position });
        }
        let mut rest = seen(&mut past).await;
        if told_later {
            assert_eq!(seen(&mut live).await, []);
            assert_eq!(seen(&mut waits).await, []);
            tell(&to, Publish::Rewritten { position });
            rest.extend(seen(&mut past).await);
        }
        assert_eq!(rest.pop().as_ref(), Some(&replaced));
        let text = frames(&[before, rest].concat()).concat();
        assert!(!text.contains("new") && !text.contains("gap"), "{text}");
        assert_eq!(seen(&mut live).await, std::slice::from_ref(&replaced));
        assert_eq!(live.next().await, None);
        let mut early = seen(&mut early).await;
        let is_new = early[0] == Followed::Live(position);
        if !is_new {
            assert_eq!(early.pop().as_ref(), Some(&replaced));
        }
        assert!(!frames(&early).concat().contains("gap"));

        // Those who know the new journal are served at once, or as soon as the broadcaster is.
        tell(&to, write(&journal, status("next")));
        let end = journal.end();
        let mut fresh = follower(
            journal.clone(),
            &broadcast,
            EventView::Full,
            behind(&*journal, 0),
        );
        for client in [&mut waits, &mut fresh] {
            let mut shown = seen(client).await;
            tokio::time::sleep(2 * PUBLISHING).await;
            shown.extend(seen(client).await);
            let text = frames(&shown).concat();
            assert!(!text.contains("old"), "{text}");
            assert_eq!(text.matches(&format!("id: {end}")).count(), 1, "{text}");
        }
        let old = Position {
            epoch: crate::journal::Epoch(1),
            ..end
        };
        let start = FollowerStart::Behind(old);
        let mut stale = follower(journal.clone(), &broadcast, EventView::Full, start);
        assert_eq!(seen(&mut stale).await, std::slice::from_ref(&replaced));
    }
}
