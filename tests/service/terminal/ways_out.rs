//! All ways in which the client ends leave the terminal unchanged.

use nix::sys::signal::Signal;

use crate::eventually::eventually;
use crate::program::Service;
use crate::screen::Screen;

/// The modes that a program can leave behind, with what sets and what resets each.
const MODES: [(&str, &str); 8] = [
    ("\x1b[?1049h", "\x1b[?1049l"),
    ("\x1b[?2004h", "\x1b[?2004l"),
    ("\x1b[?1004h", "\x1b[?1004l"),
    ("\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?1002h", "\x1b[?1002l"),
    ("\x1b[?1006h", "\x1b[?1006l"),
    ("\x1b[>1u", "\x1b[<1u"),
    ("\x1b[22;2t", "\x1b[23;2t"),
];

/// Every mode that was set was reset behind it, and the cursor is shown.
fn assert_restored(screen: &Screen) {
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for (set, reset) in MODES {
        let set_at = written
            .rfind(set)
            .unwrap_or_else(|| panic!("{set:?} was never written"));
        let reset_at = written.rfind(reset);
        assert!(reset_at > Some(set_at), "{set:?} was not reset");
    }
    assert!(!screen.look(vt100::Screen::alternate_screen));
    assert!(!screen.look(vt100::Screen::hide_cursor));
    assert!(!screen.look(vt100::Screen::bracketed_paste));
    assert_eq!(
        screen.look(vt100::Screen::mouse_protocol_mode),
        vt100::MouseProtocolMode::None
    );
}

/// Spec: [TUI-45] [TERM-01] [TERM-23] [TERM-306] [LINK-16]
#[tokio::test]
async fn after_every_way_to_leave_the_terminal_is_as_it_was() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    for way in ["\x03", "\x04", "/quit\r"] {
        let mut screen = Screen::attach(service.home.path(), "ana").await;
        screen.keys(way);
        assert_eq!(screen.ended().await, 0, "{way:?}");
        assert_restored(&screen);
        screen.shows("harness attach").await;
    }
    for (signal, code) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
        (Signal::SIGINT, 130),
    ] {
        let mut screen = Screen::attach(service.home.path(), "ana").await;
        let draft = format!("a draft at {signal}");
        screen.keys(&draft);
        screen.shows(&draft).await;
        screen.signal(signal);
        assert_eq!(screen.ended().await, code, "{signal}");
        assert_restored(&screen);
        // What was written is the last of the prompts of the past.
        let mut screen = Screen::attach(service.home.path(), "ana").await;
        screen.keys("\x1b[A");
        screen.shows(&format!("│ {draft}")).await;
    }
    // No client is attached any more.
    let path = "/v1/conversations/default?tail=0";
    eventually("the end of the streams", async || {
        service.get(path).await["attached"] == 0
    })
    .await;
}

/// Spec: [TERM-06]
#[tokio::test]
async fn a_terminal_that_goes_away_ends_the_client() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut screen = Screen::attach(service.home.path(), "ana").await;
    screen.hang_up();
    assert_ne!(screen.ended().await, 0);
}

/// Spec: [TUI-01] [TUI-08] [TERM-07] [TERM-19]
#[tokio::test]
async fn at_any_size_the_regions_are_there_and_the_input_works() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(harness_standin::Reply::text("word ".repeat(200)));
    let mut screen = Screen::attach(service.home.path(), "ana").await;
    screen.keys("go\r");
    screen.shows("word").await;
    service.idle("default").await;
    screen.keys("typed");
    for (columns, rows) in [(40, 12), (200, 60), (20, 5), (12, 4), (300, 3), (120, 40)] {
        screen.resize(columns, rows);
        screen.shows("typed").await;
        screen
            .sees("the border at the bottom", |text| {
                let last = text.lines().last().unwrap_or_default();
                rows < 5 || last.starts_with('╰') && last.chars().count() == usize::from(columns)
            })
            .await;
    }
    screen.shows("word word").await;
}

/// Spec: [VIEW-07]
#[tokio::test]
async fn without_colours_no_colour_is_written_and_attributes_stay() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(harness_standin::Reply::text("some **bold** words"));
    let home = service.home.path();
    let mut screen = Screen::start(home, &["attach"], &[("NO_COLOR", "1")]);
    screen.shows("default").await;
    screen.keys("go\r");
    screen.shows("some bold words").await;
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for colour in ["38;", "48;", "\x1b[3", "\x1b[4"] {
        let is_colour = |tail: &str| {
            let end = tail.find(|c: char| c.is_ascii_alphabetic());
            let digits = &tail[..end.unwrap_or(0)];
            tail[end.unwrap_or(0)..].starts_with('m')
                && digits
                    .split(';')
                    .any(|code| matches!(code.parse(), Ok(30_u8..=38 | 40..=48 | 90..=107)))
        };
        let found = written.match_indices(colour).any(|(at, _)| {
            let start = written[..=at].rfind("\x1b[").map_or(at, |start| start + 2);
            is_colour(&written[start..])
        });
        assert!(!found, "a colour was written");
    }
    let is_bold = screen.look(|seen| {
        let (rows, columns) = seen.size();
        (0..rows.get()).any(|row| {
            (0..columns.get()).any(|column| {
                seen.cell(row, column)
                    .is_some_and(|cell| cell.contents() == "b" && cell.bold())
            })
        })
    });
    assert!(is_bold);
}
