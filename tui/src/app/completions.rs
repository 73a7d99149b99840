//! What a command that is being written may be completed to: its name, and what follows it.

use harness_protocol::THINKING_LEVELS;

use super::commands::fitting;
use super::{App, COMMANDS};
use crate::link::OfferKind;

/// What says that something is to be as the service has it.
pub(super) const DEFAULT: &str = "default";

/// What is written may be completed to this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// What is shown of it.
    pub(crate) label: String,
    /// What it is.
    pub(crate) help: String,
    /// What is written then.
    writes: String,
}

impl App {
    /// What fits the command that is being written, while its name or its first argument is.
    pub(crate) fn completions(&self) -> Vec<Completion> {
        let text = self.composer.text();
        // With a paste attached it is a prompt.
        let is_closed = self.closed_commands.as_deref() == Some(text);
        if is_closed || !self.composer.chips().is_empty() {
            return Vec::new();
        }
        if let Some((kind, written)) = self.offered_argument() {
            let (command, _) = super::chooser::names(kind);
            let is_last = kind == OfferKind::Models;
            let offers = self.offers.of(kind).unwrap_or_default();
            let offers = offers
                .iter()
                .map(|offer| (&*offer.name, &*offer.description));
            return arguments(command, written, offers, is_last);
        }
        if let Some(written) = text.strip_prefix("/thinking ") {
            let levels = THINKING_LEVELS
                .iter()
                .map(|level| (*level, "how much the model thinks"));
            let default = [(DEFAULT, "as the service has it")];
            return arguments("thinking", written, levels.chain(default), true);
        }
        match text.strip_prefix('/') {
            Some(name) if !name.contains([' ', '\n', '/']) => {
                let commands = fitting(name).into_iter();
                let completion = |command: &super::Command| {
                    let space = if command.arguments.is_empty() {
                        ""
                    } else {
                        " "
                    };
                    Completion {
                        label: format!("/{} {}", command.name, command.arguments),
                        help: command.help.to_owned(),
                        writes: format!("/{}{space}", command.name),
                    }
                };
                commands.map(completion).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The kind of what the service has that is being named, and what is written of the name.
    pub(super) fn offered_argument(&self) -> Option<(OfferKind, &str)> {
        let text = self.composer.text();
        let kinds = [
            ("/model ", OfferKind::Models),
            ("/skill ", OfferKind::Skills),
            ("/template ", OfferKind::Templates),
        ];
        kinds.into_iter().find_map(|(command, kind)| {
            let written = text.strip_prefix(command)?;
            (!written.contains(char::is_whitespace)).then_some((kind, written))
        })
    }

    /// Which of so many completions is chosen.
    pub(crate) fn chosen_command(&self, count: usize) -> usize {
        self.chosen_command.min(count.saturating_sub(1))
    }

    pub(super) fn choose_command(&mut self, by: isize) {
        let count = self.completions().len();
        let chosen = self.chosen_command(count).saturating_add_signed(by);
        self.chosen_command = chosen.min(count.saturating_sub(1));
    }

    pub(super) fn complete_command(&mut self) {
        let fitting = self.completions();
        if let Some(chosen) = fitting.get(self.chosen_command(fitting.len())) {
            self.composer.write_anew(&chosen.writes);
            self.chosen_command = 0;
        }
    }

    /// A line with what is not whole completed to what was chosen: the name of the command, or
    /// that of what the service has if what was written begins it.
    pub(super) fn completed(&self, line: &str) -> String {
        let fitting = self.completions();
        let Some(chosen) = fitting.get(self.chosen_command(fitting.len())) else {
            return line.to_owned();
        };
        let whole = chosen.writes.trim_end();
        match line.split_once(' ') {
            Some(_) if whole.starts_with(line) => whole.to_owned(),
            None if !COMMANDS.iter().any(|command| line[1..] == *command.name) => whole.to_owned(),
            Some(_) | None => line.to_owned(),
        }
    }
}

/// The arguments that begin as written, and then those that have it in them.
fn arguments<'a>(
    command: &str,
    written: &str,
    offers: impl Iterator<Item = (&'a str, &'a str)>,
    is_last: bool,
) -> Vec<Completion> {
    let wanted = written.to_lowercase();
    let space = if is_last { "" } else { " " };
    let mut first = Vec::new();
    let mut then = Vec::new();
    for (name, description) in offers {
        let lower = name.to_lowercase();
        // Nothing is left to choose.
        if name == written && is_last {
            return Vec::new();
        }
        if lower.contains(&wanted) {
            let completion = Completion {
                label: name.to_owned(),
                help: description.to_owned(),
                writes: format!("/{command} {name}{space}"),
            };
            let fits = if lower.starts_with(&wanted) {
                &mut first
            } else {
                &mut then
            };
            fits.push(completion);
        }
    }
    first.extend(then);
    first
}
