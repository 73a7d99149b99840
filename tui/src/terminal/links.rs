//! The links on a screen and their places, and the sequences that announce them to the terminal (OSC 8).

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use super::shift::Shift;

/// Ends a link.
pub(super) const CLOSE: &[u8] = b"\x1b]8;;\x1b\\";

/// A link on the screen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScreenLink {
    /// The target: an address of [`crate::text::address`].
    pub(crate) url: String,
    /// The same for all rows of one link, so that the terminal shows them as one.
    pub(crate) id: String,
}

impl ScreenLink {
    /// Begins it.
    pub(super) fn open(&self, mut out: impl Write) -> io::Result<()> {
        write!(out, "\x1b]8;id={};{}\x1b\\", self.id, self.url)
    }
}

/// The links of a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FrameLinks(Vec<LinkStretch>);

/// A stretch of a row that is a link.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LinkStretch {
    row: u16,
    columns: Range<u16>,
    link: Arc<ScreenLink>,
}

impl FrameLinks {
    /// Adds one, right of and below those that there are.
    pub(crate) fn add(&mut self, row: u16, columns: Range<u16>, link: ScreenLink) {
        self.0.push(LinkStretch {
            row,
            columns,
            link: Arc::new(link),
        });
    }

    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Something covers these rows.
    pub(crate) fn cover(&mut self, rows: &Range<u16>) {
        self.0.retain(|stretch| !rows.contains(&stretch.row));
    }

    /// The link at a place.
    pub(crate) fn at(&self, column: u16, row: u16) -> Option<&ScreenLink> {
        let place = (row, column);
        let before = |stretch: &LinkStretch| (stretch.row, stretch.columns.end) <= place;
        let stretch = self.0.get(self.0.partition_point(before))?;
        let is_in = stretch.row == row && stretch.columns.contains(&column);
        is_in.then_some(&*stretch.link)
    }

    /// Moves them with the rows of the terminal.
    pub(super) fn shift(&mut self, shift: &Shift) {
        self.0.retain_mut(|stretch| match shift.moved(stretch.row) {
            Some(row) => {
                stretch.row = row;
                true
            }
            None => false,
        });
        self.0.sort_by_key(|stretch| stretch.row);
    }

    /// The places where the other frame has another link, or where one of both has none.
    pub(super) fn changes(&self, other: &Self) -> Vec<(u16, u16)> {
        if self == other {
            return Vec::new();
        }
        let places = |links: &Self| -> Vec<(u16, u16)> {
            let stretches = links.0.iter();
            let places =
                stretches.flat_map(|it| it.columns.clone().map(move |column| (column, it.row)));
            places.collect()
        };
        let mut places: Vec<(u16, u16)> = [places(self), places(other)].concat();
        places.retain(|(column, row)| self.at(*column, *row) != other.at(*column, *row));
        places
    }
}
