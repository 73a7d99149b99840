//! Remarks on how runs ended and on what cannot be read.

use harness_protocol::{Damage, EndOutcome, words};

use super::part::PartKind;

/// The substitute for the result of a call when its run ended without it.
pub(super) const NO_RESULT: &str = "no result";

/// The remark on the end of a run. `None` if the end needs no remark.
pub(super) fn end_of_run(
    outcome: EndOutcome,
    message: &str,
    by: Option<&str>,
    failure: Option<&str>,
) -> Option<PartKind> {
    // The message of these is complete.
    let name = match outcome {
        EndOutcome::Completed | EndOutcome::Error => "",
        EndOutcome::Cancelled | EndOutcome::Interrupted | EndOutcome::Unknown => {
            words::outcome(outcome)
        }
    };
    let is_error = matches!(outcome, EndOutcome::Error | EndOutcome::Interrupted);
    let mut text = if message.starts_with(name) {
        words::with_way_on(message)
    } else if message.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {message}")
    };
    if text.is_empty() && outcome == EndOutcome::Error {
        text = failure.unwrap_or("error").to_owned();
    }
    if outcome == EndOutcome::Cancelled {
        text += &words::by(by);
    }
    (!text.is_empty()).then_some(PartKind::Note { text, is_error })
}

/// The remark on records that cannot be read: those between the two.
pub(super) fn gap(after: u64, before: u64) -> PartKind {
    PartKind::Note {
        text: words::unreadable(after, before),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [PART-10] [CLI-351]
    #[test]
    fn an_end_that_is_not_the_usual_one_is_said_once() {
        for (outcome, message, by, failure, expected) in [
            (EndOutcome::Completed, "", None, None, None),
            (
                EndOutcome::Completed,
                "stopped: reached max_turns (3)",
                None,
                None,
                Some((
                    "stopped: reached max_turns (3); `/continue` or `harness continue` goes on",
                    false,
                )),
            ),
            (
                EndOutcome::Cancelled,
                "cancelled",
                None,
                None,
                Some(("cancelled", false)),
            ),
            (
                EndOutcome::Cancelled,
                "",
                Some("ana"),
                None,
                Some(("cancelled by ana", false)),
            ),
            (
                EndOutcome::Error,
                "busy",
                None,
                Some("busy"),
                Some(("busy", true)),
            ),
            (
                EndOutcome::Error,
                "",
                None,
                Some("busy"),
                Some(("busy", true)),
            ),
            (EndOutcome::Error, "", None, None, Some(("error", true))),
            (
                EndOutcome::Interrupted,
                "interrupted: the service was stopped",
                None,
                None,
                Some(("interrupted: the service was stopped", true)),
            ),
            (
                EndOutcome::Interrupted,
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
    }
}
