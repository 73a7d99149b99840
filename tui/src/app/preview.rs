//! The end of the conversation that is chosen in the list of conversations.

use harness_protocol::{ConversationSummary, Event, words};

use super::{App, Overlay};
use crate::link::ClientOrder;
use crate::text::{Hidden, one_line, sanitize, someone};

/// Maximum number of characters of a word, and about that of a whole text. Three rows show fewer, and each frame breaks
/// the text into rows.
const MAX_CHARACTERS: usize = 600;

/// The end of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConversationPreview {
    /// The service was asked for it.
    Asked,
    /// It could not be read.
    Unreadable,
    /// The last prompt and the words after it, each in one line; either may be lacking.
    Words {
        /// The last prompt, with its sender.
        prompt: Option<String>,
        /// The last text of the model after it.
        reply: Option<String>,
    },
}

impl ConversationPreview {
    /// The end that these events, the newest last, contain.
    fn read(events: Option<Vec<Event>>) -> Self {
        let Some(events) = events else {
            return Self::Unreadable;
        };
        let is_prompt = |event: &Event| matches!(event, Event::User { .. });
        let last = events.iter().rposition(is_prompt);
        let prompt = last.and_then(|at| match &events[at] {
            Event::User { content, by, .. } => {
                let by = by.as_deref().map(|by| format!("{}: ", someone(by)));
                Some(by.unwrap_or_default() + &in_one_line(content))
            }
            _ => None,
        });
        let after = events.iter().skip(last.unwrap_or(0)).rev();
        let reply = after.into_iter().find_map(|event| match event {
            Event::Text { content, .. } => Some(in_one_line(content)),
            _ => None,
        });
        Self::Words { prompt, reply }
    }
}

/// The beginning of a text, without line breaks, and with what a terminal would act on made visible.
fn in_one_line(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.len() > MAX_CHARACTERS {
            break;
        }
        words.extend((!words.is_empty()).then_some(' '));
        words.extend(word.chars().take(MAX_CHARACTERS));
    }
    one_line(&sanitize(&words, Hidden::Pictured))
}

impl App {
    /// Asks for the end of the conversation that is chosen, once for each choice.
    pub(super) fn want_preview(&mut self) {
        let Some(Overlay::Picker(picker)) = &mut self.overlay else {
            return;
        };
        let Some(ConversationSummary { id, records, .. }) = picker.chosen_summary() else {
            picker.preview = None;
            picker.previewed = None;
            return;
        };
        if picker.previewed.as_ref() == Some(&id) {
            return;
        }
        picker.previewed = Some(id.clone());
        // The one that is shown stays until the new one of the same conversation comes.
        if picker.preview.as_ref().is_none_or(|(of, _)| *of != id) {
            picker.preview = Some((id.clone(), ConversationPreview::Asked));
        }
        self.order(ClientOrder::Preview {
            conversation: id,
            records,
        });
    }

    /// The time since then, in words. `None` while the time of day is not known.
    pub(crate) fn age(&self, unix_s: u64) -> Option<String> {
        let now = self.started_at?.saturating_add(self.now.as_secs());
        Some(words::age(now.saturating_sub(unix_s)))
    }

    /// The end of a conversation came. It may not be the chosen one any longer.
    pub(super) fn previewed(&mut self, conversation: &str, events: Option<Vec<Event>>) {
        if let Some(Overlay::Picker(picker)) = &mut self.overlay
            && let Some((of, preview)) = &mut picker.preview
            && of == conversation
        {
            *preview = ConversationPreview::read(events);
        }
    }
}

#[cfg(test)]
#[path = "preview_tests.rs"]
mod tests;
