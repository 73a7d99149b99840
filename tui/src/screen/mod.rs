//! The screen: reads the state of the client and draws it.
//!
//! Invariant: nothing here changes what the client knows or wants; only layouts are remembered.

mod band;
mod board;
mod chooser;
mod commands;
mod frame;
mod header;
mod help;
mod input;
mod line;
mod past;
mod picker;
mod queue;
mod seam;
mod status;
mod talk;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::{App, Overlay, Regions};
use crate::terminal::{FrameLinks, Painted};
use crate::theme::{Look, Token};

/// The smallest screen on which more than the input is drawn, in columns and rows.
const SMALLEST: (u16, u16) = (20, 5);

/// Draws everything.
pub fn draw(app: &mut App, frame: &mut Frame<'_>) {
    if let Some(caret) = paint(app, frame.buffer_mut()).caret {
        frame.set_cursor_position(caret);
    }
}

/// Draws everything; where the cursor is then, and which words are links.
pub(crate) fn paint(app: &mut App, buffer: &mut Buffer) -> Painted {
    let area = buffer.area;
    let mut links = FrameLinks::default();
    buffer.set_style(area, app.theme.ground());
    let regions = Regions::layout(app, area);
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        too_small(app, buffer, area, regions.input);
    } else {
        header::draw(app, buffer, regions.header);
        links = talk::draw(app, buffer, regions.talk);
        seam::draw(app, buffer, regions.seam);
        queue::draw(app, buffer, regions.queue);
        band::draw(app, buffer, regions.band);
        seam::draw_pastes(app, buffer, regions.pastes);
        status::draw(app, buffer, regions.status);
    }
    let caret = input::draw(app, buffer, regions.input);
    let caret = match &app.overlay {
        None => {
            let covered = commands::draw(app, buffer, &regions);
            links.cover(&(covered.top()..covered.bottom()));
            // What is typed is not for the input while what waits for an answer has the keys.
            caret.filter(|_| !app.band.as_ref().is_some_and(|band| band.has_focus))
        }
        Some(Overlay::Help { above }) => {
            help::draw(app, buffer, area, *above);
            None
        }
        Some(Overlay::Facts(lines)) => {
            help::draw_facts(app, buffer, area, lines);
            None
        }
        Some(Overlay::Picker(picker)) => picker::draw(app, picker, buffer, area),
        Some(Overlay::Chooser(chooser)) => chooser::draw(app, chooser, buffer, area),
        Some(Overlay::Past(list)) => past::draw(app, list, buffer, area),
        Some(Overlay::Board(board)) => {
            board::draw(app, board, buffer, area);
            None
        }
        Some(Overlay::Search(search)) => seam::draw_search(app, search, buffer, regions.seam),
    };
    // The rest of a link beside an overlay would lead on where other text is shown.
    if !matches!(app.overlay, None | Some(Overlay::Search(_))) {
        links = FrameLinks::default();
    }
    Painted { caret, links }
}

fn too_small(app: &App, buffer: &mut Buffer, area: Rect, input: Rect) {
    if input.y > area.y {
        let row = Rect { height: 1, ..area };
        let mut line = line::RowWriter::new(app, buffer, row);
        line.say("too small", Look::new(Token::Notice));
    }
}

#[cfg(test)]
mod picture;

#[cfg(test)]
mod board_tests;

#[cfg(test)]
mod picture_tests;

#[cfg(test)]
mod bytes_tests;

#[cfg(test)]
mod link_tests;

#[cfg(test)]
mod region_tests;

#[cfg(test)]
mod status_tests;

#[cfg(test)]
mod help_tests;
