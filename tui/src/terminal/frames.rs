//! Draws frames: what differs from the last one, in one piece.
//!
//! Invariant: the terminal is asked nothing. Its size is the one that the caller set, so that no frame costs a system
//! call, and the place of the cursor need not be known.

use std::io::{self, Write};

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth as _};
use ratatui::layout::{Position, Rect};

use super::links::{CLOSE, FrameLinks};
use super::shift::Shift;

/// Terminals that know it show everything up to its end at once; others pass over it.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// Empties the screen.
const CLEAR: &[u8] = b"\x1b[0m\x1b[2J";

/// The parts of a frame beside its cells.
#[derive(Debug, Default)]
pub(crate) struct Painted {
    /// The place of the cursor. `None` hides it.
    pub(crate) caret: Option<Position>,
    /// The links.
    pub(crate) links: FrameLinks,
}

/// The screen, frame after frame.
pub(crate) struct Frames<W> {
    /// The cells that the terminal shows.
    shown: ShownCells,
    /// The next frame.
    next: Buffer,
    sink: W,
}

/// The cells that are known to be on the terminal.
#[derive(Debug, Default)]
struct ShownCells {
    buffer: Buffer,
    links: FrameLinks,
    /// True if something else may be on the screen.
    is_foreign: bool,
    /// True if the cursor is shown. `None` if that is unknown.
    has_caret: Option<bool>,
    /// The place of the cursor.
    caret: Option<Position>,
}

impl<W: Write> Frames<W> {
    /// An empty screen of this size.
    pub(crate) fn new(sink: W, width: u16, height: u16) -> Self {
        // Whether there are colours is the theme's business: with NO_COLOR crossterm would write a
        // reset for each colour, which also ends bold and underlined.
        crossterm::style::force_color_output(true);
        let buffer = Buffer::empty(Rect::new(0, 0, width, height));
        Self {
            next: buffer.clone(),
            shown: ShownCells {
                buffer,
                ..ShownCells::default()
            },
            sink,
        }
    }

    /// Draws a frame. It is written in one piece, and not at all if nothing differs.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut Buffer) -> Painted) -> io::Result<()> {
        self.next.reset();
        let painted = paint(&mut self.next);
        let mut out = BEGIN.to_vec();
        if self.shown.is_foreign {
            self.shown.is_foreign = false;
            out.extend(CLEAR);
        } else if let Some(shift) = Shift::between(&self.shown.buffer, &self.next) {
            shift.write(&mut out)?;
            shift.apply(&mut self.shown.buffer);
            self.shown.links.shift(&shift);
        }
        self.cells(&painted.links, &mut out)?;
        if out.len() > BEGIN.len() {
            self.shown.caret = None;
        }
        self.shown.move_caret(painted.caret, &mut out)?;
        std::mem::swap(&mut self.shown.buffer, &mut self.next);
        self.shown.links = painted.links;
        if out.len() == BEGIN.len() {
            return Ok(());
        }
        out.extend(END);
        self.sink.write_all(&out)?;
        self.sink.flush()
    }

    /// Writes the cells that differ, those that are part of another link than before, and those after characters that
    /// were wide and no longer are: terminals disagree on how they look then.
    fn cells(&mut self, links: &FrameLinks, out: &mut Vec<u8>) -> io::Result<()> {
        let mut changed = links.changes(&self.shown.links);
        changed.extend(self.shown.halves(&self.next));
        let mark = |next: &mut Buffer, option| {
            for place in &changed {
                if let Some(cell) = next.cell_mut(*place) {
                    cell.set_diff_option(option);
                }
            }
        };
        mark(&mut self.next, CellDiffOption::AlwaysUpdate);
        let cells: Vec<_> = self.shown.buffer.diff_iter(&self.next).collect();
        if links.is_empty() && !cells.is_empty() {
            CrosstermBackend::new(&mut *out).draw(cells.into_iter())?;
        } else {
            // A link that is left open would take in all that is written after it.
            let is_one = |one: &(u16, u16, &Cell), then: &(u16, u16, &Cell)| {
                let link = links.at(one.0, one.1);
                let is_beside = one.1 == then.1 && one.0 + 1 == then.0;
                link == links.at(then.0, then.1) && (link.is_none() || is_beside)
            };
            for run in cells.chunk_by(is_one) {
                let link = links.at(run[0].0, run[0].1);
                if let Some(link) = link {
                    link.open(&mut *out)?;
                }
                CrosstermBackend::new(&mut *out).draw(run.iter().copied())?;
                if link.is_some() {
                    out.extend(CLOSE);
                }
            }
        }
        mark(&mut self.next, CellDiffOption::None);
        Ok(())
    }

    /// The terminal has another size. The next frame is drawn as a whole.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        let buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.next = buffer.clone();
        self.shown = ShownCells {
            buffer,
            is_foreign: true,
            ..ShownCells::default()
        };
    }

    /// The screen no longer shows the last frame. The next frame is drawn as a whole.
    pub(crate) fn redraw(&mut self) {
        let Rect { width, height, .. } = self.next.area;
        self.resize(width, height);
    }
}

impl ShownCells {
    /// The columns after wide characters that are missing in the next frame.
    fn halves<'a>(&'a self, next: &'a Buffer) -> impl Iterator<Item = (u16, u16)> + 'a {
        let is_wide = |cell: &Cell| cell.symbol().len() > 1 && cell.cell_width() > 1;
        let cells = self.buffer.content.iter().zip(&next.content).enumerate();
        cells
            .filter(move |(_, (old, new))| old != new && is_wide(old) && !is_wide(new))
            .map(|(index, _)| next.pos_of(index))
            .map(|(x, y)| (x + 1, y))
    }

    /// Puts the cursor at its place, if it is elsewhere.
    fn move_caret(&mut self, caret: Option<Position>, out: &mut Vec<u8>) -> io::Result<()> {
        if self.has_caret != Some(caret.is_some()) {
            self.has_caret = Some(caret.is_some());
            let letter = if caret.is_some() { 'h' } else { 'l' };
            write!(out, "\x1b[?25{letter}")?;
        }
        if let Some(place) = caret.filter(|_| self.caret != caret) {
            self.caret = caret;
            write!(out, "\x1b[{};{}H", place.y + 1, place.x + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
