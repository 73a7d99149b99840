//! Where to cut the past, so that the next request is much shorter.

use serde_json::{Value, json};

use super::message::Message;
use super::{History, Place, estimate};
use crate::compaction::{Cut, Goal, Transcript};
use crate::tool::Registry;

impl History {
    /// Where to cut, if that makes the next request much shorter: at the first message that may
    /// begin what is kept, behind the place from which on the last `keep_tokens` stand. A prompt
    /// near it is preferred. Fewer are kept if those alone are too long for the window.
    #[must_use]
    pub fn plan_cut(
        &self,
        goal: &Goal,
        instructions: Option<&str>,
        tools: &Registry,
    ) -> Option<Cut> {
        let tokens_before = self.estimate(goal.head_tokens);
        let sizes = self.sizes();
        let first = self.first_choice(goal, tokens_before, &sizes)?;
        // Less than is to be kept is kept only where there is no room for more.
        let choices = if goal.is_exceeded_by(tokens_before) {
            first..=sizes.len()
        } else {
            first..=first
        };
        let places = choices.filter(|place| self.may_cut(*place, sizes.len()));
        let places: Vec<(usize, u64)> = places
            .map(|place| (place, self.tokens_after(goal, place, &sizes)))
            .filter(|(_, after)| after.saturating_mul(5) <= tokens_before.saturating_mul(4))
            .collect();
        let fits = |limit: u64| places.iter().find(|(_, after)| *after <= limit);
        // One that is over the limit at once is worth it only where there is no other.
        let (place, tokens_after) = *fits(goal.limit()).or_else(|| fits(goal.window))?;
        let transcript = self.transcript(place, sizes.len(), tools);
        let (pieces, files, previous) =
            transcript.pieces(goal, instructions, self.summary(), |tokens| {
                self.meter.corrected(tokens)
            });
        Some(Cut {
            kept: (sizes.len() - place) as u64,
            tokens_before,
            tokens_after,
            pieces,
            previous,
            files,
        })
    }

    /// The corrected estimates of the messages; the one that may still change is the last.
    fn sizes(&self) -> Vec<u64> {
        let sealed = self.sealed.messages().iter();
        let sealed = sealed.map(|message| self.meter.corrected(message.tokens()));
        let open = self
            .has_open()
            .then(|| self.meter.corrected(self.open_tokens()));
        sealed.chain(open).collect()
    }

    /// The place to try first.
    fn first_choice(&self, goal: &Goal, before: u64, sizes: &[u64]) -> Option<usize> {
        let keep = goal.settings.keep_tokens;
        let mut kept = 0_u64;
        let reached = sizes.iter().rposition(|size| {
            kept = kept.saturating_add(*size);
            kept >= keep
        });
        let Some(reached) = reached else {
            // All of it is to be kept, unless there is no room for it.
            return (before > goal.limit()).then_some(0);
        };
        let messages = self.sealed.messages();
        let is_open_prompt = self.open.calls.is_empty();
        let may_begin = |place: &usize| {
            let first = messages.get(*place);
            first.map_or(is_open_prompt, Message::may_begin)
        };
        // Results that are too long for what is to be kept stay with their calls nevertheless, as
        // long as there is room: the model is about to read them.
        let mut behind = reached..sizes.len();
        let mut before_it = (0..reached).rev();
        let first = behind
            .find(may_begin)
            .or_else(|| before_it.find(may_begin))?;
        let is_prompt = |place: &usize| {
            let first = messages.get(*place);
            first.map_or(is_open_prompt, Message::is_prompt)
        };
        let kept = |place: usize| {
            sizes[place..]
                .iter()
                .fold(0, |sum: u64, size| sum.saturating_add(*size))
        };
        let near = keep / 2;
        let earlier = (1..=first).rev();
        let mut earlier = earlier.take_while(|place| kept(*place) <= keep.saturating_add(near));
        let later = first..sizes.len();
        let mut later = later.take_while(|place| kept(*place) >= near);
        let prompt = earlier.find(is_prompt).or_else(|| later.find(is_prompt));
        Some(prompt.unwrap_or(first))
    }

    /// Whether the past can be cut there, and something is dropped that no summary tells yet.
    fn may_cut(&self, place: usize, all: usize) -> bool {
        let messages = self.sealed.messages();
        let is_told = usize::from(self.begins_with_nothing_else());
        if place <= is_told {
            return false;
        }
        if place == all {
            // Without any message kept, results and the paused reply go too.
            return !self.has_open() || !self.open.calls.is_empty() || !self.paused.is_empty();
        }
        match messages.get(place) {
            Some(first) => first.may_begin(),
            None => self.open.calls.is_empty(),
        }
    }

    /// Whether the first message is the summary and nothing else.
    fn begins_with_nothing_else(&self) -> bool {
        let Some(summary) = self.summary.as_ref().filter(|it| it.place == Place::Sealed) else {
            return false;
        };
        let mut messages = self.sealed.messages().iter().cloned();
        messages
            .next()
            .is_some_and(|mut first| !first.take_from_front(&summary.told))
    }

    /// The estimate of the next request if the past is cut there.
    fn tokens_after(&self, goal: &Goal, place: usize, sizes: &[u64]) -> u64 {
        let kept = if place == sizes.len() {
            let prompts = estimate::tokens(self.open.prompt_chars());
            self.meter.corrected(prompts)
        } else {
            sizes[place..]
                .iter()
                .fold(0, |sum: u64, size| sum.saturating_add(*size))
        };
        self.meter
            .corrected(goal.head_tokens)
            .saturating_add(goal.summary_tokens)
            .saturating_add(kept)
    }

    /// What is dropped if the past is cut there.
    fn transcript<'t>(&self, place: usize, all: usize, tools: &'t Registry) -> Transcript<'t> {
        let mut transcript = Transcript::new(tools);
        let told = self.summary.as_ref().filter(|it| it.place == Place::Sealed);
        for (number, message) in self.sealed.messages().iter().take(place).enumerate() {
            let mut message = message.value();
            if number == 0
                && told.is_some()
                && let Some(content) = message["content"].as_array_mut()
                && !content.is_empty()
            {
                content.remove(0);
            }
            transcript.add(&message);
        }
        if place == all {
            let results: Vec<Value> = self.open.results().collect();
            transcript.add(&json!({"role": "user", "content": results}));
            let paused: Vec<Value> = self
                .paused
                .iter()
                .map(|block| block.json().clone().into())
                .collect();
            transcript.add(&json!({"role": "assistant", "content": paused}));
        }
        transcript
    }
}
