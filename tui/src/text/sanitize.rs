//! Foreign text made fit to be shown: nothing in it can steer the terminal.
//!
//! Invariant: the result has no control character but the line break, and sanitizing it again changes nothing.

use std::borrow::Cow;

use harness_protocol::hidden::{self, HiddenClass};

/// Control characters that are not part of an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// They are left out: in texts and results.
    Dropped,
    /// They are shown as pictures, for example `␛`, and escape sequences stay visible too: for the input of a tool,
    /// which must not hide anything.
    Pictured,
}

/// Distance between tab stops, in columns.
const TAB: usize = 4;

/// The text with nothing in it but what is shown and line breaks.
pub(crate) fn sanitize(text: &str, hidden: Hidden) -> String {
    let mut out = SanitizedText::new(text.len());
    let mut rest = text;
    loop {
        let clean = match hidden {
            Hidden::Dropped => rest.find(is_special),
            Hidden::Pictured => rest.find(is_hidden),
        };
        let (shown, after) = rest.split_at(clean.unwrap_or(rest.len()));
        out.text.push_str(shown);
        let Some((special, after)) = first(after) else {
            return out.text;
        };
        rest = match hidden {
            Hidden::Dropped => out.drop(special, after),
            Hidden::Pictured => out.picture(special, after),
        };
    }
}

/// The text without escape sequences, and with everything else that is in it: in what an operator
/// pastes, marks of direction and joiners are meant.
pub(crate) fn without_sequences(text: &str) -> Cow<'_, str> {
    let begins = |character| after_sequence(character, "").is_some();
    if !text.contains(begins) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let clean = rest.find(begins).unwrap_or(rest.len());
        let (shown, after) = rest.split_at(clean);
        kept.push_str(shown);
        let after = first(after).and_then(|(opener, after)| after_sequence(opener, after));
        let Some(after) = after else {
            return Cow::Owned(kept);
        };
        rest = after;
    }
}

/// The words for a client that gave no name.
pub(crate) const ANOTHER_CLIENT: &str = "another client";

/// The name of another client; only this client is called `you`.
pub(crate) fn someone(name: &str) -> String {
    let name = one_line(name);
    if name.trim().eq_ignore_ascii_case("you") {
        format!("\"{name}\"")
    } else {
        name
    }
}

/// As [`sanitize`], on one line.
pub(crate) fn one_line(text: &str) -> String {
    let text = sanitize(text, Hidden::Dropped);
    if text.contains('\n') {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text
    }
}

/// True if a character is not shown unchanged in texts and results.
pub(crate) fn is_special(character: char) -> bool {
    character == '\t'
        || hidden::class(character)
            .is_some_and(|class| class.misleads() || class == HiddenClass::Joiner)
}

/// True if a character is not shown unchanged in what a tool was asked.
fn is_hidden(character: char) -> bool {
    character == '\t' || hidden::is_hidden(character)
}

/// True if an emoji that ends in this character can come before a joiner.
fn ends_emoji(character: char) -> bool {
    character == '\u{fe0f}' || is_emoji(character)
}

/// The blocks that emoji come from.
fn is_emoji(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Letters of scripts in which a joiner changes how they are written.
fn is_joining_letter(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{10ff}') && character.is_alphabetic()
}

struct SanitizedText {
    text: String,
    /// Up to where of the text the column is known, and that column.
    measured: (usize, usize),
}

impl SanitizedText {
    fn new(capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity),
            measured: (0, 0),
        }
    }

    /// Takes a special character, and what belongs to it, out of the text; the rest comes back.
    fn drop<'a>(&mut self, special: char, after: &'a str) -> &'a str {
        if let Some(after) = after_sequence(special, after) {
            return after;
        }
        match special {
            '\t' => self.tab(),
            '\r' if after.starts_with('\n') => {}
            // Alone it is the line break of old; in results it was resolved before.
            '\r' => self.text.push('\n'),
            '\u{200c}' | '\u{200d}' if self.needs_joiner(special, after) => self.text.push(special),
            _ if hidden::class(special) == Some(HiddenClass::Direction) => self.code(special),
            _ => {}
        }
        after
    }

    /// Shows a special character as a picture.
    fn picture<'a>(&mut self, special: char, after: &'a str) -> &'a str {
        match special {
            '\t' => self.tab(),
            '\r' if after.starts_with('\n') => {}
            '\0'..='\u{1f}' => self.text.extend(char::from_u32(0x2400 + special as u32)),
            '\u{7f}' => self.text.push('␡'),
            '\u{200d}' if self.needs_joiner(special, after) => self.text.push(special),
            '\u{fe0f}' if self.text.ends_with(is_emoji) => self.text.push(special),
            _ => self.code(special),
        }
        after
    }

    /// True if a joiner is between two characters that need it.
    fn needs_joiner(&self, joiner: char, after: &str) -> bool {
        let before = self.text.chars().next_back();
        if joiner == '\u{200d}' {
            before.is_some_and(ends_emoji) && after.starts_with(is_emoji)
        } else {
            before.is_some_and(is_joining_letter) && after.starts_with(is_joining_letter)
        }
    }

    fn code(&mut self, character: char) {
        self.text.push_str(&format!("<{:04X}>", character as u32));
    }

    /// Fills up to the next stop. Measures only what came since the last tab or line break.
    fn tab(&mut self) {
        let (known, mut column) = self.measured;
        let since = self.text.get(known..).unwrap_or_default();
        let line = match since.rsplit_once('\n') {
            Some((_, line)) => {
                column = 0;
                line
            }
            None => since,
        };
        column += super::width(line);
        let spaces = TAB - column % TAB;
        self.text.extend(std::iter::repeat_n(' ', spaces));
        self.measured = (self.text.len(), column + spaces);
    }
}

/// The rest of the escape sequence that this character begins, if it begins one.
fn after_sequence(opener: char, after: &str) -> Option<&str> {
    match opener {
        '\u{1b}' => Some(after_escape(after)),
        '\u{9b}' => Some(after_control_sequence(after)),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => Some(after_string(after)),
        _ => None,
    }
}

/// The rest of an escape sequence whose escape is read.
fn after_escape(text: &str) -> &str {
    match first(text) {
        Some(('[', after)) => after_control_sequence(after),
        Some((']' | 'P' | 'X' | '^' | '_', after)) => after_string(after),
        Some((' '..='/', _)) => after_final(text.trim_start_matches(is_intermediate), '0'),
        _ => after_final(text, '0'),
    }
}

/// The rest of a control sequence. It ends with the first character that cannot be in one.
fn after_control_sequence(text: &str) -> &str {
    let text = text.trim_start_matches(|character| matches!(character, '0'..='?'));
    after_final(text.trim_start_matches(is_intermediate), '@')
}

/// The rest of a string that is meant for the terminal. One without an end ends with its line, or the text after it
/// could not be read.
fn after_string(text: &str) -> &str {
    let is_end = |character| {
        matches!(
            character,
            '\n' | '\r' | '\u{7}' | '\u{18}' | '\u{1a}' | '\u{1b}' | '\u{9c}'
        )
    };
    let end = text.find(is_end).unwrap_or(text.len());
    let rest = text.get(end..).unwrap_or_default();
    match first(rest) {
        // An escape is the first of the two characters that end a string, or the next sequence.
        Some(('\n' | '\r' | '\u{1b}', _)) | None => rest,
        Some((_, after)) => after,
    }
}

fn is_intermediate(character: char) -> bool {
    matches!(character, ' '..='/')
}

/// The text after the last character of a sequence, if it is there.
fn after_final(text: &str, lowest: char) -> &str {
    match first(text) {
        Some((character, after)) if (lowest..='~').contains(&character) => after,
        _ => text,
    }
}

fn first(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    Some((chars.next()?, chars.as_str()))
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
