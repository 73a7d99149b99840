//! From the bytes of a terminal to keys, pastes and the mouse.
//!
//! Written here because of what the reader of crossterm 0.29 does, as seen on a pseudo terminal:
//! - When the other end has closed it reads the end of the file again and again, in its own loop and under its own
//!   lock: a core burns, and a caller that polls it at that moment hangs.
//! - `CSI 27;m;c~` is dropped, Ctrl+C included; an answer of the terminal (`ESC ] 11 ; …`) is typed as text.
//! - After a sequence that it does not know it waits in `read`, where neither a new size nor the end of the program
//!   wakes it, and where it takes a key from the next reader.
//!
//! Invariant: the same bytes mean the same, however they are cut into pieces, as long as no piece
//! lets the time of [`Parser::patience`] pass.

use std::time::Duration;

use super::background;
use super::key::{Key, KeyPress, TerminalInput};
use super::reply::{ReplyStart, reply_start};
use super::sequence::{control_character, control_sequence, single_shift};

/// Time that the rest of a sequence after ESC may take; then ESC was the key. It alone is both a key and the beginning
/// of others, so the person who pressed it must not wait long.
const ESCAPE: Duration = Duration::from_millis(50);
/// Time after an ESC that was taken for the key in which its rest may come; then it is typed or pasted text.
const BEHIND_ESCAPE: Duration = Duration::from_secs(1);
/// Time that the rest of a sequence or an answer may take; networks pause.
const REST: Duration = Duration::from_secs(1);
/// Time in which the rest of a sequence that was given up is not text; then keys are keys again.
const LATE: Duration = Duration::from_secs(10);
/// Maximum pause inside a paste; then its end was lost, and keys are keys again.
const PASTE: Duration = Duration::from_secs(5);
/// No sequence that means something is longer.
const MAX_SEQUENCE: usize = 128;
/// No answer is longer.
const MAX_ANSWER: usize = 4096;
/// No answer that means something is longer.
const MAX_KEPT: usize = 64;
const PASTE_END: &[u8] = b"\x1b[201~";

/// The parser's position in the input.
#[derive(Debug, PartialEq, Eq)]
enum ParserPlace {
    /// Between keys.
    Ground,
    /// In a character of several bytes, perhaps with Alt.
    Character { bytes: Vec<u8>, alt: bool },
    /// Behind ESC.
    Escape,
    /// Behind `ESC [`.
    Control(Vec<u8>),
    /// Behind `ESC O`.
    SingleShift,
    /// Behind `CSI [`, as the Linux console writes F1 to F5.
    Console,
    /// In a control sequence, or after `ESC O`, that was given up, with the bytes since.
    Late(Vec<u8>),
    /// In a string that is no text.
    Answer(TerminalAnswer),
    /// In the answer about the background, which paused for so long that it was given up.
    LateAnswer,
    /// Behind ESC in such a string.
    AnswerEscape(TerminalAnswer),
    /// In a paste.
    Paste(Vec<u8>),
}

/// A string that is no text: what a terminal answers.
#[derive(Debug, Default, PartialEq, Eq)]
struct TerminalAnswer {
    /// The byte behind ESC that began it.
    opener: u8,
    /// The beginning of the string.
    kept: Vec<u8>,
    length: usize,
}

/// The rest that may still come of an ESC that was taken for the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Behind {
    /// None: something came since.
    #[default]
    Nothing,
    /// A sequence or an answer.
    Escape,
    /// An answer alone, however late.
    OldEscape,
}

/// Reads the bytes of a terminal.
#[derive(Debug)]
pub(super) struct Parser {
    place: ParserPlace,
    /// The terminal was asked something, and the answer may be on its way.
    is_answer_due: bool,
    behind_escape: Behind,
    /// The beginning of an answer, perhaps, after an ESC that was taken for the key.
    held: Vec<u8>,
    /// The character that deletes backward, as the terminal is set.
    erase: u8,
    found: Vec<TerminalInput>,
}

impl Parser {
    /// Nothing was read so far.
    pub(super) fn new(erase: u8) -> Self {
        // Anything else would be a surprise, and an ordinary key.
        let erase = if erase == 0x08 { 0x08 } else { 0x7f };
        Self {
            place: ParserPlace::Ground,
            is_answer_due: false,
            behind_escape: Behind::Nothing,
            held: Vec::new(),
            erase,
            found: Vec::new(),
        }
    }

    /// The terminal was asked something, or the answer is not expected any more. While it is, what
    /// is behind ESC may be the answer, however long it took: an answer is never typed as text.
    pub(super) fn expect_answer(&mut self, is_due: bool) {
        self.is_answer_due = is_due;
    }

    /// Takes what was read at once; what it means. Keys with more behind them are bursts.
    pub(super) fn feed(&mut self, bytes: &[u8], is_more_waiting: bool) -> Vec<TerminalInput> {
        let behind = std::mem::take(&mut self.behind_escape);
        let mut waiting = std::mem::take(&mut self.held);
        waiting.extend_from_slice(bytes);
        match self.rest(behind, &waiting) {
            ReplyStart::Certain => self.place = ParserPlace::Escape,
            ReplyStart::Possible => {
                self.behind_escape = behind;
                self.held = waiting;
                return Vec::new();
            }
            ReplyStart::Text => {}
        }
        for byte in waiting {
            self.take(byte);
        }
        let mut found = std::mem::take(&mut self.found);
        let last = found.len().saturating_sub(1);
        for (index, input) in found.iter_mut().enumerate() {
            if let TerminalInput::Key(press) = input {
                press.is_burst = index < last || is_more_waiting;
            }
        }
        found
    }

    /// Time to wait for more before [`Parser::expire`]. `None` if no sequence has begun.
    pub(super) fn patience(&self) -> Option<Duration> {
        match &self.place {
            // The next byte settles what a character is, however late it comes.
            ParserPlace::Character { .. } => None,
            ParserPlace::Ground if !self.held.is_empty() => Some(ESCAPE),
            ParserPlace::Ground => (self.behind_escape == Behind::Escape).then_some(BEHIND_ESCAPE),
            ParserPlace::Escape => Some(ESCAPE),
            ParserPlace::Control(_) | ParserPlace::SingleShift | ParserPlace::Console => Some(REST),
            ParserPlace::Answer(_) | ParserPlace::AnswerEscape(_) => Some(REST),
            ParserPlace::Late(_) | ParserPlace::LateAnswer => Some(LATE),
            ParserPlace::Paste(_) => Some(PASTE),
        }
    }

    /// Nothing more came: what was begun is all there is of it.
    pub(super) fn expire(&mut self) -> Vec<TerminalInput> {
        if !self.held.is_empty() {
            self.behind_escape = Behind::Nothing;
            for byte in std::mem::take(&mut self.held) {
                self.take(byte);
            }
            return std::mem::take(&mut self.found);
        }
        self.behind_escape = match (&self.place, self.behind_escape) {
            (ParserPlace::Escape, _) => Behind::Escape,
            (_, Behind::Escape | Behind::OldEscape) => Behind::OldEscape,
            (_, Behind::Nothing) => Behind::Nothing,
        };
        match std::mem::replace(&mut self.place, ParserPlace::Ground) {
            ParserPlace::Ground
            | ParserPlace::Late(_)
            | ParserPlace::LateAnswer
            | ParserPlace::AnswerEscape(_) => {}
            character @ ParserPlace::Character { .. } => self.place = character,
            ParserPlace::Escape => self.press(KeyPress::plain(Key::Escape)),
            ParserPlace::Control(parameters) => {
                if parameters.is_empty() {
                    self.alt(b'[');
                }
                self.place = ParserPlace::Late(parameters);
            }
            ParserPlace::SingleShift => {
                self.alt(b'O');
                self.place = ParserPlace::Late(Vec::new());
            }
            ParserPlace::Console => self.place = ParserPlace::Late(Vec::new()),
            ParserPlace::Answer(answer) if answer.length == 0 => self.alt(answer.opener),
            ParserPlace::Answer(answer) => {
                if answer.opener == b']' && background::begins_answer(&answer.kept) {
                    self.place = ParserPlace::LateAnswer;
                }
            }
            ParserPlace::Paste(text) => self.paste(&text),
        }
        std::mem::take(&mut self.found)
    }

    /// Tells if these bytes belong right after an ESC that was taken for the key: an answer, however late, or a sequence
    /// in one piece, which no person types that fast. The beginning of an answer may wait for more of it.
    fn rest(&self, behind: Behind, bytes: &[u8]) -> ReplyStart {
        let is_sequence = match (behind, bytes) {
            (Behind::Nothing, _) => return ReplyStart::Text,
            (_, [b']', ..]) if self.is_answer_due => true,
            (Behind::Escape, [b'[', rest @ ..]) => begins_sequence(rest),
            (Behind::Escape, [b'O', last]) => single_shift(*last).is_some(),
            (Behind::Escape | Behind::OldEscape, _) => false,
        };
        match is_sequence {
            true => ReplyStart::Certain,
            false => reply_start(bytes),
        }
    }

    fn take(&mut self, byte: u8) {
        match std::mem::replace(&mut self.place, ParserPlace::Ground) {
            ParserPlace::Ground => self.begin(byte),
            ParserPlace::Character { bytes, alt } => self.character(bytes, alt, byte),
            ParserPlace::Escape => self.behind_escape(byte),
            ParserPlace::Control(parameters) => self.control(parameters, byte),
            ParserPlace::SingleShift => {
                if let Some(press) = single_shift(byte) {
                    self.press(press);
                }
            }
            ParserPlace::Console => {
                if let b'A'..=b'E' = byte {
                    self.press(KeyPress::plain(Key::Function(byte - b'A' + 1)));
                }
            }
            ParserPlace::Late(parameters) => self.late(parameters, byte),
            ParserPlace::Answer(answer) => self.answer(answer, byte),
            ParserPlace::LateAnswer => self.late_answer(byte),
            // Its end is `ESC \`. Anything else begins something new.
            ParserPlace::AnswerEscape(answer) if byte == b'\\' => self.answered(&answer),
            ParserPlace::AnswerEscape(_) => self.behind_escape(byte),
            ParserPlace::Paste(mut text) => {
                text.push(byte);
                if text.ends_with(PASTE_END) {
                    text.truncate(text.len() - PASTE_END.len());
                    self.paste(&text);
                } else {
                    self.place = ParserPlace::Paste(text);
                }
            }
        }
    }

    fn begin(&mut self, byte: u8) {
        match byte {
            0x1b => self.place = ParserPlace::Escape,
            0..=0x1f | 0x7f => self.press(control_character(byte, self.erase)),
            b' '..=b'~' => self.press(KeyPress::plain(Key::Char(char::from(byte)))),
            _ => self.character(Vec::new(), false, byte),
        }
    }

    /// Takes the next byte of a character outside ASCII.
    fn character(&mut self, mut bytes: Vec<u8>, alt: bool, byte: u8) {
        bytes.push(byte);
        match std::str::from_utf8(&bytes) {
            Ok(text) => {
                for shown in text.chars().filter(|shown| !shown.is_control()) {
                    let press = KeyPress::plain(Key::Char(shown));
                    self.press(KeyPress { alt, ..press });
                }
            }
            Err(error) if error.error_len().is_none() => {
                self.place = ParserPlace::Character { bytes, alt };
            }
            Err(_) => {
                self.press(KeyPress::plain(Key::Char(char::REPLACEMENT_CHARACTER)));
                // The byte may begin something that is right.
                if bytes.len() > 1 {
                    self.take(byte);
                }
            }
        }
    }

    fn behind_escape(&mut self, byte: u8) {
        match byte {
            b'[' => self.place = ParserPlace::Control(Vec::new()),
            b'O' => self.place = ParserPlace::SingleShift,
            b']' | b'P' | b'^' | b'_' => {
                self.place = ParserPlace::Answer(TerminalAnswer {
                    opener: byte,
                    ..TerminalAnswer::default()
                });
            }
            0x1b => {
                self.press(KeyPress::plain(Key::Escape));
                self.place = ParserPlace::Escape;
            }
            byte => self.alt(byte),
        }
    }

    /// Takes a key with Alt, which most terminals write as ESC before it.
    fn alt(&mut self, byte: u8) {
        let press = match byte {
            // Some terminals write Enter so, and nobody means Alt+Ctrl+J.
            b'\n' => KeyPress::plain(Key::Enter),
            0..=0x1f | 0x7f => control_character(byte, self.erase),
            b' '..=b'~' => KeyPress::plain(Key::Char(char::from(byte))),
            _ => return self.character(Vec::new(), true, byte),
        };
        self.press(press.alt());
    }

    fn control(&mut self, mut parameters: Vec<u8>, byte: u8) {
        match byte {
            b'[' if parameters.is_empty() => self.place = ParserPlace::Console,
            b' '..=b'?' => {
                if parameters.len() < MAX_SEQUENCE {
                    parameters.push(byte);
                }
                self.place = ParserPlace::Control(parameters);
            }
            b'~' if parameters == b"200" => self.place = ParserPlace::Paste(Vec::new()),
            b'@'..=b'~' => self.found.extend(control_sequence(&parameters, byte)),
            // It broke off, and something new begins.
            0..=0x1f => self.begin(byte),
            _ => {}
        }
    }

    /// Takes the next byte of a sequence that was given up. No person typed it, and it is too late for it to be a key.
    fn late(&mut self, mut parameters: Vec<u8>, byte: u8) {
        match byte {
            // Somebody pressed Alt and a bracket and typed on: no key goes on like this.
            b' ' | b'a'..=b'z' if parameters.is_empty() => self.begin(byte),
            b' '..=b'?' => {
                if parameters.len() < MAX_SEQUENCE {
                    parameters.push(byte);
                }
                self.place = ParserPlace::Late(parameters);
            }
            // What is in a paste would be keys, and its line breaks would send it.
            b'~' if parameters == b"200" => self.place = ParserPlace::Paste(Vec::new()),
            b'@'..=b'~' => {}
            _ => self.begin(byte),
        }
    }

    /// Takes the next byte of an answer.
    fn answer(&mut self, mut answer: TerminalAnswer, byte: u8) {
        match byte {
            0x1b => self.place = ParserPlace::AnswerEscape(answer),
            0x07 => self.answered(&answer),
            _ if answer.length >= MAX_ANSWER => {}
            _ => {
                answer.length += 1;
                if answer.length <= MAX_KEPT {
                    answer.kept.push(byte);
                }
                self.place = ParserPlace::Answer(answer);
            }
        }
    }

    /// Takes the next byte of an answer about the background that was given up. It is too late for it to mean anything.
    fn late_answer(&mut self, byte: u8) {
        match byte {
            0x07 => {}
            0x1b => self.place = ParserPlace::AnswerEscape(TerminalAnswer::default()),
            _ if background::is_in_answer(byte) => self.place = ParserPlace::LateAnswer,
            _ => self.begin(byte),
        }
    }

    fn answered(&mut self, answer: &TerminalAnswer) {
        if answer.opener != b']' || answer.length > MAX_KEPT {
            return;
        }
        if let Some(input) = background::answer(&answer.kept) {
            self.is_answer_due = false;
            self.found.push(input);
        }
    }

    fn press(&mut self, press: KeyPress) {
        self.found.push(TerminalInput::Key(press.normal()));
    }

    fn paste(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text).into_owned();
        self.found.push(TerminalInput::Paste(text));
    }
}

/// True if the text after `[` is a control sequence with a meaning, or may become one: `[abc` and `[1] see` are text
/// that people write.
fn begins_sequence(rest: &[u8]) -> bool {
    match rest {
        [] => false,
        [b'[', letter, ..] => letter.is_ascii_uppercase(),
        [b'<' | b'?' | b'>', ..] => true,
        _ => {
            let is_parameter = |byte: &u8| matches!(byte, b' '..=b'?');
            let end = rest.iter().position(|byte| !is_parameter(byte));
            match end.map(|end| rest.split_at(end)) {
                None => true,
                Some((b"200", [b'~', ..])) => true,
                Some((parameters, [last, ..])) => {
                    !(parameters.is_empty() && last.is_ascii_lowercase())
                        && control_sequence(parameters, *last).is_some()
                }
                Some((_, [])) => false,
            }
        }
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
