use std::cell::Cell;

use super::*;
use crate::conversation::testing::*;
use crate::viewport::TravelStep;
use crate::viewport::testing::*;

/// A conversation of so many texts of one row each.
fn texts(count: usize) -> ConversationStore {
    let records: Vec<_> = (0..count).map(|n| text(&format!("t{n}"))).collect();
    conversation(&records)
}

fn window(width: u16, height: u16) -> Viewport {
    let mut viewport = Viewport::with(Box::new(plain));
    viewport.resize(width, height);
    viewport
}

/// Spec: [SCRL-01] [SCRL-02]
#[test]
fn the_end_is_left_by_going_up_and_followed_again_when_it_is_reached() {
    use TravelStep::{Bottom, Down, NextPrompt, PageDown, PageUp, Top, Up};
    // 10 texts have 19 rows. A row is told by its number, a window by its first one.
    let rows: [(&[TravelStep], Option<usize>); 18] = [
        (&[], None),
        (&[Down(3)], None),
        (&[Up(0)], None),
        (&[Up(1)], Some(13)),
        (&[Up(3)], Some(11)),
        (&[Up(3), Down(1)], Some(12)),
        (&[Up(3), Down(2)], None),
        (&[Up(3), Down(99)], None),
        (&[Up(3), Bottom], None),
        (&[Up(3), NextPrompt], None),
        (&[PageUp], Some(10)),
        (&[PageUp, PageUp], Some(6)),
        (&[PageUp, PageUp, PageDown], Some(10)),
        (&[PageUp, PageDown], None),
        (&[Top], Some(0)),
        (&[Up(usize::MAX)], Some(0)),
        (&[Top, Up(1), Down(1)], Some(1)),
        (&[Top, PageDown, PageDown, PageDown, PageDown], None),
    ];
    let known = texts(10);
    for (steps, expected) in rows {
        let mut viewport = window(9, 5);
        for step in steps {
            viewport.go(*step, &known);
        }
        let first = expected.unwrap_or(14);
        let whole = everything(&mut viewport, &known);
        assert_eq!(whole.len(), 19);
        let mut seen = screen(&mut viewport, &known);
        seen.resize(5, String::new());
        assert_eq!(seen, whole[first..first + 5], "{steps:?}");
        assert_eq!(viewport.is_following(), expected.is_none(), "{steps:?}");
    }
}

/// Spec: [SCRL-02]
#[test]
fn what_fits_the_screen_is_followed_whatever_is_pressed() {
    for count in 0..=3 {
        let known = texts(count);
        let mut viewport = window(9, 5);
        for step in [
            TravelStep::Up(1),
            TravelStep::PageUp,
            TravelStep::Top,
            TravelStep::PreviousPrompt,
            TravelStep::Down(1),
        ] {
            viewport.go(step, &known);
            assert!(viewport.is_following(), "{count} {step:?}");
            let seen = screen(&mut viewport, &known);
            assert_eq!(seen, everything(&mut viewport, &known));
        }
        assert_eq!(viewport.unseen(&known), 0);
        assert!(!viewport.wants_older(&known));
    }
    // The screen grows until all fits.
    let known = texts(10);
    let mut viewport = window(9, 5);
    viewport.go(TravelStep::Top, &known);
    viewport.resize(9, 18);
    assert_eq!(screen(&mut viewport, &known).len(), 17);
    assert!(!viewport.is_following());
    viewport.resize(9, 19);
    assert_eq!(screen(&mut viewport, &known).len(), 19);
    assert!(viewport.is_following());
}

/// Spec: [SCRL-03]
#[test]
fn what_comes_is_shown_at_the_end_and_counted_elsewhere() {
    let mut known = texts(10);
    let mut viewport = window(9, 5);
    let last = |viewport: &mut Viewport, known: &ConversationStore| screen(viewport, known).pop();
    assert_eq!(last(&mut viewport, &known).unwrap(), "t9");
    take(&mut known, 11, &text("new"));
    assert_eq!(last(&mut viewport, &known).unwrap(), "new");
    viewport.go(TravelStep::PageUp, &known);
    let seen = screen(&mut viewport, &known);
    for seq in 12..15 {
        take(&mut known, seq, &text("more"));
    }
    assert_eq!(screen(&mut viewport, &known), seen);
    assert_eq!(
        (viewport.unseen(&known), viewport.is_following()),
        (3, false)
    );
    viewport.go(TravelStep::Bottom, &known);
    assert_eq!(
        (viewport.unseen(&known), viewport.is_following()),
        (0, true)
    );
    assert_eq!(last(&mut viewport, &known).unwrap(), "more");
}

/// Spec: [SCRL-05]
#[test]
fn prompts_are_gone_to_and_places_are_shown() {
    let records: Vec<_> = (0..12)
        .map(|n| {
            if n % 4 == 1 {
                user(&n.to_string())
            } else {
                text(&format!("t{n}"))
            }
        })
        .collect();
    let known = conversation(&records);
    let mut viewport = window(30, 5);
    let mut first = |step| {
        viewport.go(step, &known);
        screen(&mut viewport, &known).swap_remove(1)
    };
    let prompt = |n: &str| format!("Named(\"ana\"): {n}");
    assert_eq!(first(TravelStep::PreviousPrompt), prompt("9"));
    assert_eq!(first(TravelStep::PreviousPrompt), prompt("5"));
    assert_eq!(first(TravelStep::Down(1)), "");
    assert_eq!(first(TravelStep::PreviousPrompt), prompt("5"));
    assert_eq!(first(TravelStep::NextPrompt), prompt("9"));
    first(TravelStep::NextPrompt);
    assert!(viewport.is_following());
    let before = screen(&mut viewport, &known);
    let place = |index: usize, offset| SourcePlace {
        part: known.at(index).unwrap().id,
        offset,
    };
    viewport.show(place(10, 1), &known);
    assert_eq!(screen(&mut viewport, &known), before);
    viewport.show(place(3, 1), &known);
    assert_eq!(screen(&mut viewport, &known)[1], "t3");
    viewport.show(place(0, 1), &known);
    assert_eq!(screen(&mut viewport, &known)[0], "t0");
}

/// Spec: [SCRL-04]
#[test]
fn another_width_and_back_leads_back() {
    let long: String = ('a'..='z').cycle().take(2000).collect();
    let known = conversation(&[user("a"), text(&long), text(&long)]);
    let mut viewport = window(40, 10);
    viewport.go(TravelStep::Top, &known);
    viewport.go(TravelStep::Down(23), &known);
    let before = screen(&mut viewport, &known);
    let place = viewport.hit(0, 0, &known);
    for width in [33, 7, 200, 1, 64] {
        viewport.resize(width, 10);
        let shown = &viewport.visible(&known)[0];
        let row = &shown.block.rows[shown.rows.start];
        let range = rows::range(row).unwrap();
        assert!(range.contains(&place.unwrap().offset), "{width}");
    }
    viewport.resize(40, 10);
    assert_eq!(screen(&mut viewport, &known), before);
    assert_eq!(viewport.hit(0, 0, &known), place);
}

/// Spec: [SCRL-06]
#[test]
fn older_pages_are_wanted_when_the_top_is_near() {
    let records: Vec<_> = (0..40).map(|n| text(&format!("t{n}"))).collect();
    let mut known = ConversationStore::new(String::new());
    let now = std::time::Duration::ZERO;
    known.restore(&snapshot(&records, 20, 40), now);
    let mut viewport = window(9, 5);
    assert!(!viewport.wants_older(&known));
    viewport.go(TravelStep::Up(26), &known);
    assert_eq!(
        (viewport.held().unwrap().2, viewport.wants_older(&known)),
        (0, false)
    );
    viewport.go(TravelStep::Up(1), &known);
    assert!(viewport.wants_older(&known));
    let seen = screen(&mut viewport, &known);
    known.prepend(&history(&records, 1, 19));
    assert_eq!(screen(&mut viewport, &known), seen);
    assert!(!viewport.wants_older(&known));
}

/// Spec: [SCRL-09]
#[test]
fn a_cell_is_a_place_in_the_text() {
    let known = conversation(&[user("a"), text("abcdefgh"), call("x")]);
    let mut viewport = window(30, 20);
    let id = |index: usize| known.at(index).unwrap().id;
    // The heading, the prompt, a blank row, the text, a blank row, the tool, nothing.
    let prompt = "Named(\"ana\"): a".len();
    let tool = shown(known.at(2).unwrap()).len();
    for (y, index, offset) in [
        (0, 0, 0),
        (1, 0, 0),
        (2, 0, prompt),
        (3, 1, 0),
        (4, 1, 8),
        (5, 2, 0),
        (6, 2, 0),
        (7, 2, tool),
        (19, 2, tool),
    ] {
        let expected = Some(SourcePlace {
            part: id(index),
            offset,
        });
        assert_eq!(viewport.hit(0, y, &known), expected, "{y}");
    }
    assert_eq!(window(9, 5).hit(0, 0, &texts(0)), None);
}

/// Spec: [SCRL-07]
#[test]
fn however_long_the_conversation_only_what_is_near_is_laid_out() {
    let mut known = texts(10_000);
    let count = Rc::new(Cell::new(0));
    let counter = Rc::clone(&count);
    let lay: Lay = Box::new(move |part, width, fold| {
        counter.set(counter.get() + 1);
        plain(part, width, fold)
    });
    let mut viewport = Viewport::with(lay);
    viewport.resize(80, 40);
    let laid = |viewport: &mut Viewport, known: &ConversationStore| {
        let before = count.get();
        viewport.visible(known);
        viewport.wants_older(known);
        viewport.visible(known);
        count.replace(0) - before
    };
    assert!(laid(&mut viewport, &known) <= 25);
    for seq in 10_001..10_100 {
        take(&mut known, seq, &text("new"));
        assert!(laid(&mut viewport, &known) <= 1);
    }
    pass(&mut known, &delta(0, "text", 0, "live"));
    assert!(laid(&mut viewport, &known) <= 1);
    for step in [
        TravelStep::Top,
        TravelStep::NextPrompt,
        TravelStep::Up(1),
        TravelStep::PreviousPrompt,
    ] {
        viewport.go(step, &known);
        assert!(laid(&mut viewport, &known) <= 70, "{step:?}");
    }
    for _ in 0..100 {
        viewport.go(TravelStep::PageDown, &known);
        assert!(laid(&mut viewport, &known) <= 45);
        viewport.go(TravelStep::Down(1), &known);
        assert!(laid(&mut viewport, &known) <= 2);
    }
    viewport.resize(60, 40);
    assert!(laid(&mut viewport, &known) <= 25);
    // One part of 100,000 rows.
    take(&mut known, 10_100, &text(&"x\n".repeat(100_000)));
    viewport.go(TravelStep::Bottom, &known);
    assert!(laid(&mut viewport, &known) <= 25);
    for _ in 0..200 {
        viewport.go(TravelStep::PageUp, &known);
        assert_eq!(laid(&mut viewport, &known), 0);
    }
    let held = viewport.held().map(|(part, _, row)| (part, row > 90_000));
    assert_eq!(held, known.last_id().map(|last| (last, true)));
}

/// Spec: [VIEW-262]
#[test]
fn rows_of_calls_stand_together() {
    let known = conversation(&[
        text("t"),
        call("a"),
        call("b"),
        result("a", "x"),
        result("b", "y"),
        text("u"),
    ]);
    let mut viewport = window(40, 20);
    let rows = screen(&mut viewport, &known);
    let blank = |rows: &[String]| rows.iter().filter(|row| row.is_empty()).count();
    assert_eq!(blank(&rows), 2);
    assert_eq!(rows, everything(&mut viewport, &known));
    // What is open has room around it.
    viewport.folds.toggle_all();
    let rows = screen(&mut viewport, &known);
    assert_eq!(blank(&rows), 3);
    assert_eq!(rows, everything(&mut viewport, &known));
}
