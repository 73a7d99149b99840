//! Where to cut the past, so that the next request is much shorter.

use std::sync::Arc;

use serde_json::{Value, json};

use super::estimate::Ratio;
use super::message::SerializedMessage;
use super::{History, SummaryPlace, estimate};
use crate::compaction::{
    self, CompactionCut, DroppedPiece, Goal, SummaryFiles, SummaryFrame, add_files,
};
use crate::tool::Registry;

impl History {
    /// Where to cut, if that makes the next request much shorter: at the first message that may
    /// begin what is kept, after the place where the last `keep_tokens` begin. A prompt
    /// near it is preferred. Fewer are kept if those alone are too long for the window. What is
    /// dropped is not looked at: that takes as long as there is of it.
    #[must_use]
    pub fn plan_cut(
        &self,
        goal: &Goal,
        instructions: Option<&str>,
        tools: &Registry,
    ) -> Option<(CompactionCut, Dropped)> {
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
        let cut = CompactionCut {
            kept: (sizes.len() - place) as u64,
            tokens_before,
            tokens_after,
            told: DroppedPiece::default(),
        };
        let dropped = self.dropped(place, sizes.len(), goal, instructions, tools);
        Some((cut, dropped))
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
            first.map_or(is_open_prompt, SerializedMessage::may_begin)
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
            first.map_or(is_open_prompt, SerializedMessage::is_prompt)
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
        let Some(summary) = self
            .summary
            .as_ref()
            .filter(|it| it.place == SummaryPlace::Sealed)
        else {
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

    /// The part that is dropped if the past is cut there.
    fn dropped(
        &self,
        place: usize,
        all: usize,
        goal: &Goal,
        instructions: Option<&str>,
        tools: &Registry,
    ) -> Dropped {
        let has_told = self
            .summary
            .as_ref()
            .is_some_and(|it| it.place == SummaryPlace::Sealed);
        let sealed = self.sealed.messages().iter().take(place);
        let mut open = Vec::new();
        if place == all {
            let results: Vec<Value> = self.open.results().collect();
            open.push(json!({"role": "user", "content": results}));
            let paused: Vec<Value> = self
                .paused
                .iter()
                .map(|block| block.json().clone().into())
                .collect();
            open.push(json!({"role": "assistant", "content": paused}));
        }
        let messages = Arc::new(Messages {
            sealed: sealed.cloned().collect(),
            has_told,
            open,
            goal: *goal,
            instructions: instructions.map(str::to_owned),
            earlier: self.summary().map(str::to_owned),
            ratio: self.meter.ratio(),
            tools: tools.clone(),
        });
        Dropped {
            messages,
            from: compaction::TranscriptPlace::default(),
            frame: None,
        }
    }
}

/// The part that a cut drops, or the rest of it that is not told yet. Shares its memory with the
/// history.
#[derive(Debug, Clone)]
pub struct Dropped {
    messages: Arc<Messages>,
    /// Where the next piece begins.
    from: compaction::TranscriptPlace,
    /// The part that its pieces have in common; none before the first.
    frame: Option<Arc<SummaryFrame>>,
}

#[derive(Debug)]
struct Messages {
    sealed: Vec<SerializedMessage>,
    /// Whether the first of them begins with the summary before.
    has_told: bool,
    /// The dropped part of the message at the end, and of the reply that was paused.
    open: Vec<Value>,
    goal: Goal,
    instructions: Option<String>,
    /// The summary before.
    earlier: Option<String>,
    ratio: Ratio,
    /// They know which files their calls touched.
    tools: Registry,
}

impl PartialEq for Dropped {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.messages, &other.messages) && self.from == other.from
    }
}

impl Eq for Dropped {}

impl Dropped {
    /// The next piece, as it is to be summarized, and what is dropped behind it. The first takes as
    /// long as all that is dropped, which is looked through for files.
    #[must_use]
    pub fn tell(&self) -> (DroppedPiece, Option<Self>) {
        let is_first = self.frame.is_none();
        let frame = self.frame.clone();
        let frame = frame.unwrap_or_else(|| Arc::new(self.messages.frame()));
        let (piece, next) = frame.piece(|number| self.messages.message(number), self.from);
        let told = DroppedPiece {
            piece,
            previous: frame.earlier.clone().filter(|_| is_first),
            files: frame.files.clone(),
        };
        let rest = next.map(|from| Self {
            messages: Arc::clone(&self.messages),
            from,
            frame: Some(frame),
        });
        (told, rest)
    }
}

impl Messages {
    fn frame(&self) -> SummaryFrame {
        let mut touched = SummaryFiles::default();
        let mut numbers = 0..;
        while let Some(message) = numbers.next().and_then(|number| self.message(number)) {
            add_files(&message, &self.tools, &mut touched);
        }
        SummaryFrame::new(
            &touched,
            &self.goal,
            self.instructions.as_deref(),
            self.earlier.as_deref(),
            |tokens| self.ratio.corrected(tokens),
        )
    }

    /// A message, in the form of a request, without the summary before.
    fn message(&self, number: usize) -> Option<Value> {
        let Some(sealed) = self.sealed.get(number) else {
            return self.open.get(number - self.sealed.len()).cloned();
        };
        let mut message = sealed.value();
        if number == 0
            && self.has_told
            && let Some(content) = message["content"].as_array_mut()
            && !content.is_empty()
        {
            content.remove(0);
        }
        Some(message)
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A cut with the first piece of what it drops, and all pieces.
    #[derive(Debug, PartialEq)]
    pub(in super::super) struct ToldCut {
        pub(in super::super) cut: CompactionCut,
        pub(in super::super) pieces: Vec<String>,
    }

    impl std::ops::Deref for ToldCut {
        type Target = CompactionCut;

        fn deref(&self) -> &CompactionCut {
            &self.cut
        }
    }

    impl History {
        /// Plans a cut, and tells all that it drops.
        pub(in super::super) fn told_cut(
            &self,
            goal: &Goal,
            instructions: Option<&str>,
            tools: &Registry,
        ) -> Option<ToldCut> {
            let (mut cut, dropped) = self.plan_cut(goal, instructions, tools)?;
            let (told, mut rest) = dropped.tell();
            let mut pieces = vec![told.piece.clone()];
            cut.told = told;
            while let Some(dropped) = rest {
                let (told, behind) = dropped.tell();
                pieces.push(told.piece);
                rest = behind;
            }
            Some(ToldCut { cut, pieces })
        }
    }
}
