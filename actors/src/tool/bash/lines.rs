//! Texts cut at whole lines.

/// The whole lines at the start of a text that have at most `most` bytes; part of a line if the first one
/// is longer.
pub(super) fn to_line(text: &str, most: usize) -> &str {
    let cut = &text[..text.floor_char_boundary(most)];
    cut.rfind('\n').map_or(cut, |end| &cut[..=end])
}

/// The whole lines at the end of a text that have at most `most` bytes; part of a line if the last one is
/// longer.
pub(super) fn from_line(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let cut = &text[text.ceil_char_boundary(from)..];
    match cut.find('\n') {
        Some(end) if end + 1 < cut.len() => &cut[end + 1..],
        Some(_) | None => cut,
    }
}
