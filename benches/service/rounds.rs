//! A run of a thousand rounds with a tool: no round takes long only because others came before it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::json;

use crate::process::{Service, call, follow_to};

const ROUNDS: usize = 1000;
/// Number of parts in which the run is compared.
const PARTS: usize = 5;
/// The longest that a round may take, in medians.
const MOST: u32 = 5;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(rounds());
}

async fn rounds() {
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let reply = move |_: &MessagesRequest| -> Reply {
        let mut asked = noted.lock().unwrap();
        asked.push(Instant::now());
        let round = asked.len();
        match round <= ROUNDS {
            true => Message::new().tool_use(format!("t{round}"), "list_dir", json!({"path": "."})),
            false => Message::new().text("Done."),
        }
        .into()
    };
    let upstream = Standin::start(reply).unwrap();
    let service = Service::start(&upstream.base_url());
    let settings = json!({"settings": {"max_turns": ROUNDS + 1}});
    let path = "/v1/conversations/default/settings";
    call(service.address, "PATCH", path, &settings).await;
    let events = "/v1/conversations/default/events?after=0".to_owned();
    let client = tokio::spawn(follow_to(service.address, events, "run_ended"));
    let prompt = json!({"content": "look a thousand times"});
    call(service.address, "POST", "/prompt", &prompt).await;
    // What the service itself had of the processor when each part of the run began.
    let mut had = Vec::new();
    while !client.is_finished() {
        if asked.lock().unwrap().len() * PARTS >= had.len() * ROUNDS {
            had.push(service.processor_time());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    client.await.unwrap();
    let asked = asked.lock().unwrap();
    let rounds: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(rounds.len(), ROUNDS);
    for (number, part) in rounds.chunks(ROUNDS / PARTS).enumerate() {
        let (p50, p99) = spread(part);
        let cpu = (had[number + 1] - had[number]) / u32::try_from(part.len()).unwrap();
        println!(
            "rounds with a tool from {}: p50 {p50:.2?}, p99 {p99:.2?}, of the service's own processor {cpu:.2?} each",
            number * ROUNDS / PARTS,
        );
    }
    let (p50, p99) = spread(&rounds);
    println!("all {ROUNDS} rounds: p50 {p50:.2?}, p99 {p99:.2?}");
    assert!(p99 <= p50 * MOST, "a round takes too long");
}

/// The median and the longest but one of a hundred.
fn spread(rounds: &[Duration]) -> (Duration, Duration) {
    let mut sorted = rounds.to_vec();
    sorted.sort();
    (sorted[sorted.len() / 2], sorted[sorted.len() * 99 / 100])
}
