//! What is other from now on, as lines: settings, and what the model is told of the past.

use harness_protocol::{Event, Settings};

use super::transcript::{Transcript, said};
use crate::conversation::settings_in_words;
use crate::text::one_line;

/// The lines of such an event.
pub(super) fn lines(event: &Event, transcript: &mut Transcript) -> Option<String> {
    match event {
        Event::SettingsChanged { settings, by, .. } => {
            transcript.status(&changed(settings, by.as_deref()))
        }
        Event::RunStarted { by: Some(by), .. } => {
            transcript.status(&format!("continued by {}", one_line(by)))
        }
        Event::ReplyLeftOut { by, .. } => transcript.status(&format!(
            "the reply above is left out: the model is not told of it{}",
            who(by.as_deref())
        )),
        Event::CompactionStarted { tokens, by, .. } => transcript.status(&format!(
            "compacting: {tokens} tokens{}",
            who(by.as_deref())
        )),
        Event::Compacted {
            summary,
            tokens_before,
            tokens_after,
            ..
        } => {
            let what = format!("compacted: {tokens_before} → {tokens_after} tokens");
            Some(summarized(transcript, &what, summary))
        }
        Event::CompactionFailed { error, by, .. } => {
            let error = one_line(error);
            transcript.status(&format!("not compacted: {error}{}", who(by.as_deref())))
        }
        Event::Checkpoint { summary, by, .. } => {
            let what = format!("what was before is in the archive{}", who(by.as_deref()));
            Some(summarized(transcript, &what, summary))
        }
        _ => None,
    }
}

fn summarized(transcript: &mut Transcript, what: &str, summary: &str) -> String {
    let status = transcript.status(what);
    let summary = said("summary", summary);
    match status {
        Some(status) => format!("{status}\n{summary}"),
        None => summary,
    }
}

fn changed(settings: &Settings, by: Option<&str>) -> String {
    let words = settings_in_words(settings);
    let words = match words.is_empty() {
        true => "settings: as the service has them".to_owned(),
        false => one_line(&words.join(" · ")),
    };
    format!("{words}{}", who(by))
}

fn who(by: Option<&str>) -> String {
    by.map(|by| format!(" — {}", one_line(by)))
        .unwrap_or_default()
}
