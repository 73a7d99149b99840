//! The meaning of terminals' escape sequences.
//!
//! | what is written | who writes it |
//! |---|---|
//! | `CSI 13;5u` | the kitty protocol, and tmux if it is configured so: Ctrl+Enter |
//! | `CSI 27;5;13~` | xterm's modifyOtherKeys, and tmux from 3.5 on: the same |
//! | `CSI 1;5A` | everybody: Ctrl+Up |
//! | `SS3 A` | terminals in application mode: Up |
//! | `CSI <0;3;4M` | everybody: the mouse |

use super::key::{Button, Key, KeyPress, Mouse, MouseAction, TerminalInput};
use super::reply::is_report;

/// The meaning of a control sequence, given the bytes between `ESC [` and its last byte. `None` if the client does not
/// know it: an answer to a question that it never asked is not text.
pub(super) fn control_sequence(parameters: &[u8], last: u8) -> Option<TerminalInput> {
    let parameters = std::str::from_utf8(parameters).ok()?;
    if let Some(mouse) = parameters.strip_prefix('<') {
        return mouse_event(mouse, last).map(TerminalInput::Mouse);
    }
    if is_report(parameters.as_bytes(), last) {
        return None;
    }
    match (parameters, last) {
        ("", b'I') => return Some(TerminalInput::Focused(true)),
        ("", b'O') => return Some(TerminalInput::Focused(false)),
        ("", b'Z') => return Some(pressed(KeyPress::plain(Key::Tab).shift())),
        _ => {}
    }
    let mut fields = parameters.split(';');
    let first = fields.next().unwrap_or_default();
    let held = fields.next().unwrap_or_default();
    let code = match last {
        b'u' => character(unicode(first)?, first)?,
        b'~' if first == "27" => character(fields.next()?.parse().ok()?, "")?,
        b'~' => numbered(first.parse().ok()?)?,
        last => named(last)?,
    };
    press(code, held).map(pressed)
}

/// The key of `ESC O` and this byte.
pub(super) fn single_shift(last: u8) -> Option<KeyPress> {
    let code = match last {
        b'M' => Key::Enter,
        b'j'..=b'y' => Key::Char(char::from(last - b'j' + b'*')),
        last => named(last)?,
    };
    Some(KeyPress::plain(code))
}

/// The key of a control character, given which of them deletes backward.
pub(super) fn control_character(byte: u8, erase: u8) -> KeyPress {
    let control = |letter: u8| KeyPress::plain(Key::Char(char::from(letter))).control();
    match byte {
        b'\r' => KeyPress::plain(Key::Enter),
        b'\t' => KeyPress::plain(Key::Tab),
        0x1b => KeyPress::plain(Key::Escape),
        byte if byte == erase => KeyPress::plain(Key::Backspace),
        // The other one of the two is the same key with Control.
        0x08 | 0x7f => KeyPress::plain(Key::Backspace).control(),
        0 => control(b' '),
        1..=26 => control(byte - 1 + b'a'),
        _ => control(byte + 0x40),
    }
}

fn pressed(press: KeyPress) -> TerminalInput {
    TerminalInput::Key(press.normal())
}

/// The key with what a field such as `6` or `5:3` says was held; nothing if it was released.
fn press(code: Key, held: &str) -> Option<KeyPress> {
    let mut parts = held.split(':');
    let bits = match parts.next().unwrap_or_default() {
        "" => 0,
        number => number.parse::<u32>().ok()?.saturating_sub(1),
    };
    if parts.next() == Some("3") {
        return None;
    }
    Some(KeyPress {
        code,
        shift: bits & 1 != 0,
        // Meta is what some keyboards call Alt.
        alt: bits & (2 | 32) != 0,
        control: bits & 4 != 0,
        is_burst: false,
    })
}

/// The number before the first `:`.
fn unicode(field: &str) -> Option<u32> {
    field.split(':').next()?.parse().ok()
}

/// The key of a Unicode number. The field may name the shifted character behind a `:`, which is
/// the capital that we would make ourselves, except on keyboards whose layout we do not know.
fn character(number: u32, field: &str) -> Option<Key> {
    let key = match number {
        8 | 127 => Key::Backspace,
        9 => Key::Tab,
        13 | 57414 => Key::Enter,
        27 => Key::Escape,
        57399..=57408 => Key::Char(char::from_digit(number - 57399, 10)?),
        57409 => Key::Char('.'),
        57410 => Key::Char('/'),
        57411 => Key::Char('*'),
        57412 => Key::Char('-'),
        57413 => Key::Char('+'),
        57415 => Key::Char('='),
        57416 => Key::Char(','),
        57417 => Key::Left,
        57418 => Key::Right,
        57419 => Key::Up,
        57420 => Key::Down,
        57421 => Key::PageUp,
        57422 => Key::PageDown,
        57423 => Key::Home,
        57424 => Key::End,
        57425 => Key::Insert,
        57426 => Key::Delete,
        // Keys that only hold, media keys and the like.
        57344..=63743 => return None,
        number => {
            let shifted = field.split(':').nth(1).unwrap_or_default();
            let shown = shifted.parse().unwrap_or(number);
            Key::Char(char::from_u32(shown).filter(|shown| !shown.is_control())?)
        }
    };
    Some(key)
}

/// The key of `CSI` … and this letter.
fn named(last: u8) -> Option<Key> {
    Some(match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'F' => Key::End,
        b'H' => Key::Home,
        b'P'..=b'S' => Key::Function(last - b'P' + 1),
        _ => return None,
    })
}

/// The key of `CSI` number `~`.
fn numbered(number: u8) -> Option<Key> {
    Some(match number {
        1 | 7 => Key::Home,
        2 => Key::Insert,
        3 => Key::Delete,
        4 | 8 => Key::End,
        5 => Key::PageUp,
        6 => Key::PageDown,
        11..=15 => Key::Function(number - 10),
        17..=21 => Key::Function(number - 11),
        23 | 24 => Key::Function(number - 12),
        _ => return None,
    })
}

/// The event of `CSI <bits;column;row` and `M` or `m`.
fn mouse_event(parameters: &str, last: u8) -> Option<Mouse> {
    let mut numbers = parameters.split(';').map(str::parse::<u16>);
    let mut next = || numbers.next()?.ok();
    let (bits, column, row) = (next()?, next()?, next()?);
    let is_moved = bits & 32 != 0;
    // What is held with it is left out: terminals keep most of it for themselves.
    let button = match bits & !(4 | 8 | 16 | 32) {
        0 => Button::Left,
        1 => Button::Middle,
        2 => Button::Right,
        64 | 65 if last == b'M' => {
            let steps = if bits & 1 == 0 { -1 } else { 1 };
            return Some(at(MouseAction::Wheel(steps), column, row));
        }
        _ => return None,
    };
    let action = match (last, is_moved) {
        (b'm', _) => MouseAction::Release(button),
        (b'M', true) => MouseAction::Drag(button),
        (b'M', false) => MouseAction::Press(button),
        _ => return None,
    };
    Some(at(action, column, row))
}

fn at(action: MouseAction, column: u16, row: u16) -> Mouse {
    Mouse {
        action,
        column: column.saturating_sub(1),
        row: row.saturating_sub(1),
    }
}
