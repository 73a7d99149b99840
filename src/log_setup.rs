//! Log lines: one record a line and no secret in it, whatever a record holds.

use std::io::Write as _;

use env_logger::{Builder, Target};
use harness_actors::{Clock, Redaction};
use log::Level;

use crate::utc::utc;

/// Starts logging. `filter` is in the format of `RUST_LOG`.
pub(crate) fn start(filter: &str, target: Target, redaction: Redaction) {
    let mut builder = Builder::new();
    builder.parse_filters(filter).target(target);
    builder.format(move |line, record| {
        let time = utc(Clock::system().unix_millis());
        let (level, target) = (record.level(), record.target());
        // The finer records of libraries hold whole requests, with keys and tokens in them.
        if level > Level::Warn && !target.starts_with("harness") {
            return Ok(());
        }
        // Foreign text could otherwise forge records or steer the terminal.
        let text = escaped(&redaction.apply(record.args().to_string()));
        writeln!(line, "{time} {level:5} {target}: {text}")
    });
    builder.init();
}

/// The text with its control characters and direction marks made visible.
pub(crate) fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let is_mark = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
            let hidden = (c.is_control() || is_mark).then(|| c.escape_default());
            let shown = hidden.is_none().then_some(c);
            hidden.into_iter().flatten().chain(shown)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-09]
    #[test]
    fn a_record_stays_on_its_line_and_off_the_terminal() {
        assert_eq!(
            escaped("a\nb\x1b[2J\u{202e}é\t"),
            "a\\nb\\u{1b}[2J\\u{202e}é\\t"
        );
    }
}
