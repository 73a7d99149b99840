//! Signs of patterns that mean less in a basic regular expression than in an extended one.
//!
//! Source: POSIX.1-2017, Base Definitions, 9.3 and 9.4; the manual of GNU grep 3.11, 3.3 and 3.6, on what
//! it adds: `\|`, `\+`, `\?`, `\w`, `\s` and `\b` are known, `\d` and `\t` are not.

use std::iter::Peekable;
use std::str::Chars;

const EITHER: &str = r"for either of two write a\|b, not a|b";
const REPEATED: &str = r"for one or more write a\+, not a+";
const OPTIONAL: &str = r"for none or one write a\?, not a?";
const GROUP: &str = r"for a group write \(ab\), not (ab)";
const COUNT: &str = r"for a count write a\{2\}, not a{2}";
const DIGIT: &str = r"for a digit write [0-9], not \d";
const NO_DIGIT: &str = r"for no digit write [^0-9], not \D";
const TAB: &str = r"for a tab write the tab itself, not \t";

/// A remark on a pattern that found nothing, if it has signs of extended expressions.
pub(super) fn syntax_note(pattern: &str) -> Option<String> {
    let mut hints: Vec<&str> = Vec::new();
    let mut signs = pattern.chars().peekable();
    let (mut is_first, mut is_open) = (true, false);
    while let Some(sign) = signs.next() {
        let hint = match sign {
            '\\' => match signs.next() {
                Some('d') => Some(DIGIT),
                Some('D') => Some(NO_DIGIT),
                Some('t') => Some(TAB),
                Some(_) | None => None,
            },
            '[' => {
                skip_brackets(&mut signs);
                None
            }
            '|' => Some(EITHER),
            '+' if !is_first => Some(REPEATED),
            '?' if !is_first => Some(OPTIONAL),
            '{' if !is_first && signs.peek().is_some_and(char::is_ascii_digit) => Some(COUNT),
            '(' => {
                is_open = true;
                None
            }
            ')' if is_open => Some(GROUP),
            _ => None,
        };
        is_first = false;
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    (!hints.is_empty()).then(|| {
        format!(
            "nothing was found; the pattern is a basic regular expression: {}",
            hints.join("; ")
        )
    })
}

/// Passes over the rest of a bracket expression, in which all signs are plain.
fn skip_brackets(signs: &mut Peekable<Chars<'_>>) {
    signs.next_if_eq(&'^');
    signs.next_if_eq(&']');
    while let Some(sign) = signs.next() {
        if sign == ']' {
            return;
        }
        if sign != '[' {
            continue;
        }
        // A class such as [:digit:] has brackets of its own.
        let Some(kind) = signs.next_if(|kind| matches!(kind, ':' | '.' | '=')) else {
            continue;
        };
        while let Some(inner) = signs.next() {
            if inner == kind && signs.next_if_eq(&']').is_some() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-441]
    #[test]
    fn signs_of_extended_expressions_are_explained_once_each() {
        for (pattern, expected) in [
            ("error|warning|info", &[EITHER][..]),
            (r"\d+", &[DIGIT, REPEATED]),
            ("(err|warn)or?", &[EITHER, GROUP, OPTIONAL]),
            ("a{2}b{3,}", &[COUNT]),
            (r"\D\t", &[NO_DIGIT, TAB]),
            // What is meant so, or is known here, too.
            (r"a\|b\+\(c\)\{2\}\?", &[]),
            (r"\bword\b\s\w", &[]),
            ("[|+?(){2}]", &[]),
            ("[^]|]x", &[]),
            ("[[:digit:]|]", &[]),
            ("[[]|", &[EITHER]),
            ("+x", &[]),
            ("fn main() {", &[GROUP]),
            ("if (", &[]),
            ("[unfinished|", &[]),
            ("", &[]),
        ] {
            let note = syntax_note(pattern);
            assert_eq!(note.is_some(), !expected.is_empty(), "{pattern}: {note:?}");
            let given = note.unwrap_or_default();
            let start = "nothing was found; the pattern is a basic regular expression: ";
            let hints = given.strip_prefix(start).unwrap_or_default();
            assert_eq!(hints, expected.join("; "), "{pattern}");
        }
    }
}
