//! A line of text to filter by.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::without_sequences;

/// A line of text that is written at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field(String);

impl Field {
    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Another text.
    pub(crate) fn set(&mut self, text: &str) {
        text.clone_into(&mut self.0);
    }

    /// Writes at the end; what a line cannot hold is left out.
    pub(crate) fn insert(&mut self, text: &str) {
        let fits = |c: &char| !c.is_control();
        self.0.extend(without_sequences(text).chars().filter(fits));
    }

    /// Takes the last character; whether there was one.
    pub(crate) fn backspace(&mut self) -> bool {
        match self.0.grapheme_indices(true).next_back() {
            Some((start, _)) => {
                self.0.truncate(start);
                true
            }
            None => false,
        }
    }

    /// Takes everything.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [EDIT-14]
    #[test]
    fn of_a_sequence_nothing_is_written() {
        let mut field = Field::default();
        field.insert("a\u{1b}[31mred\u{7}\u{1b}]0;t\u{7}");
        field.insert("\r\n\u{200d}\u{200f}b");
        assert_eq!(field.text(), "ared\u{200d}\u{200f}b");
    }
}
