//! Finds the rows that moved from one frame to the next, so that the terminal moves them itself.
//!
//! A guess that is wrong costs bytes and never a wrong screen: what is known of the terminal is
//! moved along, and the difference to that is drawn.

use std::hash::{Hash as _, Hasher};
use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};

/// Minimum number of cells that a shift must save: fewer are drawn in as many bytes.
const WORTH: i64 = 40;

/// Rows that move within a stretch of the screen; those that get free are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shift {
    /// The rows of the stretch.
    pub(super) rows: Range<u16>,
    /// Distance, in rows.
    pub(super) by: u16,
    /// True for a shift towards the top.
    pub(super) is_up: bool,
}

impl Shift {
    /// The best move to tell the terminal on the way from one frame to the next, if there is one.
    /// Never the last row: some terminals keep what leaves a stretch that ends there.
    pub(super) fn between(shown: &Buffer, next: &Buffer) -> Option<Self> {
        let width = usize::from(next.area.width);
        if shown.area != next.area || width == 0 {
            return None;
        }
        let pairs = || shown.content.chunks(width).zip(next.content.chunks(width));
        let changed = pairs().filter(|(old, new)| old != new).take(2).count();
        if changed < 2 {
            return None;
        }
        let height = usize::from(next.area.height).saturating_sub(1);
        let rows = |buffer: &Buffer| -> Vec<ComparedRow> {
            let rows = buffer.content.chunks(width).take(height);
            rows.map(ComparedRow::from_cells).collect()
        };
        let (old, new) = (rows(shown), rows(next));
        let candidates = (1..height).flat_map(|by| [true, false].map(|is_up| (by, is_up)));
        let best = candidates
            .filter_map(|(by, is_up)| best_of(&old, &new, by, is_up))
            .max_by_key(|(gain, _)| *gain);
        best.filter(|(gain, _)| *gain > WORTH)
            .map(|(_, shift)| shift)
    }

    /// Tells the terminal. The cursor is at the top left behind that.
    pub(super) fn write(&self, mut out: impl Write) -> io::Result<()> {
        let letter = if self.is_up { 'M' } else { 'L' };
        let (top, bottom) = (self.rows.start + 1, self.rows.end);
        let by = self.by;
        // Without the colours of what was drawn last, which some terminals give to the free rows.
        write!(
            out,
            "\x1b[0m\x1b[{top};{bottom}r\x1b[{top};1H\x1b[{by}{letter}\x1b[r"
        )
    }

    /// Moves what is known of the terminal.
    pub(super) fn apply(&self, buffer: &mut Buffer) {
        let width = usize::from(buffer.area.width);
        let place = |row: u16| usize::from(row) * width;
        let Some(rows) = buffer
            .content
            .get_mut(place(self.rows.start)..place(self.rows.end))
        else {
            return;
        };
        let freed = place(self.by).min(rows.len());
        let freed = if self.is_up {
            rows.rotate_left(freed);
            let kept = rows.len() - freed;
            &mut rows[kept..]
        } else {
            rows.rotate_right(freed);
            &mut rows[..freed]
        };
        freed.iter_mut().for_each(Cell::reset);
    }

    /// The new place of a row. `None` if it leaves the stretch.
    pub(super) fn moved(&self, row: u16) -> Option<u16> {
        if !self.rows.contains(&row) {
            return Some(row);
        }
        let moved = if self.is_up {
            row.checked_sub(self.by)
        } else {
            row.checked_add(self.by)
        };
        moved.filter(|row| self.rows.contains(row))
    }
}

/// The compared facts of a row.
#[derive(Debug, Clone, Copy)]
struct ComparedRow {
    hash: u64,
    /// Number of its cells that must be drawn on an empty row.
    cost: i64,
}

impl ComparedRow {
    fn from_cells(cells: &[Cell]) -> Self {
        let mut mix = Mix(0);
        let mut cost = 0;
        for cell in cells {
            cost += i64::from(*cell != Cell::EMPTY);
            mix.write(cell.symbol().as_bytes());
            (cell.fg, cell.bg, cell.underline_color, cell.modifier).hash(&mut mix);
        }
        Self {
            hash: mix.finish(),
            cost,
        }
    }
}

/// A hash that is quick and need not be hard to guess.
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.unsigned_abs() as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Maximum number of cells that a move by so many rows saves, and the stretch that saves them.
fn best_of(
    old: &[ComparedRow],
    new: &[ComparedRow],
    by: usize,
    is_up: bool,
) -> Option<(i64, Shift)> {
    let height = new.len();
    let gain_at = |y: usize| {
        let from = if is_up { y + by } else { y - by };
        let saved = i64::from(old[from].hash == new[y].hash);
        let lost = i64::from(old[y].hash == new[y].hash);
        (saved - lost) * new[y].cost
    };
    let rows = if is_up { 0..height - by } else { by..height };
    let (gain, moved) = best_stretch(rows, gain_at)?;
    let (stretch, freed) = if is_up {
        (moved.start..moved.end + by, moved.end..moved.end + by)
    } else {
        (moved.start - by..moved.end, moved.start - by..moved.start)
    };
    // What stood still where the free rows are is to be drawn again.
    let stood = freed.filter(|y| old[*y].hash == new[*y].hash);
    let lost: i64 = stood.map(|y| new[y].cost).sum();
    let place = |row: usize| u16::try_from(row).ok();
    let shift = Shift {
        rows: place(stretch.start)?..place(stretch.end)?,
        by: place(by)?,
        is_up,
    };
    Some((gain - lost, shift))
}

/// The stretch with the greatest sum, if one is greater than nothing.
fn best_stretch(rows: Range<usize>, gain: impl Fn(usize) -> i64) -> Option<(i64, Range<usize>)> {
    let mut best: Option<(i64, Range<usize>)> = None;
    let (mut sum, mut start) = (0, rows.start);
    for y in rows {
        sum += gain(y);
        if sum <= 0 {
            (sum, start) = (0, y + 1);
        } else if best.as_ref().is_none_or(|(most, _)| sum > *most) {
            best = Some((sum, start..y + 1));
        }
    }
    best
}
