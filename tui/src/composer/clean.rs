//! Text from a keyboard, a clipboard or a file, made fit to be edited.

use std::borrow::Cow;

use crate::text::without_sequences;

/// The blanks in place of a tab, so that the caret is where the eye expects it.
const TAB: &str = "    ";

/// The text with line feeds as its only line breaks, tabs as spaces, and neither escape
/// sequences nor other control characters. Marks that are not seen but change what is stay.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(|character: char| character.is_control() && character != '\n') {
        return Cow::Borrowed(text);
    }
    let text = without_sequences(text);
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                cleaned.push('\n');
            }
            '\t' => cleaned.push_str(TAB),
            '\n' => cleaned.push('\n'),
            character if character.is_control() => {}
            character => cleaned.push(character),
        }
    }
    Cow::Owned(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [EDIT-14]
    #[test]
    fn of_a_sequence_nothing_is_left_and_of_what_is_meant_everything() {
        let texts = [
            ("a\u{1b}[31mred\u{7}\u{1b}]0;t\u{7}b", "aredb"),
            ("a\u{1b}[1;5", "a"),
            ("a\u{9b}31mb\u{1b}Pq\u{1b}\\c\u{1b}(Bd\u{1b}", "abcd"),
            ("\u{1b}]0;without end\r\nb\tc\rd", "\nb    c\nd"),
            ("a\0\u{8}\u{7f}\u{85}b", "ab"),
            (
                "\u{1b}[1m👩\u{200d}👧 \u{202b}x\u{202c}\u{200f}\u{ad}\u{feff}❤\u{fe0f}\u{200b}",
                "👩\u{200d}👧 \u{202b}x\u{202c}\u{200f}\u{ad}\u{feff}❤\u{fe0f}\u{200b}",
            ),
        ];
        for (text, cleaned) in texts {
            assert_eq!(clean(text), cleaned, "{text:?}");
            assert_eq!(clean(cleaned), cleaned, "{text:?}");
        }
    }
}
