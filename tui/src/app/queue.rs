//! The queues of the conversation: looking at them, and withdrawing messages.

use harness_protocol::{Event, words};

use super::prompts::SentPrompt;
use super::{App, Overlay};
use crate::conversation::{Author, WaitingMessage};
use crate::link::ClientOrder;
use crate::text::{ANOTHER_CLIENT, someone};

/// A message that the client takes off a queue, so that the operator can rewrite it.
#[derive(Debug)]
pub(super) struct TakingBack {
    conversation: String,
    item: u64,
    content: String,
    /// The service refused, or its answer was lost: the operator may try again.
    is_failed: bool,
}

/// The words about a message that no run is going to say.
const LEFT: &str = "the run is over, so it waits for the next one; /continue says it now";

impl App {
    /// The service let a message wait.
    pub(super) fn queued(&mut self, key: &str, item: u64) {
        let Some(SentPrompt {
            conversation,
            content,
            queue: Some(queue),
            files,
            ..
        }) = self.sent.remove(key)
        else {
            return; // Its event has come.
        };
        if conversation == self.open_id() {
            self.conversation
                .queued(key, item, queue, content, files.len());
            self.notice_left(item);
        }
    }

    /// Shows a notice if a message of this client came after the end of the run that it was for.
    fn notice_left(&mut self, item: u64) {
        let is_it = |waits: &WaitingMessage| waits.item == item && waits.by == Author::You;
        if !self.is_busy() && self.conversation.waiting().iter().any(is_it) {
            self.say(LEFT);
        }
    }

    /// Reports that another client withdrew a message that was sent from here. The caller asks before it applies the
    /// event.
    pub(super) fn notice_withdrawal(&mut self, event: &Event) {
        let Event::Withdrawn { items, by, .. } = event else {
            return;
        };
        if by.as_deref() == Some(self.name()) {
            return;
        }
        let is_own =
            |waits: &&WaitingMessage| waits.by == Author::You && items.contains(&waits.item);
        let own = self.conversation.waiting().iter().filter(is_own).count();
        let who = by.as_deref().map_or(ANOTHER_CLIENT.to_owned(), someone);
        match own {
            0 => {}
            1 => self.say(format!("{who} withdrew your message; it is in the history")),
            _ => self.say(format!("{who} withdrew {own} of your messages")),
        }
    }

    /// The messages of ours that an event names.
    pub(super) fn settle_queue(&mut self, event: &Event) {
        match event {
            Event::Queued { item, .. } => self.notice_left(*item),
            Event::Withdrawn { items, .. } => self.come_back(items),
            Event::User {
                item: Some(item), ..
            } => {
                let open = self.open_id().to_owned();
                let is_it =
                    |taking: &TakingBack| taking.item == *item && taking.conversation == open;
                if self.taking_back.iter().any(is_it) {
                    self.taking_back.retain(|taking| !is_it(taking));
                    self.say("it was said before it could be taken back");
                }
            }
            _ => {}
        }
    }

    /// Puts what was taken off a queue of the open conversation into the input.
    fn come_back(&mut self, items: &[u64]) {
        let open = self.open_id().to_owned();
        let (back, rest) = std::mem::take(&mut self.taking_back)
            .into_iter()
            .partition::<Vec<_>, _>(|taking| {
                taking.conversation == open && items.contains(&taking.item)
            });
        self.taking_back = rest;
        for taking in back {
            self.composer.bring_back(&taking.content);
        }
    }

    /// Takes the operator's last message off its queue, to be rewritten.
    pub(super) fn take_back(&mut self) {
        let is_taken = |waits: &WaitingMessage| {
            let mut taking = self.taking_back.iter();
            taking.any(|taking| taking.item == waits.item && !taking.is_failed)
        };
        let own = self.conversation.waiting().iter();
        let last = own
            .filter(|waits| waits.by == Author::You && !is_taken(waits))
            .max_by_key(|waits| waits.item)
            .cloned();
        let Some(WaitingMessage { item, content, .. }) = last else {
            return;
        };
        let Some(conversation) = self.there() else {
            return;
        };
        self.taking_back
            .retain(|taking| taking.item != item || taking.conversation != conversation);
        self.taking_back.push(TakingBack {
            conversation: conversation.clone(),
            item,
            content,
            is_failed: false,
        });
        let item = Some(item);
        self.order(ClientOrder::Withdraw { conversation, item });
    }

    /// Removes withdrawn messages.
    pub(super) fn withdrawn(&mut self, conversation: &str, item: Option<u64>, withdrawn: &[u64]) {
        if conversation == self.open_id() {
            self.come_back(withdrawn);
        }
        let of_it = |taking: &TakingBack| {
            taking.conversation == conversation
                && (Some(taking.item) == item || withdrawn.contains(&taking.item))
        };
        let is_elsewhere = self.taking_back.iter().any(of_it) && !withdrawn.is_empty();
        self.taking_back.retain(|taking| !of_it(taking));
        match (item, withdrawn.len()) {
            _ if is_elsewhere => self.say("it was taken back, and is in the history"),
            (Some(_), 0) => self.say("it does not wait any more"),
            (Some(_), _) => {}
            (None, 0) => self.say("nothing waited"),
            (None, 1) => self.say("1 message was withdrawn, for all clients"),
            (None, count) => self.say(format!("{count} messages were withdrawn, for all clients")),
        }
    }

    /// Reports that nothing was withdrawn, or that it is not known.
    pub(super) fn not_withdrawn(&mut self, conversation: &str, item: Option<u64>, reason: &str) {
        for taking in &mut self.taking_back {
            if Some(taking.item) == item && taking.conversation == conversation {
                taking.is_failed = true;
            }
        }
        self.complain(format!("not withdrawn: {reason}"));
    }

    /// Shows what waits, or takes some of it away; whether that was said rightly.
    pub(super) fn queue_command(&mut self, argument: &str) -> bool {
        let words: Vec<&str> = argument.split_whitespace().collect();
        let item = match *words.as_slice() {
            [] => {
                self.show_queue();
                return true;
            }
            ["clear"] => None,
            ["withdraw", number] => match number.parse() {
                Ok(number) if self.has_waiting(number) => Some(number),
                _ => {
                    self.complain("nothing of that number waits; /queue lists what does");
                    return false;
                }
            },
            _ => {
                self.complain("say /queue, /queue withdraw N or /queue clear");
                return false;
            }
        };
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(ClientOrder::Withdraw { conversation, item });
        true
    }

    fn has_waiting(&self, item: u64) -> bool {
        let mut waiting = self.conversation.waiting().iter();
        waiting.any(|waits| waits.item == item)
    }

    fn show_queue(&mut self) {
        let is_busy = self.is_busy();
        let mut lines: Vec<String> = Vec::new();
        for waits in self.conversation.waiting() {
            let (kind, who) = (words::queue(waits.queue), author_name(&waits.by));
            let when = when(waits, is_busy);
            lines.push(format!("{:>3} {kind:<9} {who} ({when})", waits.item));
            lines.extend(waits.content.lines().map(|line| format!("      {line}")));
        }
        if lines.is_empty() {
            lines.push("nothing waits".to_owned());
        }
        self.overlay = Some(Overlay::Facts(lines));
    }
}

/// The author of a message.
pub(crate) fn author_name(by: &Author) -> String {
    match by {
        Author::You => "you".to_owned(),
        Author::Named(name) => someone(name),
        Author::Unnamed => "someone".to_owned(),
    }
}

/// The time at which a waiting message is sent to the model, in words.
pub(crate) fn when(waits: &WaitingMessage, is_busy: bool) -> &'static str {
    match waits.queue {
        _ if !is_busy => "with the next run: /continue",
        harness_protocol::Queue::Steer => "before the next request",
        harness_protocol::Queue::FollowUp => "after this run",
    }
}
