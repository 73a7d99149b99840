//! The terminal client: on a long conversation how soon it shows something, what it keeps, and that
//! it does nothing when nothing happens; and what it costs to follow a reply.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use harness_actors::journal::{Header, JournalStore as _, JsonLinesStore};
use harness_actors::{Clock, ConversationId};
use harness_standin::{Message, Standin};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

use crate::process::{Service, prompt, state};

const PARTS: u64 = 10_000;
/// Of each run: prompt, thinking, text, two tools, text.
const PARTS_OF_A_RUN: u64 = 6;
const SIZE: (u16, u16) = (200, 60);
/// Duration of the idle time, in seconds; `HARNESS_IDLE` sets another number.
const IDLE: u64 = 60;
/// The limit for the first paint, as a multiple of that of an empty conversation.
const FIRST_PAINT: f64 = 6.0;
/// The limit for the memory with all parts, as a multiple of the size of the journal.
const MEMORY: f64 = 2.0;

/// The screen on which a reply is followed.
const SIZE_TO_FOLLOW: (u16, u16) = (120, 40);
/// Size of the reply in bytes, number of words that come at once, and the pause after them.
const REPLY: usize = 20_000;
const WORDS: usize = 3;
const PAUSE: Duration = Duration::from_millis(7);
/// The limits of following it: bytes to the terminal, as a multiple of the reply's if that comes as fast as its pauses
/// allow; the share of a processor while the reply comes; and memory, as a multiple of that before the reply.
const BYTES: f64 = 15.0;
const SHARE: f64 = 0.2;
const MEMORY_TO_FOLLOW: f64 = 2.0;

pub(crate) fn run() {
    follow();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let home = tempfile::tempdir().unwrap();
    runtime.block_on(write_journal(home.path()));
    let state = state(home.path());
    let service = Service::start_in(home, "http://127.0.0.1:9");
    let size = std::fs::metadata(service.journal()).unwrap().len();
    println!(
        "a conversation of {PARTS} parts, {:.0} MB, on {}x{}:",
        size as f64 / 1e6,
        SIZE.0,
        SIZE.1
    );
    let empty = Service::start("http://127.0.0.1:9");
    // A bound that is missed is measured once more.
    let paints_in_time = (0..2).any(|_| {
        let (paint, baseline) = (
            first_paint(&state, "part 10000"),
            first_paint(&empty.state(), "Enter prompt..."),
        );
        let ratio = paint / baseline;
        println!(
            "  first paint {paint:.0} ms after the start of the process, {ratio:.1} × the {baseline:.0} ms of an empty conversation (at most {FIRST_PAINT} ×)"
        );
        ratio <= FIRST_PAINT
    });
    assert!(paints_in_time, "the first paint is late twice");
    drop(empty);

    let mut client = Client::start(&state, SIZE);
    client.wait_for("Enter prompt...");
    client.wait_for("part 10000");
    println!("  RSS {} MB with the last parts", client.kilobytes() / 1000);
    let began = Instant::now();
    while !client.text().contains("part 1 ") {
        client.keys(b"\x1b[H");
        std::thread::park_timeout(Duration::from_millis(20));
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "{}",
            client.text()
        );
    }
    let kilobytes = client.kilobytes();
    println!(
        "  RSS {} MB with all of them, {:.2} × the journal (at most {MEMORY} ×), which took {:.1} s to page through",
        kilobytes / 1000,
        kilobytes as f64 * 1e3 / size as f64,
        began.elapsed().as_secs_f64()
    );
    assert!(
        kilobytes as f64 * 1e3 <= MEMORY * size as f64,
        "that is too much"
    );
    client.keys(b"\x1b[F");
    client.wait_for("part 10000");
    std::thread::park_timeout(Duration::from_secs(8));
    idle(&client);
}

/// Nothing happens for a while, and the client does nothing.
fn idle(client: &Client) {
    let idle = std::env::var("HARNESS_IDLE").map_or(IDLE, |idle| idle.parse().unwrap());
    // A bound that is missed is measured once more.
    let is_idle = (0..2).any(|_| {
        let before = (client.ticks(), client.written(), client.wakes());
        std::thread::park_timeout(Duration::from_secs(idle));
        let (ticks, bytes) = (client.ticks() - before.0, client.written() - before.1);
        println!(
            "  {idle} s of nothing: {ticks} CPU ticks (at most 1), {bytes} bytes written (at most 0), {} wakes",
            client.wakes() - before.2
        );
        // A tick may be the end of one that began long before.
        ticks <= 1 && bytes == 0
    });
    assert!(is_idle, "it is not idle twice");
}

/// A reply is followed while it comes.
fn follow() {
    // A bound that is missed is measured once more.
    let is_cheap = (0..2).any(|_| is_followed_cheaply());
    assert!(is_cheap, "too much is written, or it takes too long, twice");
}

/// Follows a reply, and tells whether that kept to the limits for bytes and for a processor. If it did, the client must
/// be idle afterwards.
fn is_followed_cheaply() -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (upstream, script) = Standin::scripted().unwrap();
    let service = Service::start(&upstream.base_url());
    let client = Client::start(&service.state(), SIZE_TO_FOLLOW);
    client.wait_for("Enter prompt...");
    std::thread::park_timeout(Duration::from_secs(1));
    let prose = PARAGRAPHS.iter().filter(|text| !text.starts_with("```"));
    let mut reply = String::new();
    for paragraph in prose.cycle() {
        if reply.len() > REPLY {
            break;
        }
        reply += paragraph;
        reply += "\n\n";
    }
    reply += "Here it ends.";
    let message = Message::new().text(&*reply);
    script.push(message.words_per_delta(WORDS).delta_pause(PAUSE));
    let (ticks, bytes, began) = (client.ticks(), client.written(), Instant::now());
    let before = client.kilobytes();
    runtime.block_on(prompt(service.address, "tell"));
    while !client.text().contains("Here it ends.") {
        std::thread::park_timeout(Duration::from_millis(50));
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "{}",
            client.text()
        );
    }
    let took = began.elapsed();
    std::thread::park_timeout(Duration::from_secs(2));
    // A hundred ticks a second, on every Linux.
    let time = Duration::from_millis(10 * (client.ticks() - ticks));
    let bytes = client.written() - bytes;
    let kilobytes = client.kilobytes();
    // Frames come at a fixed rate, so a reply that takes longer has more of them.
    let words = reply.split_inclusive(char::is_whitespace).count();
    let deltas = words.div_ceil(WORDS);
    let paced = PAUSE.as_secs_f64() * deltas as f64;
    let longer = (took.as_secs_f64() / paced).max(1.0);
    let (most, longest) = (BYTES * longer * reply.len() as f64, took.mul_f64(SHARE));
    println!(
        "a reply of {} bytes followed for {:.1} s on {}x{}: {bytes} bytes to the terminal (at most {most:.0}), {time:?} of a processor (at most {longest:.1?}), RSS {:.1} MB, {:.1} MB before (at most {MEMORY_TO_FOLLOW} ×)",
        reply.len(),
        took.as_secs_f64(),
        SIZE_TO_FOLLOW.0,
        SIZE_TO_FOLLOW.1,
        kilobytes as f64 / 1e3,
        before as f64 / 1e3
    );
    assert!(
        kilobytes as f64 <= MEMORY_TO_FOLLOW * before as f64,
        "that is too much"
    );
    let is_cheap = bytes as f64 <= most && time <= longest;
    if is_cheap {
        std::thread::park_timeout(Duration::from_secs(8));
        idle(&client);
    }
    is_cheap
}

/// The milliseconds until a client shows some words: the middle one of ten starts.
fn first_paint(state: &std::path::Path, words: &str) -> f64 {
    let mut paints: Vec<f64> = (0..10)
        .map(|_| {
            let began = Instant::now();
            let client = Client::start(state, SIZE);
            client.wait_for(words);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    paints.sort_by(f64::total_cmp);
    paints[5]
}

/// A journal of runs as models and tools make them.
async fn write_journal(home: &std::path::Path) {
    let store = JsonLinesStore::at(&state(home), Clock::system());
    let header = Header::new(ConversationId::new("default"), 1);
    let records: Vec<(&str, Value)> = (0..PARTS.div_ceil(PARTS_OF_A_RUN))
        .flat_map(one_run)
        .collect();
    let lines = (1_u64..).zip(records).map(|(seq, (kind, data))| {
        Bytes::from(format!(
            r#"{{"seq":{seq},"at":1763770000000,"type":"{kind}","data":{data}}}"#
        ))
    });
    store.create(header, lines.collect()).await.unwrap();
}

const PARAGRAPHS: [&str; 4] = [
    "The test waits on *wall-clock* time. **Two places matter**, and `retry.rs` sleeps before it subscribes, which is why a slow machine sees nothing at all.",
    "- first point of a list, long enough that it takes more than one row on most screens that people use every day\n- second point\n  1. nested, with [a link](https://example.com/page)\n  2. and 漢字 beside it, 👍🏽 too",
    "| name | value | remark |\n|---|---|---|\n| one | 1 | first of the rows |\n| two | 2 | second of the rows |",
    "```rust\nfn main() {\n    let sub = hub.subscribe(after);\n    println!(\"{sub:?}\");\n}\n```",
];

fn one_run(run: u64) -> Vec<(&'static str, Value)> {
    let part = |nth: u64| run * PARTS_OF_A_RUN + nth;
    let paragraphs = |nth: u64| {
        let many = 2 + part(nth) % 7;
        let texts = (0..many).map(|n| PARAGRAPHS[usize::try_from((n + run) % 4).unwrap()]);
        texts.collect::<Vec<_>>().join("\n\n")
    };
    let lines = |nth: u64| {
        let many = 5 + part(nth) * 37 % 301;
        let lines =
            (0..many).map(|n| format!("{n:>4}  a line of a file, as `read` shows it to the model"));
        json!({"content": lines.collect::<Vec<_>>().join("\n")}).to_string()
    };
    let block = |index: u64, block: Value| ("block", json!({"index": index, "block": block}));
    let call = |n: u64| format!("toolu_{run}_{n}");
    let use_of = |n: u64, name: &str| json!({"type": "tool_use", "id": call(n), "name": name, "input": {"path": format!("src/part_{n}.rs"), "start_line": run}});
    let ended = |reason: &str| {
        (
            "reply_ended",
            json!({"id": "m", "model": "claude-haiku-5-5", "stop_reason": reason, "usage": {"input_tokens": 9, "output_tokens": 9}, "unanswered": "interrupted"}),
        )
    };
    let number = run + 1;
    let totals = json!({"runs": number, "prompts": number, "turns": 2 * number, "input_tokens": 18 * number, "output_tokens": 18 * number, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    vec![
        ("run_started", json!({"run": number})),
        (
            "prompt",
            json!({"run": number, "content": format!("part {} asks: what is in there?", part(1))}),
        ),
        ("turn_started", json!({"run": number, "turn": 1})),
        block(
            0,
            json!({"type": "thinking", "thinking": paragraphs(2), "signature": "s"}),
        ),
        block(1, json!({"type": "text", "text": paragraphs(3)})),
        block(2, use_of(1, "read")),
        block(3, use_of(2, "grep")),
        ended("tool_use"),
        (
            "tool_result",
            json!({"id": call(1), "result": lines(4), "is_error": false}),
        ),
        (
            "tool_result",
            json!({"id": call(2), "result": lines(5), "is_error": false}),
        ),
        (
            "turn_ended",
            json!({"run": number, "turn": 1, "outcome": "completed"}),
        ),
        ("turn_started", json!({"run": number, "turn": 2})),
        block(
            0,
            json!({"type": "text", "text": format!("{}\n\nThis was part {} of it.", paragraphs(6), if part(6) > PARTS { PARTS } else { part(6) })}),
        ),
        ended("end_turn"),
        (
            "turn_ended",
            json!({"run": number, "turn": 2, "outcome": "completed"}),
        ),
        (
            "run_ended",
            json!({"run": number, "outcome": "completed", "message": "", "totals": totals}),
        ),
        ("status", json!({"activity": "idle", "message": ""})),
    ]
}

/// The client on a pseudo terminal.
struct Client {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn std::io::Write + Send>,
    seen: Arc<Mutex<(vt100::Parser, u64)>>,
}

impl Client {
    fn start(state: &std::path::Path, (columns, rows): (u16, u16)) -> Self {
        let size = PtySize {
            rows,
            cols: columns,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(crate::process::program());
        command.args(["attach", "-c", "default", "--name", "bench"]);
        command.env("HARNESS_HOME", state);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let nonzero = |cells: u16| std::num::NonZeroU16::new(cells).unwrap();
        let parser = vt100::Parser::new(nonzero(rows), nonzero(columns), 0);
        let seen = Arc::new(Mutex::new((parser, 0)));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let mut seen = shared.lock().unwrap();
                seen.0.process(&buffer[..count]);
                seen.1 += count as u64;
            }
        });
        Self {
            child,
            _master: pair.master,
            writer,
            seen,
        }
    }

    fn keys(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).unwrap();
        self.writer.flush().unwrap();
    }

    fn text(&self) -> String {
        self.seen.lock().unwrap().0.screen().contents()
    }

    fn written(&self) -> u64 {
        self.seen.lock().unwrap().1
    }

    fn wait_for(&self, words: &str) {
        let began = Instant::now();
        while !self.text().contains(words) {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{words} is not on\n{}",
                self.text()
            );
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    fn read(&self, file: &str) -> String {
        let id = self.child.process_id().unwrap();
        std::fs::read_to_string(format!("/proc/{id}/{file}")).unwrap()
    }

    fn kilobytes(&self) -> u64 {
        let status = self.read("status");
        let line = status.lines().find(|line| line.starts_with("VmRSS"));
        line.unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Number of times that its threads have begun to run so far.
    fn wakes(&self) -> u64 {
        let id = self.child.process_id().unwrap();
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let switches = threads.map(|thread| {
            let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        });
        switches.sum()
    }

    /// The CPU time so far, of all threads, in ticks of the system.
    fn ticks(&self) -> u64 {
        let stat = self.read("stat");
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
        ticks(11) + ticks(12)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
