//! The cost of a frame in a conversation of 10,000 parts, beside drawing an empty screen.
//!
//! `just bench frames`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints what it measured with the real clock, and stops at any failure"
)]

use std::time::{Duration, Instant};

use harness_protocol::{ConversationSnapshot, Event, HistoryPage, PastEvent};
use harness_tui::{
    App, AppStart, ClientOrder, Depth, Key, KeyPress, Msg, News, PromptHistory, Scheme, Theme, draw,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

const PARTS: u64 = 10_000;
const SIZE: (u16, u16) = (200, 60);
const FRAMES: usize = 2000;
/// The limit for a frame, as a multiple of drawing an empty screen, both at the 95th percentile.
const LIMIT: f64 = 30.0;

const TEXTS: [&str; 4] = [
    "The test waits on *wall-clock* time. **Two places matter**, and `retry.rs` sleeps before it subscribes, which is why a slow machine sees nothing at all.\n\n",
    "- first point of a list, long enough that it takes more than one row on most screens that people use every day\n- second point\n  1. nested, with [a link](https://example.com/page)\n  2. and 漢字 beside it, 👍🏽 too\n\n",
    "| name | value | remark |\n|---|---|---|\n| one | 1 | first of the rows |\n| two | 2 | second of the rows |\n\n",
    "```rust\nfn main() {\n    let sub = hub.subscribe(after);\n    println!(\"{sub:?}\");\n}\n```\n\n",
];

fn main() {
    let missed = frames();
    if missed.is_empty() {
        return;
    }
    println!("once more, because of: {}", missed.join(", "));
    let again = frames();
    let twice: Vec<_> = missed.iter().filter(|name| again.contains(name)).collect();
    assert!(twice.is_empty(), "too slow twice: {twice:?}");
}

/// Measures all kinds of frames and returns the names of those above the limit.
fn frames() -> Vec<&'static str> {
    let mut app = attached();
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    println!(
        "a conversation of {PARTS} parts on {}x{}, {FRAMES} frames each:",
        SIZE.0, SIZE.1
    );
    let bare = measure("  nothing but an empty screen", || {
        terminal.draw(|_| {}).unwrap();
    });
    let mut frame = |app: &mut App| {
        terminal.draw(|frame| draw(app, frame)).unwrap();
    };
    frame(&mut app);
    let press = |app: &mut App, key: KeyPress| drop(app.update(Msg::Key(key), Duration::ZERO));
    let same = measure("  the same again", || frame(&mut app));
    let up = measure("  a page up", || {
        press(&mut app, KeyPress::plain(Key::PageUp));
        frame(&mut app);
    });
    let mut to_top = false;
    let jump = measure("  from one end to the other", || {
        to_top = !to_top;
        let key = if to_top { Key::Home } else { Key::End };
        press(&mut app, KeyPress::plain(key));
        frame(&mut app);
    });
    let resize = measure("  another width", || {
        to_top = !to_top;
        let width = if to_top { SIZE.0 } else { SIZE.0 - 1 };
        drop(app.update(Msg::Resized(width, SIZE.1), Duration::ZERO));
        frame(&mut app);
    });
    press(&mut app, KeyPress::plain(Key::End));
    let mut grown = String::new();
    let stream = measure("  a piece of a reply that grows", || {
        let piece = "some words of text ";
        let event = json!({"type": "delta", "index": 0, "kind": "text", "offset": grown.len(), "text": piece});
        grown.push_str(piece);
        let event: Event = serde_json::from_value(event).unwrap();
        let news = News::Event {
            event,
            position: None,
        };
        drop(app.update(Msg::News(Box::new(news)), Duration::ZERO));
        frame(&mut app);
    });
    let mut missed = Vec::new();
    for (name, cost) in [
        ("the same", same),
        ("a page up", up),
        ("from end to end", jump),
        ("another width", resize),
        ("a reply that grows", stream),
    ] {
        let ratio = cost.as_secs_f64() / bare.as_secs_f64();
        println!("  {name}: {ratio:.1} × the empty screen (at most {LIMIT} ×)");
        if ratio > LIMIT {
            missed.push(name);
        }
    }
    missed
}

/// Does something often; the 95th percentile of what it cost.
fn measure(name: &str, mut work: impl FnMut()) -> Duration {
    let mut costs: Vec<Duration> = (0..FRAMES)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    costs.sort_unstable();
    let (median, late) = (costs[FRAMES / 2], costs[FRAMES * 95 / 100]);
    println!("{name}: p50 {median:.2?}, p95 {late:.2?}");
    late
}

/// A client that has loaded everything.
fn attached() -> App {
    let events: Vec<PastEvent> = (1..=PARTS).map(past).collect();
    let (app, _) = App::new(AppStart {
        name: "bench".to_owned(),
        client_key: "k".to_owned(),
        conversation: "c".to_owned(),
        theme: Theme::new(Scheme::Dark, Depth::Full),
        follows_background: false,
        size: SIZE,
        history: PromptHistory::default(),
        home: None,
        offers_models: false,
    });
    let mut app = app;
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let snapshot = json!({
        "summary": {"id": "c", "state": "idle", "prompts": 1, "turns": 1, "records": PARTS,
            "usage": usage, "created_at": 1, "active_at": 1},
        "state": "idle", "message": "", "settings": {}, "queue": [], "attached": 1,
        "history": HistoryPage { events, before: None, after: None },
        "position": format!("a-{PARTS}-0"),
    });
    let snapshot: Box<ConversationSnapshot> = serde_json::from_value(snapshot).unwrap();
    let news = News::Snapshot {
        snapshot,
        reset: None,
    };
    let orders = app.update(Msg::News(Box::new(news)), Duration::ZERO);
    assert!(
        orders.is_empty()
            || matches!(
                orders[0],
                harness_tui::AppEffect::Order(ClientOrder::Older { .. })
            )
    );
    app
}

/// One part: prompts, thinking, texts with all kinds of Markdown, tools.
fn past(seq: u64) -> PastEvent {
    let text = || -> String {
        let kinds = (0..2 + seq % 7).map(|n| TEXTS[usize::try_from((n + seq) % 4).unwrap()]);
        kinds.collect()
    };
    let event: Value = match seq % 5 {
        0 => json!({"type": "user", "content": "what is in there?", "by": "ana"}),
        1 => json!({"type": "reasoning", "content": text()}),
        2 | 3 => json!({"type": "text", "content": text()}),
        _ => {
            json!({"type": "tool_call", "id": format!("t{seq}"), "name": "read", "input": {"path": "src/main.rs", "start_line": seq}})
        }
    };
    let mut event = event;
    event["timestamp"] = json!(1);
    PastEvent {
        seq,
        id: format!("a-{seq}-0"),
        event: serde_json::from_value(event).unwrap(),
    }
}
