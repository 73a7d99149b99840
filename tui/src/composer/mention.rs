//! Files that a text names: `@src/main.rs`, `@"a b.rs"`.

use std::ops::Range;

/// A name of a file that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Its range in the text, from its `@` to the caret.
    pub(super) range: Range<usize>,
    /// The part of the name that is written.
    pub(crate) query: String,
}

/// The mention of a file in a text.
pub(super) fn token(path: &str) -> String {
    match path.contains(|c: char| c.is_whitespace() || c == '"') {
        true => format!("@\"{path}\""),
        false => format!("@{path}"),
    }
}

/// True if a text names a file.
pub(super) fn is_mentioned(text: &str, path: &str) -> bool {
    let token = token(path);
    let mut found = text.match_indices(&token);
    found.any(|(at, _)| {
        let behind = text[at + token.len()..].chars();
        // A dot or the like ends a sentence, and not the name.
        let mut behind = behind.skip_while(|c| ".,;:!?)]}'\"".contains(*c));
        may_begin(text, at) && behind.next().is_none_or(char::is_whitespace)
    })
}

/// The name that is being written where the caret is.
pub(super) fn open(text: &str, caret: usize) -> Option<Mention> {
    let before = text.get(..caret)?;
    let start = before.rfind('@').filter(|at| may_begin(before, *at))?;
    let written = &before[start + 1..];
    let query = match written.strip_prefix('"') {
        Some(quoted) => Some(quoted).filter(|quoted| !quoted.contains(['"', '\n'])),
        None => Some(written).filter(|written| !written.contains(char::is_whitespace)),
    };
    Some(Mention {
        range: start..caret,
        query: query?.to_owned(),
    })
}

/// True if a name of a file may begin there: not in `me@host`.
fn may_begin(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_none_or(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-162]
    #[test]
    fn a_name_is_written_at_the_beginning_or_behind_a_blank() {
        let query = |text: &str| open(text, text.len()).map(|mention| mention.query);
        let some = |query: &str| Some(query.to_owned());
        assert_eq!(query("@"), some(""));
        assert_eq!(query("see @src/ma"), some("src/ma"));
        assert_eq!(query("see\n@\"a b"), some("a b"));
        for none in [
            "me@host",
            "@src/main.rs now",
            "@\"a b\" ",
            "@\"a b\"",
            "",
            "see",
        ] {
            assert_eq!(query(none), None, "{none:?}");
        }
        let within = open("a @sr and more", 5).unwrap();
        assert_eq!((within.range, &*within.query), (2..5, "sr"));
    }

    /// Spec: [TUI-162]
    #[test]
    fn a_text_names_a_file_as_a_whole_word() {
        for text in ["@a.rs", "see @a.rs, please", "(see @a.rs).", "x\n@a.rs\ty"] {
            assert!(is_mentioned(text, "a.rs"), "{text:?}");
        }
        for text in ["a.rs", "me@a.rs", "@a.rsx", "@a.rs/b", "@b/a.rs", "@a"] {
            assert!(!is_mentioned(text, "a.rs"), "{text:?}");
        }
        assert!(is_mentioned("see @\"a b.rs\".", "a b.rs"));
    }
}
