//! Results of tools, cut to the shown extent.

use super::part::ShownResult;
use crate::part_view::{MAX_RESULT_LINES, shown_result};

/// Maximum length of a line, in bytes, unless the whole result is asked for.
pub(super) const MAX_LINE: usize = 16 * 1024;

/// Maximum size of the last line that is kept, in bytes.
const MAX_LAST_LINE: usize = 1024;

/// A result in its short form, until the operator asks for all of it.
pub(super) fn cut(raw: &str, is_error: bool, seq: u64) -> ShownResult {
    let shown = shown_result(raw);
    let lines = shown.lines().count();
    let mut text = String::new();
    let mut is_whole = lines <= MAX_RESULT_LINES + 1;
    for line in shown.split_inclusive('\n').take(MAX_RESULT_LINES + 1) {
        let bare = line.trim_end_matches('\n');
        if bare.len() <= MAX_LINE {
            text += line;
            continue;
        }
        is_whole = false;
        let end = bare.floor_char_boundary(MAX_LINE);
        let note = format!(" … ({} more bytes)", bare.len() - end);
        text += &bare[..end];
        text += &note;
        text += &line[bare.len()..];
    }
    ShownResult {
        text,
        lines,
        is_whole,
        is_error,
        last_line: last_line(&shown),
        extent: None,
        duration_ms: None,
        seq,
    }
}

/// The last line of a result, or its beginning.
fn last_line(text: &str) -> String {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    last[..last.floor_char_boundary(MAX_LAST_LINE)].to_owned()
}

/// A result with all that it has.
pub(super) fn parse_whole(raw: &str, is_error: bool, seq: u64) -> ShownResult {
    let text = shown_result(raw).into_owned();
    ShownResult {
        lines: text.lines().count(),
        is_whole: true,
        is_error,
        last_line: last_line(&text),
        extent: None,
        duration_ms: None,
        text,
        seq,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [PART-12]
    #[test]
    fn a_long_result_keeps_its_first_lines() {
        for (count, kept) in [
            (0, 0),
            (1, 1),
            (100, 100),
            (101, 101),
            (102, 101),
            (9999, 101),
        ] {
            for end in ["", "\n"] {
                let lines: Vec<String> = (0..count).map(|line| format!("line {line}")).collect();
                let raw = lines.join("\n") + if count == 0 { "" } else { end };
                let result = cut(&raw, false, 7);
                let expected: Vec<&str> = raw.lines().take(kept).collect();
                assert_eq!(result.text.lines().collect::<Vec<_>>(), expected);
                assert_eq!((result.lines, result.seq), (count, 7));
                assert_eq!(result.is_whole, count <= 101, "{count}");
                assert_eq!(parse_whole(&raw, false, 7).text, raw);
            }
        }
    }

    /// Spec: [PART-12]
    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let line = "é".repeat(MAX_LINE);
        let result = cut(&format!("a{line}\nb"), true, 1);
        let kept = "é".repeat(MAX_LINE / 2 - 1);
        let left = line.len() - kept.len();
        assert_eq!(result.text, format!("a{kept} … ({left} more bytes)\nb"));
        assert_eq!(
            (result.lines, result.is_whole, result.is_error),
            (2, false, true)
        );
    }
}
