//! Paths in a paste: a terminal writes files that are dropped on it so.

use std::iter::Peekable;
use std::str::Chars;

/// No paste of paths is longer.
const MAX: usize = 16 * 1024;

/// The absolute paths that a paste may be, if it is nothing but paths: alternative lists, the likeliest first.
pub(crate) fn pasted_paths(text: &str, home: Option<&str>) -> Vec<Vec<String>> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX {
        return Vec::new();
    }
    let as_path = |word: &str| absolute(word, home);
    let mut lists = Vec::new();
    if !text.contains('\n') {
        // Blanks in it may be part of a path.
        lists.extend(as_path(text).map(|path| vec![path]));
    }
    let words = words(text);
    if let Some(paths) = words
        .iter()
        .map(|word| as_path(word))
        .collect::<Option<Vec<_>>>()
        && !lists.contains(&paths)
    {
        lists.push(paths);
    }
    lists
}

/// The absolute path that a word is, if it is one.
fn absolute(word: &str, home: Option<&str>) -> Option<String> {
    if let Some(url) = word.strip_prefix("file://") {
        let path = &url[url.find('/')?..];
        return decoded(path);
    }
    if let (Some(rest), Some(home)) = (word.strip_prefix("~/"), home) {
        return Some(format!("{home}/{rest}"));
    }
    // What has one slash is a command more likely than a file of the root folder.
    let is_path = word
        .strip_prefix('/')
        .is_some_and(|rest| rest.contains('/'));
    (is_path && !word.contains('\n')).then(|| word.to_owned())
}

/// A path of a URL.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The words as a shell reads them: quoted, with backslashes, or bare.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(char::is_ascii_whitespace).is_some() {}
        match rest.peek() {
            None => return words,
            Some(_) => words.push(word(&mut rest)),
        }
    }
}

fn word(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    let mut quote = None;
    while let Some(c) = rest.next_if(|c| quote.is_some() || !c.is_ascii_whitespace()) {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(rest.next()),
            (_, c) => word.push(c),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-164]
    #[test]
    fn a_paste_of_nothing_but_paths_is_read_as_terminals_write_them() {
        let lists = |text: &str| pasted_paths(text, Some("/home/ana"));
        let one = |path: &str| vec![vec![path.to_owned()]];
        for (text, path) in [
            ("/tmp/a.png", "/tmp/a.png"),
            (" /tmp/a.png \n", "/tmp/a.png"),
            ("'/tmp/a b.png'", "/tmp/a b.png"),
            ("\"/tmp/a b.png\"", "/tmp/a b.png"),
            ("~/a.png", "/home/ana/a.png"),
            ("file:///tmp/a%20b.png", "/tmp/a b.png"),
            ("file://host/tmp/%C3%A9", "/tmp/é"),
        ] {
            assert_eq!(lists(text), one(path), "{text:?}");
        }
        let list = |paths: &[&str]| {
            paths
                .iter()
                .map(|path| (*path).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lists("/tmp/a\\ b"),
            [list(&["/tmp/a\\ b"]), list(&["/tmp/a b"])]
        );
        assert_eq!(
            lists("/t/a /t/b"),
            [list(&["/t/a /t/b"]), list(&["/t/a", "/t/b"])]
        );
        assert_eq!(lists("/t/a\n'/t/b c'"), [list(&["/t/a", "/t/b c"])]);
        // A narrow blank, as in names of screenshots, is no end of a word.
        assert_eq!(lists("/t/a\u{202f}PM.png"), one("/t/a\u{202f}PM.png"));
        for none in [
            "",
            "text",
            "see /tmp/a.png",
            "/",
            "http://a/b",
            "file://x%zz",
            "/t/a b\nc",
            "/model x",
        ] {
            assert!(lists(none).is_empty(), "{none:?}: {:?}", lists(none));
        }
    }
}
