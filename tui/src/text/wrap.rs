//! Breaks text into rows.

use std::ops::Range;

use super::graphemes_with_width;

/// A part of one of the texts that are wrapped together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextStretch {
    /// Index of the text.
    pub(crate) text: usize,
    /// The range of it, in bytes.
    pub(crate) range: Range<usize>,
}

/// The unit of placing: a character as a reader counts them.
struct Glyph {
    text: u32,
    start: u32,
    end: u32,
    width: u16,
    kind: GlyphKind,
}

impl Glyph {
    fn text(&self) -> usize {
        usize::try_from(self.text).unwrap_or(usize::MAX)
    }

    fn start(&self) -> usize {
        usize::try_from(self.start).unwrap_or(usize::MAX)
    }

    fn end(&self) -> usize {
        usize::try_from(self.end).unwrap_or(usize::MAX)
    }

    fn width(&self) -> usize {
        usize::from(self.width)
    }
}

/// Events beside a glyph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GlyphKind {
    /// A break after it; the space itself is not shown at the end of a row.
    Space,
    /// A break on either side: writing without spaces, emoji.
    Wide,
    /// A break only after it: closing signs in these scripts.
    Closing,
    /// No break.
    Letter,
}

/// A text in rows of so many columns.
pub(crate) fn broken(text: &str, width: usize) -> impl Iterator<Item = String> {
    let rows = wrap(&[text], width).into_iter();
    rows.map(|row| {
        let pieces = row.into_iter().map(|stretch| &text[stretch.range]);
        pieces.collect()
    })
}

/// Breaks texts that follow each other on a line into rows of at most `width` columns: between
/// words, between wide characters, and within a word only if it is longer than a row. Spaces at a
/// break are in no row. There is at least one row. A character wider than `width` has its own row.
pub(crate) fn wrap(texts: &[&str], width: usize) -> Vec<Vec<TextStretch>> {
    let glyphs = glyphs(texts, width);
    let mut rows = Vec::new();
    let mut first = 0;
    let mut used = 0;
    // Where the last word that could go to the next row begins.
    let mut word = 0;
    for (index, glyph) in glyphs.iter().enumerate() {
        if glyph.kind != GlyphKind::Space {
            if index > first && may_break(&glyphs, index) {
                word = index;
            }
            while used + glyph.width() > width && index > first {
                let next = if word > first { word } else { index };
                rows.push(row(&glyphs, first..next));
                first = next;
                used = columns(&glyphs, first..index);
                word = first;
            }
        }
        used += glyph.width();
    }
    rows.push(row(&glyphs, first..glyphs.len()));
    rows
}

/// Breaks a text wherever a row is full, and keeps its spaces: code.
pub(crate) fn break_anywhere(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut used = 0;
    let mut start = 0;
    for glyph in glyphs(&[text], width) {
        if used + glyph.width() > width && glyph.start() > start {
            rows.push(start..glyph.start());
            start = glyph.start();
            used = 0;
        }
        used += glyph.width();
    }
    rows.push(start..text.len());
    rows
}

fn may_break(glyphs: &[Glyph], index: usize) -> bool {
    let Some([before, here]) = glyphs.get(index.saturating_sub(1)..=index) else {
        return false;
    };
    match (before.kind, here.kind) {
        (GlyphKind::Space, _) => true,
        (_, GlyphKind::Closing | GlyphKind::Space) => false,
        (GlyphKind::Wide | GlyphKind::Closing, _) | (_, GlyphKind::Wide) => true,
        (GlyphKind::Letter, GlyphKind::Letter) => false,
    }
}

fn columns(glyphs: &[Glyph], range: Range<usize>) -> usize {
    glyphs
        .get(range)
        .unwrap_or_default()
        .iter()
        .map(Glyph::width)
        .sum()
}

/// The glyphs of one row without the spaces at its end, those of one text together.
fn row(glyphs: &[Glyph], range: Range<usize>) -> Vec<TextStretch> {
    let mut glyphs = glyphs.get(range).unwrap_or_default();
    while let [rest @ .., last] = glyphs
        && last.kind == GlyphKind::Space
    {
        glyphs = rest;
    }
    let mut row: Vec<TextStretch> = Vec::new();
    for glyph in glyphs {
        match row.last_mut() {
            Some(last) if last.text == glyph.text() => last.range.end = glyph.end(),
            _ => row.push(TextStretch {
                text: glyph.text(),
                range: glyph.start()..glyph.end(),
            }),
        }
    }
    row
}

fn glyphs(texts: &[&str], width: usize) -> Vec<Glyph> {
    let mut glyphs = Vec::with_capacity(texts.iter().map(|text| text.len()).sum());
    for (index, text) in texts.iter().enumerate() {
        let mut start = 0;
        for (grapheme, columns) in graphemes_with_width(text) {
            // A cluster of letters can be wider than a row; its letters are not.
            if columns > width && columns > 2 {
                for character in grapheme.split_inclusive(|_| true) {
                    start = push(&mut glyphs, index, start, character);
                }
            } else {
                start = push(&mut glyphs, index, start, grapheme);
            }
        }
    }
    glyphs
}

/// Adds a glyph, and returns the start of the next one.
fn push(glyphs: &mut Vec<Glyph>, text: usize, start: usize, grapheme: &str) -> usize {
    let width = super::width(grapheme);
    let end = start + grapheme.len();
    let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    glyphs.push(Glyph {
        text: place(text),
        start: place(start),
        end: place(end),
        width: u16::try_from(width).unwrap_or(u16::MAX),
        kind: kind(grapheme, width),
    });
    end
}

fn kind(grapheme: &str, width: usize) -> GlyphKind {
    match grapheme {
        " " => GlyphKind::Space,
        "、" | "。" | "，" | "．" | "！" | "？" | "：" | "；" | "）" | "」" | "』" | "】"
        | "》" | "〉" | "”" | "’" | "ー" => GlyphKind::Closing,
        _ if width >= 2 => GlyphKind::Wide,
        _ => GlyphKind::Letter,
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
