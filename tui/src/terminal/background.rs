//! The colour of the terminal's background, which is asked for once.

use super::key::TerminalInput;

/// Asks for it. The answer comes between the keys: soon, late or never.
pub(crate) const QUESTION: &[u8] = b"\x1b]11;?\x1b\\";

/// Black is 0 and white is 1; what is above this is light.
const LIGHT: f64 = 0.5;

/// The meaning of the text between `ESC ]` and its end. `None` if it does not answer the question.
pub(super) fn answer(text: &[u8]) -> Option<TerminalInput> {
    let text = std::str::from_utf8(text).ok()?;
    let color = text.strip_prefix("11;")?;
    let is_light = luminance(parts(color)?) > LIGHT;
    Some(TerminalInput::Background { is_light })
}

/// True if the text after `ESC ]` begins as an answer to the question does.
pub(super) fn begins_answer(text: &[u8]) -> bool {
    text.starts_with(b"11;")
}

/// True for a byte of an answer, after its beginning and before its end.
pub(super) fn is_in_answer(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || b"rgb:/".contains(&byte)
}

/// The parts of `rgb:R/G/B` or `rgba:R/G/B/A`, each from 0 to 1.
fn parts(color: &str) -> Option<[f64; 3]> {
    let (parts, count) = match color.strip_prefix("rgb:") {
        Some(parts) => (parts, 3),
        None => (color.strip_prefix("rgba:")?, 4),
    };
    let parts: Vec<f64> = parts.split('/').map(part).collect::<Option<_>>()?;
    match parts.as_slice() {
        [red, green, blue, ..] if parts.len() == count => Some([*red, *green, *blue]),
        _ => None,
    }
}

/// A number of one to four hexadecimal digits, as a part of the largest with as many.
fn part(digits: &str) -> Option<f64> {
    let is_number = matches!(digits.len(), 1..=4) && digits.bytes().all(|c| c.is_ascii_hexdigit());
    if !is_number {
        return None;
    }
    let largest = (1_u32 << (4 * digits.len())) - 1;
    Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(largest))
}

/// Luminance of a colour.
fn luminance(parts: [f64; 3]) -> f64 {
    let [red, green, blue] = parts.map(|part| {
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TERM-24]
    #[test]
    fn each_form_of_an_answer_is_known_and_nothing_else_is_one() {
        let forms = [
            ("11;rgb:ffff/ffff/ffff", Some(true)),
            ("11;rgb:ff/ff/ff", Some(true)),
            ("11;rgb:f/f/f", Some(true)),
            ("11;rgb:FDFD/F6F6/e3e3", Some(true)),
            ("11;rgba:ffff/ffff/ffff/0000", Some(true)),
            ("11;rgba:ff/ff/ff/80", Some(true)),
            ("11;rgb:bf/bf/bf", Some(true)),
            ("11;rgb:b8/b8/b8", Some(false)),
            ("11;rgb:0000/ffff/0000", Some(true)),
            ("11;rgb:ffff/0000/ffff", Some(false)),
            ("11;rgb:0000/0000/0000", Some(false)),
            ("11;rgb:1a/1a/1a", Some(false)),
            ("11;rgba:00/00/00/ff", Some(false)),
            ("10;rgb:ffff/ffff/ffff", None),
            ("11;rgb:ff/ff", None),
            ("11;rgb:ff/ff/ff/ff", None),
            ("11;rgba:ff/ff/ff", None),
            ("11;rgb:fffff/ff/ff", None),
            ("11;rgb:+f/ff/ff", None),
            ("11;rgb:ff//ff", None),
            ("11;#ffffff", None),
            ("11;", None),
            ("", None),
        ];
        for (text, expected) in forms {
            let found = answer(text.as_bytes());
            let is_light =
                found.map(|input| matches!(input, TerminalInput::Background { is_light: true }));
            assert_eq!(is_light, expected, "{text}");
        }
        assert!(answer(b"11;rgb:\xff/ff/ff").is_none());
    }
}
