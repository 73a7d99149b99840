//! Unpaired UTF-16 surrogates in JSON text. A server written in JavaScript may cut a text inside a character that
//! takes two UTF-16 units, and send each half as an escape that is no character by itself.

/// The first UTF-16 unit of a character that takes two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstHalf(u16);

/// A JSON text without an escape that is half a character.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mended {
    pub(super) json: String,
    /// The half that a string ended with; the next piece of the text begins with the other one.
    pub(super) first_half: Option<FirstHalf>,
    /// True if a string began with the other half of the one that was given.
    pub(super) is_joined: bool,
}

/// Joins the halves of a JSON text. `earlier` is what an earlier piece of the text ended with. A
/// half without another becomes U+FFFD.
pub(super) fn mend(json: &str, earlier: Option<FirstHalf>) -> Mended {
    let mut mended = Mended {
        json: String::with_capacity(json.len() + 6),
        first_half: None,
        is_joined: false,
    };
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.json.push_str(before);
        let Some(unit) = unit(escape) else {
            // Another escape, of two characters; the second may be a backslash.
            let end = escape
                .char_indices()
                .nth(2)
                .map_or(escape.len(), |(at, _)| at);
            mended.json.push_str(&escape[..end]);
            rest = &escape[end..];
            continue;
        };
        let after = &escape[6..];
        rest = after;
        let begins_string = before.ends_with('"');
        match (unit, earlier) {
            (0xd800..0xdc00, _) if unit_is_second(after) => {
                mended.json.push_str(&escape[..12]);
                rest = &after[6..];
            }
            (0xd800..0xdc00, _) if after.starts_with('"') => {
                mended.first_half = Some(FirstHalf(unit));
            }
            (0xdc00..0xe000, Some(FirstHalf(first))) if begins_string && !mended.is_joined => {
                mended.json += &format!("\\u{first:04x}\\u{unit:04x}");
                mended.is_joined = true;
            }
            (0xd800..0xe000, _) => mended.json.push_str("\\ufffd"),
            _ => mended.json.push_str(&escape[..6]),
        }
    }
    mended.json.push_str(rest);
    mended
}

/// The code unit of an escape, if it is one of six characters.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex
        .then(|| u16::from_str_radix(digits, 16).ok())
        .flatten()
}

fn unit_is_second(escape: &str) -> bool {
    unit(escape).is_some_and(|unit| (0xdc00..0xe000).contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-26]
    #[test]
    fn halves_are_joined_over_pieces_and_lone_ones_are_replaced() {
        let seed = Some(FirstHalf(0xd83c));
        for (earlier, json, mended, first_half, is_joined) in [
            (None, r#"{"t":"a\ud83c"}"#, r#"{"t":"a"}"#, seed, false),
            (
                seed,
                r#"{"t":"\udf31b"}"#,
                r#"{"t":"\ud83c\udf31b"}"#,
                None,
                true,
            ),
            (
                None,
                r#"{"t":"\ud83c\udf31"}"#,
                r#"{"t":"\ud83c\udf31"}"#,
                None,
                false,
            ),
            (
                seed,
                r#"{"t":"x\udf31"}"#,
                r#"{"t":"x\ufffd"}"#,
                None,
                false,
            ),
            (None, r#"{"t":"\udf31"}"#, r#"{"t":"\ufffd"}"#, None, false),
            (
                None,
                r#"{"t":"\ud83cx"}"#,
                r#"{"t":"\ufffdx"}"#,
                None,
                false,
            ),
            (
                None,
                r#"{"t":"\\ud83c\"\u00e9\n"}"#,
                r#"{"t":"\\ud83c\"\u00e9\n"}"#,
                None,
                false,
            ),
            (None, r#"{"t":"é\ud8"}"#, r#"{"t":"é\ud8"}"#, None, false),
            (None, "\\", "\\", None, false),
            (None, "\\é\\u", "\\é\\u", None, false),
        ] {
            let expected = Mended {
                json: mended.to_owned(),
                first_half,
                is_joined,
            };
            assert_eq!(mend(json, earlier), expected, "{json}");
        }
    }
}
