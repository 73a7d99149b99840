//! What is said of ends and of what has nothing to read.

use harness_protocol::{Damage, Outcome, Settings};
use serde_json::Value;

use super::part::PartKind;

/// What stands in place of what a call returned when its run ended without it.
pub(super) const NO_RESULT: &str = "no result";

/// The remark on how a run ended; none if there is nothing to say.
pub(super) fn end_of_run(
    outcome: Outcome,
    message: &str,
    by: Option<&str>,
    failure: Option<&str>,
) -> Option<PartKind> {
    let (name, is_error) = match outcome {
        Outcome::Completed => ("", false),
        Outcome::Cancelled => ("cancelled", false),
        Outcome::Error => ("", true),
        Outcome::Interrupted => ("interrupted", true),
        Outcome::Unknown => ("ended", false),
    };
    let mut text = if message.starts_with(name) {
        message.to_owned()
    } else if message.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {message}")
    };
    if text.is_empty() && outcome == Outcome::Error {
        text = failure.unwrap_or("error").to_owned();
    }
    if outcome == Outcome::Cancelled
        && let Some(by) = by
    {
        text = format!("{text} by {by}");
    }
    (!text.is_empty()).then_some(PartKind::Note { text, is_error })
}

/// The remark on another title.
pub(super) fn renamed(title: &str, by: Option<&str>) -> PartKind {
    let who = by.map(|by| format!(" by {by}")).unwrap_or_default();
    PartKind::Note {
        text: format!("renamed{who}: {title}"),
        is_error: false,
    }
}

/// The remark on a run that no prompt began.
pub(super) fn continued(by: &str) -> PartKind {
    PartKind::Note {
        text: format!("continued by {by}"),
        is_error: false,
    }
}

/// The remark on a block that has nothing to read.
pub(super) fn unreadable_block(block_type: &str) -> PartKind {
    PartKind::Note {
        text: block_type.replace('_', " "),
        is_error: false,
    }
}

/// The remark on records that cannot be read: those between the two.
pub(super) fn gap(after: u64, before: u64) -> PartKind {
    let (first, last) = (after.saturating_add(1), before.saturating_sub(1));
    let text = if first >= last {
        format!("record {first} cannot be read")
    } else {
        format!("records {first} to {last} cannot be read")
    };
    PartKind::Note {
        text,
        is_error: true,
    }
}

/// The remark on what of the journal cannot be read.
pub(super) fn damage(damage: &Damage) -> PartKind {
    let Damage { bytes, file, .. } = damage;
    PartKind::Note {
        text: format!("{bytes} bytes of the record cannot be read; a copy is in {file}"),
        is_error: true,
    }
}

/// How much of the text of a setting is shown, in characters.
const MAX_SETTING: usize = 60;

/// What is set, one setting each, in the order of the fields.
pub(crate) fn settings_in_words(settings: &Settings) -> Vec<String> {
    // Settings are an object.
    let Ok(Value::Object(fields)) = serde_json::to_value(settings) else {
        return Vec::new();
    };
    let word = |value: &Value| match value {
        Value::String(text) => short(text),
        Value::Array(values) => {
            let names = values.iter().map(|value| match value {
                Value::String(name) => name.clone(),
                other => other.to_string(),
            });
            let names: Vec<_> = names.collect();
            short(&names.join(", "))
        }
        other => other.to_string(),
    };
    let mut words: Vec<String> = FIRST
        .iter()
        .filter_map(|name| {
            Some(format!(
                "{}: {}",
                name.replace('_', " "),
                word(fields.get(*name)?)
            ))
        })
        .collect();
    let rest = fields
        .iter()
        .filter(|(name, _)| !FIRST.contains(&name.as_str()));
    words.extend(rest.map(|(name, value)| format!("{}: {}", name.replace('_', " "), word(value))));
    words
}

/// The settings that matter most.
const FIRST: [&str; 2] = ["model", "thinking"];

/// The beginning of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_SETTING) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [PART-10]
    #[test]
    fn an_end_that_is_not_the_usual_one_is_said_once() {
        for (outcome, message, by, failure, expected) in [
            (Outcome::Completed, "", None, None, None),
            (
                Outcome::Completed,
                "stopped: reached max_turns (3)",
                None,
                None,
                Some(("stopped: reached max_turns (3)", false)),
            ),
            (
                Outcome::Cancelled,
                "cancelled",
                None,
                None,
                Some(("cancelled", false)),
            ),
            (
                Outcome::Cancelled,
                "",
                Some("ana"),
                None,
                Some(("cancelled by ana", false)),
            ),
            (
                Outcome::Error,
                "busy",
                None,
                Some("busy"),
                Some(("busy", true)),
            ),
            (Outcome::Error, "", None, Some("busy"), Some(("busy", true))),
            (Outcome::Error, "", None, None, Some(("error", true))),
            (
                Outcome::Interrupted,
                "interrupted: the service was stopped",
                None,
                None,
                Some(("interrupted: the service was stopped", true)),
            ),
            (
                Outcome::Interrupted,
                "it died",
                None,
                None,
                Some(("interrupted: it died", true)),
            ),
        ] {
            let expected = expected.map(|(text, is_error)| PartKind::Note {
                text: text.to_owned(),
                is_error,
            });
            assert_eq!(end_of_run(outcome, message, by, failure), expected);
        }
    }

    /// Spec: [PART-11] [PART-16]
    #[test]
    fn what_cannot_be_read_is_named() {
        let text = |kind| match kind {
            PartKind::Note { text, is_error } => (text, is_error),
            _ => (String::new(), false),
        };
        let row = |said: &str, is_error| (said.to_owned(), is_error);
        assert_eq!(text(gap(3, 5)), row("record 4 cannot be read", true));
        assert_eq!(text(gap(3, 9)), row("records 4 to 8 cannot be read", true));
        let harm = Damage {
            parts: 2,
            bytes: 130,
            file: "/s/c.damaged".to_owned(),
        };
        let said = "130 bytes of the record cannot be read; a copy is in /s/c.damaged";
        assert_eq!(text(damage(&harm)), row(said, true));
        let block = unreadable_block("redacted_thinking");
        assert_eq!(text(block), row("redacted thinking", false));
    }
}
