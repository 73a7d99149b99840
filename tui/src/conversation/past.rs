//! The past loaded after it: older pages, whole results, and a sum of all.

use harness_protocol::{Event, HistoryPage};

use super::entries::sum;
use super::fold::StretchFold;
use super::part::{CallOutcome, PartKind, ShownResult};
use super::results;
use super::store::ConversationStore;

impl ConversationStore {
    /// Adds the page before what is loaded.
    pub(crate) fn prepend(&mut self, page: &HistoryPage) {
        let Some(older) = self.older else {
            return;
        };
        if page.events.first().is_some_and(|first| first.seq >= older) {
            return; // It is here already.
        }
        let mut fold = StretchFold::default();
        self.first = fold.stretch(page, self.first, &self.pending);
        let StretchFold { entries, calls, .. } = fold;
        let shift = self.fold.entries.prepend(entries);
        self.fold
            .calls
            .prepend(calls, shift, &mut self.fold.entries);
        self.older = page.before.filter(|before| *before < older);
    }

    /// Shows all of a result; whether there is one of that record.
    pub(crate) fn replace_cut(&mut self, seq: u64, event: &Event) -> bool {
        let Event::ToolResult {
            id,
            result,
            is_error,
            duration_ms,
            extent,
            ..
        } = event
        else {
            return false;
        };
        let Some(id) = self.fold.calls.id(id) else {
            return false;
        };
        let is_of_it = |kind: &PartKind| {
            matches!(kind, PartKind::Tool(tool)
                if matches!(&tool.outcome, CallOutcome::Ended(known) if known.seq == seq))
        };
        let entry = self.fold.entries.get(id);
        if !entry.is_some_and(|entry| is_of_it(&entry.part.kind)) {
            return false;
        }
        let all = ShownResult {
            duration_ms: *duration_ms,
            extent: *extent,
            ..results::parse_whole(result, *is_error, seq)
        };
        self.fold.entries.change(id, |entry| {
            if let PartKind::Tool(tool) = &mut entry.part.kind {
                tool.outcome = CallOutcome::Ended(all);
            }
        });
        true
    }

    /// A sum of all finished parts, in their order and in full, that is the same for all clients
    /// that have the same records.
    pub(crate) fn digest(&self) -> u64 {
        let finished = self.fold.entries.len() - self.fold.live.len();
        let parts: Vec<_> = self
            .fold
            .entries
            .iter()
            .take(finished)
            // A remark about unreadable records has no time.
            .filter(|entry| entry.part.at.is_some())
            .filter_map(|entry| Some((entry.part.seq?, entry.made, entry.outcome)))
            .collect();
        sum(&parts)
    }
}
