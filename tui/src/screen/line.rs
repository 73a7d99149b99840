//! One row of the screen that is written from both sides.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::app::App;
use crate::text;
use crate::theme::{Look, Theme};

/// A row that is being written. What does not fit is left out.
pub(super) struct RowWriter<'a> {
    theme: Theme,
    buffer: &'a mut Buffer,
    /// The first free column.
    left: u16,
    /// The column after the last free one.
    right: u16,
    y: u16,
}

impl<'a> RowWriter<'a> {
    /// The first row of an area.
    pub(super) fn new(app: &App, buffer: &'a mut Buffer, area: Rect) -> Self {
        Self {
            theme: app.theme,
            buffer,
            left: area.x,
            right: if area.height == 0 {
                area.x
            } else {
                area.right()
            },
            y: area.y,
        }
    }

    /// Number of columns that are free.
    pub(super) fn room(&self) -> u16 {
        self.right.saturating_sub(self.left)
    }

    /// The first free column.
    pub(super) fn column(&self) -> u16 {
        self.left
    }

    /// Writes on from the left; cut with `…` where the room ends.
    pub(super) fn say(&mut self, words: &str, look: Look) -> &mut Self {
        let room = self.room();
        let words = cut(words, room);
        self.put(self.left, &words, look);
        self.left += width(&words).min(room);
        self
    }

    /// As [`RowWriter::say`], but of what does not fit the end is shown: what is being written there.
    pub(super) fn say_end(&mut self, words: &str, look: Look) -> &mut Self {
        // The caret is drawn after it.
        let room = self.room().saturating_sub(1);
        if width(words) <= room {
            return self.say(words, look);
        }
        let mut start = words.len();
        let mut taken = 1;
        for (at, grapheme) in words.grapheme_indices(true).rev() {
            taken += width(grapheme);
            if taken > room {
                break;
            }
            start = at;
        }
        self.say(&format!("…{}", &words[start..]), look)
    }

    /// Writes on from the right, if it fits whole with a column to spare; whether it did.
    pub(super) fn say_right(&mut self, words: &str, look: Look) -> bool {
        let wide = width(words);
        if wide + 1 > self.room() {
            return false;
        }
        self.right -= wide;
        self.put(self.right, words, look);
        true
    }

    /// Writes something again and again over what is free.
    pub(super) fn fill(&mut self, word: &str, look: Look) {
        let words = word.repeat(usize::from(self.room()));
        self.put(self.left, &words, look);
        self.left = self.right;
    }

    fn put(&mut self, x: u16, words: &str, look: Look) {
        let style = self.theme.style(look);
        let mut column = x;
        for (grapheme, wide) in text::graphemes_with_width(words) {
            let Some(wide) = u16::try_from(wide).ok().filter(|wide| *wide > 0) else {
                continue;
            };
            let end = column.saturating_add(wide);
            for covered in column..end {
                if let Some(cell) = self.buffer.cell_mut((covered, self.y)) {
                    let symbol = if covered == column { grapheme } else { " " };
                    cell.set_symbol(symbol).set_style(style);
                }
            }
            column = end;
        }
    }
}

/// Width of words, in columns.
pub(super) fn width(words: &str) -> u16 {
    u16::try_from(text::width(words)).unwrap_or(u16::MAX)
}

/// Words in at most so many columns, with `…` where something was cut.
pub(super) fn cut(words: &str, room: u16) -> String {
    if width(words) <= room {
        return words.to_owned();
    }
    let mut shown = String::new();
    let mut taken = 1;
    for grapheme in words.graphemes(true) {
        taken += width(grapheme);
        if taken > room {
            break;
        }
        shown.push_str(grapheme);
    }
    if room > 0 {
        shown.push('…');
    }
    shown
}
