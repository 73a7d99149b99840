//! From the upstream's end of a block to its receipt by every client.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use harness_standin::{Gate, Message, Script, Standin};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::baseline;
use crate::process::{Service, prompt};

const ROUNDS: usize = 40;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for clients in [1, 1000] {
        let (upstream, script) = Standin::scripted().unwrap();
        let service = Service::start(&upstream.base_url());
        let address = service.address;
        let ours = runtime.block_on(measure(address, &script, clients));
        drop(service);
        let (upstream, script) = Standin::scripted().unwrap();
        let address = baseline::start(&upstream);
        let bare = runtime.block_on(measure(address, &script, clients));
        let ratio = ours.p50.as_secs_f64() / bare.p50.as_secs_f64();
        println!(
            "block stop to receipt, {clients:>4} clients: p50 {:?}, p99 {:?} (bare broadcaster: p50 {:?}, p99 {:?}; ratio of p50 {ratio:.2})",
            ours.p50, ours.p99, bare.p50, bare.p99
        );
    }
}

struct Latency {
    p50: Duration,
    p99: Duration,
}

/// The events that a client has seen.
enum Seen {
    Text(Instant),
    End,
}

async fn measure(address: SocketAddr, script: &Script, clients: usize) -> Latency {
    let (seen, mut all_seen) = mpsc::unbounded_channel();
    for _ in 0..clients {
        let stream = attach(address).await;
        tokio::spawn(follow(stream, seen.clone()));
    }
    let mut latencies = Vec::new();
    for round in 0..ROUNDS {
        let gate = Gate::new();
        script.push(Message::new().text("x").gate_after_delta(1, &gate));
        prompt(address, "x").await;
        gate.reached().await;
        // The chunks before the gate have arrived by the time that everybody waits again.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let opened = Instant::now();
        gate.open();
        let mut ended = 0;
        while ended < clients {
            match all_seen.recv().await.expect("the clients are there") {
                // The first rounds warm up.
                Seen::Text(at) if round >= ROUNDS / 10 => latencies.push(at - opened),
                Seen::Text(_) => {}
                Seen::End => ended += 1,
            }
        }
    }
    latencies.sort();
    Latency {
        p50: latencies[latencies.len() / 2],
        p99: latencies[latencies.len() * 99 / 100],
    }
}

async fn attach(address: SocketAddr) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /events HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.contains(": connected") {
        line.clear();
        assert!(stream.read_line(&mut line).await.unwrap() > 0);
    }
    stream
}

async fn follow(mut stream: BufReader<TcpStream>, seen: mpsc::UnboundedSender<Seen>) {
    let mut line = String::new();
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {
        if line.contains("\"type\":\"text\"") {
            drop(seen.send(Seen::Text(Instant::now())));
        } else if line.contains("\"state\":\"idle\"") {
            drop(seen.send(Seen::End));
        }
        line.clear();
    }
}
