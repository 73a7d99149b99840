//! Code on the screen gets its colours when they come, and not before.

use super::testing::*;
use super::*;
use crate::conversation::testing::text;
use crate::highlight::{ParsedColours, testing::answer};
use crate::layout::{Mark, picture};
use crate::terminal::Key;
use crate::theme::{Depth, Token};

const REPLY: &str = "Look:\n\n```rust\nlet a = 1; // why\n```\n";

/// A client that shows code.
fn shown(reply: &str) -> App {
    let mut app = attached(&[text(reply)]);
    app.viewport.resize(80, 20);
    app
}

fn drawn(app: &mut App) -> Vec<crate::highlight::Request> {
    let now = app.now;
    let effects = app.update(Msg::Drawn, now).into_iter();
    let requests = effects.filter_map(|effect| match effect {
        AppEffect::Colour(request) => Some(request),
        _ => None,
    });
    requests.collect()
}

/// The marks of the part that is shown last.
fn marks(app: &mut App) -> Vec<Mark> {
    let shown = app.viewport.visible(&app.conversation).pop().unwrap();
    app.colours
        .marks(shown.part, &shown.block, &(0..usize::MAX))
}

fn take(app: &mut App, answer: ParsedColours) {
    let now = app.now;
    app.update(Msg::Coloured(answer), now);
}

/// Spec: [VIEW-285]
#[test]
fn code_is_plain_at_once_and_coloured_when_the_thread_answers() {
    let mut app = shown(REPLY);
    let requests = drawn(&mut app);
    assert_eq!(requests.len(), 1);
    assert_eq!(marks(&mut app), []);
    let before = app.viewport.visible(&app.conversation).pop().unwrap();
    // It is asked for once.
    assert_eq!(drawn(&mut app), []);
    take(&mut app, answer(&requests[0]));
    let tokens: Vec<Token> = marks(&mut app).iter().map(|mark| mark.token).collect();
    assert_eq!(tokens, [Token::Keyword, Token::Constant, Token::Comment]);
    assert_eq!(drawn(&mut app), []);
    let after = app.viewport.visible(&app.conversation).pop().unwrap();
    assert_eq!(after.block, before.block);
    assert_eq!(picture::text(&after.block), picture::text(&before.block));
    // A text without code asks for nothing.
    assert_eq!(drawn(&mut shown("no `code` here")), []);
}

/// Spec: [VIEW-286]
#[test]
fn code_is_not_read_if_nobody_wants_its_colours() {
    let mut app = shown(REPLY);
    let asked = drawn(&mut app);
    take(&mut app, answer(&asked[0]));
    write(&mut app, "/settings highlight false");
    key(&mut app, Key::Enter);
    assert_eq!(marks(&mut app), []);
    assert_eq!(drawn(&mut app), []);
    write(&mut app, "/settings highlight true");
    key(&mut app, Key::Enter);
    assert_eq!(drawn(&mut app).len(), 1);

    let mut app = shown(REPLY);
    app.theme = Theme::new(Scheme::Dark, Depth::None);
    assert_eq!(drawn(&mut app), []);
}
