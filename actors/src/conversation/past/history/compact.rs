//! A summary in place of the beginning.

use super::message::{Item, SerializedMessage, text_block};
use super::sealed::SealedMessages;
use super::{History, HistorySummary, SummaryPlace, estimate};

impl History {
    /// Puts a summary in place of all but the last messages; see `Record::Compacted`. More are
    /// kept if the first of them would be results without their calls. It replaces the summary
    /// before, and says all that it said.
    pub fn compact(&mut self, summary: &str, kept: u64) {
        let has_open = self.has_open();
        let waits = !self.ends_with_reply();
        self.may_take_back = false;
        self.left_out = None;
        self.meter.forget();
        let mut messages = self.without_summary();
        let begin = self.cut_place(&messages, has_open, kept);
        let mut kept_messages = messages.split_off(begin.min(messages.len()));
        drop(messages);
        if kept == 0 {
            self.open.calls.clear();
            self.paused.clear();
        }
        self.paused.retain(|block| !block.is_thinking());
        for message in &mut kept_messages {
            message.strip_thinking();
        }
        let told = summary_for_model(summary);
        let place = match kept_messages.first_mut() {
            None => SummaryPlace::Open { waits },
            Some(first) => {
                if first.is_user() {
                    first.put_in_front(&told);
                } else {
                    let items = vec![Item::Json(text_block(&told))];
                    let message = SerializedMessage::user(items, false, estimate::chars(&told));
                    kept_messages.insert(0, message);
                }
                SummaryPlace::Sealed
            }
        };
        self.sealed = SealedMessages::new(kept_messages);
        self.summary = Some(HistorySummary {
            text: summary.to_owned(),
            told,
            place,
        });
    }

    /// The summary in place of the beginning.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_ref().map(|summary| summary.text.as_str())
    }

    /// Takes all messages that no longer change, without the summary.
    fn without_summary(&mut self) -> Vec<SerializedMessage> {
        let mut messages = self.sealed.take();
        if let Some(summary) = self.summary.take()
            && summary.place == SummaryPlace::Sealed
            && let Some(first) = messages.first_mut()
            && !first.take_from_front(&summary.told)
        {
            messages.remove(0);
        }
        messages
    }

    /// The first message that is kept.
    fn cut_place(&self, messages: &[SerializedMessage], has_open: bool, kept: u64) -> usize {
        let all = messages.len() + usize::from(has_open);
        let kept = usize::try_from(kept).unwrap_or(usize::MAX);
        let mut begin = all.saturating_sub(kept);
        if kept == 0 {
            return begin;
        }
        if begin == messages.len() && has_open && !self.open.calls.is_empty() {
            begin = begin.saturating_sub(1);
        }
        while begin > 0 && messages.get(begin).is_some_and(|first| !first.may_begin()) {
            begin -= 1;
        }
        begin
    }
}

/// A summary in the words for the model.
pub(super) fn summary_for_model(summary: &str) -> String {
    let summary = summary.trim();
    format!("Summary of what was said before:\n\n{summary}\n\n---")
}
