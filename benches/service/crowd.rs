//! A thousand clients on one conversation: each gets everything, and a stalled one delays no other.

use std::time::{Duration, Instant};

use harness_standin::{Reply, Standin, Step, encode_event};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;

use crate::process::{Client, Service, positions, prompt};

const CLIENTS: usize = 1000;
/// Number of events that each of them gets; `HARNESS_EVENTS` sets another number.
const EVENTS: usize = 2000;
/// Number of events that come at once, and the pause after them.
const BURST: usize = 20;
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) fn run() {
    run_crowd(false);
}

/// The same crowd beside a client that reads nothing.
pub(crate) fn run_beside_stalled() {
    run_crowd(true);
}

fn run_crowd(with_stalled: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (p50, p99) = runtime.block_on(crowd(with_stalled));
    let beside = if with_stalled {
        ", beside a stalled client"
    } else {
        ""
    };
    println!(
        "the last of {CLIENTS} clients has a burst of {BURST} events behind the first{beside}: p50 {p50:?}, p99 {p99:?}"
    );
}

/// A reply of that many blocks that bring one event each.
pub(crate) fn blocks(count: usize, burst: usize, pause: Duration) -> Reply {
    let start = json!({"type": "message_start", "message": {"id": "m"}});
    let mut steps = vec![Step::Send(encode_event(&start))];
    for index in 0..count {
        let data = format!("{index:0>200}");
        for event in [
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "redacted_thinking", "data": data}}),
            json!({"type": "content_block_stop", "index": index}),
        ] {
            steps.push(Step::Send(encode_event(&event)));
        }
        if (index + 1) % burst == 0 {
            steps.push(Step::Sleep(pause));
        }
    }
    for event in [
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ] {
        steps.push(Step::Send(encode_event(&event)));
    }
    Reply::steps("text/event-stream", steps)
}

async fn crowd(with_stalled: bool) -> (Duration, Duration) {
    let events = std::env::var("HARNESS_EVENTS");
    let events = events.map_or(EVENTS, |events| events.parse().unwrap());
    let (upstream, script) = Standin::scripted().unwrap();
    let service = Service::start(&upstream.base_url());
    let mut clients = vec![Client::attach(service.address, "", "").await];
    let first = service.kilobytes("VmRSS");
    let stalled = if with_stalled {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(service.address).await.unwrap();
        let request = format!(
            "GET /v1/conversations/default/events HTTP/1.1\r\nhost: {}\r\n\r\n",
            service.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        Some(stream)
    } else {
        None
    };
    while clients.len() < CLIENTS {
        clients.push(Client::attach(service.address, "", "").await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let each = (service.kilobytes("VmRSS") - first) as f64 / (CLIENTS - 1) as f64;
    println!("{CLIENTS} clients: {each:.1} kB of RSS each over the first");

    script.push(blocks(events, BURST, PAUSE));
    let began = Instant::now();
    let gone = stalled.map(|stalled| {
        let service = service.address.port();
        tokio::spawn(async move {
            let client = stalled.local_addr().unwrap().port();
            while sockets_to(client, service) {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            drop(stalled);
            began.elapsed()
        })
    });
    let following: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            tokio::spawn(async move {
                let mut seen = Vec::with_capacity(events + 16);
                let mut at = Vec::with_capacity(events + 16);
                while seen.len() < events + 8 {
                    seen.push(client.next_id().await.expect("the stream goes on"));
                    at.push(began.elapsed());
                }
                (seen, at)
            })
        })
        .collect();
    prompt(service.address, "go").await;
    let mut all = Vec::new();
    for client in following {
        all.push(client.await.unwrap());
    }
    let took = began.elapsed();
    let expected = positions(&service.journal());
    assert_eq!(expected.len(), events + 8);
    for (seen, _) in &all {
        assert_eq!(
            *seen, expected,
            "a client saw something else than the journal"
        );
    }
    // Each event at each client, against when the first client had it.
    let mut late = Vec::new();
    for place in BURST..events {
        let earliest = all.iter().map(|(_, at)| at[place]).min().unwrap();
        late.extend(all.iter().map(|(_, at)| at[place] - earliest));
    }
    late.sort();
    println!(
        "{CLIENTS} clients x {} events in {:.0} s: all as in the journal; RSS {} kB",
        expected.len(),
        took.as_secs_f64(),
        service.kilobytes("VmRSS"),
    );
    if let Some(gone) = gone {
        let after = tokio::time::timeout(Duration::from_secs(30), gone).await;
        let after = after.expect("the stalled client is let go").unwrap();
        println!(
            "the stalled client was gone {:.0} s after the first event",
            after.as_secs_f64()
        );
    }
    (late[late.len() / 2], late[late.len() * 99 / 100])
}

/// True if the service still has the connection to that client.
fn sockets_to(client: u16, service: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().any(|line| {
        let mut fields = line.split_whitespace();
        let local = fields.nth(1).unwrap_or_default();
        let remote = fields.next().unwrap_or_default();
        local.ends_with(&format!(":{service:04X}")) && remote.ends_with(&format!(":{client:04X}"))
    })
}
