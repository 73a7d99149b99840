//! Long conversations: what a large journal costs to open, and the thousandth turn beside the
//! tenth.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix::prelude::*;
use bytes::Bytes;
use harness_actors::journal::{Header, JournalStore as _, JsonLinesStore};
use harness_actors::{Clock, Config, ConversationId, Harness, standard_tools};
use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::json;

use crate::process::{Client, Service, prompt, seq_of, state};

const RECORDS: u64 = 100_000;
const TURNS: u64 = 1000;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(large_journal());
    runtime.block_on(turns());
    allocations();
}

/// The records of runs with a tool call each, of about 1 KB a record.
fn records(count: u64) -> Vec<Bytes> {
    let text = "a text of some length, as models write it; ".repeat(62);
    let run = |run: u64| {
        let call = format!("toolu_{run}");
        [
            ("run_started", json!({"run": run})),
            ("prompt", json!({"run": run, "content": text})),
            ("turn_started", json!({"run": run, "turn": 1})),
            (
                "block",
                json!({"index": 0, "block": {"type": "text", "text": text}}),
            ),
            (
                "block",
                json!({"index": 1, "block": {"type": "tool_use", "id": call, "name": "read", "input": {"path": "x"}}}),
            ),
            (
                "reply_ended",
                json!({"id": "m", "model": "m", "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 9}, "unanswered": "interrupted"}),
            ),
            (
                "tool_result",
                json!({"id": call, "result": text, "is_error": false}),
            ),
            (
                "turn_ended",
                json!({"run": run, "turn": 1, "outcome": "completed"}),
            ),
            ("turn_started", json!({"run": run, "turn": 2})),
            (
                "block",
                json!({"index": 0, "block": {"type": "text", "text": text}}),
            ),
            (
                "reply_ended",
                json!({"id": "m", "model": "m", "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 9}, "unanswered": "interrupted"}),
            ),
            (
                "turn_ended",
                json!({"run": run, "turn": 2, "outcome": "completed"}),
            ),
            (
                "run_ended",
                json!({"run": run, "outcome": "completed", "message": "", "totals": {"runs": run, "prompts": run, "turns": 2 * run, "input_tokens": 18 * run, "output_tokens": 18 * run, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}),
            ),
            ("status", json!({"activity": "idle", "message": ""})),
        ]
    };
    let records = (1..).flat_map(run).zip(1..=count);
    let line = |((kind, data), seq)| {
        Bytes::from(format!(
            r#"{{"seq":{seq},"at":1763770000000,"type":"{kind}","data":{data}}}"#
        ))
    };
    records.map(line).collect()
}

async fn large_journal() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonLinesStore::at(&state(home.path()), Clock::system());
    let mut header = Header::new(ConversationId::new("default"), 1);
    header.settings.max_tokens = Some(9);
    store.create(header, records(RECORDS)).await.unwrap();
    drop(store);
    let (upstream, script) = Standin::scripted().unwrap();
    script.push(Reply::text("never asked for: the request is too large"));
    let service = Service::start_in(home, &upstream.base_url());
    let file = std::fs::metadata(service.journal()).unwrap().len();
    let megabytes = |kilobytes: u64| kilobytes as f64 / 1e3;
    let before = service.kilobytes("VmRSS");
    println!(
        "a journal of {RECORDS} records, {:.0} MB:",
        file as f64 / 1e6
    );

    let began = Instant::now();
    get(&service, "/v1/conversations").await;
    println!("  listed in {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    let began = Instant::now();
    let mut client = Client::attach(service.address, "?tail=100", "").await;
    while seq_of(&client.next_id().await.unwrap()) < RECORDS {}
    println!(
        "  attached with the last 100 records in {:.1} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    let began = Instant::now();
    get(&service, "/v1/conversations/default").await;
    println!(
        "  described and checked in {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    let began = Instant::now();
    prompt(service.address, "go on").await;
    println!(
        "  revived and prompted in {:.2} s",
        began.elapsed().as_secs_f64()
    );
    println!(
        "  RSS {:.0} MB before, {:.0} MB at most, {:.0} MB alive",
        megabytes(before),
        megabytes(service.kilobytes("VmHWM")),
        megabytes(service.kilobytes("VmRSS")),
    );
    drop(client);
    tokio::time::sleep(Duration::from_secs(40)).await;
    println!(
        "  RSS {:.0} MB when nobody wants it any more",
        megabytes(service.kilobytes("VmRSS"))
    );
}

async fn get(service: &Service, path: &str) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(service.address)
        .await
        .unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        service.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

/// An upstream that reads nothing but lengths, so that it costs the same at any turn. Tells when
/// it had read each request, in nanoseconds since the start.
fn bare_upstream(began: Instant) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicU64::new(0));
    let noted = Arc::clone(&asked);
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a short answer to a short question"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                let line = line.trim().to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            std::io::copy(&mut (&mut stream).take(length), &mut std::io::sink()).unwrap();
            noted.store(
                u64::try_from(began.elapsed().as_nanos()).unwrap(),
                Ordering::SeqCst,
            );
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, asked)
}

/// The time of each turn outside the model: from the prompt to the whole request, and from there
/// to the end of the run.
async fn turns() {
    let began = Instant::now();
    let nanos = || u64::try_from(began.elapsed().as_nanos()).unwrap();
    let (url, asked) = bare_upstream(began);
    let service = Service::start(&url);
    let mut client = Client::attach(service.address, "", "").await;
    let mut before = Vec::new();
    let mut after = Vec::new();
    for _ in 0..TURNS {
        let start = nanos();
        prompt(service.address, "a short question").await;
        // Nine records a run; the last one is its status.
        for _ in 0..9 {
            client.next_id().await.unwrap();
        }
        let asked = asked.load(Ordering::SeqCst);
        before.push(asked - start);
        after.push(nanos() - asked);
    }
    let median = |times: &[u64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[times.len() / 2] as f64 / 1e6
    };
    let last = usize::try_from(TURNS).unwrap() - 65;
    let (b10, a10) = (median(&before[2..67]), median(&after[2..67]));
    let (b1000, a1000) = (median(&before[last..]), median(&after[last..]));
    println!(
        "a turn, median of 65: {b10:.2} ms from prompt to request and {a10:.2} ms from there to the end in the first, {b1000:.2} and {a1000:.2} ms in the last of {TURNS} (ratio of the sums {:.2})",
        (b1000 + a1000) / (b10 + a10)
    );
}

/// The allocations of the service's thread for a turn.
fn allocations() {
    let upstream = Standin::start(|_: &MessagesRequest| -> Reply {
        Message::new()
            .text("a short answer to a short question")
            .into()
    })
    .unwrap();
    let system = System::new();
    let harness = Rc::new(system.block_on(async {
        let mut config = Config::new("key");
        config.api.base_url = upstream.base_url();
        config.settings.model = Some("claude-haiku-5-5".to_owned());
        Harness::new(config, standard_tools(), None).unwrap()
    }));
    let mut bytes = Vec::new();
    for _ in 0..TURNS {
        let harness = Rc::clone(&harness);
        let counted = allocation_counter::measure(|| {
            system.block_on(async { harness.prompt("a short question").await.unwrap() });
        });
        bytes.push(counted.bytes_total);
    }
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64 / 1e3;
    let last = usize::try_from(TURNS).unwrap() - 65;
    let (early, late) = (mean(&bytes[2..67]), mean(&bytes[last..]));
    println!(
        "allocated for a turn: {early:.0} kB in the first 65 turns, {late:.0} kB in the last 65 of {TURNS} (ratio {:.2})",
        late / early
    );
}
