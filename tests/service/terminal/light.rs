//! Colours that suit the terminal's background.

use std::path::Path;

use vt100::Color;

use crate::eventually::eventually;
use crate::program::Service;
use crate::screen::Screen;

const QUESTION: &[u8] = b"\x1b]11;?\x1b\\";
const WHITE: &[u8] = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
const DARK_GROUND: Color = Color::Rgb(0x1a, 0x1a, 0x1a);
const LIGHT_GROUND: Color = Color::Rgb(0xff, 0xff, 0xff);

fn ground(screen: &Screen) -> Color {
    screen.look(|seen| seen.cell(2, 2).unwrap().bgcolor())
}

async fn grounded(screen: &Screen, color: Color) {
    eventually("the ground", async || ground(screen) == color).await;
}

fn questions(screen: &Screen) -> usize {
    let bytes = screen.bytes();
    bytes
        .windows(QUESTION.len())
        .filter(|part| *part == QUESTION)
        .count()
}

async fn asked(screen: &Screen) {
    eventually("the question", async || questions(screen) != 0).await;
}

async fn attach(home: &Path, flags: &[&str], environment: &[(&str, &str)]) -> Screen {
    let screen = Screen::start(home, &[&["attach"], flags].concat(), environment);
    screen.shows("Enter prompt...").await;
    screen.shows("default").await;
    screen
}

/// Spec: [TERM-24] [TERM-25]
#[tokio::test]
async fn the_colours_become_those_of_a_light_terminal_when_it_answers() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut screen = attach(service.home.path(), &[], &[]).await;
    asked(&screen).await;
    grounded(&screen, DARK_GROUND).await;
    // In pieces, and late: keys come first.
    screen.keys("a draft");
    screen.shows("a draft").await;
    for piece in WHITE.chunks(5) {
        screen.keys(piece);
        tokio::task::yield_now().await;
    }
    grounded(&screen, LIGHT_GROUND).await;
    screen.keys(" of mine");
    screen.shows("│ a draft of mine").await;
    // Who chooses is not asked again.
    screen.keys("\x15/theme dark\r");
    grounded(&screen, DARK_GROUND).await;
    screen.keys(WHITE);
    screen.keys("more");
    screen.shows("│ more").await;
    assert_eq!(ground(&screen), DARK_GROUND);
    assert_eq!(questions(&screen), 1);
}

/// Spec: [TERM-24] [TERM-25]
#[tokio::test]
async fn who_chose_or_is_far_away_is_not_asked() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    for (flags, environment, expected) in [
        (&["--theme", "light"][..], &[][..], LIGHT_GROUND),
        (
            &["--theme", "dark"],
            &[("HARNESS_THEME", "light")],
            DARK_GROUND,
        ),
        (&[], &[("HARNESS_THEME", "light")], LIGHT_GROUND),
        (&["--theme", "terminal"], &[], Color::Default),
        (
            &[],
            &[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")],
            DARK_GROUND,
        ),
    ] {
        let screen = attach(home, flags, environment).await;
        assert_eq!(ground(&screen), expected, "{flags:?} {environment:?}");
        assert_eq!(questions(&screen), 0, "{flags:?} {environment:?}");
    }
    let wrong = Screen::start(home, &["attach"], &[("HARNESS_THEME", "pink")]);
    let mut wrong = wrong;
    assert_eq!(wrong.ended().await, 2);
}

/// Spec: [TERM-24]
#[tokio::test]
async fn the_answer_to_a_client_that_ends_at_once_is_not_typed_into_the_shell() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut screen = attach(service.home.path(), &[], &[]).await;
    asked(&screen).await;
    // Ctrl+D ends the client, and the answer is there when it ends.
    screen.keys([b"\x04".as_slice(), WHITE].concat());
    assert_eq!(screen.ended().await, 0);
    screen
        .shows("to come back: harness attach -c default")
        .await;
    assert!(!screen.text().contains("rgb"), "{}", screen.text());
}

/// Spec: [TUI-620]
#[tokio::test]
async fn an_answer_that_is_not_due_is_not_typed_behind_the_escape_key() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut screen = attach(service.home.path(), &["--theme", "dark"], &[]).await;
    for rest in [
        &b"]11;rgb:1e1e/1e1e/1e1e\x1b\\"[..],
        b"P>|xterm(390)\x1b\\",
        b"[24;80R",
    ] {
        screen.keys("\x1b");
        // ESC alone is a key by then.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        screen.keys(rest);
    }
    screen.keys("a draft");
    screen.shows("│ a draft").await;
    assert!(!screen.text().contains("rgb"), "{}", screen.text());
}
