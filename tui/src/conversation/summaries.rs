//! What is said of settings that were changed, and of a past that was summarized.

use harness_protocol::{Event, Settings};

use super::entries::sum;
use super::part::PartKind;
use super::words::settings_in_words;

/// A part that an event makes.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) kind: PartKind,
    /// The sum of the event.
    pub(super) made: u64,
    /// When it was, in Unix seconds.
    pub(super) at: u64,
}

/// The part that such an event makes. It says what the event says and nothing else, so that it is
/// the same whatever was loaded before it.
pub(super) fn told(event: &Event) -> Option<Told> {
    let told = match event {
        Event::SettingsChanged {
            settings,
            by,
            timestamp,
        } => Told {
            kind: changed(settings, by.as_deref()),
            made: sum(&("settings", format!("{settings:?}"))),
            at: *timestamp,
        },
        Event::ReplyLeftOut { by, timestamp } => Told {
            kind: remark(
                &format!(
                    "the reply above is left out: the model is not told of it{}",
                    who(by.as_deref())
                ),
                false,
            ),
            made: sum(&"left out"),
            at: *timestamp,
        },
        Event::CompactionStarted {
            by: Some(by),
            timestamp,
            ..
        } => Told {
            kind: remark(&format!("compacting, asked by {by}"), false),
            made: sum(&("compacting", by)),
            at: *timestamp,
        },
        Event::Compacted {
            summary,
            tokens_before,
            tokens_after,
            timestamp,
            ..
        } => Told {
            kind: PartKind::Summary {
                title: format!(
                    "compacted: {} → {} tokens",
                    thousands(*tokens_before),
                    thousands(*tokens_after)
                ),
                content: summary.clone(),
            },
            made: sum(&("compacted", summary, tokens_before, tokens_after)),
            at: *timestamp,
        },
        Event::CompactionFailed {
            error,
            by,
            timestamp,
        } => Told {
            kind: remark(
                &format!("not compacted: {error}{}", who(by.as_deref())),
                true,
            ),
            made: sum(&("not compacted", error)),
            at: *timestamp,
        },
        Event::Checkpoint {
            summary,
            by,
            timestamp,
        } => Told {
            kind: PartKind::Summary {
                title: format!("what was before is in the archive{}", who(by.as_deref())),
                content: summary.clone(),
            },
            made: sum(&("checkpoint", summary)),
            at: *timestamp,
        },
        _ => return None,
    };
    Some(told)
}

fn remark(text: &str, is_error: bool) -> PartKind {
    PartKind::Note {
        text: text.to_owned(),
        is_error,
    }
}

/// The remark on other settings: all that differ from the service's.
fn changed(settings: &Settings, by: Option<&str>) -> PartKind {
    let mut words = settings_in_words(settings).join(" · ");
    if words.is_empty() {
        "settings: as the service has them".clone_into(&mut words);
    }
    remark(&format!("{words}{}", who(by)), false)
}

fn who(by: Option<&str>) -> String {
    by.map(|by| format!(" — {by}")).unwrap_or_default()
}

/// A count of tokens in few characters.
fn thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        _ => format!("{}k", tokens.saturating_add(500) / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::*;

    /// Spec: [PART-21]
    #[test]
    fn a_summary_is_a_part_and_a_failure_an_error() {
        let known = conversation(&[
            event(json!({"type": "checkpoint", "summary": "## Goal", "by": "ana"})),
            event(json!({"type": "compaction_started", "reason": "threshold", "tokens": 184_000})),
            event(
                json!({"type": "compacted", "reason": "threshold", "summary": "so far",
                "tokens_before": 183_600, "tokens_after": 999, "usage": {"input_tokens": 1,
                "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}),
            ),
            event(json!({"type": "compaction_failed", "error": "busy"})),
            event(json!({"type": "reply_left_out"})),
        ]);
        let expected = [
            "[what was before is in the archive — ana] ## Goal",
            "[compacted: 184k → 999 tokens] so far",
            "! not compacted: busy",
            "- the reply above is left out: the model is not told of it",
        ];
        assert_eq!(all(&known), expected);
    }

    /// Spec: [TUI-80]
    #[test]
    fn who_went_on_and_who_asked_for_a_summary_is_a_remark() {
        let compacting = |by: serde_json::Value| {
            let mut started =
                json!({"type": "compaction_started", "reason": "manual", "tokens": 9});
            started["by"] = by;
            event(started)
        };
        let known = conversation(&[
            event(json!({"type": "run_started", "run_id": 1})),
            event(json!({"type": "run_started", "run_id": 2, "by": "ana"})),
            event(json!({"type": "reply_left_out", "by": "ana"})),
            compacting(json!("ben")),
            event(json!({"type": "compaction_failed", "error": "busy", "by": "ben"})),
            compacting(json!(null)),
        ]);
        let expected = [
            "- continued by ana",
            "- the reply above is left out: the model is not told of it — ana",
            "- compacting, asked by ben",
            "! not compacted: busy — ben",
        ];
        assert_eq!(all(&known), expected);
    }

    /// Spec: [PART-22]
    #[test]
    fn settings_are_told_with_who_changed_them_and_the_status_has_them() {
        let changed = |settings: serde_json::Value| {
            event(json!({"type": "settings_changed", "settings": settings, "by": "ana"}))
        };
        let known = conversation(&[
            changed(json!({"model": "claude-x", "thinking": "xhigh"})),
            changed(json!({})),
            event(json!({"type": "settings_changed", "settings": {"max_turns": 3}})),
        ]);
        let expected = [
            "- model: claude-x · thinking: xhigh — ana",
            "- settings: as the service has them — ana",
            "- max turns: 3",
        ];
        assert_eq!(all(&known), expected);
        let status = known.status();
        assert_eq!(status.model.as_deref(), Some("claude-x"));
        assert_eq!(status.settings.max_turns, Some(3));
        assert_eq!(status.settings.thinking, None);
    }

    /// Spec: [PART-21]
    #[test]
    fn the_status_knows_while_the_past_is_summarized() {
        let mut known = conversation(&[]);
        let mut seq = 0;
        let mut is_compacting = |json: serde_json::Value| {
            seq += 1;
            take(&mut known, seq, &event(json));
            known.status().is_compacting
        };
        let started = json!({"type": "compaction_started", "reason": "manual", "tokens": 9});
        assert!(is_compacting(started.clone()));
        assert!(is_compacting(
            json!({"type": "status", "state": "thinking", "message": "compacting"})
        ));
        assert!(!is_compacting(
            json!({"type": "compaction_failed", "error": "busy"})
        ));
        assert!(is_compacting(started));
        assert!(!is_compacting(
            json!({"type": "status", "state": "idle", "message": ""})
        ));
    }
}
