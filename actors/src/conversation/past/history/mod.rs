//! The messages of a conversation, as the Messages API wants to hear them again.
//!
//! Messages that no longer change are serialized once and shared by all later requests. What may
//! still change is the user message at the end: it grows until the model replies to it.
//!
//! Invariant: every request that comes out passes the API's rules: roles alternate, every tool
//! call has its result in the very next message, results come first, no text is blank, ids are
//! unique, no reply ends in thinking.
//!
//! Source: `messages-api` documentation on tool use, and the 400s that public trackers report.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use harness_protocol::Attachment;
use serde_json::Value;

use crate::compaction::CompactionCut;
use crate::journal::Unanswered;
use crate::model::{Caching, CountedBeginning, PastFallbacks, RequestPiece};
use crate::reply::Block;

pub use check::first_violation;
pub(in crate::conversation) use cut::Dropped;
use estimate::Meter;
use foreign::without_foreign_searches;
use message::SerializedMessage;
use open::{OpenMessage, PromptPart};
use sealed::{SealedMessages, push_comma};
use sendable::{ReplyEnding, as_name, open_server_calls, sendable, without_unanswered};

mod check;
mod compact;
mod cut;
mod estimate;
mod foreign;
mod message;
mod open;
mod sealed;
mod sendable;

/// The text where a damaged journal lacks the message that a reply belongs to.
const LOST: &str = "(what was said here is lost)";

/// The past of a conversation, for later requests. What the API has taken stays unchanged,
/// unless it is compacted, taken back or stripped of its thinking; what the API refused is left
/// out.
#[derive(Debug, Default)]
pub struct History {
    sealed: SealedMessages,
    /// The user message at the end, which grows until the model replies to it.
    open: OpenMessage,
    /// A reply to it that the API paused, in the form that is sent back; the reply continues from there.
    paused: Vec<Block>,
    /// All ids of tool calls so far, each with the number that its next repetition gets.
    ids: HashMap<String, u64>,
    /// The summary in place of the beginning.
    summary: Option<HistorySummary>,
    /// Whether nothing came behind the last reply, so that it can be taken back.
    may_take_back: bool,
    /// The user message as it was before what the API refused of it was left out, as long as
    /// nothing came behind it.
    left_out: Option<OpenMessage>,
    /// True if a reply was sent back with the mark of a change of the model.
    has_fallbacks: bool,
    meter: Meter,
}

/// The summary in place of the beginning: the first block of the first message.
#[derive(Debug)]
struct HistorySummary {
    text: String,
    /// In the words for the model.
    told: String,
    place: SummaryPlace,
}

/// Which message begins with the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryPlace {
    Sealed,
    /// The one that may still change. `waits`: more was in it, which the model has not replied to.
    Open {
        waits: bool,
    },
}

impl History {
    /// Adds a prompt, behind what goes with it.
    pub fn push_prompt(&mut self, content: &str, attachments: &[Attachment]) {
        // A reply that was paused does not go on any more.
        self.push_reply(Vec::new(), Unanswered::Interrupted);
        // Nothing but results may stand between a call of the API's own tools and its result.
        self.drop_server_calls();
        self.may_take_back = false;
        self.left_out = None;
        self.open.attach(attachments);
        // The service takes no blank prompt, but a journal may hold one.
        if !content.trim().is_empty() {
            self.open.parts.push(PromptPart::Text(content.to_owned()));
        }
    }

    /// Adds a text about the ends of these jobs.
    pub fn push_job_ends(&mut self, text: &str, jobs: &[u64]) {
        self.push_prompt(text, &[]);
        self.open.job_ends.extend_from_slice(jobs);
    }

    /// The jobs whose ends are in the user message that the model has not replied to.
    #[must_use]
    pub fn open_job_ends(&self) -> &[u64] {
        &self.open.job_ends
    }

    /// True if the next request continues a reply that the API paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Adds a reply, or what followed on its pause. `unanswered` is what those of its calls are
    /// answered with that get no result. A reply with nothing to send back leaves the user
    /// message open, so that roles alternate.
    pub fn push_reply(&mut self, blocks: Vec<Block>, unanswered: Unanswered) {
        self.push_ended(blocks, unanswered, ReplyEnding::Final);
    }

    /// Adds a reply that waits for the results of its calls, as [`Self::push_reply`] does, but a call
    /// of the API's own tools beside them stays though it has no result: the next reply begins with
    /// that, as long as the message between them has results alone.
    pub fn push_tool_use(&mut self, blocks: Vec<Block>, unanswered: Unanswered) {
        self.push_ended(blocks, unanswered, ReplyEnding::ToolUse);
    }

    fn push_ended(&mut self, blocks: Vec<Block>, unanswered: Unanswered, ending: ReplyEnding) {
        let mut reply = std::mem::take(&mut self.paused);
        reply.extend(blocks);
        let reply = without_foreign_searches(reply);
        let mut content = sendable(&reply, ending, &self.awaited_server_calls());
        if content.is_empty() {
            // There is nothing of it to take back.
            self.may_take_back = false;
            return;
        }
        if self.settle_server_calls(&content) {
            // It was signed behind the call that is gone.
            content.retain(|block| !block.is_thinking());
        }
        self.left_out = None;
        self.has_fallbacks |= content.iter().any(|block| block.is_fallback());
        self.begin_with_user();
        let answers = OpenMessage::answering(&content, unanswered);
        let open = std::mem::replace(&mut self.open, answers);
        let summary = self.open_summary();
        let chars = open
            .chars()
            .saturating_add(summary.map_or(0, estimate::chars));
        let (items, answers) = (open.items(summary), !open.calls.is_empty());
        // Its results may be very large, and the items hold them, too.
        drop(open);
        let user = SerializedMessage::user(items, answers, chars);
        self.sealed.push(user);
        self.sealed
            .push(SerializedMessage::assistant(&content, None));
        if let Some(summary) = &mut self.summary {
            summary.place = SummaryPlace::Sealed;
        }
        self.may_take_back = true;
    }

    /// Adds a reply that the API paused. Without anything to send back the same request is made
    /// again.
    pub fn push_paused(&mut self, blocks: Vec<Block>) {
        self.may_take_back = false;
        self.left_out = None;
        let mut reply = std::mem::take(&mut self.paused);
        reply.extend(blocks);
        let reply = without_foreign_searches(reply);
        // What follows is a reply to what is sent back, so what is not sent now never is.
        let content = sendable(&reply, ReplyEnding::Paused, &self.awaited_server_calls());
        if !content.is_empty() {
            self.settle_server_calls(&content);
        }
        self.has_fallbacks |= content.iter().any(|block| block.is_fallback());
        self.paused = content.into_iter().cloned().collect();
        // The API refuses white space at the end of a request, and its end is this.
        if let Some(last) = self.paused.last_mut() {
            last.trim_end();
        }
        if !self.paused.is_empty() {
            self.begin_with_user();
        }
    }

    /// The replies that may have the mark of a change of the model.
    #[must_use]
    pub fn fallbacks(&self) -> PastFallbacks {
        if !self.has_fallbacks {
            return PastFallbacks::None;
        }
        let last = self.sealed.messages().last();
        let last = last.filter(|_| !self.open.calls.is_empty());
        let in_last = if self.paused.is_empty() {
            last.is_some_and(|last| last.blocks().iter().any(Block::is_fallback))
        } else {
            self.paused.iter().any(Block::is_fallback)
        };
        if in_last {
            PastFallbacks::InLast
        } else {
            PastFallbacks::Some
        }
    }

    /// True if a call of the API's own tools has no result yet: the next reply begins with it, if
    /// nothing but results of tools is said before.
    #[must_use]
    pub fn awaits_server_results(&self) -> bool {
        let last = self.sealed.messages().last();
        self.paused.is_empty() && last.is_some_and(SerializedMessage::awaits_results)
    }

    /// The calls of the API's own tools that have no result yet.
    fn awaited_server_calls(&self) -> HashSet<String> {
        let last = self.sealed.messages().last();
        let Some(last) = last.filter(|last| last.awaits_results()) else {
            return HashSet::new();
        };
        let blocks = last.blocks();
        let open = open_server_calls(blocks.iter());
        open.into_iter().map(str::to_owned).collect()
    }

    /// Leaves the calls of the API's own tools out that have no result yet.
    pub fn drop_server_calls(&mut self) {
        self.settle_server_calls(&[]);
    }

    /// Leaves those of them out that the reply to their results does not answer; true if there were any.
    fn settle_server_calls(&mut self, reply: &[&Block]) -> bool {
        let last = self.sealed.messages().last();
        let Some(last) = last.filter(|last| last.awaits_results()) else {
            return false;
        };
        let blocks = last.blocks();
        let kept = without_unanswered(&blocks, reply);
        if kept.len() == blocks.len() {
            return false;
        }
        let settled = SerializedMessage::assistant(&kept, None);
        self.sealed.pop();
        self.sealed.push(settled);
        self.meter.forget();
        true
    }

    /// A reply follows on a user message, even where a damaged journal has none.
    fn begin_with_user(&mut self) {
        if self.open.is_empty() && self.open_summary().is_none() {
            self.open.parts.push(PromptPart::Text(LOST.to_owned()));
        }
    }

    /// Adds the result of a call of the last reply.
    pub fn push_result(&mut self, id: &str, result: &str, is_error: bool) {
        let mut calls = self.open.calls.iter_mut();
        if let Some(call) = calls.find(|call| call.id == id && call.result.is_none()) {
            call.result = Some((result.to_owned(), is_error));
            self.may_take_back = false;
        }
    }

    /// Says why the calls of the last reply that have no result will get none.
    pub fn leave_unanswered(&mut self, reason: Unanswered) {
        self.open.unanswered = reason;
    }

    /// Calls of the last reply that have no result by now get none.
    pub fn settle(&mut self) {
        let reason = self.open.unanswered.text();
        for call in &mut self.open.calls {
            call.result.get_or_insert_with(|| (reason.to_owned(), true));
        }
    }

    /// The API refused the last request: what was new in it is left out from now on, or every
    /// later request would be refused for it too. [`Self::take_back_reply`] brings it back. Returns
    /// the jobs whose ends were left out.
    pub fn leave_out_refused(&mut self) -> Vec<u64> {
        self.may_take_back = false;
        self.meter.forget();
        if !self.paused.is_empty() {
            self.paused.clear();
            return Vec::new(); // The API took the message before it: it replied to it.
        }
        self.drop_server_calls();
        self.left_out = Some(self.open.clone());
        self.open.parts.clear();
        if let Some(summary) = &mut self.summary
            && summary.place != SummaryPlace::Sealed
        {
            summary.place = SummaryPlace::Open { waits: false };
        }
        for call in &mut self.open.calls {
            let note = "not available: the API refused the request with this result";
            call.result = Some((note.to_owned(), true));
        }
        std::mem::take(&mut self.open.job_ends)
    }

    /// Takes the last reply back, as if it had not come; tells whether there was one to take. The
    /// user message before it may grow again. There is none if something came behind it: a
    /// prompt or a result of a tool. Missing results of its calls do not count. What of the
    /// reply was sent back at a pause goes with it. In place of a reply, what was left out of the
    /// user message since the API refused it comes back.
    pub fn take_back_reply(&mut self) -> bool {
        if let Some(open) = self.left_out.take() {
            self.open = open;
            if let Some(summary) = &mut self.summary
                && summary.place != SummaryPlace::Sealed
            {
                summary.place = SummaryPlace::Open { waits: true };
            }
            self.meter.forget();
            return true;
        }
        let [.., user, _reply] = self.sealed.messages() else {
            return false;
        };
        let begins = self.sealed.messages().len() == 2 && self.summary.is_some();
        let Some(open) =
            OpenMessage::reopened(user, usize::from(begins)).filter(|_| self.may_take_back)
        else {
            return false;
        };
        self.may_take_back = false;
        let taken = (self.sealed.pop(), self.sealed.pop());
        debug_assert!(matches!(taken, (Some(_), Some(_))), "they are not joined");
        self.open = open;
        if let Some(summary) = self.summary.as_mut().filter(|_| begins) {
            summary.place = SummaryPlace::Open { waits: true };
        }
        self.meter.forget();
        true
    }

    /// Forgets all thinking so far: it was signed behind another beginning.
    pub fn strip_thinking(&mut self) {
        self.meter.forget();
        self.paused.retain(|block| !block.is_thinking());
        let mut messages = self.sealed.take();
        for message in &mut messages {
            message.strip_thinking();
        }
        self.sealed = SealedMessages::new(messages);
    }

    /// Whether the next request's last reply, whose calls it answers or which goes on, does not
    /// begin with thinking. The API refuses to think by a budget then.
    #[must_use]
    pub fn lacks_thinking(&self) -> bool {
        if let Some(first) = self.paused.first() {
            return !first.is_thinking();
        }
        let last = self.sealed.messages().last();
        !self.open.calls.is_empty() && last.is_some_and(|message| !message.begins_thinking())
    }

    /// An id for a call: the given one if the API takes it and it is new, else one made from it.
    #[must_use]
    pub fn unique_id(&self, given: &str) -> String {
        let base = as_name(given, "call");
        let Some(next) = self.ids.get(&base) else {
            return base;
        };
        let numbered = (*next..).map(|number| format!("{base}_{number}"));
        let mut free = numbered.filter(|id| !self.ids.contains_key(id));
        free.next().unwrap_or(base)
    }

    /// Notes that a call has that id.
    pub fn note_id(&mut self, id: &str) {
        self.ids.entry(id.to_owned()).or_insert(2);
        // The next one that is made from the same id need not try the numbers before.
        if let Some((base, number)) = id.rsplit_once('_')
            && let Ok(number) = number.parse::<u64>()
            && let Some(next) = self.ids.get_mut(base)
        {
            *next = number.saturating_add(1).max(*next);
        }
    }

    /// The calls of the last reply that have no result and were not skipped.
    #[must_use]
    pub fn dangling(&self) -> Vec<String> {
        if self.open.unanswered != Unanswered::Interrupted {
            return Vec::new();
        }
        let calls = self.open.calls.iter();
        let dangling = calls.filter(|call| call.result.is_none());
        dangling.map(|call| call.id.clone()).collect()
    }

    /// Whether the last word is the model's: nothing waits for a reply.
    #[must_use]
    pub fn ends_with_reply(&self) -> bool {
        !self.has_unanswered() && self.paused.is_empty()
    }

    /// Whether anything waits for a reply, paused ones aside.
    #[must_use]
    pub fn has_unanswered(&self) -> bool {
        let place = self.summary.as_ref().map(|summary| summary.place);
        let waits = place == Some(SummaryPlace::Open { waits: true });
        !self.open.is_empty() || waits
    }

    /// Whether [`Self::push_reply`] would have something of these blocks to send back.
    #[must_use]
    pub fn is_kept(&self, blocks: Vec<Block>) -> bool {
        let mut reply = self.paused.clone();
        reply.extend(blocks);
        !sendable(&reply, ReplyEnding::Final, &self.awaited_server_calls()).is_empty()
    }

    /// Whether there is a reply behind which nothing came, so that it can be taken back.
    #[must_use]
    pub fn may_take_back(&self) -> bool {
        self.may_take_back || self.left_out.is_some()
    }

    /// Whether something that the API refused can come back.
    #[must_use]
    pub fn has_left_out(&self) -> bool {
        self.left_out.is_some()
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages the next request has. The user message that may still change counts as
    /// one, with the paused reply to it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.sealed.messages().len() as u64 + u64::from(self.has_open())
    }

    /// Whether the request ends with a message that may still change.
    fn has_open(&self) -> bool {
        !self.open.is_empty() || !self.paused.is_empty() || self.open_summary().is_some()
    }

    /// The summary, if it is in the message that may still change.
    fn open_summary(&self) -> Option<&str> {
        let summary = self.summary.as_ref()?;
        (summary.place != SummaryPlace::Sealed).then_some(summary.told.as_str())
    }

    /// The last request and its reply took so many tokens, as the API counted them. Later
    /// estimates begin there. Called behind [`Self::push_reply`] of a whole reply.
    pub fn anchor(&mut self, tokens: u64) {
        let size = self.sealed.size();
        self.meter.count(tokens, self.own_estimate(), size);
    }

    /// The same, where the API left so many of the tokens out of the request itself.
    pub fn anchor_cleared(&mut self, tokens: u64, cleared: u64) {
        self.anchor(tokens);
        self.meter.note_cleared(tokens, cleared);
    }

    /// Number of tokens of the next request that the API leaves out itself, if it does so again.
    #[must_use]
    pub fn cleared(&self) -> u64 {
        self.meter.cleared()
    }

    /// The beginning of the next request that the API has counted, if the past was not changed since.
    #[must_use]
    pub fn counted(&self) -> Option<CountedBeginning> {
        self.meter.counted()
    }

    /// The estimate of the next request, in tokens, `head` of them before the messages.
    #[must_use]
    pub fn estimate(&self, head: u64) -> u64 {
        self.meter.estimate(head, self.own_estimate())
    }

    /// The estimate of the messages, as nothing but their characters tell.
    fn own_estimate(&self) -> u64 {
        self.sealed.tokens().saturating_add(self.open_tokens())
    }

    fn open_tokens(&self) -> u64 {
        let summary = self.open_summary().map_or(0, estimate::chars);
        let paused: u64 = self.paused.iter().map(estimate::block).sum();
        let chars = self.open.chars().saturating_add(summary);
        estimate::tokens(chars).saturating_add(estimate::tokens(paused))
    }

    /// The messages of the next request. With caching the last block is marked, so that the API
    /// remembers all before it.
    #[must_use]
    pub fn pieces(&self, caching: Caching) -> Vec<RequestPiece> {
        let mark = Some(caching.mark()).filter(|mark| !mark.is_empty());
        let mut pieces = self.sealed.pieces();
        if !self.open.is_empty() || self.open_summary().is_some() {
            push_comma(&mut pieces);
            let mark = mark.filter(|_| self.paused.is_empty());
            let items = self.open.items(self.open_summary());
            pieces.extend(message::open_pieces(items, mark));
        }
        if !self.paused.is_empty() {
            push_comma(&mut pieces);
            let paused: Vec<&Block> = self.paused.iter().collect();
            pieces.extend_from_slice(SerializedMessage::assistant(&paused, mark).pieces());
        }
        pieces
    }

    /// The messages of the next request, in the API's format; what goes with prompts is only
    /// described.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let messages = self.messages();
        let value = |json: &Bytes| {
            let json = json.strip_prefix(b",").unwrap_or(json);
            serde_json::from_slice(json).unwrap_or_default()
        };
        messages.iter().map(value).collect()
    }

    /// Whether a summary makes the next request much shorter, in place of one of `allowance`
    /// tokens that the cut was planned with.
    #[must_use]
    pub fn shrinks(&self, cut: &CompactionCut, summary: &str, allowance: u64) -> bool {
        let summary = estimate::tokens(estimate::chars(summary));
        let summary = self.meter.corrected(summary);
        let after = cut.tokens_after.saturating_sub(allowance);
        let after = after.saturating_add(summary);
        after.saturating_mul(10) <= cut.tokens_before.saturating_mul(9)
    }

    /// The messages of the next request to be looked at, one by one, each behind the comma that
    /// parts it from the one before it; what goes with prompts is only described.
    #[must_use]
    pub fn messages(&self) -> Vec<Bytes> {
        let mut messages: Vec<Bytes> = self
            .sealed
            .messages()
            .iter()
            .map(SerializedMessage::json)
            .collect();
        messages.extend(self.open_messages().iter().map(SerializedMessage::json));
        for message in messages.iter_mut().skip(1) {
            *message = [b",", message.as_ref()].concat().into();
        }
        messages
    }

    /// The messages that may still change.
    fn open_messages(&self) -> Vec<SerializedMessage> {
        let mut messages = Vec::new();
        if !self.open.is_empty() || self.open_summary().is_some() {
            let items = self.open.items(self.open_summary());
            messages.push(SerializedMessage::user(
                items,
                !self.open.calls.is_empty(),
                0,
            ));
        }
        if !self.paused.is_empty() {
            let paused: Vec<&Block> = self.paused.iter().collect();
            messages.push(SerializedMessage::assistant(&paused, None));
        }
        messages
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
