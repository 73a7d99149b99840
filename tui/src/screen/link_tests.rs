//! Which words on the screen are links, and where they lead.

use ratatui::buffer::Buffer;

use super::*;
use crate::app::Msg;
use crate::app::testing::*;
use crate::conversation::testing::{call, result, text};
use crate::part_view::FoldAmount;
use crate::terminal::Key;

/// The words on the screen that are links, from top to bottom, each with its id and its address.
fn links(app: &mut App) -> Vec<(String, String, String)> {
    let (width, height) = app.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let links = paint(app, &mut buffer).links;
    let mut all: Vec<(String, String, String)> = Vec::new();
    let mut before = None;
    for y in 0..height {
        for x in 0..width {
            let link = links.at(x, y);
            if let Some(link) = link {
                if before != Some((x, y, link)) {
                    all.push((String::new(), link.id.clone(), link.url.clone()));
                }
                all.last_mut().unwrap().0 += buffer[(x, y)].symbol();
            }
            before = link.map(|link| (x + 1, y, link));
        }
    }
    all
}

fn words(app: &mut App) -> Vec<(String, String)> {
    let links = links(app).into_iter();
    links.map(|(words, _, url)| (words, url)).collect()
}

fn pair(words: &str, url: &str) -> (String, String) {
    (words.to_owned(), url.to_owned())
}

const REPLY: &str = "See [the docs](https://a.b/c), <https://d.e>, https://f.g/h. Or [mail](mailto:x@y.z), \
                     <x@y.z> and [not](javascript:x).";

/// Spec: [TERM-305]
#[test]
fn links_lead_where_they_say_and_what_they_do_not_say_is_shown() {
    let mut app = attached(&[text(REPLY)]);
    app.update(Msg::Resized(200, 20), app.now);
    let expected = [
        pair("the docs", "https://a.b/c"),
        pair("https://a.b/c", "https://a.b/c"),
        pair("https://d.e", "https://d.e"),
        pair("https://f.g/h", "https://f.g/h"),
        pair("mail", "mailto:x@y.z"),
        pair("mailto:x@y.z", "mailto:x@y.z"),
        pair("x@y.z", "mailto:x@y.z"),
    ];
    assert_eq!(words(&mut app), expected);
    // Under a list nothing is a link, nor if nobody wants them.
    key(&mut app, Key::Function(1));
    assert_eq!(words(&mut app), []);
    key(&mut app, Key::Escape);
    assert_eq!(words(&mut app).len(), expected.len());
    write(&mut app, "/settings links false");
    key(&mut app, Key::Enter);
    assert_eq!(words(&mut app), []);
}

/// Spec: [TERM-304] [TERM-305]
#[test]
fn the_rows_of_a_link_are_one_in_prose_and_in_results() {
    let long = format!("https://a.b/{}", "c".repeat(60));
    let said = result("t", &format!("at {long} and https://d.e"));
    let mut app = attached(&[call("t"), said]);
    app.viewport.folds.set_all(FoldAmount::Open);
    app.update(Msg::Resized(50, 20), app.now);
    let all = links(&mut app);
    let (last, of_long) = all.split_last().unwrap();
    assert_eq!(
        (last.0.as_str(), last.2.as_str()),
        ("https://d.e", "https://d.e")
    );
    assert!(of_long.len() > 1, "{all:?}");
    let together: String = of_long.iter().map(|(words, ..)| words.as_str()).collect();
    assert_eq!(together, long);
    let is_one = |link: &(String, String, String)| link.1 == of_long[0].1 && link.2 == long;
    assert!(of_long.iter().all(is_one), "{all:?}");
    assert_ne!(last.1, of_long[0].1);
}
