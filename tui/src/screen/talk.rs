//! The conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::Line;
use crate::app::{App, LinkState, Overlay};
use crate::layout::Mark;
use crate::text;
use crate::theme::{Look, Token};
use crate::viewport::Shown;

pub(super) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    app.viewport.resize(area.width, area.height);
    if app.conversation.is_empty() {
        empty(app, buffer, area);
        return;
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
        }
    }
}

/// What is painted over in a part: what is selected, and what a search found.
fn marks(app: &mut App, shown: &Shown) -> Vec<Mark> {
    let mut marks = Vec::new();
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
        Line::new(app, buffer, row).say(&words, Look::new(Token::Reasoning));
    }
}
