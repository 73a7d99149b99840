//! Carries out what was typed, line by line.
//!
//! Invariant: a line is carried out when all before it were, so that piped input keeps its meaning; only `/help` and
//! faulty lines are answered at once.

use harness_protocol::{Queue, Scope, Verdict};

use super::command::{Command, HELP};
use super::machine::Machine;
use crate::board::BoardOrder;
use crate::link::{Change, Order};

impl Machine {
    /// Takes a line that was typed.
    pub(super) fn line(&mut self, line: String) {
        match Command::parse(&line) {
            Command::Nothing => {}
            Command::Help => self.show(HELP),
            Command::Wrong(reason) => self.fail(&reason),
            command => {
                let is_prompt = matches!(command, Command::Prompt(_) | Command::FollowUp(_));
                let waits = is_prompt || self.waiting_prompts() > 0;
                if waits && !self.steers() && self.running.is_some() && !self.is_input_over {
                    self.show("status: this waits for the end of the run");
                }
                self.lines.push_back(line);
            }
        }
    }

    /// Carries out the waiting lines that can be carried out now.
    pub(super) fn carry_out(&mut self) {
        while let Some(line) = self.lines.pop_front() {
            let command = Command::parse(&line);
            if !self.is_ready_for(&command) {
                self.lines.push_front(line);
                return;
            }
            match command {
                Command::Quit => return self.quit(),
                Command::Prompt(prompt) => self.send(prompt, Queue::Steer),
                Command::FollowUp(prompt) => self.send(prompt, Queue::FollowUp),
                Command::Approve(scope) => self.answer(Verdict::Allow, scope, None),
                Command::Deny(reason) => {
                    self.answer(Verdict::Deny, Scope::Once, reason.map(str::to_owned));
                }
                Command::Undo => self.ask(|conversation| Order::Undo { conversation }),
                Command::GoOn { is_retry } => self.ask(|conversation| Order::GoOn {
                    conversation,
                    is_retry,
                }),
                Command::Model(name) => self.ask(|conversation| Order::Change {
                    conversation,
                    change: Change::Model(Some(name.to_owned())),
                }),
                Command::Compact(instructions) => self.ask(|conversation| Order::Compact {
                    conversation,
                    instructions: instructions.map(str::to_owned),
                }),
                Command::Cancel => {
                    if !self.cancel() {
                        self.show("status: no run is going");
                    }
                }
                Command::List => {
                    self.unanswered += 1;
                    self.order(Order::List { folder: None });
                }
                Command::Workflows => {
                    self.unanswered += 1;
                    self.order(Order::Board(BoardOrder::List));
                }
                Command::Open(which) => {
                    let number = which.parse::<usize>().ok();
                    let listed = number.and_then(|number| self.listed.get(number.checked_sub(1)?));
                    let conversation = listed.cloned().unwrap_or_else(|| which.to_owned());
                    self.opens(Order::Open { conversation });
                }
                Command::New(title) => {
                    let title = title.map(str::to_owned);
                    let folder = self.folder.clone();
                    self.opens(Order::Create { title, folder });
                }
                Command::Rename(title) => self.rename(title),
                Command::Nothing | Command::Help | Command::Wrong(_) => {}
            }
        }
    }

    /// Number of prompts that wait to be sent.
    pub(super) fn waiting_prompts(&self) -> usize {
        let lines = self.lines.iter();
        lines
            .filter(|line| {
                matches!(
                    Command::parse(line),
                    Command::Prompt(_) | Command::FollowUp(_)
                )
            })
            .count()
    }

    /// True if the operator asked to leave, which waits for earlier lines.
    pub(super) fn is_leaving(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| matches!(Command::parse(line), Command::Quit))
    }

    /// True if everything before the command was carried out, and the command can be.
    fn is_ready_for(&self, command: &Command<'_>) -> bool {
        let is_answered = self.sent.is_none()
            && self.unanswered == 0
            && self.unanswered_cancels == 0
            && !self.is_opening;
        let is_idle = self.running.is_none() && self.own.is_none();
        match command {
            // Who has nothing to wait for leaves before the service was ever there.
            Command::Quit => is_answered,
            _ if self.is_refused => is_answered,
            // The order to compact is only answered when that is over.
            Command::Cancel if is_idle && self.is_compacting => self.is_attached,
            // What is asked may be on its way.
            Command::Approve(_) | Command::Deny(_) => {
                self.is_attached && is_answered && (is_idle || self.approval.is_some())
            }
            // A prompt need not wait for the answer to the cancel, but for the end of the run, unless a person at the
            // terminal steers the run with it.
            Command::Prompt(_) | Command::FollowUp(_) => {
                let is_its_time = is_idle || (self.steers() && self.cancelling != self.running);
                self.is_attached && is_its_time && self.sent.is_none() && self.unanswered == 0
            }
            _ => self.is_attached && is_answered,
        }
    }

    /// Sends a prompt; into this queue, if a run is going.
    fn send(&mut self, prompt: &str, queue: Queue) {
        let is_going = self.running.or(self.own).is_some();
        match self.conversation.clone().filter(|_| !self.is_refused) {
            Some(conversation) if is_going => self.queue(conversation, queue, prompt.to_owned()),
            Some(conversation) => self.submit(conversation, prompt.to_owned()),
            // It was meant for the conversation that cannot be had, and for no other.
            None => {
                self.unsent += 1;
                self.fail("not sent: no conversation is open");
            }
        }
    }

    /// Asks something of the open conversation.
    fn ask(&mut self, order: impl FnOnce(String) -> Order) {
        match self.conversation.clone().filter(|_| !self.is_refused) {
            Some(conversation) => {
                self.unanswered += 1;
                self.order(order(conversation));
            }
            None => self.fail("no conversation is open"),
        }
    }

    fn rename(&mut self, title: &str) {
        match self.conversation.clone().filter(|_| !self.is_refused) {
            Some(conversation) => {
                self.unanswered += 1;
                self.renames += 1;
                let title = title.to_owned();
                self.order(Order::Rename {
                    conversation,
                    title,
                });
            }
            None => self.fail("no conversation is open"),
        }
    }

    /// Leaves. The run continues; prompts that could not be sent are reported.
    fn quit(&mut self) {
        // Lines after the end are not wanted.
        self.lines.clear();
        self.leave(i32::from(self.unsent > 0));
    }
}
