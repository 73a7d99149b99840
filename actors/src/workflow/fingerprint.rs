//! The looks of a failure without the parts that differ each time: numbers, times, addresses, paths of
//! temporary files, colours. Two failures with one fingerprint are the same mistake.

use super::facts::CommandEnd;
use crate::attachment::sha256;

/// Number of digits of a fingerprint.
const DIGITS: usize = 16;
/// The folders of temporary files, which begin paths that differ from run to run.
const TEMPORARY: [&str; 4] = ["/tmp/", "/var/tmp/", "/private/var/folders/", "/dev/shm/"];

/// The fingerprint of a check that failed.
#[must_use]
pub fn of_failure(check: &str, end: &CommandEnd, output: &str) -> String {
    let end = match end {
        CommandEnd::Exited(code) => format!("exit {code}"),
        CommandEnd::Signalled(signal) => format!("signal {signal}"),
        CommandEnd::TimedOut => "timed out".to_owned(),
        CommandEnd::NotStarted(why) => format!("not started: {}", plain(why)),
    };
    short(&[check, &end, &plain(output)])
}

/// The fingerprint of several things together, in their order.
#[must_use]
pub fn short(parts: &[&str]) -> String {
    let mut digits = sha256(parts.join("\0").as_bytes());
    digits.truncate(DIGITS);
    digits
}

/// A text without what differs each time.
fn plain(text: &str) -> String {
    let text = without_colours(text);
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        for word in line.split_whitespace() {
            plain.push_str(&plain_word(&without_temporary(word)));
            plain.push(' ');
        }
        plain.push('\n');
    }
    plain
}

/// A text without the escape sequences of a terminal: CSI and OSC as a whole, of others two characters.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            Some(']') => while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {},
            Some(_) | None => {}
        }
    }
    plain
}

/// A word with the path of a temporary file in it cut out, up to what cannot be a part of one.
fn without_temporary(word: &str) -> String {
    let found = TEMPORARY.iter().filter_map(|folder| word.find(folder));
    let Some(start) = found.min() else {
        return word.to_owned();
    };
    let path = &word[start..];
    let ends = |c: char| matches!(c, '"' | '\'' | '`' | ')' | ']' | '>' | ',' | ':' | ';');
    let end = path.find(ends).unwrap_or(path.len());
    format!("{}<temporary>{}", &word[..start], &path[end..])
}

/// A word with `#` for every number: digits, and hexadecimal digits with at least one decimal digit among them.
fn plain_word(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut piece = String::new();
    for c in word.chars().chain([' ']) {
        if c.is_alphanumeric() {
            piece.push(c);
            continue;
        }
        plain.push_str(&plain_piece(&piece));
        piece.clear();
        if c != ' ' {
            plain.push(c);
        }
    }
    plain
}

/// Minimum length of a hexadecimal word that counts as a hash, in digits.
const HASH: usize = 6;

fn plain_piece(piece: &str) -> String {
    let has_digit = piece.chars().any(|c| c.is_ascii_digit());
    if !has_digit {
        return piece.to_owned();
    }
    let digits = piece.strip_prefix("0x").unwrap_or(piece);
    let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
    let is_prefixed = digits.len() != piece.len();
    if is_hex && (is_prefixed || digits.len() >= HASH) {
        return "#".to_owned();
    }
    let mut plain = String::with_capacity(piece.len());
    for c in piece.chars() {
        if !c.is_ascii_digit() {
            plain.push(c);
        } else if !plain.ends_with('#') {
            plain.push('#');
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> String {
        of_failure("suite", &CommandEnd::Exited(1), output)
    }

    /// Spec: [FLOW-23]
    #[test]
    fn case_28_durations_addresses_temporary_paths_and_colours_make_no_other_failure() {
        let one =
            "\u{1b}[31mFAIL\u{1b}[0m at 0x7f00aa in 1.203s \"/tmp/run-ab12/x.py\":12 (1a2b3c4d)";
        let two = "FAIL at 0x11 in 12ms".to_owned();
        let other = "FAIL at 0x7fffbb in 0.9s \"/tmp/run-zz/y.py\":9   (99aabbcc)";
        assert_eq!(of(one), of(other));
        assert_ne!(of(one), of(&two));
        assert_eq!(of(one).len(), DIGITS);
    }

    /// Spec: [FLOW-23]
    #[test]
    fn another_word_another_check_or_another_end_is_another_failure() {
        assert_ne!(of("expected add"), of("expected sub"));
        assert_ne!(of("x"), of_failure("lint", &CommandEnd::Exited(1), "x"));
        assert_ne!(of("x"), of_failure("suite", &CommandEnd::Exited(2), "x"));
        assert_ne!(of("x"), of_failure("suite", &CommandEnd::TimedOut, "x"));
    }

    /// Spec: [FLOW-23]
    #[test]
    fn an_escape_without_an_end_and_odd_letters_are_taken() {
        for odd in ["\u{1b}", "\u{1b}[", "\u{1b}]0;title", "é/tmp/ü", "٣"] {
            assert_eq!(of(odd), of(odd));
        }
    }
}
