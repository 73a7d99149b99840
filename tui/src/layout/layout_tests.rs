use super::*;
use crate::theme::{Depth, Scheme};

fn theme() -> Theme {
    Theme::new(Scheme::Dark, Depth::Full)
}

fn row(pieces: Vec<RowPiece>, fill: Option<Token>) -> ScreenRow {
    ScreenRow { pieces, fill }
}

const TEXT: Look = Look::new(Token::Text);

/// `ab漢`, a bullet before it and a remark behind.
fn example() -> (String, ScreenRow) {
    let pieces = vec![
        RowPiece::drawn("• ", TEXT),
        RowPiece::source(1..3, TEXT.bold()),
        RowPiece::source(3..6, TEXT),
        RowPiece::drawn(" (x)", TEXT),
    ];
    ("_ab漢_".to_owned(), row(pieces, Some(Token::Code)))
}

fn drawn(width: u16, marks: &[Mark]) -> String {
    let (source, row) = example();
    let block = PartLayout {
        source,
        rows: vec![row],
        ..PartLayout::default()
    };
    picture::picture(&block, &theme(), width, marks)
}

/// Spec: [VIEW-09]
#[test]
fn a_row_is_painted_to_the_edge_and_never_over_it() {
    assert_eq!(
        drawn(12, &[]),
        "|• ab漢· (x)  |\n aabbaaaaaacc\n\
         a: #E0E0E0 on #1A1A1A NONE\nb: #E0E0E0 on #1A1A1A BOLD\nc: #E0E0E0 on #3D3A28 NONE\n"
    );
    // The wide character has no room, and nothing behind it is drawn in its place.
    assert_eq!(
        drawn(5, &[]),
        "|• ab |\n aabbc\na: #E0E0E0 on #1A1A1A NONE\nb: #E0E0E0 on #1A1A1A BOLD\n\
         c: #E0E0E0 on #3D3A28 NONE\n"
    );
    let (source, row) = example();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
    for area in [Rect::new(3, 0, 9, 9), Rect::new(9, 9, 9, 9), Rect::ZERO] {
        row.draw(&source, &theme(), &[], area, &mut buffer);
    }
    assert_eq!(buffer.cell((3, 0)).unwrap().symbol(), "•");
}

/// Spec: [VIEW-09]
#[test]
fn marks_are_painted_over_what_is_of_the_source() {
    let marks = [
        Mark {
            range: 0..6,
            token: Token::Hit,
        },
        Mark {
            range: 2..3,
            token: Token::Selection,
        },
    ];
    assert_eq!(
        drawn(10, &marks),
        "|• ab漢· (x)|\n aabcddaaaa\n\
         a: #E0E0E0 on #1A1A1A NONE\nb: #E0E0E0 on #5A4A00 BOLD\n\
         c: #E0E0E0 on #264F78 BOLD\nd: #E0E0E0 on #5A4A00 NONE\n"
    );
}

#[test]
fn a_column_is_a_place_in_the_source() {
    let (source, row) = example();
    let places: Vec<_> = (0..9)
        .map(|column| row.offset_at(&source, column).unwrap())
        .collect();
    assert_eq!(places, [1, 1, 1, 2, 3, 3, 6, 6, 6]);
    assert_eq!(row.range(), Some(1..6));
    assert_eq!(row.width(&source), 10);

    let shown = ScreenRow {
        pieces: vec![RowPiece::drawn("x", TEXT)],
        fill: None,
    };
    assert_eq!(shown.offset_at(&source, 0), None);
    assert_eq!(shown.range(), None);

    let pieces = vec![
        RowPiece::source(0..1, TEXT),
        RowPiece::drawn("---", TEXT),
        RowPiece::source(2..3, TEXT),
    ];
    let between = self::row(pieces, None);
    let places: Vec<_> = (0..6)
        .map(|column| between.offset_at("abc", column).unwrap())
        .collect();
    assert_eq!(places, [0, 1, 1, 1, 2, 3]);
}

proptest::proptest! {
    /// Spec: [VIEW-284]
    #[test]
    fn colours_change_nothing_of_what_a_row_says(
        places in proptest::collection::vec((0_usize..8, 0_usize..8, 0_usize..6), 0..6),
        width in 1_u16..14,
    ) {
        let tokens = [
            Token::Keyword,
            Token::Comment,
            Token::Literal,
            Token::AddedWord,
            Token::RemovedWord,
            Token::Hit,
        ];
        let marks: Vec<Mark> = places
            .into_iter()
            .map(|(start, length, token)| Mark {
                range: start..start + length,
                token: tokens[token],
            })
            .collect();
        let said = |picture: String| picture.lines().next().unwrap_or_default().to_owned();
        proptest::prop_assert_eq!(said(drawn(width, &marks)), said(drawn(width, &[])));
    }
}

/// Spec: [VIEW-281]
#[test]
fn code_has_an_edge_where_its_ground_cannot_be_seen() {
    let block = PartLayout {
        source: "code".to_owned(),
        rows: vec![row(
            vec![
                RowPiece::edge(),
                RowPiece::source(0..4, TEXT.on(Token::Code)),
            ],
            Some(Token::Code),
        )],
        ..PartLayout::default()
    };
    for (scheme, depth, edge) in [
        (Scheme::Dark, Depth::Full, "| code|"),
        (Scheme::Light, Depth::Palette, "| code|"),
        (Scheme::Dark, Depth::Sixteen, "|│code|"),
        (Scheme::Terminal, Depth::Full, "|│code|"),
        (Scheme::Light, Depth::None, "|│code|"),
    ] {
        let picture = picture::picture(&block, &Theme::new(scheme, depth), 5, &[]);
        assert_eq!(picture.lines().next(), Some(edge), "{scheme:?} {depth:?}");
    }
}
