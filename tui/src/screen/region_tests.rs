use super::picture::{buffer, rows};
use super::*;
use crate::app::Msg;
use crate::app::testing::*;
use crate::conversation::testing::text;
use crate::link::News;
use crate::service::testing::service;
use crate::terminal::Key;
use crate::text::width;

fn resize(app: &mut App, width: u16, height: u16) {
    app.update(Msg::Resized(width, height), app.now);
}

/// Spec: [TUI-01]
#[test]
fn the_regions_stand_from_top_to_bottom_and_fill_the_screen() {
    for (width, height) in [(80, 24), (40, 12), (120, 40), (200, 60), (20, 10)] {
        let mut app = attached(&talked());
        resize(&mut app, width, height);
        let regions = Regions::of_screen(&app);
        let place = |region: Rect| (region.y, region.height);
        assert_eq!(
            [
                place(regions.header),
                place(regions.talk),
                place(regions.seam),
                place(regions.pastes),
                place(regions.status),
                place(regions.input),
            ],
            [
                (0, 1),
                (1, height - 6),
                (height - 5, 1),
                (height - 4, 0),
                (height - 4, 1),
                (height - 3, 3),
            ],
            "{width}x{height}"
        );
        let widths = [regions.header, regions.seam, regions.status, regions.input];
        assert!(widths.iter().all(|it| (it.x, it.width) == (0, width)));
        assert_eq!((regions.talk.x, regions.talk.width), (1, width - 2));
    }
}

/// Spec: [TUI-83]
#[test]
fn in_the_header_what_matters_least_goes_first() {
    let mut app = attached(&talked());
    present(&mut app, 2, &["ben", "ana"]);
    let mut one = service();
    one.version = "0.1.3".to_owned();
    one.is_demo = true;
    tell(&mut app, News::Service(Box::new(one)));
    let own = env!("CARGO_PKG_VERSION");
    let all = format!("demo · service 0.1.3, this {own} · harness restart · ~/src/project");
    let title = " fix flaky test · ";
    for (width, left, right) in [
        (140, format!("{title}{all} · c"), "2 clients: you, ben"),
        (110, format!("{title}{all}"), "2 clients: you, ben"),
        (90, format!("{title}{all}"), "project"),
        (
            86,
            format!("{title}{}", all.replace("~/src", "…")),
            "project",
        ),
        (
            72,
            format!("{title}{}", all.replace(" · ~/src/project", "")),
            "restart",
        ),
        (50, format!("{title}demo · service 0.1.3"), "2 clients"),
        (30, " fix flaky test · demo".to_owned(), ""),
        (20, " fix flak… · demo".to_owned(), "demo"),
    ] {
        resize(&mut app, width, 24);
        let header = rows(&mut app)[0].clone();
        let shown = header.trim_end();
        let left = left.trim_end();
        assert!(shown.starts_with(left), "{width}: {shown}");
        assert!(shown.ends_with(right), "{width}: {shown}");
    }
}

/// Spec: [TUI-83]
#[test]
fn the_header_has_the_folder_of_the_conversation_before_that_of_the_service() {
    let mut app = attached(&[]);
    tell(&mut app, News::Service(Box::new(service())));
    for (folder, shown) in [
        (Some("/home/ana/src/b"), "~/src/b"),
        (Some("/srv/c"), "/srv/c"),
        (None, "~/src/project"),
    ] {
        open_in(&mut app, "c", folder);
        let header = rows(&mut app)[0].clone();
        let begin = format!(" c · {shown}  ");
        assert!(header.starts_with(&begin), "{header}");
    }
}

/// Spec: [TUI-01] [EDIT-06]
#[test]
fn the_input_grows_with_what_is_written_to_ten_rows_and_shrinks_again() {
    let mut app = attached(&[]);
    let mut heights = Vec::new();
    for _ in 0..14 {
        heights.push(Regions::of_screen(&app).input.height);
        let status = Regions::of_screen(&app).status;
        assert_eq!(status.bottom(), Regions::of_screen(&app).input.y);
        control(&mut app, 'j');
    }
    let expected = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 12, 12, 12];
    assert_eq!(heights, expected);
    assert_eq!(Regions::of_screen(&app).talk.height, 24 - 12 - 3);
    write(&mut app, "end");
    assert_eq!(rows(&mut app)[22], format!("│ end{}│", " ".repeat(74)));
    control(&mut app, 'u');
    assert_eq!(Regions::of_screen(&app).input.height, 3);
    // A row that is full makes it grow as well.
    write(&mut app, &"x".repeat(77));
    assert_eq!(Regions::of_screen(&app).input.height, 4);
}

/// Spec: [TUI-04]
#[test]
fn the_input_asks_for_a_prompt_only_where_there_is_nothing() {
    let asks = |app: &mut App| rows(app).iter().any(|row| row.contains("Enter prompt..."));
    let mut app = attached(&[]);
    assert!(asks(&mut app));
    write(&mut app, "x");
    assert!(!asks(&mut app));
    key(&mut app, Key::Backspace);
    assert!(asks(&mut app));
    app.update(Msg::Paste("line\n".repeat(30)), app.now);
    assert!(!asks(&mut app));
    key(&mut app, Key::Backspace);
    assert!(asks(&mut app));
}

/// Spec: [TUI-07]
#[test]
fn a_remark_stands_below_the_conversation_also_with_a_list_open() {
    let mut app = picking();
    app.complain("a title\nmust not be empty");
    let seam = usize::from(Regions::of_screen(&app).seam.y);
    assert!(rows(&mut app)[seam].starts_with("─ error: a title must not be empty ─"));
    wait(&mut app, 5);
    assert!(rows(&mut app)[seam].contains("must not"));
    wait(&mut app, 1);
    assert_eq!(rows(&mut app)[seam], "─".repeat(80));
}

/// The overlays of the conversation.
fn over(number: usize) -> App {
    let mut app = attached(&talked());
    present(&mut app, 4, &["ana", "漢字漢字", "e\u{301}ve"]);
    match number {
        0 => {}
        1 => {
            key(&mut app, Key::Function(1));
        }
        2 => {
            app = picking();
            key(&mut app, Key::Tab);
            app.update(
                Msg::Paste("漢字 👨\u{200d}👩\u{200d}👧 long enough to be cut".to_owned()),
                app.now,
            );
        }
        3 => {
            control(&mut app, 'f');
            app.update(
                Msg::Paste("漢字 long enough to be cut, whatever the width".to_owned()),
                app.now,
            );
        }
        4 => write(&mut app, "/"),
        5 => {
            write(&mut app, "/debug");
            key(&mut app, Key::Enter);
        }
        6 => {
            lose(&mut app, "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字", 1, 3);
            app.complain("漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字");
        }
        7 => {
            app.update(Msg::Paste("漢字\n".repeat(30)), app.now);
            app.update(Msg::Paste("漢字\n漢字漢字漢字漢字".to_owned()), app.now);
        }
        _ => {
            key(&mut app, Key::PageUp);
            tell(
                &mut app,
                told(
                    13,
                    text("漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"),
                ),
            );
            control(&mut app, 'p');
        }
    }
    app
}

/// Spec: [TUI-08] [TERM-07]
#[test]
fn at_any_size_everything_is_drawn_within_the_screen_and_keys_do_what_they_do() {
    for number in 0..9 {
        let mut app = over(number);
        for columns in (1..24).chain([40, 59, 60, 61, 80, 120, 121, 250]) {
            for height in (1..14).chain([24, 50]) {
                resize(&mut app, columns, height);
                let drawn = buffer(&mut app);
                for cells in drawn.content.chunks(usize::from(columns)) {
                    let last = cells.last().map_or("", |cell| cell.symbol());
                    assert!(width(last) <= 1, "{number} at {columns}x{height}: {last:?}");
                }
                app.update(Msg::Drawn, app.now);
            }
        }
        resize(&mut app, 1, 1);
        key(&mut app, Key::PageUp);
        key(&mut app, Key::Escape);
        key(&mut app, Key::Escape);
        control(&mut app, 'u');
        write(&mut app, "works");
        assert_eq!(app.composer.text(), "works", "{number}");
    }
}

/// Spec: [TUI-08]
#[test]
fn wide_characters_break_no_border() {
    let wide = "漢".repeat(400);
    for columns in (20..60).chain(100..135) {
        for overlay in [0, 1, 2] {
            let mut app = attached(&[text(&wide)]);
            resize(&mut app, columns, 24);
            match overlay {
                0 => write(&mut app, &wide[..300]),
                1 => {
                    key(&mut app, Key::Function(1));
                }
                _ => {
                    control(&mut app, 'p');
                    let mut listed = summaries();
                    listed[0].title = Some(wide.clone());
                    tell(&mut app, News::Listed(listed));
                    app.update(Msg::Paste(wide.clone()), app.now);
                }
            }
            for row in rows(&mut app) {
                if !row.contains('│') {
                    continue;
                }
                let bars: Vec<usize> = row
                    .match_indices('│')
                    .map(|(at, _)| width(&row[..at]))
                    .collect();
                let edges = (bars[0], bars[bars.len() - 1]);
                let columns = usize::from(columns);
                let is_edge = |wide: usize| {
                    let left = (columns - wide.min(columns)) / 2;
                    edges == (left, left + wide.min(columns) - 1)
                };
                // The input is as wide as the screen, a box has its own width.
                let boxes = [columns, 100, 120];
                assert!(boxes.into_iter().any(is_edge), "{overlay} {columns}: {row}");
            }
        }
    }
}

/// Spec: [TUI-33]
#[test]
fn the_end_of_what_is_searched_for_is_seen_and_hits_are_marked() {
    let mut app = attached(&[text("one hit, two hits, no more")]);
    control(&mut app, 'f');
    write(&mut app, "hit");
    let drawn = buffer(&mut app);
    let ground = |token| app.theme.style(Look::new(Token::Text).on(token)).bg;
    let marked = |token| {
        let is_so = |cell: &&ratatui::buffer::Cell| Some(cell.bg) == ground(token);
        let cells = drawn.content.iter().filter(is_so);
        cells.map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    assert_eq!(
        (marked(Token::Hit), marked(Token::CurrentHit)),
        ("hit".to_owned(), "hit".to_owned())
    );
    write(&mut app, &"x".repeat(100));
    write(&mut app, "end");
    let seam = usize::from(Regions::of_screen(&app).seam.y);
    let row = &rows(&mut app)[seam];
    assert!(
        row.starts_with(" /…x") && row.ends_with("xend   not found"),
        "{row}"
    );
    assert!(matches!(&app.overlay, Some(Overlay::Search(_))));
}

/// Spec: [TUI-301] [TUI-304]
#[test]
fn a_long_list_says_where_it_stands_and_a_search_whose_the_keys_are() {
    let mut app = attached(&[text("one")]);
    write(&mut app, "/");
    let count = crate::app::COMMANDS.len();
    let shown = |app: &mut App, words: &str| rows(app).iter().any(|row| row.ends_with(words));
    assert!(shown(&mut app, &format!("  1/{count}")));
    key(&mut app, Key::Down);
    assert!(shown(&mut app, &format!("  2/{count}")));
    // All of it is seen.
    write(&mut app, "them");
    assert!(!rows(&mut app).iter().any(|row| row.contains("/1 ")));
    control(&mut app, 'u');
    control(&mut app, 'f');
    let hint = "the search has the keys · Esc back";
    assert!(rows(&mut app).iter().any(|row| row.contains(hint)));
}
