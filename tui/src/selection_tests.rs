use super::*;
use crate::conversation::testing::{call, conversation, delta, pass, result, text};
use crate::part_view::FoldAmount;
use crate::viewport::testing::plain;

const SOURCE: &str = "one two\nthree\n\nfour, fünf\n\n";

fn at(part: i64, offset: usize) -> SourcePlace {
    SourcePlace {
        part: PartId(part),
        offset,
    }
}

/// Spec: [SCRL-10]
#[test]
fn a_click_selects_a_word_or_a_paragraph() {
    for (unit, offset, expected) in [
        (Unit::Character, 2, ""),
        (Unit::Word, 0, "one"),
        (Unit::Word, 2, "one"),
        (Unit::Word, 3, " "),
        (Unit::Word, 4, "two"),
        (Unit::Word, 9, "three"),
        (Unit::Word, 19, ","),
        (Unit::Word, 23, "fünf"),
        (Unit::Word, 99, ""),
        (Unit::Paragraph, 0, "one two\nthree"),
        (Unit::Paragraph, 12, "one two\nthree"),
        (Unit::Paragraph, 15, "four, fünf"),
        (Unit::Paragraph, 99, ""),
    ] {
        let selection = Selection::begin(unit, at(0, offset), SOURCE);
        let range = selection.range(PartId(0), SOURCE);
        assert_eq!(
            range.map_or("", |range| &SOURCE[range]),
            expected,
            "{unit:?} {offset}"
        );
    }
}

/// Spec: [SCRL-10]
#[test]
fn a_drag_goes_either_way_and_over_parts() {
    let known = conversation(&[
        text("one two\n\n"),
        call("x"),
        result("x", "42"),
        text("three four"),
    ]);
    let ids: Vec<i64> = known.parts().map(|part| part.id.0).collect();
    let mut viewport = Viewport::with(Box::new(plain));
    viewport.folds.set_all(FoldAmount::Cut);
    viewport.resize(80, 9);
    let rows = [
        (Unit::Character, (0, 1), (0, 6), "ne two"),
        (Unit::Character, (0, 6), (0, 1), "ne two"),
        (Unit::Character, (0, 3), (0, 3), " "),
        (Unit::Word, (0, 1), (0, 5), "one two"),
        (Unit::Word, (0, 5), (0, 1), "one two"),
        (
            Unit::Character,
            (0, 4),
            (2, 5),
            "two\n\nx {\"path\":\"x\"} = 42\n\nthree ",
        ),
        (
            Unit::Character,
            (2, 5),
            (0, 4),
            "two\n\nx {\"path\":\"x\"} = 42\n\nthree ",
        ),
        (
            Unit::Character,
            (0, 9),
            (2, 0),
            "x {\"path\":\"x\"} = 42\n\nt",
        ),
        (
            Unit::Paragraph,
            (2, 5),
            (0, 4),
            "one two\n\nx {\"path\":\"x\"} = 42\n\nthree four",
        ),
    ];
    for (unit, from, to, expected) in rows {
        let mut source = |index: usize| viewport.block(known.at(index).unwrap()).source.clone();
        let mut selection = Selection::begin(unit, at(ids[from.0], from.1), &source(from.0));
        selection.drag(at(ids[1], 3), &source(1));
        selection.drag(at(ids[to.0], to.1), &source(to.0));
        assert_eq!(
            selection.text(&known, &mut viewport),
            expected,
            "{unit:?} {from:?} {to:?}"
        );
        assert_eq!(selection.is_empty(), expected.is_empty());
    }
}

/// Spec: [SCRL-10]
#[test]
fn what_is_folded_away_is_not_copied() {
    let known = conversation(&[text("a"), call("x"), result("x", "1\n2\n3"), text("b")]);
    let lay = |part: &crate::conversation::Part, width, fold| {
        let mut block = plain(part, width, FoldAmount::Cut);
        let is_folded = fold == FoldAmount::Folded && part.id == PartId(1);
        block
            .rows
            .truncate(if is_folded { 2 } else { block.rows.len() });
        block
    };
    let mut viewport = Viewport::with(Box::new(lay));
    viewport.folds.set_all(FoldAmount::Cut);
    viewport.resize(80, 9);
    let mut selection = Selection::begin(Unit::Character, at(0, 0), "a");
    selection.drag(at(2, 1), "b");
    let heading = "x {\"path\":\"x\"} = 1";
    let expected = format!("a\n\n{heading}\n2\n3\n\nb");
    assert_eq!(selection.text(&known, &mut viewport), expected);
    viewport.folds.set_all(FoldAmount::Folded);
    let expected = format!("a\n\n{heading}\n\nb");
    assert_eq!(selection.text(&known, &mut viewport), expected);
}

/// Spec: [SCRL-10]
#[test]
fn what_grows_or_goes_leaves_the_selection_as_it_is() {
    let mut known = conversation(&[text("one two")]);
    pass(&mut known, &delta(0, "text", 0, "three"));
    let mut viewport = Viewport::with(Box::new(plain));
    let ids: Vec<i64> = known.parts().map(|part| part.id.0).collect();
    let mut selection = Selection::begin(Unit::Character, at(ids[0], 4), "one two");
    selection.drag(at(ids[1], 3), "three");
    assert_eq!(selection.text(&known, &mut viewport), "two\n\nthre");
    pass(&mut known, &delta(0, "text", 5, " four"));
    viewport.resize(3, 9);
    assert_eq!(selection.text(&known, &mut viewport), "two\n\nthre");
    pass(&mut known, &harness_protocol::Event::Discarded {});
    assert_eq!(selection.text(&known, &mut viewport), "two");
    // An end in the middle of a character takes in the whole of it.
    let mut selection = Selection::begin(Unit::Character, at(0, 0), "é");
    selection.is_open = true;
    selection.head = (at(0, 1), at(0, 1));
    assert_eq!(selection.range(PartId(0), "é"), Some(0..2));
}
