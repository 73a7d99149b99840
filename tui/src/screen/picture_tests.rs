use std::time::Duration;

use harness_protocol::Event;
use serde_json::json;

use super::picture::picture;
use crate::app::testing::*;
use crate::app::{App, Msg};
use crate::conversation::testing::{event, status, text};
use crate::link::News;
use crate::service::testing::{difference, service};
use crate::terminal::Key;
use crate::theme::{Depth, Scheme, Theme};

/// A client with an own name and others beside it, at a size.
fn client(events: &[Event], size: (u16, u16)) -> App {
    let mut app = attached(events);
    resize(&mut app, size);
    present(&mut app, 2, &["ben@laptop", "ana"]);
    app
}

fn resize(app: &mut App, (width, height): (u16, u16)) {
    app.update(Msg::Resized(width, height), app.now);
}

const SIZES: [(u16, u16); 3] = [(80, 24), (40, 12), (120, 40)];

/// The screen at all sizes, and at those at which only the input is.
fn keep(name: &str, app: &mut App) {
    for (width, height) in SIZES {
        resize(app, (width, height));
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), picture(app));
    }
}

/// The screen at the usual size.
fn keep_one(name: &str, app: &mut App) {
    insta::assert_snapshot!(name.to_owned(), picture(app));
}

/// Spec: [TUI-01] [TUI-02] [TUI-03] [TUI-04]
#[test]
fn idle() {
    keep("idle", &mut client(&[], SIZES[0]));
    insta::assert_snapshot!("opening", picture(&mut new()));
}

/// Spec: [TUI-82] [TUI-83] [TUI-87]
#[test]
fn what_one_is_attached_to() {
    let mut app = client(&[], SIZES[0]);
    let mut one = service();
    one.differences = vec![difference(
        "model",
        "model: claude-x (HARNESS_MODEL) in the running service, claude-y (HARNESS_MODEL) in this shell; `harness stop`, then `harness` takes this shell's",
    )];
    tell(&mut app, News::Service(Box::new(one.clone())));
    keep("service_empty", &mut app);
    resize(&mut app, SIZES[0]);
    write(&mut app, "/status");
    key(&mut app, Key::Enter);
    wait(&mut app, 7);
    keep("service_status", &mut app);

    let mut app = client(&talked(), SIZES[0]);
    one.version = "0.1.3".to_owned();
    one.is_demo = true;
    one.differences = Vec::new();
    tell(&mut app, News::Service(Box::new(one)));
    keep("service_other", &mut app);
}

/// Spec: [TUI-82] [TUI-83] [TUI-87]
#[test]
fn a_conversation_of_another_folder() {
    let mut app = client(&[], SIZES[0]);
    tell(&mut app, News::Service(Box::new(service())));
    open_in(&mut app, "c", Some("/home/ana/src/a long way/to the other"));
    keep("folder_empty", &mut app);
    resize(&mut app, SIZES[0]);
    write(&mut app, "/status");
    key(&mut app, Key::Enter);
    keep_one("folder_status", &mut app);
}

/// Spec: [TUI-90] [TUI-60]
#[test]
fn the_list_of_conversations_of_several_folders() {
    let here = "/home/ana/src/project";
    let mut app = attached_in(Some(here), &talked());
    control(&mut app, 'p');
    let listed = summaries_in([here, "/srv/\u{1b}[2Ja/very/long/way/to/it", here]);
    tell(&mut app, News::Listed(listed));
    keep("picker_folder", &mut app);
    resize(&mut app, SIZES[0]);
    control(&mut app, 'a');
    keep("picker_folders", &mut app);
}

/// Spec: [TUI-794]
#[test]
fn the_list_of_conversations_with_the_end_of_the_chosen_one() {
    let mut app = client(&talked(), SIZES[0]);
    control(&mut app, 'p');
    tell(&mut app, News::Time { unix_s: 1_000_000 });
    let mut listed = summaries();
    for (summary, age) in listed.iter_mut().zip([30, 7_200, 864_000]) {
        summary.active_at = 1_000_000 - age;
    }
    let conversation = listed[0].id.clone();
    tell(&mut app, News::Listed(listed));
    let reply = "The parser fails where a line ends with a blank. ".repeat(5);
    let prompt = event(json!({"type": "user", "content": "why does it fail?", "by": "ben"}));
    let events = Some(vec![prompt, text(&reply)]);
    tell(
        &mut app,
        News::Previewed {
            conversation,
            events,
        },
    );
    keep("picker_preview", &mut app);
}

/// Spec: [TUI-01] [TUI-03]
#[test]
fn a_conversation() {
    keep("conversation", &mut client(&talked(), SIZES[0]));
}

/// Spec: [TUI-08]
#[test]
fn where_only_the_input_is() {
    let mut app = client(&talked(), SIZES[0]);
    for (width, height) in [(20, 5), (19, 4), (7, 2), (1, 1)] {
        resize(&mut app, (width, height));
        insta::assert_snapshot!(format!("small_{width}x{height}"), picture(&mut app));
    }
}

/// Spec: [TUI-02]
#[test]
fn busy() {
    let mut events = talked();
    events.extend([
        event(json!({"type": "run_started", "run_id": 2})),
        event(json!({"type": "user", "content": "also look at the port", "by": "ben@laptop", "run_id": 2})),
        event(json!({"type": "tool_call", "id": "c", "name": "grep", "input": {"pattern": "bind("}})),
        status("running_tool", "grep"),
    ]);
    let mut app = client(&events, SIZES[0]);
    wait(&mut app, 12);
    write(&mut app, "then write the fix");
    keep("busy", &mut app);
}

/// Spec: [TUI-02]
#[test]
fn the_connection_is_lost() {
    let mut app = client(&talked(), SIZES[0]);
    write(&mut app, "kept");
    lose(&mut app, "connection refused", 2, 3);
    wait(&mut app, 1);
    keep("lost", &mut app);
}

/// Spec: [TUI-05]
#[test]
fn the_help() {
    let mut app = client(&talked(), SIZES[0]);
    key(&mut app, Key::Function(1));
    keep("help", &mut app);
    for _ in 0..99 {
        app.update(Msg::Resized(80, 24), app.now);
        if crate::app::help::overflow(app.size) > 0 {
            key(&mut app, Key::Down);
        }
        if app.overlay.is_none() {
            key(&mut app, Key::Function(1));
            break;
        }
    }
    resize(&mut app, (160, 60));
    keep_one("help_160x60", &mut app);
}

/// Spec: [TUI-32]
#[test]
fn the_list_of_conversations() {
    let mut app = client(&talked(), SIZES[0]);
    control(&mut app, 'p');
    keep_one("picker_loading", &mut app);
    tell(&mut app, News::Listed(summaries()));
    key(&mut app, Key::Down);
    keep("picker", &mut app);
    resize(&mut app, SIZES[0]);
    key(&mut app, Key::Tab);
    write(&mut app, " and more");
    keep_one("picker_renaming", &mut app);
    key(&mut app, Key::Escape);
    control(&mut app, 'x');
    keep_one("picker_trashing", &mut app);
    write(&mut app, "nothing like it");
    keep_one("picker_nothing", &mut app);
}

/// Spec: [TUI-33]
#[test]
fn a_search() {
    let mut app = client(&talked(), SIZES[0]);
    control(&mut app, 'f');
    write(&mut app, "re");
    key(&mut app, Key::Up);
    keep("search", &mut app);
    resize(&mut app, SIZES[0]);
    write(&mut app, "x");
    keep_one("search_nothing", &mut app);
}

/// Spec: [TUI-30]
#[test]
fn the_list_of_commands() {
    let mut app = client(&talked(), SIZES[0]);
    write(&mut app, "/");
    key(&mut app, Key::Down);
    keep("commands", &mut app);
    resize(&mut app, SIZES[0]);
    write(&mut app, "f");
    keep_one("commands_fewer", &mut app);
}

/// Spec: [TUI-07]
#[test]
fn remarks() {
    let mut app = client(&talked(), SIZES[0]);
    app.say("sent to the clipboard, 312 characters");
    keep_one("toast", &mut app);
    app.complain("not sent: the conversation is busy");
    keep_one("toast_error", &mut app);
    resize(&mut app, (40, 12));
    keep_one("toast_narrow", &mut app);
}

/// Spec: [TUI-04]
#[test]
fn pastes_that_are_attached() {
    let mut app = client(&talked(), SIZES[0]);
    for letter in ["a", "b"] {
        app.update(Msg::Paste(format!("{letter}\n").repeat(3000)), app.now);
    }
    keep("chips", &mut app);
}

/// Queued messages while a run is going: one of ana's, who looks, and more of ben's.
fn with_queue(count: u64) -> App {
    let mut events = running();
    events.extend((1..=count).map(|item| {
        let (key, by) = if item == 2 { ("k-9", "ana") } else { ("x", "ben\u{1b}[2J@laptop") };
        let queue = if item % 2 == 0 { "steer" } else { "follow_up" };
        let content = format!("message {item}\u{1b}]0;t\u{7} of \u{202e}more words\nand a line");
        let event = json!({"type": "queued", "item": item, "queue": queue, "content": content, "key": key, "by": by});
        crate::conversation::testing::event(event)
    }));
    client(&events, SIZES[0])
}

/// Spec: [TUI-49] [TUI-60]
#[test]
fn what_waits() {
    keep("queue", &mut with_queue(3));
    let mut app = with_queue(6);
    keep_one("queue_more", &mut app);
    write(&mut app, "/queue");
    key(&mut app, Key::Enter);
    keep_one("queue_listed", &mut app);
    key(&mut app, Key::Escape);
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let ended = json!({"type": "run_ended", "run_id": 7, "outcome": "completed", "message": "", "usage": usage});
    tell(&mut app, told(10, event(ended)));
    tell(&mut app, told(11, status("idle", "")));
    keep_one("queue_idle", &mut app);
}

/// Spec: [TUI-60] [TUI-62] [TUI-63]
#[test]
fn what_there_is_to_choose_from() {
    let offer = |name: &str, description: &str| crate::link::Offer {
        name: name.to_owned(),
        description: description.to_owned(),
    };
    let offers = vec![
        offer("claude-a", "Claude A · 200k tokens"),
        offer("cla\u{1b}[2Jude-b\nx", "evil\u{1b}]0;t\u{7}\u{202e}"),
    ];
    let kind = crate::link::OfferKind::Models;
    let problems = Vec::new();
    let mut app = client(&talked(), SIZES[0]);
    write(&mut app, "/model");
    key(&mut app, Key::Enter);
    keep_one("chooser_loading", &mut app);
    tell(
        &mut app,
        News::Offered {
            kind,
            folder: None,
            offers,
            problems,
        },
    );
    key(&mut app, Key::Down);
    keep("chooser", &mut app);
    resize(&mut app, SIZES[0]);
    key(&mut app, Key::Escape);
    write(&mut app, "/model cl");
    keep_one("completions", &mut app);
}

/// Spec: [PART-21] [PART-22] [TUI-02] [VIEW-18]
#[test]
fn a_summary_and_settings() {
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let events = [
        json!({"type": "checkpoint", "summary": "## Goal\nRead \u{1b}[2Jsrc.", "by": "ben"}),
        json!({"type": "settings_changed", "settings": {"model": "claude-sonnet-5-5", "thinking": "high"}, "by": "ana"}),
        json!({"type": "compacted", "reason": "threshold", "summary": "So far.", "tokens_before": 184_000, "tokens_after": 21_000, "usage": usage}),
        json!({"type": "compaction_failed", "error": "overloaded"}),
        json!({"type": "compaction_started", "reason": "threshold", "tokens": 184_000}),
        json!({"type": "status", "state": "thinking", "message": "compacting"}),
    ];
    let events: Vec<Event> = events.into_iter().map(event).collect();
    let mut app = client(&events, SIZES[0]);
    wait(&mut app, 5);
    keep("summary", &mut app);
    resize(&mut app, SIZES[0]);
    control(&mut app, 'o');
    keep_one("summary_open", &mut app);
}

/// Spec: [TUI-06]
#[test]
fn away_from_the_end() {
    let mut events = talked();
    let mut app = client(&events, SIZES[0]);
    picture(&mut app);
    key(&mut app, Key::PageUp);
    keep_one("away", &mut app);
    events.clear();
    for seq in 13..16 {
        tell(&mut app, told(seq, text("new")));
    }
    keep_one("away_new", &mut app);
    resize(&mut app, (40, 12));
    keep_one("away_narrow", &mut app);
}

/// Spec: [VIEW-05] [VIEW-06]
#[test]
fn other_colours() {
    for (name, scheme, depth) in [
        ("light", Scheme::Light, Depth::Full),
        ("no_colours", Scheme::Dark, Depth::None),
    ] {
        let mut app = client(&talked(), SIZES[0]);
        app.theme = Theme::new(scheme, depth);
        control(&mut app, 'f');
        write(&mut app, "re");
        app.update(Msg::Tick, Duration::ZERO);
        keep_one(name, &mut app);
    }
}

/// Spec: [TUI-96] [TUI-98]
#[test]
fn what_waits_for_an_answer() {
    let lines: String = (0..30)
        .map(|line| format!("+    line_{line}();\n"))
        .collect();
    let diff = format!("@@ -1,3 +1,33 @@\n fn main() {{\n-    todo!();\n{lines} }}\n");
    let change = json!({"path": "/home/ana/p/src/main.rs", "action": "changed", "before": "x",
        "after": "y", "added": 30, "removed": 1, "diff": diff, "place": "workspace"});
    let asked = json!({"type": "approval_asked", "id": 1, "run_id": 2, "call": "c", "tool": "edit",
        "change": change, "digest": "d", "because": "the mode asks before every change",
        "scopes": ["once", "run", "conversation", "workspace"], "rule": "edit(src/main.rs)"});
    let mut app = attached_in(
        Some("/home/ana/p"),
        &[
            event(json!({"type": "run_started", "run_id": 2})),
            event(
                json!({"type": "user", "content": "write main", "by": "ben@laptop", "run_id": 2}),
            ),
            event(
                json!({"type": "tool_call", "id": "c", "name": "edit", "input": {"path": "src/main.rs"}}),
            ),
            status("running_tool", "edit: waits for approval"),
            event(asked),
        ],
    );
    app.update(Msg::Tick, Duration::from_secs(1));
    keep("approval", &mut app);
    resize(&mut app, SIZES[0]);
    key(&mut app, Key::End);
    keep_one("approval_read", &mut app);
    key(&mut app, Key::Char('A'));
    keep_one("approval_scope", &mut app);
    key(&mut app, Key::Escape);
    key(&mut app, Key::Char('D'));
    key(&mut app, Key::Char('n'));
    keep_one("approval_reason", &mut app);
    let answered = json!({"type": "approval_answered", "id": 1, "answer": "allow",
        "scope": "once", "by": "ben@laptop"});
    tell(&mut app, told(6, event(answered)));
    tell(
        &mut app,
        told(
            7,
            event(json!({"type": "files_changed", "call": "c", "changes": [change]})),
        ),
    );
    keep_one("approval_answered", &mut app);
}
