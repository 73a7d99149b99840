//! The decisions of the client without a screen. No IO.

use std::collections::VecDeque;

use harness_protocol::{Approval, Queue};

use super::transcript::Transcript;
use crate::link::{ClientOrder, News};
use crate::service::Service;
use crate::text::one_line;

/// The exit code of a run that was cancelled, and of a client that Ctrl-C ended.
pub(super) const CANCELLED: i32 = 130;

/// Behaviour of the client.
pub(crate) struct PlainOptions {
    /// True if the past is shown: to a person, not to a program that sends a prompt.
    pub(crate) shows_past: bool,
    /// Makes the key of the next prompt, which must be unused.
    pub(crate) new_key: Box<dyn FnMut() -> String>,
}

/// The event.
#[derive(Debug)]
pub(super) enum PlainInput {
    /// News from the link.
    News(Box<News>),
    /// The link is over.
    LinkClosed,
    /// A line was typed.
    Line(String),
    /// The end of the typed lines.
    Over,
    /// Ctrl-C was pressed.
    Interrupt,
}

/// The work to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlainEffect {
    /// Write these lines.
    Show(String),
    /// Ask this of the service.
    Order(ClientOrder),
    /// Leave with this code.
    Exit(i32),
}

/// Decides.
pub(super) struct PlainMachine {
    options: PlainOptions,
    pub(super) transcript: Transcript,
    /// The service that the client is attached to, once that is known.
    pub(super) service: Option<Service>,
    /// The open conversation, once its snapshot came.
    pub(super) conversation: Option<String>,
    /// The folder that it works in, absolute, if the service tells it.
    pub(super) folder: Option<String>,
    /// True if a snapshot came since the last order to open.
    pub(super) is_attached: bool,
    /// The last record that was seen.
    pub(super) seq: u64,
    /// The active run, whichever client began it.
    pub(super) running: Option<u64>,
    /// The run that is being cancelled.
    pub(super) cancelling: Option<u64>,
    /// The approvals that wait for an operator's answer.
    pub(super) approval: Option<Box<Approval>>,
    /// Number of clients that are attached.
    pub(super) clients: usize,
    /// True while the past is being summarized.
    pub(super) is_compacting: bool,
    /// True if the summary was cancelled.
    pub(super) is_uncompacting: bool,
    /// The prompt that is not accepted yet.
    pub(super) sent: Option<String>,
    /// The run that was begun here.
    pub(super) own: Option<u64>,
    /// The lines that wait for what was typed before them.
    pub(super) lines: VecDeque<String>,
    /// Number of prompts that could not be sent.
    pub(super) unsent: usize,
    /// The conversations of the last list.
    pub(super) listed: Vec<String>,
    /// Number of orders that await an answer, without those to cancel and to open.
    pub(super) unanswered: usize,
    /// Number of those that are for another title.
    pub(super) renames: usize,
    /// Number of orders to cancel that await an answer.
    pub(super) unanswered_cancels: usize,
    /// True if another conversation was asked for and is not there yet.
    pub(super) is_opening: bool,
    /// True if the conversation that was asked for cannot be opened.
    pub(super) is_refused: bool,
    /// True if the connection is lost.
    pub(super) is_down: bool,
    pub(super) is_input_over: bool,
    /// The exit code of the last run that this client began.
    pub(super) code: i32,
    effects: Vec<PlainEffect>,
}

impl PlainMachine {
    /// Nothing happened so far.
    pub(super) fn new(options: PlainOptions) -> Self {
        Self {
            options,
            transcript: Transcript::default(),
            service: None,
            conversation: None,
            folder: None,
            is_attached: false,
            seq: 0,
            running: None,
            cancelling: None,
            approval: None,
            clients: 0,
            is_compacting: false,
            is_uncompacting: false,
            sent: None,
            own: None,
            lines: VecDeque::new(),
            unsent: 0,
            listed: Vec::new(),
            unanswered: 0,
            renames: 0,
            unanswered_cancels: 0,
            is_opening: false,
            is_refused: false,
            is_down: false,
            is_input_over: false,
            code: 0,
            effects: Vec::new(),
        }
    }

    /// The reaction to an event.
    pub(super) fn handle(&mut self, input: PlainInput) -> Vec<PlainEffect> {
        match input {
            PlainInput::News(news) => self.news(*news),
            PlainInput::LinkClosed => {
                self.show("error: the link to the service is over");
                self.leave(1);
            }
            PlainInput::Line(line) => self.line(line),
            PlainInput::Over => self.is_input_over = true,
            PlainInput::Interrupt => self.interrupt(),
        }
        self.carry_out();
        let is_answered = self.unanswered == 0 && self.unanswered_cancels == 0;
        let is_over = self.is_attached && self.sent.is_none() && self.own.is_none();
        let is_done = self.lines.is_empty() && is_answered && (is_over || self.is_refused);
        if self.is_input_over && is_done && !self.is_opening {
            self.exit(self.code);
        }
        let mut effects = std::mem::take(&mut self.effects);
        // No effect follows the exit.
        if let Some(end) = effects
            .iter()
            .position(|one| matches!(one, PlainEffect::Exit(_)))
        {
            effects.truncate(end + 1);
        }
        effects
    }

    pub(super) fn show(&mut self, line: impl Into<String>) {
        self.effects.push(PlainEffect::Show(line.into()));
    }

    pub(super) fn status(&mut self, status: &str) {
        let line = self.transcript.status(status);
        self.effects.extend(line.map(PlainEffect::Show));
    }

    pub(super) fn shows_past(&self) -> bool {
        self.options.shows_past
    }

    /// True if a prompt is sent while a run is active: that of a person, who watches. A program's prompt waits for the
    /// end, so that each has a separate reply.
    pub(super) fn steers(&self) -> bool {
        self.options.shows_past && !self.is_input_over
    }

    pub(super) fn order(&mut self, order: ClientOrder) {
        self.effects.push(PlainEffect::Order(order));
    }

    pub(super) fn exit(&mut self, code: i32) {
        self.effects.push(PlainEffect::Exit(code));
    }

    /// Leaves, and reports prompts that were not sent.
    pub(super) fn leave(&mut self, code: i32) {
        match self.unsent + self.waiting_prompts() {
            0 => {}
            1 => self.show("error: a prompt was not sent"),
            count => self.show(format!("error: {count} prompts were not sent")),
        }
        self.exit(code);
    }

    pub(super) fn fail(&mut self, reason: &str) {
        self.code = 1;
        self.show(format!("error: {}", one_line(reason)));
    }

    pub(super) fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    pub(super) fn cancel_answered(&mut self) {
        self.unanswered_cancels = self.unanswered_cancels.saturating_sub(1);
    }

    /// An unused key.
    pub(super) fn new_key(&mut self) -> String {
        (self.options.new_key)()
    }

    /// Sends a prompt.
    pub(super) fn submit(&mut self, conversation: String, content: String) {
        let key = (self.options.new_key)();
        self.transcript.sends(&key);
        self.sent = Some(key.clone());
        self.order(ClientOrder::Submit {
            conversation,
            key,
            content,
            files: Vec::new(),
        });
    }

    /// Lets a message wait in a queue.
    pub(super) fn queue(&mut self, conversation: String, queue: Queue, content: String) {
        let key = (self.options.new_key)();
        self.transcript.sends(&key);
        self.sent = Some(key.clone());
        self.order(ClientOrder::Queue {
            conversation,
            queue,
            key,
            content,
            files: Vec::new(),
        });
    }

    /// Asks for another conversation. Lines that are typed after it wait for it.
    pub(super) fn opens(&mut self, order: ClientOrder) {
        self.is_attached = false;
        self.is_opening = true;
        self.order(order);
    }

    /// Cancels the run that is going, else the summary that is being written, if there is one.
    pub(super) fn cancel(&mut self) -> bool {
        let run_id = self.running.or(self.own);
        let Some(conversation) = self.conversation.clone() else {
            return false;
        };
        match run_id {
            Some(run) => self.status(&format!("cancelling run {run}")),
            None if self.is_compacting => {
                self.is_uncompacting = true;
                self.status("cancelling the compaction");
            }
            None => return false,
        }
        self.cancelling = run_id;
        self.unanswered_cancels += 1;
        self.order(ClientOrder::Cancel {
            conversation,
            run_id,
            clear_queue: false,
        });
        true
    }

    fn interrupt(&mut self) {
        let run = self.running.or(self.own);
        let is_cancelled = match run {
            Some(_) => self.cancelling == run,
            None => self.is_uncompacting,
        };
        if is_cancelled || !self.cancel() {
            self.leave(CANCELLED);
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "queue_tests.rs"]
mod queue_tests;

#[cfg(test)]
#[path = "board_tests.rs"]
mod board_tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
