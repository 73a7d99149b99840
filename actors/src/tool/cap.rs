//! Bounded text: what a tool may return at most, without what must not be seen.

use crate::secret::Redaction;

/// How much text a tool puts into its result, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 128 * 1024;
/// How much text any result may be, in bytes, JSON and escapes included.
pub(super) const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// The part of a text that a tool shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CappedText {
    pub(crate) text: String,
    /// Whether there is more of it.
    pub(crate) is_cut: bool,
    /// Whether the last line is shown to its end.
    pub(crate) ends_line: bool,
}

/// The whole lines at the start of a text that have at most `max` bytes together; part of a line if
/// the first one is longer. Secrets are taken out before the cut. A text over `max` may have been
/// cut before: what may be the start of a secret at its end is not shown.
pub(crate) fn capped(text: &str, max: usize, redaction: &Redaction) -> CappedText {
    if text.len() <= max {
        let whole = redaction.apply(text.to_owned());
        // Only a secret of many short lines is longer when it is taken out.
        if whole.len() <= max {
            return CappedText {
                text: whole,
                is_cut: false,
                ends_line: true,
            };
        }
    }
    // The rest of a character that was cut, which may be one of a secret.
    let known = text.strip_suffix('\u{fffd}').unwrap_or(text);
    let end = known.floor_char_boundary(max);
    let mut start = redaction.apply_to_start(known, end);
    // A cut exactly at the end of a line loses nothing of it.
    let mut ends_line = text[end..].starts_with('\n') && start.len() <= max;
    if !ends_line {
        start.truncate(start.floor_char_boundary(max));
        if let Some(end) = start.rfind('\n') {
            start.truncate(end);
            ends_line = true;
        }
    }
    CappedText {
        text: start,
        is_cut: true,
        ends_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, max: usize) -> CappedText {
        capped(text, max, &Redaction::default())
    }

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
            assert_eq!(plain("a😀b", max).text, kept, "{max}");
        }
    }

    /// Spec: [TOOL-06]
    #[test]
    fn a_cut_keeps_whole_lines_where_it_can() {
        for (max, kept, ends_line) in [
            (8, "ab\ncd\nef", true),
            (7, "ab\ncd", true),
            (5, "ab\ncd", true),
            (4, "ab", true),
            (1, "a", false),
        ] {
            let expected = CappedText {
                text: kept.to_owned(),
                is_cut: max < 8,
                ends_line,
            };
            assert_eq!(plain("ab\ncd\nef", max), expected, "{max}");
        }
    }

    /// Spec: [SEC-22]
    #[test]
    fn a_cut_leaves_nothing_of_a_secret() {
        let secret = "sk-ant-0123456789";
        let redaction = Redaction::new(vec![secret.into()]);
        // One line, of which nothing is known beyond some place.
        for known in 1..=secret.len() {
            for max in 5..known + 5 {
                let text = format!("12345{}", &secret[..known]);
                let shown = capped(&text, max, &redaction);
                let left = if known == secret.len() && max > 5 {
                    &"12345***"[..max.min(8)]
                } else {
                    "12345"
                };
                assert_eq!(
                    (shown.text.as_str(), shown.is_cut),
                    (left, true),
                    "{known} {max}"
                );
            }
        }
        // Whole lines are kept as ever.
        let text = format!("a {secret}\nb {secret}\n{secret}");
        let expected = CappedText {
            text: "a ***\nb ***".to_owned(),
            is_cut: true,
            ends_line: true,
        };
        for max in [39, 45] {
            assert_eq!(capped(&text, max, &redaction), expected, "{max}");
        }
        // A secret that fits in is taken out, with nothing cut.
        assert_eq!(capped(&text, 100, &redaction).text, "a ***\nb ***\n***");
    }

    /// Spec: [SEC-22]
    #[test]
    fn a_character_that_was_cut_hides_no_start_of_a_secret() {
        let redaction = Redaction::new(vec!["0123456789ä-key".into()]);
        let text = "xx0123456789\u{fffd}";
        assert_eq!(capped(text, 8, &redaction).text, "xx");
    }
}
