//! Foreign text made fit to be shown: nothing in it can steer the terminal or forge a line.

use harness_protocol::hidden;

/// The text on one line, with its control characters, direction marks and invisible characters made visible.
pub(crate) fn line(text: &str) -> String {
    escaped(text, misleads)
}

/// The text with its lines and tabs; other misleading characters are made visible.
pub(crate) fn text(text: &str) -> String {
    escaped(text, hidden::misleads)
}

/// A line that a person judges: every hidden character is made visible, and a tab stays.
pub(crate) fn judged(text: &str) -> String {
    escaped(text, |c| c == '\n' || hidden::is_hidden(c))
}

/// The text on one line of at most `max` characters, with a mark where it was cut.
pub(crate) fn short(text: &str, max: usize) -> String {
    cut(&line(text), max)
}

/// At most `max` characters of the text, with a mark where it was cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// JSON text in which strings keep their meaning and no character steers the terminal.
pub(crate) fn json(value: &impl serde::Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(value)?;
    let mut shown = String::with_capacity(text.len());
    // What is hidden stands inside strings only, where an escape says the same.
    for c in text.chars() {
        if misleads(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown += &format!("\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    Ok(shown)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    text.chars()
        .flat_map(|c| {
            let hidden = is_escaped(c).then(|| c.escape_default());
            let shown = hidden.is_none().then_some(c);
            hidden.into_iter().flatten().chain(shown)
        })
        .collect()
}

/// True for a character that steers a terminal or misleads a reader within a line.
fn misleads(c: char) -> bool {
    matches!(c, '\n' | '\t') || hidden::misleads(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: &str = "a\n\tb\x1b[2J\u{9b}2J\u{202e}é\r";

    /// Spec: [CLI-10]
    #[test]
    fn foreign_text_steers_no_terminal() {
        let shown = "a\\n\\tb\\u{1b}[2J\\u{9b}2J\\u{202e}é\\r";
        assert_eq!(line(FOREIGN), shown);
        let shown = "a\n\tb\\u{1b}[2J\\u{9b}2J\\u{202e}é\\r";
        assert_eq!(text(FOREIGN), shown);
        assert_eq!(short("abc", 3), "abc");
        assert_eq!(short("abcd", 3), "ab…");
    }

    /// Spec: [APPR-590]
    #[test]
    fn invisible_characters_are_seen_and_in_what_is_judged_all_hidden_ones() {
        let foreign = "g\u{200b}it\u{ad} \u{2060}a\u{e0041}👩\u{200d}👧\u{a0}\tb\n";
        assert_eq!(
            line(foreign),
            "g\\u{200b}it\\u{ad} \\u{2060}a\\u{e0041}👩\u{200d}👧\u{a0}\\tb\\n"
        );
        assert_eq!(
            judged(foreign),
            "g\\u{200b}it\\u{ad} \\u{2060}a\\u{e0041}👩\\u{200d}👧\\u{a0}\tb\\n"
        );
    }

    /// Spec: [SEC-09]
    #[test]
    fn a_record_of_the_log_stays_on_its_line_and_off_the_terminal() {
        assert_eq!(
            line("a\nb\x1b[2J\u{202e}é\t"),
            "a\\nb\\u{1b}[2J\\u{202e}é\\t"
        );
    }

    /// Spec: [CLI-10]
    #[test]
    fn json_keeps_its_meaning_and_steers_no_terminal() {
        let shown = json(&FOREIGN).unwrap();
        assert!(!shown.chars().any(misleads), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), FOREIGN);
    }
}
