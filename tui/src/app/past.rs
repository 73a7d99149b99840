//! Prompts of the past to choose from: to write them again, or to go back to one and continue from there.

use super::{App, Field, Overlay};
use crate::conversation::PartKind;
use crate::keys::KeyAction;
use crate::link::ClientOrder;

/// Number of rows of a page of the list.
const PAGE: isize = 10;

/// The place that the prompts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastKind {
    /// The history of what was written from here, in all conversations.
    Written,
    /// Those of this conversation that began runs.
    Runs,
}

/// A prompt of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastPrompt {
    /// The text.
    pub(crate) text: String,
    /// Its record, if it is one of this conversation.
    seq: Option<u64>,
}

/// A list of prompts.
#[derive(Debug)]
pub(crate) struct PastPrompts {
    /// The place that they come from.
    pub(crate) kind: PastKind,
    /// Only those that have this in them.
    pub(crate) filter: Field,
    /// The newest first.
    prompts: Vec<PastPrompt>,
    chosen: usize,
}

impl PastPrompts {
    /// Number of all prompts, whatever the filter.
    pub(crate) fn count(&self) -> usize {
        self.prompts.len()
    }

    /// Those that the filter lets through.
    pub(crate) fn matches(&self) -> Vec<&PastPrompt> {
        let wanted = self.filter.text().to_lowercase();
        let fits = |prompt: &&PastPrompt| prompt.text.to_lowercase().contains(&wanted);
        self.prompts.iter().filter(fits).collect()
    }

    /// Index of the chosen prompt among those shown.
    pub(crate) fn chosen(&self) -> usize {
        self.chosen.min(self.matches().len().saturating_sub(1))
    }

    /// Moves in the list.
    pub(super) fn step(&mut self, by: isize) {
        self.chosen = self.chosen().saturating_add_signed(by);
        self.chosen = self.chosen();
    }

    /// Another filter shows its first.
    pub(super) fn filtered(&mut self) {
        self.chosen = 0;
    }
}

impl App {
    /// Shows what was written before, the newest first and each once.
    pub(super) fn open_history(&mut self) {
        let mut prompts: Vec<PastPrompt> = Vec::new();
        for text in self.history.entries().iter().rev() {
            if prompts.iter().all(|prompt| prompt.text != *text) {
                let text = text.clone();
                prompts.push(PastPrompt { text, seq: None });
            }
        }
        self.open_past(PastKind::Written, prompts);
    }

    /// Shows the loaded prompts of this conversation that the operator can go back to.
    pub(super) fn open_rewind(&mut self) {
        let prompts = self.conversation.parts().rev().filter_map(|part| {
            let PartKind::User {
                content,
                is_pending: false,
                is_queued: false,
                ..
            } = &part.kind
            else {
                return None;
            };
            Some(PastPrompt {
                text: content.clone(),
                seq: Some(part.seq?),
            })
        });
        let prompts = prompts.collect();
        self.open_past(PastKind::Runs, prompts);
    }

    fn open_past(&mut self, kind: PastKind, prompts: Vec<PastPrompt>) {
        self.overlay = Some(Overlay::Past(PastPrompts {
            kind,
            filter: Field::default(),
            prompts,
            chosen: 0,
        }));
    }

    pub(super) fn act_on_past(&mut self, action: KeyAction) {
        let Some(Overlay::Past(past)) = &mut self.overlay else {
            return;
        };
        match action {
            KeyAction::Close => self.overlay = None,
            KeyAction::Previous => past.step(-1),
            KeyAction::Next => past.step(1),
            KeyAction::PageUp => past.step(-PAGE),
            KeyAction::PageDown => past.step(PAGE),
            KeyAction::Backspace => {
                past.filter.backspace();
                past.filtered();
            }
            KeyAction::Clear => {
                past.filter.clear();
                past.filtered();
            }
            KeyAction::Accept => {
                let chosen = past.matches().get(past.chosen()).copied().cloned();
                if let Some(prompt) = chosen {
                    self.overlay = None;
                    self.take_past(prompt);
                }
            }
            _ => {}
        }
    }

    /// Puts a prompt into the input, which sends nothing. A prompt of this conversation waits for the branch that
    /// continues from before it.
    fn take_past(&mut self, PastPrompt { text, seq }: PastPrompt) {
        let Some(seq) = seq else {
            self.put_in_place_of_draft(&text);
            return;
        };
        let Some(conversation) = self.there() else {
            return;
        };
        // The record before a prompt is the beginning of its run.
        let seq = Some(seq.saturating_sub(2));
        self.is_making = true;
        self.going_back = Some(text);
        self.order(ClientOrder::Fork { conversation, seq });
    }

    /// Puts the prompt into the input, now that its branch exists.
    pub(super) fn went_back(&mut self) {
        if let Some(text) = self.going_back.take() {
            self.put_in_place_of_draft(&text);
            self.say("a branch from before that prompt; files stay as they are");
        }
    }

    /// The draft that was there goes to the history.
    fn put_in_place_of_draft(&mut self, text: &str) {
        if let Some(draft) = self.composer.draft_entry() {
            self.remember(draft);
        }
        let files = self.composer.take().only_files();
        self.composer.restore(files);
        self.composer.write_anew(text);
        self.vi.start_over();
    }
}
