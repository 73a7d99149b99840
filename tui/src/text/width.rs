//! Width of text, in columns.
//!
//! Invariant: the numbers are those of the cells that the screen is made of, so that nothing is
//! laid out wider or narrower than it is drawn.

use ratatui::buffer::CellWidth as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// The characters as a reader counts them, each with its columns. Text of [`super::sanitize()`].
pub(crate) fn graphemes_with_width(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match rest.as_bytes() {
            [] => return None,
            // Most text is ASCII, which does not join with its neighbours.
            [b' '..=b'~'] | [b' '..=b'~', b' '..=b'~', ..] => 1,
            _ => rest.graphemes(true).next()?.len(),
        };
        let (grapheme, after) = rest.split_at(end);
        rest = after;
        Some((grapheme, grapheme_width(grapheme)))
    })
}

/// The columns of a text without line breaks.
pub(crate) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    graphemes_with_width(text).map(|(_, width)| width).sum()
}

/// As much of the beginning of a text as fits into so many columns.
pub(crate) fn take_width(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for (grapheme, width) in graphemes_with_width(text) {
        used += width;
        if used > columns {
            break;
        }
        end += grapheme.len();
    }
    text.get(..end).unwrap_or_default()
}

fn grapheme_width(grapheme: &str) -> usize {
    if grapheme.len() == 1 {
        return usize::from(grapheme != "\n");
    }
    // A line break has no cell; the cells refuse to measure it.
    if grapheme.starts_with(char::is_control) {
        return 0;
    }
    usize::from(grapheme.cell_width())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_by_what_a_reader_sees() {
        let cases = [
            ("", 0),
            ("abc", 3),
            ("漢字", 4),
            ("e\u{301}", 1),
            ("👨\u{200d}👩\u{200d}👧", 2),
            ("🇩🇪🇫🇷", 4),
            ("👍🏽", 2),
            ("❤\u{fe0f}", 2),
            ("a\nb", 2),
        ];
        for (text, columns) in cases {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn characters_are_those_of_the_whole_text() {
        let text = "a\u{301}b👨\u{200d}👩 🇩🇪🇫🇷🇬c\u{94d}क\u{94d}षि\n\u{1100}\u{1161}x\u{301}";
        let one_by_one: Vec<_> = graphemes_with_width(text)
            .map(|(grapheme, _)| grapheme)
            .collect();
        assert_eq!(one_by_one, text.graphemes(true).collect::<Vec<_>>());
    }

    #[test]
    fn a_wide_character_is_not_taken_by_half() {
        assert_eq!(take_width("a漢字", 2), "a");
        assert_eq!(take_width("a漢字", 3), "a漢");
        assert_eq!(take_width("a漢字", 99), "a漢字");
    }
}
