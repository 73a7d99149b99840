//! Addresses that a terminal may open: which text is one, and how it is written for it.

use std::ops::Range;

/// The schemes of addresses. Others, for example `file:`, may have effects that the reader does not expect.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// The longest that terminals take.
const MAX_BYTES: usize = 2000;
/// Characters that end a sentence more often than an address.
const TRAILING: [char; 9] = ['.', ',', ';', ':', '!', '?', '\'', '*', '_'];

/// The address in its form for a terminal. `None` if it must not be opened.
pub(crate) fn address(url: &str) -> Option<String> {
    let is_known = |scheme: &&str| {
        let head = url.get(..scheme.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    };
    if !SCHEMES.iter().any(is_known) {
        return None;
    }
    let mut written = String::with_capacity(url.len());
    for byte in url.bytes() {
        if (0x21..=0x7e).contains(&byte) {
            written.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from_digit(half.into(), 16);
            written.push('%');
            let digits = [byte >> 4, byte & 0xf].into_iter().filter_map(digit);
            written.extend(digits.map(|digit| digit.to_ascii_uppercase()));
        }
    }
    (written.len() <= MAX_BYTES).then_some(written)
}

/// The places of the addresses in a text that reach into a range of it, from left to right.
pub(crate) fn addresses(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let Some((before, after)) = text.get(..range.start).zip(text.get(range.end..)) else {
        return Vec::new();
    };
    // One that is broken over rows is looked at as a whole.
    let back: usize = before
        .chars()
        .rev()
        .take_while(|c| is_within(*c))
        .take(MAX_BYTES)
        .map(char::len_utf8)
        .sum();
    let on: usize = after
        .chars()
        .take_while(|c| is_within(*c))
        .take(MAX_BYTES)
        .map(char::len_utf8)
        .sum();
    let (mut start, end) = (range.start - back, range.end + on);
    let mut found = Vec::new();
    while let Some(place) = text.get(start..end).and_then(first) {
        let place = start + place.start..start + place.end;
        start = place.end;
        if place.start < range.end && range.start < place.end {
            found.push(place);
        }
    }
    found
}

/// The first address of a text.
fn first(text: &str) -> Option<Range<usize>> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let found = SCHEMES
            .iter()
            .filter_map(|scheme| Some((rest.find(scheme)?, scheme.len())));
        let (at, scheme) = found.min()?;
        let start = from + at;
        from = start + scheme;
        let is_word = text[..start]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric);
        let length = length(&text[start..]);
        let is_mail = text[start..].starts_with("mailto:");
        let is_whole = !is_mail || text[start..start + length].contains('@');
        if !is_word && length > scheme && is_whole {
            return Some(start..start + length);
        }
    }
}

/// Length of the address that a text begins with, without the rest of the sentence, in bytes.
fn length(text: &str) -> usize {
    let end = text.find(|c| !is_within(c)).unwrap_or(text.len());
    let mut url = &text[..end];
    loop {
        let count = |c| url.matches(c).count();
        let is_over = match url.chars().next_back() {
            Some(')') => count(')') > count('('),
            Some(']') => count(']') > count('['),
            Some(last) => TRAILING.contains(&last),
            None => false,
        };
        if !is_over {
            return url.len();
        }
        url = &url[..url.len() - 1];
    }
}

/// True if a character may be in an address.
fn is_within(c: char) -> bool {
    match c {
        '<' | '>' | '"' | '`' | '|' | '\\' | '^' | '{' | '}' => false,
        c if c.is_ascii() => c.is_ascii_graphic(),
        c => c.is_alphanumeric(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TERM-304]
    #[test]
    fn only_what_leads_to_the_web_or_to_a_letter_is_opened() {
        let forms = [
            ("https://a.b/c?d=e#f", Some("https://a.b/c?d=e#f")),
            ("HTTP://a.b", Some("HTTP://a.b")),
            ("mailto:a@b.c", Some("mailto:a@b.c")),
            (
                "https://a.b/ö x\u{1b}\u{7}",
                Some("https://a.b/%C3%B6%20x%1B%07"),
            ),
            ("https://", None),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("a.b/c", None),
            ("ö", None),
        ];
        for (url, expected) in forms {
            assert_eq!(address(url).as_deref(), expected, "{url}");
        }
        let long = |bytes: usize| format!("https://{}", "a".repeat(bytes - 8));
        assert!(address(&long(2000)).is_some());
        assert!(address(&long(2001)).is_none());
    }

    /// Spec: [TERM-304]
    #[test]
    fn an_address_ends_where_the_sentence_goes_on() {
        let all = |text: &str| -> Vec<String> {
            let places = addresses(text, 0..text.len());
            places
                .into_iter()
                .map(|place| text[place].to_owned())
                .collect()
        };
        let forms: [(&str, &[&str]); 12] = [
            ("see https://a.b/c.", &["https://a.b/c"]),
            ("(https://a.b/c_(d)), and", &["https://a.b/c_(d)"]),
            ("[x](https://a.b)", &["https://a.b"]),
            ("{\"url\": \"http://a.b/c\"}", &["http://a.b/c"]),
            ("|https://a.b|https://c.d|", &["https://a.b", "https://c.d"]),
            ("**https://a.b**", &["https://a.b"]),
            ("mailto:a@b.c, mailto:", &["mailto:a@b.c"]),
            ("mailto:nothing", &[]),
            ("xhttps://a.b https://", &[]),
            ("漢字 https://a.b/漢。字", &["https://a.b/漢"]),
            ("https://a.b?u=https://c.d", &["https://a.b?u=https://c.d"]),
            ("https:// https://a.b", &["https://a.b"]),
        ];
        for (text, expected) in forms {
            assert_eq!(all(text), expected, "{text}");
        }
        // A row sees the whole of what it shows a part of.
        let text = "at https://a.b/cde and on";
        assert_eq!(
            addresses(text, 12..16),
            [std::ops::Range { start: 3, end: 18 }]
        );
        assert_eq!(addresses(text, 19..25), []);
        assert_eq!(addresses(text, 0..3), []);
    }
}
