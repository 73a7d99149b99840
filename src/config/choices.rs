//! Values that are one of a few names.

use harness_actors::model::Caching;
use harness_protocol::{QueueMode, ThinkingLevel, ToolExecution};

use super::error::ConfigError;
use super::raw::Raw;

/// The names of values.
pub(super) type Names<T, const N: usize> = [(&'static str, T); N];

/// How much a model thinks.
pub(super) const THINKING: Names<ThinkingLevel, 7> = [
    ("off", ThinkingLevel::Off),
    ("minimal", ThinkingLevel::Minimal),
    ("low", ThinkingLevel::Low),
    ("medium", ThinkingLevel::Medium),
    ("high", ThinkingLevel::High),
    ("xhigh", ThinkingLevel::XHigh),
    ("max", ThinkingLevel::Max),
];
/// How the tool calls of one reply are run.
pub(super) const TOOL_EXECUTION: Names<ToolExecution, 3> = [
    ("sequential_fail_fast", ToolExecution::SequentialFailFast),
    ("sequential", ToolExecution::Sequential),
    ("parallel", ToolExecution::Parallel),
];
/// How many messages of a queue are said at once.
pub(super) const QUEUE_MODE: Names<QueueMode, 2> = [
    ("one_at_a_time", QueueMode::OneAtATime),
    ("all", QueueMode::All),
];
/// How long the API remembers a request.
pub(super) const PROMPT_CACHE: Names<Caching, 3> = [
    ("off", Caching::Off),
    ("5m", Caching::FiveMinutes),
    ("1h", Caching::OneHour),
];

/// The value of that name.
pub(super) fn choice<T: Copy, const N: usize>(
    raw: &Raw,
    names: &Names<T, N>,
) -> Result<T, ConfigError> {
    let text = raw.text.trim().replace('-', "_");
    let named = names.iter().find(|(name, _)| *name == text);
    named.map(|(_, value)| *value).ok_or_else(|| {
        let names = names.map(|(name, _)| name);
        let [rest @ .., last] = &names[..] else {
            return raw.refuse("be left out");
        };
        raw.refuse(&format!("be {} or {last}", rest.join(", ")))
    })
}

/// What a value is called.
pub(super) fn name_of<T: Copy + PartialEq, const N: usize>(
    value: T,
    names: &Names<T, N>,
) -> String {
    let named = names.iter().find(|(_, named)| *named == value);
    named.map_or_else(String::new, |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::config::raw::Source;
    use crate::config::setting::Key;

    fn raw(text: &str) -> Raw {
        Raw {
            key: Key::Thinking,
            text: text.to_owned(),
            source: Source::Flag("thinking"),
        }
    }

    fn as_on_the_wire<T: Copy + Serialize, const N: usize>(names: &Names<T, N>) {
        for (name, value) in names {
            assert_eq!(serde_json::to_value(value).unwrap(), *name);
        }
    }

    /// Spec: [CONF-50]
    #[test]
    fn names_are_those_of_the_wire() {
        as_on_the_wire(&THINKING);
        as_on_the_wire(&TOOL_EXECUTION);
        as_on_the_wire(&QUEUE_MODE);
    }

    /// Spec: [CONF-50]
    #[test]
    fn a_choice_is_one_of_its_names() {
        assert_eq!(
            choice(&raw(" xhigh "), &THINKING).unwrap(),
            ThinkingLevel::XHigh
        );
        assert_eq!(
            choice(&raw("one-at-a-time"), &QUEUE_MODE).unwrap(),
            QueueMode::OneAtATime
        );
        assert_eq!(
            choice(&raw("High"), &THINKING).unwrap_err().to_string(),
            "thinking must be off, minimal, low, medium, high, xhigh or max, got \"High\" \
             (from --thinking)"
        );
        assert_eq!(name_of(Caching::OneHour, &PROMPT_CACHE), "1h");
    }
}
