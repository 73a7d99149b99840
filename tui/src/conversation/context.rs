//! The part of the model's window that a conversation uses: the number that decides about a summary.

use harness_protocol::{ContextWindow, TokenUsage};
use serde_json::{Map, Value};

/// The share of a summary's limit, in percent, from which the meter announces the summary.
const SOON: u64 = 80;

/// The use of the window after the last reply, or an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    tokens: u64,
    is_estimate: bool,
    window: Option<ContextWindow>,
}

impl Context {
    /// The use as the API counted it for a reply.
    pub(super) fn counted(usage: &Map<String, Value>, window: Option<ContextWindow>) -> Self {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let usage = TokenUsage {
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            cache_creation_input_tokens: count("cache_creation_input_tokens"),
            cache_read_input_tokens: count("cache_read_input_tokens"),
            ..TokenUsage::default()
        };
        Self {
            tokens: usage.total(),
            is_estimate: false,
            window,
        }
    }

    /// The use after a summary: so many tokens by estimate, in the same window.
    pub(super) fn summarized(self, tokens: u64) -> Self {
        Self {
            tokens,
            is_estimate: true,
            ..self
        }
    }

    /// The same past for another model, whose window is not known before it replies.
    pub(super) fn for_another_model(self) -> Self {
        Self {
            is_estimate: true,
            window: None,
            ..self
        }
    }

    /// The meter in words, for example `41k of 200k · 21 % · summary at 92 %`; empty for no tokens.
    pub(crate) fn words(self) -> String {
        if self.tokens == 0 {
            return String::new();
        }
        let about = if self.is_estimate { "~" } else { "" };
        let tokens = format!("{about}{}", count(self.tokens));
        let Some(window) = self.window.filter(|window| window.tokens > 0) else {
            return format!("{tokens} tokens");
        };
        let percent = |part: u64| part.saturating_mul(100) / window.tokens;
        let used = format!(
            "{tokens} of {} · {} %",
            count(window.tokens),
            percent(self.tokens)
        );
        match window.summary_at {
            Some(limit) if self.tokens.saturating_mul(100) >= limit.saturating_mul(SOON) => {
                format!("{used} · summary soon")
            }
            Some(limit) => format!("{used} · summary at {} %", percent(limit)),
            None => used,
        }
    }
}

/// A count in few characters.
fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WINDOW: ContextWindow = ContextWindow {
        tokens: 200_000,
        summary_at: Some(184_000),
    };

    fn counted(tokens: u64, window: Option<ContextWindow>) -> Context {
        let usage =
            json!({"input_tokens": tokens - 2, "cache_read_input_tokens": 1, "output_tokens": 1});
        Context::counted(usage.as_object().unwrap(), window)
    }

    /// Spec: [TUI-380]
    #[test]
    fn the_meter_says_how_full_the_window_is_and_where_a_summary_begins() {
        let rows = [
            (
                counted(41_000, Some(WINDOW)),
                "41k of 200k · 20 % · summary at 92 %",
            ),
            (
                counted(150_000, Some(WINDOW)),
                "150k of 200k · 75 % · summary soon",
            ),
            (
                counted(
                    41_000,
                    Some(ContextWindow {
                        summary_at: None,
                        ..WINDOW
                    }),
                ),
                "41k of 200k · 20 %",
            ),
            (counted(900, None), "900 tokens"),
            (
                counted(190_000, Some(WINDOW)).summarized(7_400),
                "~7k of 200k · 3 % · summary at 92 %",
            ),
            (
                counted(41_000, Some(WINDOW)).for_another_model(),
                "~41k tokens",
            ),
            (counted(2, None).summarized(0), ""),
        ];
        for (context, words) in rows {
            assert_eq!(context.words(), words);
        }
    }
}
