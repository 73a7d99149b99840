//! The conversation.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::RowWriter;
use crate::app::{App, LinkState, Overlay};
use crate::diff::emphasis;
use crate::highlight::Code;
use crate::layout::{Mark, ScreenRow};
use crate::terminal::{FrameLinks, ScreenLink};
use crate::text;
use crate::theme::{Look, Token};
use crate::viewport::ShownRows;

/// Number of lines of a diff beyond the screen that are looked at.
const BEYOND: usize = 50;

/// Draws it; which words are links.
pub(super) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) -> FrameLinks {
    let mut links = FrameLinks::default();
    app.viewport.resize(area.width, area.height);
    if app.conversation.is_empty() {
        empty(app, buffer, area);
        return links;
    }
    for shown in app.viewport.visible(&app.conversation) {
        let marks = marks(app, &shown);
        let rows = &shown.block.rows[shown.rows.clone()];
        for (y, row) in (area.y + shown.y..area.bottom()).zip(rows) {
            let row_area = Rect {
                y,
                height: 1,
                ..area
            };
            row.draw(&shown.block.source, &app.theme, &marks, row_area, buffer);
            if app.shows_links() {
                add_links(&mut links, &shown, row, row_area);
            }
        }
        if app.picked == Some(shown.part) && shown.rows.start == 0 {
            // In the blank column after the sign.
            let cell = buffer.cell_mut((area.x + 1, area.y + shown.y));
            if let Some(cell) = cell.filter(|_| area.width > 2) {
                let style = app.theme.style(Look::new(Token::Status).bold());
                cell.set_symbol("›").set_style(style);
            }
        }
    }
    links
}

/// Adds the links of a row that is drawn there.
fn add_links(links: &mut FrameLinks, shown: &ShownRows, row: &ScreenRow, area: Rect) {
    for link in row.links(&shown.block.source) {
        let place = |column: usize| {
            let column = u16::try_from(column).unwrap_or(u16::MAX);
            area.x.saturating_add(column).min(area.right())
        };
        let columns = place(link.columns.start)..place(link.columns.end);
        if !columns.is_empty() {
            let id = format!("{:x}-{:x}", shown.part.0, link.start);
            links.add(area.y, columns, ScreenLink { url: link.url, id });
        }
    }
}

/// The marks in a part: the selection, and the hits of a search.
fn marks(app: &mut App, shown: &ShownRows) -> Vec<Mark> {
    let mut marks = code_marks(app, shown);
    if let Some(Overlay::Search(open)) = &app.overlay
        && let Some(part) = app.conversation.part(shown.part)
    {
        let hits = open.search.hits(part, &mut app.viewport);
        marks.extend(hits.into_iter().map(|range| Mark {
            token: if open.search.is_current(shown.part, &range) {
                Token::CurrentHit
            } else {
                Token::Hit
            },
            range,
        }));
    }
    let selection = app.selection.as_ref();
    let selected = selection.and_then(|it| it.range(shown.part, &shown.block.source));
    marks.extend(selected.map(|range| Mark {
        range,
        token: Token::Selection,
    }));
    marks
}

/// The colours of code, and the words of diffs that are new or gone.
fn code_marks(app: &App, shown: &ShownRows) -> Vec<Mark> {
    let rows = shown.block.rows.get(shown.rows.clone()).unwrap_or_default();
    let ranges = rows.iter().filter_map(ScreenRow::range);
    let Some(range) = ranges.reduce(|all, row| all.start.min(row.start)..all.end.max(row.end))
    else {
        return Vec::new();
    };
    let mut marks = app.colours.marks(shown.part, &shown.block, &range);
    for code in shown.block.code.iter().filter(|code| code.is_diff()) {
        marks.extend(diff_marks(code, &shown.block.source, &range));
    }
    marks
}

/// The words that are new or gone in the lines of a diff that are on the screen. Lines that belong
/// together may begin above it and end below.
fn diff_marks(code: &Code, source: &str, range: &Range<usize>) -> Vec<Mark> {
    let lines = code.within(range);
    let lines = lines.start.saturating_sub(BEYOND)..lines.end + BEYOND;
    let texts: Vec<&str> = lines.clone().map(|line| code.text(source, line)).collect();
    let marks = emphasis(&texts).into_iter().filter_map(|(line, word)| {
        let place = code.range(lines.start + line)?;
        let token = match texts.get(line)?.starts_with('-') {
            true => Token::RemovedWord,
            false => Token::AddedWord,
        };
        Some(Mark {
            range: place.start + word.start..place.start + word.end,
            token,
        })
    });
    marks.collect()
}

fn empty(app: &App, buffer: &mut Buffer, area: Rect) {
    let words = match &app.link {
        LinkState::Opening => "attaching…",
        LinkState::Up => "Nothing was said yet. Write a prompt and press Enter; ? shows the keys.",
        LinkState::Down { .. } => "the service cannot be reached",
    };
    let mut said = vec![words.to_owned()];
    let service = app.service.as_ref().filter(|_| app.link == LinkState::Up);
    if let (Some(service), Some(folder)) = (service, app.folder()) {
        said.push(String::new());
        let essentials = service.essentials(folder).into_iter();
        said.extend(essentials.map(|(name, value)| format!("{name:<9} {value}")));
    }
    let width = usize::from(area.width);
    let rows = said.iter().flat_map(|words| text::broken(words, width));
    for (y, words) in (area.top()..area.bottom()).zip(rows) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        RowWriter::new(app, buffer, row).say(&words, Look::new(Token::Quiet));
    }
}
