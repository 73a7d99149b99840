//! The forms in which a text can contain a secret.
//!
//! A tool's result is JSON by the time it is searched, a file may hold a URL or a configuration in base64, and a dump
//! is hexadecimal. Each form is a plain text, so that one pass finds all.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

/// Minimum length of a form that is searched for: other text would contain a shorter one by chance.
const MIN_FORM: usize = 8;
/// Maximum length of a secret that is searched for in encodings other than JSON's, in bytes.
const MAX_ENCODED: usize = 16 * 1024;
/// Minimum length of a line of a secret that counts as a secret by itself, in bytes.
const MIN_LINE: usize = 16;

/// Adds the forms of a secret.
pub(super) fn add_forms(secret: &str, forms: &mut BTreeSet<String>) {
    // A variable may end with a newline that other copies of its text do not have.
    let secret = secret.trim();
    add_forms_of(secret, forms);
    // Tools show lines one by one: each line of a private key is as good as the key.
    if secret.contains('\n') {
        let is_key =
            |line: &&str| line.len() >= MIN_LINE && line.bytes().all(|b| b.is_ascii_graphic());
        for line in secret.lines().map(str::trim).filter(is_key) {
            add_forms_of(line, forms);
        }
    }
}

fn add_forms_of(text: &str, forms: &mut BTreeSet<String>) {
    let mut found = vec![text.to_owned()];
    for written in json_forms(text) {
        // A file of JSON is written as JSON once more when it is a tool's result.
        found.push(json(&written, JsonEscapes::default()));
        found.push(written);
    }
    if text.len() <= MAX_ENCODED {
        found.extend(percent_forms(text));
        found.extend(base64_forms(text.as_bytes()));
        found.extend(hex_forms(text.as_bytes()));
    }
    forms.extend(found.into_iter().filter(|form| form.len() >= MIN_FORM));
}

/// The characters that a writer of JSON may escape though it need not.
#[derive(Debug, Clone, Copy, Default)]
struct JsonEscapes {
    /// Everything but ASCII, as Python does by default.
    ascii: bool,
    /// The slash, as PHP does by default.
    slash: bool,
    /// Characters with a meaning in HTML, as Go escapes them by default.
    html: bool,
}

fn json_forms(text: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    for bits in 0..8 {
        let how = JsonEscapes {
            ascii: bits & 1 != 0,
            slash: bits & 2 != 0,
            html: bits & 4 != 0,
        };
        forms.insert(json(text, how));
    }
    forms
}

/// The text in the form that it has between the quotes of a JSON string.
fn json(text: &str, how: JsonEscapes) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\u{8}' => written.push_str("\\b"),
            '\u{c}' => written.push_str("\\f"),
            '/' if how.slash => written.push_str("\\/"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if how.html => escape(c, &mut written),
            c if u32::from(c) < 0x20 || (how.ascii && !c.is_ascii()) => escape(c, &mut written),
            c => written.push(c),
        }
    }
    written
}

fn escape(c: char, into: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        into.push_str(&format!("\\u{unit:04x}"));
    }
}

/// The forms as a part of a URL. Encoders differ in the characters that they leave unescaped besides letters and
/// digits.
fn percent_forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for kept in ["-._~", "-._~/", "-_.!~*'()"] {
        let upper = percent(text, kept);
        forms.push(upper.replace("%20", "+"));
        forms.push(lower_escapes(&upper));
        forms.push(upper);
    }
    forms
}

fn percent(text: &str, kept: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}

/// The same with the digits of its escapes in lower case.
fn lower_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(part.len().min(2));
        written.push('%');
        written.push_str(&digits.to_ascii_lowercase());
        written.push_str(rest);
    }
    written
}

/// The forms as a part of a longer text in base64, which begins with one of three alignments. Digits that also depend
/// on the neighbouring text are left out.
fn base64_forms(bytes: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let mut aligned = vec![0; before];
        aligned.extend_from_slice(bytes);
        let begin = (before * 8).div_ceil(6);
        let end = aligned.len() * 8 / 6;
        for form in [
            BASE64_STANDARD_NO_PAD.encode(&aligned),
            BASE64_URL_SAFE_NO_PAD.encode(&aligned),
        ] {
            forms.extend(form.get(begin..end).map(ToOwned::to_owned));
        }
    }
    forms
}

fn hex_forms(bytes: &[u8]) -> [String; 2] {
    let lower: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let upper = lower.to_ascii_uppercase();
    [lower, upper]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(secret: &str) -> BTreeSet<String> {
        let mut forms = BTreeSet::new();
        add_forms(secret, &mut forms);
        forms
    }

    /// Spec: [SEC-21]
    #[test]
    fn a_plain_key_has_few_forms() {
        let forms = forms("sk-ant-0123");
        let expected = [
            "736b2d616e742d30313233",
            "736B2D616E742D30313233",
            "NrLWFudC0wMTIz",
            "c2stYW50LTAxMj",
            "sk-ant-0123",
            "zay1hbnQtMDEyM",
        ];
        assert_eq!(forms, expected.map(str::to_owned).into());
    }

    /// Spec: [SEC-21]
    #[test]
    fn an_odd_key_has_the_forms_that_writers_give_it() {
        let secret = "k\"e\\y/é\n\u{1}<&😀+ %";
        let forms = forms(secret);
        for form in [
            secret,
            serde_json::to_string(secret).unwrap().trim_matches('"'),
            r#"k\"e\\y/\u00e9\n\u0001<&\ud83d\ude00+ %"#,
            r#"k\"e\\y\/é\n\u0001<&😀+ %"#,
            r#"k\"e\\y/é\n\u0001\u003c\u0026😀+ %"#,
            r#"k\\\"e\\\\y\\/é\\n\\u0001<&😀+ %"#,
            "k%22e%5Cy%2F%C3%A9%0A%01%3C%26%F0%9F%98%80%2B%20%25",
            "k%22e%5cy%2f%c3%a9%0a%01%3c%26%f0%9f%98%80%2b%20%25",
            "k%22e%5Cy/%C3%A9%0A%01%3C%26%F0%9F%98%80%2B%20%25",
            "k%22e%5Cy%2F%C3%A9%0A%01%3C%26%F0%9F%98%80%2B+%25",
        ] {
            assert!(forms.contains(form), "{form} is not in {forms:#?}");
        }
    }

    /// Spec: [SEC-21]
    #[test]
    fn base64_is_found_at_every_place_of_a_longer_text() {
        let secret = "Zx\u{3ff}-?>~\"key\"~0123";
        let forms = forms(secret);
        for before in 0..9 {
            for after in 0..4 {
                let text = format!("{}{secret}{}", "b".repeat(before), "a".repeat(after));
                for encoded in [
                    BASE64_STANDARD_NO_PAD.encode(&text),
                    BASE64_URL_SAFE_NO_PAD.encode(&text),
                ] {
                    let found = forms.iter().filter(|form| encoded.contains(*form));
                    let longest = found.map(String::len).max().unwrap_or_default();
                    // All but what a neighbour has a share in.
                    assert!(longest + 2 >= secret.len() * 8 / 6, "{before} {after}");
                }
            }
        }
    }

    /// Spec: [SEC-21]
    #[test]
    fn a_line_of_a_private_key_counts_by_itself() {
        let key = "-----BEGIN PRIVATE KEY-----\r\nMC4CAQAwBQYDK2VwBCIEIA0B\nshort\n-----END PRIVATE KEY-----\n";
        let forms = forms(key);
        assert!(forms.contains("MC4CAQAwBQYDK2VwBCIEIA0B"));
        assert!(!forms.contains("-----BEGIN PRIVATE KEY-----") && !forms.contains("short"));
    }
}
