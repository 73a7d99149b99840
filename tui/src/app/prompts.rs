//! Sending prompts and what waits in the queues, and getting drafts back.

use std::time::Duration;

use harness_protocol::Queue;

use super::{App, AppEffect};
use crate::composer::{ComposerEdit, Draft, ViMode};
use crate::link::{ClientOrder, Recipe};
use crate::viewport::TravelStep;

/// Time after a cancel in which Ctrl+C does not leave.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// A prompt that was sent and not yet accepted.
#[derive(Debug)]
pub(super) struct SentPrompt {
    /// The conversation that gets it.
    pub(super) conversation: String,
    /// Number of this client's prompt.
    pub(super) number: u64,
    /// The text that was sent.
    pub(super) content: String,
    /// The draft that was written.
    pub(super) draft: Draft,
    /// The queue that it is to wait in, if any.
    pub(super) queue: Option<Queue>,
    /// The files that go with it, in their shown form.
    pub(super) files: Vec<String>,
}

/// The text that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SendingText {
    /// A prompt.
    Prompt,
    /// The messages that wait for the active run.
    Queue(Queue),
    /// A text as a skill or a template renders it.
    Recipe(Recipe, String, String),
}

impl App {
    /// Sends what is written, or carries out the command that it is. While a run is going, what is
    /// written waits in this queue.
    pub(super) fn submit(&mut self, queue: Queue) {
        if self.complete_file() {
            return;
        }
        let is_inserting = self.vi_mode().is_none_or(|mode| mode == ViMode::Insert);
        if is_inserting && self.composer.ends_with_backslash_before_caret() {
            self.composer.replace_backslash_by_newline();
            return;
        }
        let content = self.composer.order();
        if content.is_empty() {
            if self.composer.has_files() {
                self.say("say what is to be done with it");
            }
            return;
        }
        // What was pasted and set aside is never a command, whatever it begins with.
        let is_written = !self.composer.has_pastes();
        let content = match content.strip_prefix('/').filter(|_| is_written) {
            Some(literal) if literal.starts_with('/') => literal.to_owned(),
            Some(_) => {
                if self.command(&content) {
                    self.remember(content);
                    let files = self.composer.take().only_files();
                    self.composer.restore(files);
                    self.vi.start_over();
                }
                return;
            }
            None => content,
        };
        // A pasted one is text, and so is one after a blank.
        if let Some(command) = content.strip_prefix('!').filter(|_| is_written)
            && self.composer.begins_typed()
            && self.composer.text().starts_with('!')
        {
            if self.run_command(command) {
                self.remember(content);
                let files = self.composer.take().only_files();
                self.composer.restore(files);
                self.vi.start_over();
            }
            return;
        }
        if self.opening.is_some() || self.is_making {
            self.say("the conversation is not there yet; the draft is kept");
            return;
        }
        if self.is_busy() && self.is_down() {
            self.say("the service is not connected; the draft is kept");
            return;
        }
        // What is sent when no run is going begins one; if one has begun meanwhile, the service
        // refuses it and the draft comes back.
        let sending = if self.is_busy() {
            SendingText::Queue(queue)
        } else {
            SendingText::Prompt
        };
        self.send(sending, content);
    }

    /// Sends what is written as a skill or a template; whether that could be tried.
    pub(super) fn expand(&mut self, recipe: Recipe, argument: &str) -> bool {
        if argument.is_empty() {
            self.open_chooser(match recipe {
                Recipe::Skill => crate::link::OfferKind::Skills,
                Recipe::Template => crate::link::OfferKind::Templates,
            });
            return true;
        }
        if self.there().is_none() {
            return false;
        }
        if self.is_busy() {
            self.complain("a run is going; the draft is kept");
            return false;
        }
        if self.composer.has_files() {
            self.complain("no file goes with it; Backspace drops those that are attached");
            return false;
        }
        let (name, text) = argument
            .split_once(char::is_whitespace)
            .unwrap_or((argument, ""));
        let content = self.composer.order();
        let sending = SendingText::Recipe(recipe, name.to_owned(), text.trim().to_owned());
        self.send(sending, content);
        true
    }

    /// A key for an order, like no other's.
    pub(super) fn new_key(&mut self) -> String {
        self.prompts += 1;
        format!("{}-{}", self.client_key, self.prompts)
    }

    fn send(&mut self, sending: SendingText, content: String) {
        let key = self.new_key();
        let draft = self.composer.take();
        self.vi.start_over();
        let files = draft.files();
        let labels: Vec<String> = files.iter().map(|file| file.path().to_owned()).collect();
        if !matches!(sending, SendingText::Recipe(..)) {
            self.remember(draft.entry());
        }
        let conversation = self.open_id().to_owned();
        let queue = match sending {
            SendingText::Queue(queue) => Some(queue),
            SendingText::Prompt | SendingText::Recipe(..) => None,
        };
        self.sent.insert(
            key.clone(),
            SentPrompt {
                conversation: conversation.clone(),
                number: self.prompts,
                content: content.clone(),
                draft,
                queue,
                files: labels.clone(),
            },
        );
        self.conversation
            .submit(key.clone(), content.clone(), labels);
        self.go(TravelStep::Bottom);
        self.order(match sending {
            SendingText::Prompt => ClientOrder::Submit {
                conversation,
                key,
                content,
                files,
            },
            SendingText::Queue(queue) => ClientOrder::Queue {
                conversation,
                queue,
                key,
                content,
                files,
            },
            SendingText::Recipe(recipe, name, text) => ClientOrder::Expand {
                conversation,
                recipe,
                name,
                text,
                key,
            },
        });
    }

    /// The service has the prompt.
    pub(super) fn accepted(&mut self, key: &str, run_id: u64) {
        self.sent.remove(key);
        self.conversation.accepted(key, run_id);
    }

    /// The service does not take the prompt: the draft comes back.
    pub(super) fn not_accepted(&mut self, key: &str, reason: &str) {
        self.conversation.refuse(key);
        let Some(sent) = self.sent.remove(key) else {
            return; // Its echo has come: only the answer was lost.
        };
        if sent.conversation == self.open_id() {
            self.composer.restore(sent.draft);
            self.complain(format!("not sent: {reason}"));
        } else {
            // Here it would be one Enter from the wrong conversation.
            let where_to = sent.conversation;
            self.complain(format!(
                "not sent to {where_to}: {reason}; the prompt is in the history"
            ));
        }
    }

    pub(super) fn remember(&mut self, entry: String) {
        self.history.add(&entry);
        self.effects.push(AppEffect::Remember(entry));
    }

    /// Cancels the run or the summary, clears the draft, or leaves.
    pub(super) fn interrupt(&mut self) {
        if self.end_command() {
            return;
        }
        let status = self.conversation.status();
        let (run_id, is_compacting) = (status.run_id, status.is_compacting);
        match run_id {
            Some(_) if !self.is_down() => self.cancel(run_id, false),
            None if is_compacting && !self.is_down() => self.cancel(None, false),
            _ if !self.composer.is_empty() => {
                // One that was only looked at is there already.
                let draft = self.composer.draft_entry();
                self.composer.edit(ComposerEdit::Clear, 1);
                self.vi.start_over();
                // This press was not one too many for the cancel; the next one is meant.
                self.cancelled_at = None;
                if let Some(draft) = draft {
                    self.remember(draft);
                }
            }
            // The key was pressed to cancel, and the run was over before it was read.
            _ if self.was_just_cancelled() && !self.is_down() => {
                self.say("cancelled; Ctrl+C once more leaves");
            }
            _ => self.effects.push(AppEffect::Leave),
        }
    }

    fn was_just_cancelled(&self) -> bool {
        let until = self.cancelled_at.map(|at| at + CANCEL_GRACE);
        until.is_some_and(|until| self.now < until)
    }

    /// Cancels the run on the screen, and no other: runs of several conversations may have the same
    /// number. Without a run it is for the summary that is being written.
    pub(super) fn cancel(&mut self, run_id: Option<u64>, clear_queue: bool) {
        if self.is_switching() {
            self.say("another conversation is being opened; this run goes on");
            return;
        }
        if run_id.is_none() {
            self.say("the compaction is being cancelled");
        }
        self.cancelling = run_id;
        self.cancelled_at = Some(self.now);
        let conversation = self.open_id().to_owned();
        self.order(ClientOrder::Cancel {
            conversation,
            run_id,
            clear_queue,
        });
    }

    /// Cancels the run, and what waits too if that is said; whether it was said rightly.
    pub(super) fn cancel_command(&mut self, argument: &str) -> bool {
        let clear_queue = match argument {
            "" => false,
            "clear" => true,
            _ => {
                self.complain("say /cancel or /cancel clear");
                return false;
            }
        };
        let status = self.conversation.status();
        match status.run_id {
            None if !status.is_compacting => self.say("no run is going"),
            run_id => self.cancel(run_id, clear_queue),
        }
        true
    }
}
