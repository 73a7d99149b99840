//! Foreign text on the screen.

use harness_standin::{Message, Reply};
use serde_json::json;

use crate::program::Service;
use crate::screen::{Screen, Told};

/// A text that would take over a terminal.
pub(super) const HOSTILE: &str = "start\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[2J\u{1b}[H\u{9b}2J\u{1b}[31m\
    \u{202e}desrever\u{1b}[?1049l\u{1b}c\u{1b}P+q\u{1b}\\ \u{1b}]8;;http://x\u{7}link end\n\u{1b}]52;c;never ended\nlast line\n";

/// Spec: [TUI-60]
#[tokio::test]
async fn hostile_text_leaves_title_clipboard_and_layout_alone() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    std::fs::write(home.join("trap"), HOSTILE).unwrap();
    script.push(
        Message::new()
            .thinking(HOSTILE, "s1")
            .text(format!("Look: {HOSTILE}"))
            .tool_use("t1", "read", json!({"path": "trap"}))
            .tool_use("t2", "read", json!({"path": HOSTILE})),
    );
    script.push(Reply::text("done here"));
    let evil = format!("eve{HOSTILE}");
    let query: String = evil.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let _eve = service
        .follow("default", &format!("?name={query}"), "")
        .await;
    let title = json!({"title": "Plain \u{202e}title\u{2066}"});
    let renamed = service
        .send(
            "PATCH",
            "/v1/conversations/default",
            "content-type: application/json\r\n",
            &title.to_string(),
        )
        .await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    let mut ana = Screen::attach(home, "ana").await;
    let by = json!({"content": format!("prompt {HOSTILE}"), "by": "eve\u{1b}]0;owned\u{7}"});
    let answer = service
        .post("/v1/conversations/default/prompt", &by.to_string())
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    ana.shows("done here").await;
    // Results and thinking, too.
    ana.keys("\x0f");
    ana.shows("last line").await;
    let told = Told {
        titles: Vec::new(),
        ..ana.told()
    };
    assert_eq!(told, Told::default());
    for title in ana.told().titles {
        assert!(title.is_empty() || title.starts_with(['●', '…', '!']));
        assert!(
            !title.contains(char::is_control) && !title.contains("owned"),
            "{title:?}"
        );
    }
    let rows = ana.rows();
    assert!(rows[0].contains("default"), "{rows:#?}");
    let bottom = &rows[rows.len() - 3..];
    assert!(
        bottom[0].starts_with('╭') && bottom[0].ends_with('╮'),
        "{rows:#?}"
    );
    assert!(
        bottom[1].starts_with('│') && bottom[1].ends_with('│'),
        "{rows:#?}"
    );
    assert!(
        bottom[2].starts_with('╰') && bottom[2].ends_with('╯'),
        "{rows:#?}"
    );
    assert!(ana.look(vt100::Screen::alternate_screen));
    // In lists and remarks too.
    ana.keys("/clients\r");
    ana.shows("attached to this").await;
    ana.keys("x\x10");
    ana.shows("Conversations").await;
    ana.shows("› Plain").await;
    let written = String::from_utf8_lossy(&ana.bytes()).into_owned();
    // The one question to the terminal itself.
    let written = written.replacen("\u{1b}]11;?\u{1b}\\", "", 1);
    // Its own title, and its own links: nothing but characters that are shown is in them.
    let mut others = written.split("\u{1b}]");
    let mut shown = others.next().unwrap_or_default().to_owned();
    for sequence in others {
        let (order, rest) = sequence.split_once("\u{1b}\\").unwrap();
        assert!(
            order.starts_with("2;") || order.starts_with("8;"),
            "{order:?}"
        );
        assert!(!order.contains(char::is_control), "{order:?}");
        shown += rest;
    }
    let written = shown;
    for sequence in ["\u{1b}]", "\u{1b}P", "\u{1b}c", "\u{202e}", "\u{9b}"] {
        assert!(!written.contains(sequence), "{sequence:?} was written");
    }
}
