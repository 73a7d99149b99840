//! The forms of what terminals answer, which no person types.
//!
//! | answer | to which question |
//! |---|---|
//! | `ESC ] 11 ; …` | OSC: colours, the clipboard |
//! | `ESC P 1 + r …`, `ESC P > \| …` | DCS: capabilities, the name of the terminal |
//! | `ESC _ G …` | APC: pictures of kitty |
//! | `CSI ?62;22c` | the kind of the terminal |
//! | `CSI 24;80R` | the place of the cursor |
//! | `CSI 8;24;80t` | the size of the window |
//!
//! Source: XTerm Control Sequences, <https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>.

/// No answer has longer numbers at its beginning.
const MAX_DIGITS: usize = 4;

/// How bytes after an ESC that was taken for the key begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyStart {
    /// As an answer does, and no text.
    Certain,
    /// As an answer does, and text, too.
    Possible,
    /// As no answer does.
    Text,
}

/// Tells how bytes after ESC begin.
pub(super) fn reply_start(bytes: &[u8]) -> ReplyStart {
    let Some((opener, rest)) = bytes.split_first() else {
        return ReplyStart::Text;
    };
    if *opener == b'[' {
        return match begins_report(rest) {
            true => ReplyStart::Certain,
            false => ReplyStart::Text,
        };
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let marks: &[&[u8]] = match opener {
        _ if digits > MAX_DIGITS => return ReplyStart::Text,
        b']' if digits > 0 => &[b";"],
        // A number may follow.
        b']' => return possible_if(rest.is_empty()),
        b'P' => &[b"+r", b"$r", b"!|", b">|"],
        b'_' if digits == 0 => &[b"Gi="],
        _ => return ReplyStart::Text,
    };
    let rest = &rest[digits..];
    if marks.iter().any(|mark| rest.starts_with(mark)) {
        return ReplyStart::Certain;
    }
    possible_if(marks.iter().any(|mark| mark.starts_with(rest)))
}

/// True if the text after `ESC [` is an answer about the terminal, or begins as one.
fn begins_report(rest: &[u8]) -> bool {
    if let [b'?' | b'>', digit, ..] = rest {
        return digit.is_ascii_digit();
    }
    let is_parameter = |byte: &u8| matches!(byte, b' '..=b'?');
    let end = rest.iter().position(|byte| !is_parameter(byte));
    end.is_some_and(|end| is_report(&rest[..end], rest[end]))
}

fn possible_if(is_possible: bool) -> ReplyStart {
    match is_possible {
        true => ReplyStart::Possible,
        false => ReplyStart::Text,
    }
}

/// True if a control sequence, given the bytes between `ESC [` and its last byte, is an answer about the cursor or the
/// window.
pub(super) fn is_report(parameters: &[u8], last: u8) -> bool {
    let numbers: Vec<&[u8]> = parameters.split(|byte| *byte == b';').collect();
    let is_number = |field: &&[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let is_form = match (last, numbers.as_slice()) {
        // With 1 as the first number it is also F3 with a key that is held.
        (b'R', [row, _]) => *row != b"1",
        (b't', [_, _, _]) => true,
        _ => false,
    };
    is_form && numbers.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-620]
    #[test]
    fn the_beginning_of_an_answer_is_told_from_text() {
        use ReplyStart::{Certain, Possible, Text};
        for (bytes, expected) in [
            ("]11;rgb:1e1e/1e1e/1e1e\u{1b}\\", Certain),
            ("]11;", Certain),
            ("]11", Possible),
            ("]", Possible),
            ("]x", Text),
            ("];", Text),
            ("]12345;", Text),
            ("P1+r544e=78", Certain),
            ("P>|xterm(390)", Certain),
            ("P!|00000000", Certain),
            ("P0$r0m", Certain),
            ("P", Possible),
            ("P1+", Possible),
            ("Please", Text),
            ("_Gi=1;OK", Certain),
            ("_", Possible),
            ("_x", Text),
            ("_1G", Text),
            ("[?62;22c", Certain),
            ("[>0;276;0c", Certain),
            ("[24;80R", Certain),
            ("[?", Text),
            ("[24;80", Text),
            ("[1;5D", Text),
            ("x", Text),
            ("", Text),
        ] {
            assert_eq!(reply_start(bytes.as_bytes()), expected, "{bytes}");
        }
        for (parameters, last, expected) in [
            ("24;80", b'R', true),
            ("1;5", b'R', false),
            ("24", b'R', false),
            (";80", b'R', false),
            ("8;24;80", b't', true),
            ("8;24", b't', false),
            ("24;80", b'x', false),
            ("", b'R', false),
        ] {
            assert_eq!(
                is_report(parameters.as_bytes(), last),
                expected,
                "{parameters}"
            );
        }
    }
}
