use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::poll_fn;

use super::super::follower::tests::{behind, broadcaster, memory, rewrite, status, within, write};
use super::super::{Followed, Follower, STREAM_GRACE};
use super::*;
use crate::broadcast::messages::Publish;
use crate::journal::MemoryJournal;
use crate::send::tell;

/// A journal of records of so many bytes.
fn journal_of(sizes: &[usize]) -> Arc<MemoryJournal> {
    let journal = memory();
    for size in sizes {
        write(&journal, status(&"x".repeat(*size)));
    }
    journal
}

/// The bytes of a client that reads all of a journal as it is.
async fn whole(journal: &Arc<MemoryJournal>) -> Vec<u8> {
    let budget = ReadBudget::new(usize::MAX, STREAM_GRACE);
    let lack = Lack {
        journal: journal.clone(),
        budget,
        view: EventView::Plain,
        epoch: None,
        after: 0,
        end: journal.end().seq,
    };
    let mut whole = Vec::new();
    let mut after = 0;
    loop {
        let page = Lack {
            after,
            journal: lack.journal.clone(),
            budget: lack.budget.clone(),
            ..lack
        };
        let page = page.read().await.ok().unwrap();
        let LentPage {
            mut loan,
            at,
            is_over,
        } = page;
        while let super::super::Lent::Part(part) = loan.take(usize::MAX) {
            whole.extend_from_slice(&part.bytes);
        }
        if is_over {
            return whole;
        }
        after = at;
    }
}

/// The next piece, if it is there.
fn piece(follower: &mut Follower) -> Option<Option<Followed>> {
    poll_fn(|cx| follower.poll_piece(cx)).now_or_never()
}

fn bytes(followed: Option<Followed>) -> Bytes {
    match followed {
        Some(Followed::Frame(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

/// Spec: [HTTP-74] [HTTP-75]
#[actix::test]
async fn clients_that_stall_at_any_byte_get_every_byte_once_in_the_end() {
    tokio::time::pause();
    let journal = journal_of(&[10, 70_000, 3, 90_000, 50_000, 100, 20_000, 16_000, 64_000]);
    let expected = whole(&journal).await;
    let broadcast = broadcaster(journal.end());
    for seed in 0..20 {
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let budget = ReadBudget::new(200_000, STREAM_GRACE);
        let mut clients: Vec<(Follower, Vec<u8>)> = (0..12)
            .map(|_| {
                let start = behind(&*journal, 0);
                let client = within(
                    &budget,
                    journal.clone(),
                    &broadcast,
                    EventView::Plain,
                    start,
                );
                (client, Vec::new())
            })
            .collect();
        while clients.iter().any(|(_, got)| got.len() < expected.len()) {
            let (client, got) = random.choice(&mut clients).unwrap();
            for _ in 0..random.usize(..6) {
                match piece(client) {
                    Some(followed) => got.extend_from_slice(&bytes(followed)),
                    None => break,
                }
            }
            assert!(budget.lent_bytes() <= 200_000);
            tokio::time::sleep(Duration::from_millis(random.u64(..100))).await;
        }
        for (_, got) in &clients {
            assert!(*got == expected);
        }
    }
}

/// Spec: [HTTP-75]
#[actix::test]
async fn a_client_that_reads_is_not_held_up_by_those_that_do_not() {
    tokio::time::pause();
    let journal = journal_of(&[100_000; 20]);
    let broadcast = broadcaster(journal.end());
    let budget = ReadBudget::new(1_000_000, STREAM_GRACE);
    let client = || {
        let start = behind(&*journal, 0);
        within(
            &budget,
            journal.clone(),
            &broadcast,
            EventView::Plain,
            start,
        )
    };
    let mut stalled: Vec<Follower> = Vec::new();
    for _ in 0..300 {
        let mut client = client();
        let first = poll_fn(|cx| client.poll_piece(cx)).await;
        assert_eq!(bytes(first).len(), super::super::PIECE);
        stalled.push(client);
        assert!(budget.lent_bytes() <= 1_000_000);
    }
    let expected = whole(&journal).await;
    let began = tokio::time::Instant::now();
    let mut reads = client();
    let mut got = Vec::new();
    while got.len() < expected.len() {
        let next = poll_fn(|cx| reads.poll_piece(cx)).await;
        got.extend_from_slice(&bytes(next));
    }
    assert!(got == expected);
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

/// Spec: [HTTP-76]
#[actix::test]
async fn behind_a_part_of_an_event_nothing_but_its_rest_is_sent() {
    tokio::time::pause();
    let journal = journal_of(&[100_000]);
    let broadcast = broadcaster(journal.end());
    let budget = ReadBudget::new(150_000, STREAM_GRACE);
    let start = behind(&*journal, 0);
    let mut client = within(&budget, journal.clone(), &broadcast, EventView::Full, start);
    assert!(!client.is_within_event());
    let first = poll_fn(|cx| client.poll_piece(cx)).await;
    assert!(!bytes(first).ends_with(b"\n\n") && client.is_within_event());
    let mut others = [(); 2].map(|()| {
        let start = behind(&*journal, 0);
        within(&budget, journal.clone(), &broadcast, EventView::Full, start)
    });
    for other in &mut others {
        poll_fn(|cx| other.poll_piece(cx)).await;
    }
    let [mut other, _third] = others;
    let position = rewrite(&journal, &["new"]);
    let to = broadcast.recipient();
    tell(&to, Publish::Rewritten { position });
    // What was lent of it was taken back, and it is not to be had any more.
    assert_eq!(poll_fn(|cx| client.poll_piece(cx)).await, None);
    // The other has it, and is told behind it.
    let mut rest = Vec::new();
    while let Some(followed) = poll_fn(|cx| other.poll_piece(cx)).await {
        rest.push(followed);
    }
    let last = Followed::Ended(StreamEndReason::Closed(Closing::Replaced));
    assert_eq!(rest.pop(), Some(last));
    assert!(bytes(rest.pop()).ends_with(b"\n\n"));
}
