//! The title of a conversation from its first prompt, which serves until it is given another.

use crate::hidden;

/// The most characters of a title from a prompt.
const MAX_CHARACTERS: usize = 48;

/// The first line of a prompt that says something, shortened at a word: at most 48 characters, the ellipsis included.
///
/// Lines that are blank, that are a command (`/compact`, `!make`) or that only mention files (`@src/main.rs`) are passed
/// over, and so is a line of which nothing is visible. `None` if no line is left.
#[must_use]
pub fn title_of_prompt(prompt: &str) -> Option<String> {
    prompt.lines().find_map(title_of_line)
}

fn title_of_line(line: &str) -> Option<String> {
    let visible: String = line
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !hidden::is_hidden(*c))
        .collect();
    let words: Vec<&str> = visible.split(' ').filter(|word| !word.is_empty()).collect();
    let first = words.first()?;
    // A path is no command.
    let is_command = first
        .strip_prefix('/')
        .is_some_and(|name| !name.contains('/'));
    if is_command || first.starts_with('!') || words.iter().all(|word| word.starts_with('@')) {
        return None;
    }
    Some(shortened(&words.join(" ")))
}

/// The whole text, or as many whole words as fit with an ellipsis; of one long word its beginning.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MAX_CHARACTERS - 1).collect();
    let ends_at_word = text[cut.len()..].starts_with(' ');
    let kept = match cut.rfind(' ') {
        Some(end) if !ends_at_word => &cut[..end],
        _ => cut.as_str(),
    };
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CONV-770]
    #[test]
    fn a_prompt_gives_its_first_line_that_says_something() {
        let long = "Explain why the second test of the parser fails on Windows only";
        for (prompt, title) in [
            ("fix the test", Some("fix the test")),
            ("\n\n  fix\tthe   test  \nmore", Some("fix the test")),
            (
                "/compact\n@src/main.rs @b.rs\nwhat is this?",
                Some("what is this?"),
            ),
            (
                "@src/main.rs what is this?",
                Some("@src/main.rs what is this?"),
            ),
            ("/etc/hosts is wrong", Some("/etc/hosts is wrong")),
            ("!make test", None),
            ("\u{1b}]0;x\u{7}hello", Some("]0;xhello")),
            ("\u{202e}\u{200b}", None),
            ("", None),
            (
                long,
                Some("Explain why the second test of the parser fails…"),
            ),
        ] {
            assert_eq!(title_of_prompt(prompt).as_deref(), title, "{prompt:?}");
        }
        let word = title_of_prompt(&"é".repeat(100)).unwrap();
        assert_eq!(word, format!("{}…", "é".repeat(MAX_CHARACTERS - 1)));
    }
}
