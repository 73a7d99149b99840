//! Sending prompts, and getting drafts back.

use super::{App, Effect};
use crate::composer::{Draft, Edit};
use crate::link::Order;
use crate::viewport::Step;

/// A prompt that was sent and not yet accepted.
#[derive(Debug)]
pub(super) struct Sent {
    /// Where to.
    pub(super) conversation: String,
    /// Which of this client's prompts it is.
    pub(super) number: u64,
    /// As it was sent.
    pub(super) content: String,
    /// As it was written.
    pub(super) draft: Draft,
}

impl App {
    /// Sends what is written, or carries out the command that it is.
    pub(super) fn submit(&mut self) {
        if self.composer.ends_with_backslash_before_caret() {
            self.composer.replace_backslash_by_newline();
            return;
        }
        let content = self.composer.order();
        if content.is_empty() {
            return;
        }
        // What was pasted and set aside is never a command, whatever it begins with.
        let is_written = self.composer.chips().is_empty();
        let content = match content.strip_prefix('/').filter(|_| is_written) {
            Some(literal) if literal.starts_with('/') => literal.to_owned(),
            Some(_) => {
                if self.command(&content) {
                    self.remember(content);
                    self.composer.take();
                }
                return;
            }
            None => content,
        };
        if self.opening.is_some() || self.is_making {
            self.say("the conversation is not there yet; the draft is kept");
            return;
        }
        if self.is_busy() && self.is_down() {
            self.say("the service is not connected; the draft is kept");
            return;
        }
        if self.is_busy() {
            self.say("a run is going; the draft is kept (Ctrl+C cancels the run)");
            return;
        }
        self.prompts += 1;
        let key = format!("{}-{}", self.client_key, self.prompts);
        let draft = self.composer.take();
        self.remember(draft.entry());
        let conversation = self.open_id().to_owned();
        self.sent.insert(
            key.clone(),
            Sent {
                conversation: conversation.clone(),
                number: self.prompts,
                content: content.clone(),
                draft,
            },
        );
        self.conversation.submit(key.clone(), content.clone());
        self.go(Step::Bottom);
        self.order(Order::Submit {
            conversation,
            key,
            content,
        });
    }

    /// Sends what is written; after the run, if one is going.
    pub(super) fn follow_up(&mut self) {
        if self.is_busy() && !self.composer.is_empty() {
            self.say("a run is going; the draft is kept (nothing can be queued yet)");
        } else {
            self.submit();
        }
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

    fn remember(&mut self, entry: String) {
        self.history.add(&entry);
        self.effects.push(Effect::Remember(entry));
    }

    /// Cancels the run, clears the draft, or leaves.
    pub(super) fn interrupt(&mut self) {
        let run_id = self.conversation.status().run_id;
        match run_id {
            Some(run_id) if !self.is_down() => self.cancel(run_id),
            _ if !self.composer.is_empty() => {
                // One that was only looked at is there already.
                let draft = self.composer.draft_entry();
                self.composer.edit(Edit::Clear, 1);
                if let Some(draft) = draft {
                    self.remember(draft);
                }
            }
            _ => self.effects.push(Effect::Leave),
        }
    }

    /// Cancels the run on the screen, and no other: runs of several conversations may have the same
    /// number.
    pub(super) fn cancel(&mut self, run_id: u64) {
        if self.is_switching() {
            self.say("another conversation is being opened; this run goes on");
            return;
        }
        self.cancelling = Some(run_id);
        let conversation = self.open_id().to_owned();
        self.order(Order::Cancel {
            conversation,
            run_id,
        });
    }
}
