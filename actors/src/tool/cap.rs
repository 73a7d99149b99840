//! Bounded text: what a tool may return at most.

/// How much text a tool puts into its result, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 128 * 1024;
/// How much text any result may be, in bytes, JSON and escapes included.
pub(super) const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// The longest start of a text that has at most `max` bytes and ends at a character.
pub(super) fn start_of(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The whole lines at the start of a text that have at most `max` bytes together; part of a line
/// if the first one is longer.
pub(super) fn lines_of(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let start = start_of(text, max);
    // A cut exactly at the end of a line loses nothing of it.
    if text[start.len()..].starts_with('\n') {
        return start;
    }
    start.rfind('\n').map_or(start, |end| &start[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-06]
    #[test]
    fn a_cut_never_splits_a_character() {
        for (max, kept) in [
            (0, ""),
            (1, "a"),
            (2, "a"),
            (4, "a"),
            (5, "a😀"),
            (6, "a😀b"),
        ] {
            assert_eq!(start_of("a😀b", max), kept, "{max}");
        }
    }

    /// Spec: [TOOL-06]
    #[test]
    fn a_cut_keeps_whole_lines_where_it_can() {
        for (max, kept) in [
            (11, "ab\ncd\nef"),
            (8, "ab\ncd\nef"),
            (7, "ab\ncd"),
            (5, "ab\ncd"),
            (4, "ab"),
            (1, "a"),
        ] {
            assert_eq!(lines_of("ab\ncd\nef", max), kept, "{max}");
        }
    }
}
