//! Clients that come and go while a thousand events a second are shown: the seam between what is
//! read from the journal and what is live.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use harness_standin::Standin;

use crate::crowd::blocks;
use crate::process::{Client, Service, positions, prompt, seq_of};

const ATTACHES: usize = 2000;
const AT_ONCE: usize = 32;
const EVENTS: usize = 60_000;
/// Only an event that never comes takes so long.
const HANG: Duration = Duration::from_secs(60);

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, seam());
}

async fn seam() {
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    let (upstream, script) = Standin::scripted().unwrap();
    let service = Service::start(&upstream.base_url());
    script.push(blocks(EVENTS, 3, Duration::from_millis(1)));
    let address = service.address;
    let mut watch = Client::attach(address, "", "").await;
    prompt(address, "go").await;
    let known = Rc::new(RefCell::new(Vec::<String>::new()));
    known.borrow_mut().push(watch.start.clone());
    let watched = Rc::clone(&known);
    let watching = tokio::task::spawn_local(async move {
        while let Some(id) = watch.next_id().await {
            watched.borrow_mut().push(id);
        }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    let first = known.borrow().len();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut running = Vec::new();
    for worker in 0..AT_ONCE {
        let mut random = random.fork();
        let known = Rc::clone(&known);
        running.push(tokio::task::spawn_local(async move {
            let mut streams = Vec::new();
            for _ in (worker..ATTACHES).step_by(AT_ONCE) {
                streams.push(attach_once(address, &known, &mut random).await);
                tokio::time::sleep(Duration::from_millis(random.u64(..40))).await;
            }
            streams
        }));
    }
    let mut streams = Vec::new();
    for worker in running {
        streams.extend(worker.await.unwrap());
    }
    let rate = (known.borrow().len() - first) as f64 / began.elapsed().as_secs_f64();
    drop(watching);
    let journal = positions(&service.journal());
    let mut events = 0;
    for (start, ids) in &streams {
        let from = usize::try_from(seq_of(start)).unwrap();
        assert_eq!(*ids, journal[from..from + ids.len()], "SEED={seed}");
        events += ids.len();
    }
    println!(
        "{} attaches at {rate:.0} events/s: {events} events, each in its place (SEED={seed})",
        streams.len()
    );
}

/// Attaches somewhere, reads for a moment and leaves; what came.
async fn attach_once(
    address: std::net::SocketAddr,
    known: &RefCell<Vec<String>>,
    random: &mut fastrand::Rng,
) -> (String, Vec<String>) {
    let back = random.usize(..2000);
    let position = {
        let known = known.borrow();
        known[known.len().saturating_sub(back + 1)].clone()
    };
    let (query, headers) = match random.u8(..4) {
        0 => (String::new(), String::new()),
        1 => (format!("?after={position}"), String::new()),
        2 => (format!("?tail={back}"), String::new()),
        _ => (String::new(), format!("last-event-id: {position}\r\n")),
    };
    let mut client = Client::attach(address, &query, &headers).await;
    // On a slow machine the reply may be over before the last ones attach.
    let left = EVENTS.saturating_sub(usize::try_from(seq_of(&client.start)).unwrap());
    let mut ids = Vec::new();
    for _ in 0..random.usize(..back + 200).min(left) {
        let next = tokio::time::timeout(HANG, client.next_id()).await;
        ids.push(next.expect("an event comes").expect("the stream goes on"));
    }
    (client.start, ids)
}
