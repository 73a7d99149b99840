//! The text that a terminal would show of an output: of frames that overwrite each other on a line, the last one.

use super::characters::Characters;

/// Maximum number of characters of a line that can still be overwritten. A longer line wraps there, as at the margin of
/// a terminal.
const MAX_LINE: usize = 4096;
/// Maximum number of characters of a control string, such as the title of a window. After that it counts as text again.
const MAX_STRING: usize = 4096;

/// The place in an escape sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// Directly after ESC.
    Escape,
    /// After ESC and a character that announces another one.
    Announced,
    /// In a control sequence (CSI), with its first number.
    Sequence { number: usize, is_first: bool },
    /// In a control string (OSC, DCS and the like), with the length that it may still have.
    String { left: usize },
}

/// Folds an output as it comes: carriage returns, backspaces and erased lines overwrite text, and all other escape
/// sequences are dropped. The result does not depend on the pieces in which the output comes, and its size in memory is
/// bounded.
#[derive(Debug, Clone, Default)]
pub(super) struct FrameFold {
    characters: Characters,
    /// The characters of the line that is not finished.
    line: Vec<char>,
    /// The column of the cursor, at most `MAX_LINE`.
    column: usize,
    state: EscapeState,
}

impl FrameFold {
    /// Adds a piece of the output. Returns the text that nothing can overwrite any longer.
    pub(super) fn add(&mut self, bytes: &[u8]) -> String {
        let text = self.characters.next(bytes);
        let mut finished = String::with_capacity(text.len());
        for character in text.chars() {
            self.step(character, &mut finished);
        }
        finished
    }

    /// The text of the line that is not finished.
    pub(super) fn unfinished(&self) -> String {
        let mut own = self.clone();
        let mut text = String::new();
        for character in own.characters.rest().chars() {
            own.step(character, &mut text);
        }
        own.finish(&mut text);
        text
    }

    fn step(&mut self, character: char, finished: &mut String) {
        // A sequence that was begun by chance, as in binary data, ends with its line.
        if character == '\n' {
            self.state = EscapeState::Text;
            self.finish(finished);
            finished.push('\n');
            return;
        }
        self.state = match (self.state, character) {
            (EscapeState::String { .. }, '\u{7}') | (EscapeState::String { left: 0 }, _) => {
                EscapeState::Text
            }
            (_, '\u{1b}') => EscapeState::Escape,
            (EscapeState::String { left }, _) => EscapeState::String { left: left - 1 },
            (EscapeState::Escape, '[') => EscapeState::Sequence {
                number: 0,
                is_first: true,
            },
            (EscapeState::Escape, ']' | 'P' | 'X' | '^' | '_') => {
                EscapeState::String { left: MAX_STRING }
            }
            (EscapeState::Escape | EscapeState::Announced, ' '..='/') => EscapeState::Announced,
            (EscapeState::Escape | EscapeState::Announced, _) => EscapeState::Text,
            (EscapeState::Sequence { number, is_first }, ' '..='?') => {
                parameter(number, is_first, character)
            }
            (EscapeState::Sequence { number, .. }, '@'..='~') => {
                self.control(character, number);
                EscapeState::Text
            }
            (EscapeState::Sequence { .. } | EscapeState::Text, _) => {
                self.put(character, finished);
                EscapeState::Text
            }
        };
    }

    /// Carries out a control sequence by its last character.
    fn control(&mut self, last: char, number: usize) {
        let count = number.max(1);
        match (last, number) {
            ('K', 0) => self.line.truncate(self.column),
            ('K', 1) => {
                let before = self.line.iter_mut().take(self.column + 1);
                before.for_each(|cell| *cell = ' ');
            }
            ('K', 2) => self.line.clear(),
            ('G', _) => self.column = count - 1,
            ('C', _) => self.column = (self.column + count).min(MAX_LINE),
            ('D', _) => self.column = self.column.saturating_sub(count),
            _ => {}
        }
    }

    fn put(&mut self, character: char, finished: &mut String) {
        match character {
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            _ => {
                if self.column == MAX_LINE {
                    self.finish(finished);
                }
                if self.line.len() <= self.column {
                    self.line.resize(self.column + 1, ' ');
                }
                self.line[self.column] = character;
                self.column += 1;
            }
        }
    }

    /// Moves the line to the finished text.
    fn finish(&mut self, finished: &mut String) {
        finished.extend(self.line.drain(..));
        self.column = 0;
    }
}

/// The state after a parameter of a control sequence. Only the first number counts.
fn parameter(number: usize, is_first: bool, character: char) -> EscapeState {
    let digit = character.to_digit(10).filter(|_| is_first);
    let digit = digit.and_then(|digit| usize::try_from(digit).ok());
    EscapeState::Sequence {
        number: digit.map_or(number, |digit| (number * 10 + digit).min(MAX_LINE)),
        is_first: digit.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut frames = FrameFold::default();
        let text: String = pieces.into_iter().map(|piece| frames.add(piece)).collect();
        text + &frames.unfinished()
    }

    /// Outputs, and the text that a terminal shows of each.
    const SHOWN: [(&str, &str); 18] = [
        ("", ""),
        ("plain\n\ttext  \n", "plain\n\ttext  \n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10 %\r20 %\r100 %\ndone", "100 %\ndone"),
        ("long frame\rshort\n", "shortframe\n"),
        ("long frame\r\u{1b}[Kshort\n", "short\n"),
        ("a\u{1b}[2K\u{1b}[1Gb\u{1b}[2K\u{1b}[1Gc", "c"),
        ("ä€😀\rx\n", "x€😀\n"),
        ("|\u{8}/\u{8}-\u{8}\\\u{8} ok", " ok"),
        (
            "\u{1b}[1;31mred\u{1b}[0m and \u{1b}[38;5;2mgreen\u{1b}[m",
            "red and green",
        ),
        (
            "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b",
            "alinkb",
        ),
        ("\u{1b}(Bx\u{1b}7y\u{1b}[?25lz", "xyz"),
        ("ab\u{1b}[3Cc\u{1b}[4Dd", "abd  c"),
        ("abc\u{1b}[1D\u{1b}[1Kd", "  d"),
        ("\u{1b}]never ended\nnext", "\nnext"),
        ("\u{1b}[\nnext", "\nnext"),
        ("\u{1b}[5ü", "ü"),
        ("\u{0}\u{7}", "\u{0}\u{7}"),
    ];

    /// Spec: [BASH-452]
    #[test]
    fn a_terminal_would_show_the_same_however_the_pieces_are_cut() {
        for (output, expected) in SHOWN {
            let bytes = output.as_bytes();
            assert_eq!(folded([bytes]), expected, "{output:?}");
            for size in 1..=bytes.len() {
                assert_eq!(folded(bytes.chunks(size)), expected, "{output:?} by {size}");
            }
            for cut in 0..=bytes.len() {
                let (first, second) = bytes.split_at(cut);
                assert_eq!(folded([first, second]), expected, "{output:?} at {cut}");
            }
        }
    }

    /// Spec: [BASH-452]
    #[test]
    fn memory_does_not_grow_with_a_line_or_a_sequence() {
        let mut frames = FrameFold::default();
        let text: String = (0..1000).map(|_| frames.add(&[b'x'; 1000])).collect();
        assert!(frames.line.len() <= MAX_LINE);
        assert_eq!(text.len() + frames.unfinished().len(), 1_000_000);
        // A string that does not end hides no more than its maximum.
        let mut frames = FrameFold::default();
        frames.add(b"\x1b]");
        assert_eq!(frames.add(&[b'y'; 2 * MAX_STRING]), "");
        assert_eq!(frames.unfinished().len(), MAX_STRING - 1);
        // The cursor stays in a line.
        let mut frames = FrameFold::default();
        frames.add(b"\x1b[99999999999999999999G\x1b[99999Cz");
        assert!(frames.line.len() <= MAX_LINE);
    }

    /// Spec: [BASH-452]
    #[test]
    fn bytes_that_are_not_text_are_replaced_as_elsewhere() {
        let bytes = b"a\xff\xfeb\xe2\x82";
        for size in 1..=bytes.len() {
            let expected = String::from_utf8_lossy(bytes);
            assert_eq!(folded(bytes.chunks(size)), expected, "{size}");
        }
    }
}
