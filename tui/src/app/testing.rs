//! Clients for tests, and what happens to them.

use harness_protocol::{ActivityState, ConversationState, ConversationSummary, Event};
use serde_json::json;

use super::*;
use crate::conversation::Part;
use crate::conversation::testing::{event, position, snapshot, status};
use crate::link::News;
use crate::terminal::{Key, KeyPress};
use crate::theme::{Depth, Scheme};

/// A client that was never attached.
pub(crate) fn new() -> App {
    let start = AppStart {
        name: "ana".to_owned(),
        client_key: "k".to_owned(),
        conversation: "c".to_owned(),
        theme: Theme::new(Scheme::Dark, Depth::Full),
        follows_background: true,
        size: (80, 24),
        history: PromptHistory::default(),
        home: Some("/home/ana".to_owned()),
        offers_models: false,
    };
    let (app, effects) = App::new(start);
    let conversation = "c".to_owned();
    assert_eq!(
        effects,
        [AppEffect::Order(ClientOrder::Open { conversation })]
    );
    app
}

/// A client that is attached to a conversation with these events.
pub(crate) fn attached(events: &[Event]) -> App {
    attached_in(None, events)
}

/// The same, where the conversation works in this folder.
pub(crate) fn attached_in(folder: Option<&str>, events: &[Event]) -> App {
    let mut app = new();
    open_in(&mut app, "c", folder);
    tell(&mut app, News::Up);
    for (seq, event) in (1..).zip(events) {
        tell(&mut app, told(seq, event.clone()));
    }
    app
}

/// An empty conversation of this folder is shown.
pub(crate) fn open_in(app: &mut App, id: &str, folder: Option<&str>) -> Vec<AppEffect> {
    let mut begin = snapshot(&[], 1, 0);
    begin.summary.id = id.to_owned();
    begin.summary.workspace = folder.map(str::to_owned);
    begin.summary.run_id = None;
    begin.summary.state = ConversationState::Idle;
    begin.state = ActivityState::Idle;
    tell(
        app,
        News::Snapshot {
            snapshot: Box::new(begin),
            reset: None,
        },
    )
}

pub(crate) fn told(seq: u64, event: Event) -> News {
    let position = Some(position(seq));
    News::Event { event, position }
}

/// A run that is going: records 1 to 3.
pub(crate) fn running() -> Vec<Event> {
    vec![
        event(json!({"type": "run_started", "run_id": 7})),
        event(json!({"type": "user", "content": "go", "by": "ben", "run_id": 7})),
        status("thinking", ""),
    ]
}

pub(crate) fn tell(app: &mut App, news: News) -> Vec<AppEffect> {
    let now = app.now;
    app.update(Msg::News(Box::new(news)), now)
}

pub(crate) fn press(app: &mut App, press: KeyPress) -> Vec<AppEffect> {
    let now = app.now;
    app.update(Msg::Key(press), now)
}

pub(crate) fn key(app: &mut App, key: Key) -> Vec<AppEffect> {
    press(app, KeyPress::plain(key))
}

pub(crate) fn control(app: &mut App, letter: char) -> Vec<AppEffect> {
    press(app, KeyPress::plain(Key::Char(letter)).control())
}

/// Types a text, which orders nothing but the end of the conversation that a filter chooses.
pub(crate) fn write(app: &mut App, text: &str) {
    for letter in text.chars() {
        let effects = key(app, Key::Char(letter));
        let is_preview = |order: &&ClientOrder| matches!(order, ClientOrder::Preview { .. });
        let previews = orders(&effects).into_iter().filter(is_preview).count();
        assert_eq!(effects.len(), previews, "{letter:?}: {effects:?}");
    }
}

pub(crate) fn orders(effects: &[AppEffect]) -> Vec<&ClientOrder> {
    let mut orders = Vec::new();
    for effect in effects {
        if let AppEffect::Order(order) = effect {
            orders.push(order);
        }
    }
    orders
}

pub(crate) fn toast(app: &App) -> &str {
    app.toast.as_ref().map_or("", |toast| &toast.text)
}

pub(crate) fn last(app: &App) -> Option<&Part> {
    app.conversation.parts().next_back()
}

pub(crate) fn order(app: &mut App, effects: Vec<AppEffect>) -> ClientOrder {
    match effects.into_iter().next() {
        Some(AppEffect::Order(order)) => order,
        other => panic!("{other:?}, and the remark is {:?}", toast(app)),
    }
}

pub(crate) fn summaries() -> Vec<ConversationSummary> {
    let of = |id: &str, title: Option<&str>| {
        let mut summary = snapshot(&[], 1, 0).summary;
        summary.id = id.to_owned();
        summary.title = title.map(str::to_owned);
        summary
    };
    vec![
        of("c", None),
        of("d", Some("Bedtime")),
        of("e", Some("Morning")),
    ]
}

/// The same, of a folder each.
pub(crate) fn summaries_in(folders: [&str; 3]) -> Vec<ConversationSummary> {
    let mut summaries = summaries();
    for (summary, folder) in summaries.iter_mut().zip(folders) {
        summary.workspace = Some(folder.to_owned());
    }
    summaries
}

pub(crate) fn picking() -> App {
    let mut app = attached(&[]);
    assert_eq!(
        control(&mut app, 'p'),
        [AppEffect::Order(ClientOrder::List { folder: None })]
    );
    tell(&mut app, News::Listed(summaries()));
    app
}

/// Passing events, such as presence.
pub(crate) fn pass(app: &mut App, event: Event) -> Vec<AppEffect> {
    let position = None;
    tell(app, News::Event { event, position })
}

/// The attached clients.
pub(crate) fn present(app: &mut App, count: usize, names: &[&str]) {
    let presence = json!({"type": "presence", "count": count, "names": names});
    pass(app, event(presence));
}

/// Time goes by.
pub(crate) fn wait(app: &mut App, seconds: u64) {
    let now = app.now + Duration::from_secs(seconds);
    assert_eq!(app.update(Msg::Tick, now), []);
}

/// The service cannot be reached.
pub(crate) fn lose(app: &mut App, reason: &str, tries: u32, seconds: u64) {
    let (reason, wait) = (reason.to_owned(), Duration::from_secs(seconds));
    let news = News::Down {
        reason,
        tries,
        wait,
    };
    assert_eq!(tell(app, news), []);
}

/// A conversation with one of each.
pub(crate) fn talked() -> Vec<Event> {
    let usage = json!({"input_tokens": 41_000, "output_tokens": 900, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let reply = "Two places **matter**:\n\n- `retry.rs` sleeps *before* it subscribes\n\
                 - the port, 漢字 and all\n\n```rust\nlet sub = hub.subscribe();\n```";
    let tool = |id: &str, path: &str| json!({"type": "tool_call", "id": id, "name": "read", "input": {"path": path}});
    let ended = |id: &str, text: &str, is_error: bool| json!({"type": "tool_result", "id": id, "result": text, "isError": is_error});
    let all = [
        json!({"type": "renamed", "title": "fix flaky test", "by": "ana"}),
        json!({"type": "run_started", "run_id": 1}),
        json!({"type": "user", "content": "why does the test fail\non slow machines?", "by": "ana", "key": "k-0", "run_id": 1}),
        json!({"type": "reasoning", "content": "I should check the fixture first."}),
        tool("a", "src/retry.rs"),
        ended("a", "80  async fn retry() {\n81  }", false),
        tool("b", "/etc/shadow"),
        ended("b", "permission denied", true),
        json!({"type": "text", "content": reply}),
        json!({"type": "reply_ended", "model": "claude-x", "stop_reason": "end_turn", "usage": {"input_tokens": 40_500, "output_tokens": 500}}),
        json!({"type": "run_ended", "run_id": 1, "outcome": "cancelled", "message": "", "usage": usage, "by": "ben"}),
        json!({"type": "status", "state": "idle", "message": ""}),
    ];
    all.into_iter().map(event).collect()
}
