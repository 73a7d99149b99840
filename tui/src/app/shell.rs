//! Commands that are run from the input: `!command`, and `!!command` that the model is not told of.

use super::App;
use crate::link::ClientOrder;

impl App {
    /// Runs a command in the folder of the conversation; whether that could be tried.
    pub(super) fn run_command(&mut self, written: &str) -> bool {
        let (command, is_hidden) = match written.strip_prefix('!') {
            Some(hidden) => (hidden.trim(), true),
            None => (written.trim(), false),
        };
        if command.is_empty() {
            self.complain("say !command, or !!command that the model is not told of");
            return false;
        }
        if let Some(running) = &self.command {
            self.complain(format!("{running} runs; Ctrl+C ends it"));
            return false;
        }
        let Some(conversation) = self.there() else {
            return false;
        };
        let command = command.to_owned();
        self.command = Some(crate::text::one_line(&command));
        self.order(ClientOrder::Command {
            conversation,
            command,
            is_hidden,
        });
        true
    }

    /// The command has ended. All clients receive its result as an event.
    pub(super) fn command_ended(&mut self, reason: Option<String>) {
        self.command = None;
        if let Some(reason) = reason {
            self.complain(reason);
        }
    }

    /// Ends the command that runs; whether one did.
    pub(super) fn end_command(&mut self) -> bool {
        let Some(running) = &self.command else {
            return false;
        };
        let said = format!("{running} is being ended");
        self.cancelled_at = Some(self.now);
        self.order(ClientOrder::EndCommand);
        self.say(said);
        true
    }
}
