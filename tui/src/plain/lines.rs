//! Carries out what was typed, line by line.
//!
//! Invariant: a line is carried out when all before it were, so that piped input keeps its meaning; only `/help` and
//! faulty lines are answered at once.

use harness_protocol::{Queue, Scope, Verdict};

use super::command::{HELP, PlainCommand};
use super::machine::PlainMachine;
use crate::board::BoardOrder;
use crate::link::{ClientOrder, SettingChange};

impl PlainMachine {
    /// Takes a line that was typed.
    pub(super) fn line(&mut self, line: String) {
        match PlainCommand::parse(&line) {
            PlainCommand::Nothing => {}
            PlainCommand::Help => self.show(HELP),
            PlainCommand::Wrong(reason) => self.fail(&reason),
            command => {
                let is_prompt =
                    matches!(command, PlainCommand::Prompt(_) | PlainCommand::FollowUp(_));
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
            let command = PlainCommand::parse(&line);
            if !self.is_ready_for(&command) {
                self.lines.push_front(line);
                return;
            }
            match command {
                PlainCommand::Quit => return self.quit(),
                PlainCommand::Prompt(prompt) => self.send(prompt, Queue::Steer),
                PlainCommand::FollowUp(prompt) => self.send(prompt, Queue::FollowUp),
                PlainCommand::Approve(scope) => self.answer(Verdict::Allow, scope, None),
                PlainCommand::Deny(reason) => {
                    self.answer(Verdict::Deny, Scope::Once, reason.map(str::to_owned));
                }
                PlainCommand::Undo => self.ask(|conversation| ClientOrder::Undo { conversation }),
                PlainCommand::GoOn { is_retry } => self.ask(|conversation| ClientOrder::GoOn {
                    conversation,
                    is_retry,
                }),
                PlainCommand::Model(name) => self.ask(|conversation| ClientOrder::Change {
                    conversation,
                    change: SettingChange::Model(Some(name.to_owned())),
                }),
                PlainCommand::Compact(instructions) => {
                    self.ask(|conversation| ClientOrder::Compact {
                        conversation,
                        instructions: instructions.map(str::to_owned),
                    });
                }
                PlainCommand::Cancel => {
                    if !self.cancel() {
                        self.show("status: no run is going");
                    }
                }
                PlainCommand::List => {
                    self.unanswered += 1;
                    self.order(ClientOrder::List { folder: None });
                }
                PlainCommand::Workflows => {
                    self.unanswered += 1;
                    self.order(ClientOrder::Board(BoardOrder::List));
                }
                PlainCommand::Open(which) => {
                    let number = which.parse::<usize>().ok();
                    let listed = number.and_then(|number| self.listed.get(number.checked_sub(1)?));
                    let conversation = listed.cloned().unwrap_or_else(|| which.to_owned());
                    self.opens(ClientOrder::Open { conversation });
                }
                PlainCommand::New(title) => {
                    let title = title.map(str::to_owned);
                    let folder = self.folder.clone();
                    self.opens(ClientOrder::Create { title, folder });
                }
                PlainCommand::Rename(title) => self.rename(title),
                PlainCommand::Nothing | PlainCommand::Help | PlainCommand::Wrong(_) => {}
            }
        }
    }

    /// Number of prompts that wait to be sent.
    pub(super) fn waiting_prompts(&self) -> usize {
        let lines = self.lines.iter();
        lines
            .filter(|line| {
                matches!(
                    PlainCommand::parse(line),
                    PlainCommand::Prompt(_) | PlainCommand::FollowUp(_)
                )
            })
            .count()
    }

    /// True if the operator asked to leave, which waits for earlier lines.
    pub(super) fn is_leaving(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| matches!(PlainCommand::parse(line), PlainCommand::Quit))
    }

    /// True if everything before the command was carried out, and the command can be.
    fn is_ready_for(&self, command: &PlainCommand<'_>) -> bool {
        let is_answered = self.sent.is_none()
            && self.unanswered == 0
            && self.unanswered_cancels == 0
            && !self.is_opening;
        let is_idle = self.running.is_none() && self.own.is_none();
        match command {
            // Who has nothing to wait for leaves before the service was ever there.
            PlainCommand::Quit => is_answered,
            _ if self.is_refused => is_answered,
            // The order to compact is only answered when that is over.
            PlainCommand::Cancel if is_idle && self.is_compacting => self.is_attached,
            // What is asked may be on its way.
            PlainCommand::Approve(_) | PlainCommand::Deny(_) => {
                self.is_attached && is_answered && (is_idle || self.approval.is_some())
            }
            // A prompt need not wait for the answer to the cancel, but for the end of the run, unless a person at the
            // terminal steers the run with it.
            PlainCommand::Prompt(_) | PlainCommand::FollowUp(_) => {
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
    fn ask(&mut self, order: impl FnOnce(String) -> ClientOrder) {
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
                self.order(ClientOrder::Rename {
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
