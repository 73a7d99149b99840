//! The terminal's cells behind each frame, and the bytes written for it.

use std::cell::RefCell;
use std::rc::Rc;

use ratatui::style::{Color as Ink, Modifier, Style};
use ratatui::widgets::Widget as _;
use vt100::Color as Seen;

use super::super::links::ScreenLink;
use super::*;
use crate::text::width;

/// The pieces in which something was written.
#[derive(Clone, Default)]
struct Pieces(Rc<RefCell<Vec<Vec<u8>>>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pieces {
    fn take(&self) -> Vec<String> {
        let pieces = std::mem::take(&mut *self.0.borrow_mut()).into_iter();
        pieces.map(|it| String::from_utf8(it).unwrap()).collect()
    }
}

const RESET: &str = "\x1b[39m\x1b[49m\x1b[59m\x1b[0m";

/// A frame of these bytes.
fn frame(drawn: &str) -> String {
    format!("\x1b[?2026h{drawn}\x1b[?2026l")
}

/// Paints rows of text, with the cursor at a place.
fn rows<'a>(
    rows: &'a [String],
    caret: Option<(u16, u16)>,
) -> impl FnOnce(&mut Buffer) -> Painted + 'a {
    move |buffer| {
        for (y, row) in (0..buffer.area.height).zip(rows) {
            buffer.set_string(0, y, row, Style::new());
        }
        Painted {
            caret: caret.map(Position::from),
            links: FrameLinks::default(),
        }
    }
}

/// Spec: [TERM-17] [TERM-18] [TERM-301]
#[test]
fn a_frame_is_one_piece_and_only_what_differs() {
    let pieces = Pieces::default();
    let mut frames = Frames::new(pieces.clone(), 8, 2);
    let text = |text: &'static str| {
        move |buffer: &mut Buffer| {
            text.render(buffer.area, buffer);
            Painted {
                caret: Some(Position::new(3, 1)),
                links: FrameLinks::default(),
            }
        }
    };
    frames.draw(text("ab")).unwrap();
    frames.draw(text("ac")).unwrap();
    frames.draw(text("ac")).unwrap();
    let expected = [
        frame(&format!("\x1b[1;1Hab{RESET}\x1b[?25h\x1b[2;4H")),
        frame(&format!("\x1b[1;2Hc{RESET}\x1b[2;4H")),
    ];
    // Of a frame in which nothing differs, nothing is written.
    assert_eq!(pieces.take(), expected);
}

/// Spec: [TERM-18] [TERM-19]
#[test]
fn a_new_size_is_taken_at_its_word_and_drawn_as_a_whole() {
    let pieces = Pieces::default();
    let mut frames = Frames::new(pieces.clone(), 8, 2);
    let areas = RefCell::new(Vec::new());
    let paint = |buffer: &mut Buffer| {
        areas.borrow_mut().push(buffer.area);
        "ab".render(buffer.area, buffer);
        Painted::default()
    };
    frames.draw(paint).unwrap();
    frames.resize(40, 12);
    frames.draw(paint).unwrap();
    frames.resize(4, 1);
    frames.draw(paint).unwrap();
    frames.redraw();
    frames.draw(paint).unwrap();
    let sizes = [(8, 2), (40, 12), (4, 1), (4, 1)];
    let expected = sizes.map(|(width, height)| Rect::new(0, 0, width, height));
    assert_eq!(*areas.borrow(), expected);
    let drawn = format!("\x1b[1;1Hab{RESET}\x1b[?25l");
    let cleared = frame(&format!("\x1b[0m\x1b[2J{drawn}"));
    let expected = [frame(&drawn), cleared.clone(), cleared.clone(), cleared];
    assert_eq!(pieces.take(), expected);
}

fn page(from: usize, bottom: &str) -> Vec<String> {
    let text = (from..from + 10).map(|n| format!("{n} is a row of a long reply, as it comes {n}"));
    text.chain([bottom.to_owned()]).collect()
}

/// Spec: [TERM-300] [TERM-19]
#[test]
fn rows_that_move_are_moved_by_the_terminal_but_not_behind_a_redraw() {
    let pieces = Pieces::default();
    let mut frames = Frames::new(pieces.clone(), 50, 11);
    frames.draw(rows(&page(100, "input"), None)).unwrap();
    pieces.take();
    let scrolled = |from: usize, pieces: &Pieces, frames: &mut Frames<Pieces>| {
        frames.draw(rows(&page(from, "input"), None)).unwrap();
        pieces.take().concat()
    };
    let up = scrolled(102, &pieces, &mut frames);
    assert!(
        up.contains("\x1b[0m\x1b[1;10r\x1b[1;1H\x1b[2M\x1b[r"),
        "{up:?}"
    );
    assert!(!up.contains("109") && up.contains("\x1b[9;1H110"), "{up:?}");
    let down = scrolled(101, &pieces, &mut frames);
    assert!(
        down.contains("\x1b[1;10r\x1b[1;1H\x1b[1L\x1b[r"),
        "{down:?}"
    );
    frames.redraw();
    let whole = scrolled(103, &pieces, &mut frames);
    assert!(
        !whole.contains('M') && whole.contains("\x1b[1;1H103"),
        "{whole:?}"
    );
    // The last row of the screen never moves, even if all rows of it did.
    let all: Vec<String> = page(0, "10 is a row of a long reply, as it comes 10");
    frames.draw(rows(&all, None)).unwrap();
    pieces.take();
    frames
        .draw(rows(
            &page(1, "11 is a row of a long reply, as it comes 11"),
            None,
        ))
        .unwrap();
    let moved = pieces.take().concat();
    assert!(moved.contains("\x1b[1;10r"), "{moved:?}");
}

/// Numbers by chance that a seed repeats.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const WORDS: [&str; 10] = [
    "word",
    "漢字",
    " ",
    "longer-words",
    "é",
    "│",
    "👍",
    "x",
    "https://a.b",
    "   ",
];

/// A row as a screen may have it: its words, each with its look, and whether it is a link.
type Line = Vec<(&'static str, Style, Option<u8>)>;

fn line(chance: &mut Chance) -> Line {
    let colors = [Ink::Reset, Ink::Red, Ink::Rgb(1, 2, 3)];
    let modifiers = [Modifier::empty(), Modifier::BOLD, Modifier::UNDERLINED];
    (0..chance.below(12))
        .map(|_| {
            let style = Style::new()
                .fg(chance.of(&colors))
                .bg(chance.of(&[Ink::Reset, Ink::Reset, Ink::Blue]))
                .add_modifier(chance.of(&modifiers));
            let link = (chance.below(8) == 0).then(|| chance.of(&[1, 2]));
            (chance.of(&WORDS), style, link)
        })
        .collect()
}

fn paint(lines: &[Line], caret: Option<Position>, buffer: &mut Buffer) -> Painted {
    let mut links = FrameLinks::default();
    for (y, line) in (0..buffer.area.height).zip(lines) {
        let mut x = 0;
        for (words, style, link) in line {
            let wide = u16::try_from(width(words)).unwrap();
            if x + wide > buffer.area.width {
                break;
            }
            buffer.set_string(x, y, words, *style);
            if let Some(link) = link {
                let link = ScreenLink {
                    url: format!("https://{link}"),
                    id: link.to_string(),
                };
                links.add(y, x..x + wide, link);
            }
            x += wide;
        }
    }
    Painted { caret, links }
}

/// Where the terminal and the buffer differ, if they do.
fn difference(screen: &vt100::Screen, buffer: &Buffer) -> Option<String> {
    let color = |color| match color {
        Seen::Default => Ink::Reset,
        Seen::Idx(1) => Ink::Red,
        Seen::Idx(4) => Ink::Blue,
        Seen::Idx(other) => Ink::Indexed(other),
        Seen::Rgb(r, g, b) => Ink::Rgb(r, g, b),
    };
    for y in 0..buffer.area.height {
        let mut covered = 0;
        for x in 0..buffer.area.width {
            if covered > 0 {
                covered -= 1;
                continue;
            }
            let cell = &buffer[(x, y)];
            covered = width(cell.symbol()).saturating_sub(1);
            let shown = screen.cell(y, x).unwrap();
            let symbol = if shown.has_contents() {
                shown.contents()
            } else {
                " "
            };
            let is_same = symbol == cell.symbol()
                && color(shown.fgcolor()) == cell.fg
                && color(shown.bgcolor()) == cell.bg
                && shown.bold() == cell.modifier.contains(Modifier::BOLD)
                && shown.underline() == cell.modifier.contains(Modifier::UNDERLINED);
            if !is_same {
                return Some(format!("{x},{y}: {shown:?} and not {cell:?}"));
            }
        }
    }
    None
}

/// Which cells a terminal takes for a link, by what it was sent: each written character belongs to
/// the link that is open then, and moves with its row.
#[derive(Default)]
struct Linked {
    cells: std::collections::BTreeMap<(u16, u16), String>,
}

impl Linked {
    /// Takes in a frame as a terminal of this size does.
    fn take(&mut self, bytes: &str, parser: &mut vt100::Parser) {
        let mut open = String::new();
        let mut rest = bytes;
        while let Some(first) = rest.chars().next() {
            let length = sequence(rest).unwrap_or(first.len_utf8());
            let (piece, after) = rest.split_at(length);
            rest = after;
            let before = parser.screen().cursor_position();
            if let Some(link) = piece.strip_prefix("\x1b]8;") {
                link.trim_end_matches("\x1b\\").clone_into(&mut open);
                open = open.split_once(';').unwrap().1.to_owned();
            } else if piece.starts_with("\x1b[") && piece.ends_with(['M', 'L']) {
                self.shift(before.0, piece, &self::region(bytes));
            } else if piece == "\x1b[2J" {
                self.cells.clear();
            }
            parser.process(piece.as_bytes());
            if first != '\x1b' {
                let end = before.1 + u16::try_from(width(piece)).unwrap();
                for column in before.1..end {
                    self.cells.remove(&(before.0, column));
                    if !open.is_empty() {
                        self.cells.insert((before.0, column), open.clone());
                    }
                }
            }
        }
        assert_eq!(open, "", "a link is left open");
    }

    fn shift(&mut self, top: u16, piece: &str, region: &std::ops::Range<u16>) {
        let by: u16 = piece[2..piece.len() - 1].parse().unwrap();
        let shift = Shift {
            rows: region.clone(),
            by,
            is_up: piece.ends_with('M'),
        };
        assert_eq!(top, region.start);
        let cells = std::mem::take(&mut self.cells).into_iter();
        self.cells = cells
            .filter_map(|((row, column), link)| Some(((shift.moved(row)?, column), link)))
            .collect();
    }
}

/// The scroll region of a frame.
fn region(bytes: &str) -> std::ops::Range<u16> {
    let (before, _) = bytes.split_once('r').unwrap();
    let (_, numbers) = before.rsplit_once('[').unwrap();
    let (top, bottom) = numbers.split_once(';').unwrap();
    top.parse::<u16>().unwrap() - 1..bottom.parse().unwrap()
}

/// The length of the escape sequence or the character of several code points that a text begins with.
fn sequence(text: &str) -> Option<usize> {
    if text.starts_with("\x1b]") {
        return text.find("\x1b\\").map(|end| end + 2);
    }
    let rest = text.strip_prefix("\x1b[")?;
    let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
    Some(2 + end + 1)
}

/// Spec: [TERM-300] [TERM-302] [TERM-303]
#[test]
fn the_terminal_shows_every_frame_as_it_was_painted() {
    let seed: u64 = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| u64::from(std::process::id()) + 1);
    println!("SEED={seed}");
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..40 {
        let (columns, height) = (20 + chance.below(40), 3 + chance.below(12));
        let (columns, height) = (
            u16::try_from(columns).unwrap(),
            u16::try_from(height).unwrap(),
        );
        let nonzero = |cells: u16| std::num::NonZeroU16::new(cells).unwrap();
        let mut parser = vt100::Parser::new(nonzero(height), nonzero(columns), 0);
        let mut linked = Linked::default();
        let pieces = Pieces::default();
        let mut frames = Frames::new(pieces.clone(), columns, height);
        let mut lines: Vec<Line> = (0..height).map(|_| line(&mut chance)).collect();
        for _ in 0..30 {
            let at = chance.below(lines.len());
            match chance.below(6) {
                0 | 1 => {
                    // Some rows move up, as those of a reply do.
                    for _ in 0..=chance.below(3) {
                        lines.remove(0);
                        let last = lines.len().saturating_sub(chance.below(3));
                        lines.insert(last, line(&mut chance));
                    }
                }
                2 => {
                    lines.pop();
                    lines.insert(chance.below(2).min(lines.len()), line(&mut chance));
                }
                3 => {
                    for word in &mut lines[at] {
                        word.2 = word.2.map_or(Some(1), |_| None);
                    }
                }
                4 => frames.redraw(),
                _ => lines[at] = line(&mut chance),
            }
            let caret = (chance.below(2) == 0).then(|| Position::new(1, 1));
            let mut expected = Buffer::empty(Rect::new(0, 0, columns, height));
            let painted = paint(&lines, caret, &mut expected);
            frames.draw(|buffer| paint(&lines, caret, buffer)).unwrap();
            linked.take(&pieces.take().concat(), &mut parser);
            if let Some(difference) = difference(parser.screen(), &expected) {
                panic!("SEED={seed}: {difference}");
            }
            assert_eq!(
                parser.screen().hide_cursor(),
                caret.is_none(),
                "SEED={seed}"
            );
            for y in 0..height {
                for x in 0..columns {
                    let link = painted.links.at(x, y).map(|link| link.url.clone());
                    let is_covered = x > 0 && width(expected[(x - 1, y)].symbol()) > 1;
                    let shown = linked.cells.get(&(y, x)).cloned();
                    assert!(
                        is_covered || shown == link,
                        "SEED={seed} {x},{y}: {shown:?} {link:?}"
                    );
                }
            }
        }
    }
}

/// Spec: [TERM-302]
#[test]
fn a_link_is_opened_and_closed_around_what_is_written_of_it() {
    let pieces = Pieces::default();
    let mut frames = Frames::new(pieces.clone(), 12, 2);
    let mut draw = |text: &'static str, links: &[(u16, std::ops::Range<u16>, &str)]| {
        frames
            .draw(|buffer| {
                text.render(buffer.area, buffer);
                let mut painted = Painted::default();
                for (row, columns, url) in links {
                    let (url, id) = ((*url).to_owned(), "7".to_owned());
                    painted
                        .links
                        .add(*row, columns.clone(), ScreenLink { url, id });
                }
                painted
            })
            .unwrap();
        pieces.take().concat()
    };
    let open = "\x1b]8;id=7;https://a.b\x1b\\";
    let close = "\x1b]8;;\x1b\\";
    let drawn = draw("see here now", &[(0, 4..8, "https://a.b")]);
    assert_eq!(
        drawn,
        frame(&format!(
            "\x1b[1;1Hsee{RESET}{open}\x1b[1;5Hhere{RESET}{close}\x1b[1;10Hnow{RESET}\x1b[?25l"
        ))
    );
    // Only its first letter changes.
    let drawn = draw("see Here now", &[(0, 4..8, "https://a.b")]);
    assert_eq!(drawn, frame(&format!("{open}\x1b[1;5HH{RESET}{close}")));
    // Each stretch of cells is one of its own.
    let drawn = draw("see TerE now", &[(0, 4..8, "https://a.b")]);
    let stretch =
        |column: u16, letter: char| format!("{open}\x1b[1;{column}H{letter}{RESET}{close}");
    assert_eq!(drawn, frame(&(stretch(5, 'T') + &stretch(8, 'E'))));
    // Another address, and then none: the words are the same and are written again.
    let drawn = draw("see TerE now", &[(0, 4..8, "https://c.d")]);
    assert!(
        drawn.contains("https://c.d") && drawn.contains("TerE"),
        "{drawn:?}"
    );
    let drawn = draw("see TerE now", &[]);
    assert_eq!(drawn, frame(&format!("\x1b[1;5HTerE{RESET}")));
    assert_eq!(draw("see TerE now", &[]), "");
}
