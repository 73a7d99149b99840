//! Two hundred conversations that run at once, each with three clients: everybody gets everything.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::{Value, json};

use crate::process::{Service, call, follow_to};

const CONVERSATIONS: usize = 200;
const CLIENTS: usize = 3;
/// The pieces of a reply, a hundred a second.
const PIECES: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(together());
}

async fn together() {
    let reply = |_: &MessagesRequest| -> Reply {
        Message::new()
            .text("word ".repeat(PIECES))
            .words_per_delta(1)
            .delta_pause(PAUSE)
            .into()
    };
    let upstream = Standin::start(reply).unwrap();
    let service = Service::start(&upstream.base_url());
    let address = service.address;
    let mut ids = Vec::new();
    for _ in 0..CONVERSATIONS {
        let made = call(address, "POST", "/v1/conversations", &json!({})).await;
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let clients: Vec<_> = ids
        .iter()
        .flat_map(|id| [id; CLIENTS])
        .map(|id| {
            let path = format!("/v1/conversations/{id}/events?after=0");
            tokio::spawn(follow_to(address, path, "run_ended"))
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (began, cpu) = (Instant::now(), service.processor_time());
    join_all(ids.iter().map(async |id| {
        let path = format!("/v1/conversations/{id}/prompt");
        call(address, "POST", &path, &json!({"content": id})).await;
    }))
    .await;
    let prompted = began.elapsed();
    let wanted = "word ".repeat(PIECES);
    for (number, client) in clients.into_iter().enumerate() {
        let seen: Vec<Value> = client.await.unwrap();
        let of = |kind: &str| seen.iter().filter(|event| event["type"] == kind).count();
        assert_eq!((of("user"), of("run_ended")), (1, 1), "{number}");
        let text = seen.iter().find(|event| event["type"] == "text").unwrap();
        assert_eq!(text["content"], wanted, "{number}");
        let deltas: String = seen
            .iter()
            .filter(|event| event["type"] == "delta")
            .map(|event| event["text"].as_str().unwrap())
            .collect();
        assert_eq!(deltas, wanted, "{number}");
    }
    let took = began.elapsed();
    println!(
        "{CONVERSATIONS} runs at once of {PIECES} pieces, one every {PAUSE:?}, {CLIENTS} clients each: all prompts taken in {prompted:.2?}, everything at everybody after {took:.2?}; {:.2?} of processor, RSS {} kB",
        service.processor_time() - cpu,
        service.kilobytes("VmHWM"),
    );
}
