//! Completions of the command that is being written: its name, and its arguments.

use harness_protocol::THINKING_LEVELS;

use super::approval_mode::MODES;
use super::commands::fitting;
use super::{App, COMMANDS};
use crate::client_settings::{AUTO, ROWS};
use crate::composer::ViMode;
use crate::link::OfferKind;

/// The word for a value as the service has it.
pub(super) const DEFAULT: &str = "default";

/// The values of `/fold`.
const FOLDS: [(&str, &str); 3] = [
    ("all", "of each tool one row"),
    ("none", "of each tool everything"),
    ("tools", "of each result the first lines"),
];

/// A completion of the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The shown extent.
    pub(crate) label: String,
    /// The value itself.
    pub(crate) help: String,
    /// The text that is written then: in the place of all, or the path of a file in the place of its name.
    pub(super) writes: String,
}

impl App {
    /// The files or the commands that fit the text that is being written.
    pub(crate) fn completions(&self) -> Vec<Completion> {
        if self.offers_nothing() {
            return Vec::new();
        }
        match self.composer.open_mention() {
            Some(_) => self.file_completions(),
            None => self.command_completions(),
        }
    }

    /// True if nothing is offered for what is written: it was closed, or nothing is being written.
    fn offers_nothing(&self) -> bool {
        let is_inserting = self.vi_mode().is_none_or(|mode| mode == ViMode::Insert);
        !is_inserting || self.closed_commands.as_deref() == Some(self.composer.text())
    }

    /// The completions of the command that is being written, while its name or its first argument is.
    fn command_completions(&self) -> Vec<Completion> {
        let text = self.composer.text();
        // With a paste attached it is a prompt.
        if self.composer.has_pastes() {
            return Vec::new();
        }
        if let Some((kind, written)) = self.offered_argument() {
            let (command, _) = super::chooser::names(kind);
            let is_last = kind == OfferKind::Models;
            let offers = self.offers.get(kind).unwrap_or_default();
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
        if let Some(written) = text.strip_prefix("/mode ") {
            let modes = MODES.iter().map(|(_, name, help)| (*name, *help));
            let default = [(DEFAULT, "as the service has it")];
            return arguments("mode", written, modes.chain(default), true);
        }
        if let Some(own) = own_argument(text) {
            let values = own.values.into_iter();
            return arguments(&own.command, own.written, values, own.is_last);
        }
        match text.strip_prefix('/') {
            Some(name) if !name.contains([' ', '\n', '/']) => {
                let commands = fitting(name).into_iter();
                let completion = |command: &super::SlashCommand| {
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

    /// Index of the chosen completion among so many.
    pub(crate) fn chosen_command(&self, count: usize) -> usize {
        self.chosen_command.min(count.saturating_sub(1))
    }

    pub(super) fn choose_command(&mut self, by: isize) {
        let count = self.completions().len();
        let chosen = self.chosen_command(count).saturating_add_signed(by);
        self.chosen_command = chosen.min(count.saturating_sub(1));
    }

    pub(super) fn complete_command(&mut self) {
        if self.complete_file() {
            return;
        }
        let fitting = self.completions();
        if let Some(chosen) = fitting.get(self.chosen_command(fitting.len())) {
            self.composer.write_anew(&chosen.writes);
            self.chosen_command = 0;
        }
    }

    /// A line with what is not whole completed to what was chosen: the name of the command, or
    /// that of what the service has if what was written begins it.
    pub(super) fn completed(&self, line: &str) -> String {
        let fitting = self.command_completions();
        let is_closed = self.offers_nothing();
        let chosen = fitting.get(self.chosen_command(fitting.len()));
        let Some(chosen) = chosen.filter(|_| !is_closed) else {
            return line.to_owned();
        };
        let whole = chosen.writes.trim_end();
        match line.split_once(' ') {
            // Alone it shows what is set.
            Some(("/settings", written)) if !written.contains(' ') => line.to_owned(),
            Some(_) if whole.starts_with(line) => whole.to_owned(),
            None if !COMMANDS.iter().any(|command| line[1..] == *command.name) => whole.to_owned(),
            Some(_) | None => line.to_owned(),
        }
    }
}

/// An argument of a command that is one of the client's own words.
struct OwnArgument<'a> {
    /// The text before it.
    command: String,
    /// The written part of it.
    written: &'a str,
    /// The words that it may be, each with its meaning.
    values: Vec<(&'static str, &'static str)>,
    /// True if nothing follows it.
    is_last: bool,
}

/// The argument of that kind that is being written.
fn own_argument(text: &str) -> Option<OwnArgument<'_>> {
    let (name, written) = text.strip_prefix('/')?.split_once(' ')?;
    let row = |name: &str| ROWS.iter().find(|row| row.name == name);
    let (values, is_last) = match (name, written.split_once(' ')) {
        ("theme", None) => {
            let values = row("theme")?.values.iter();
            let values = values.filter(|value| **value != AUTO);
            (values.map(|value| (*value, "the colours")).collect(), true)
        }
        ("fold", None) => (FOLDS.to_vec(), true),
        ("settings", None) => {
            let rows = ROWS.iter().map(|row| (row.name, row.help));
            (rows.collect(), false)
        }
        ("settings", Some((setting, written))) => {
            let row = row(setting)?;
            return Some(OwnArgument {
                command: format!("{name} {setting}"),
                written,
                values: row.values.iter().map(|value| (*value, row.help)).collect(),
                is_last: true,
            });
        }
        _ => return None,
    };
    Some(OwnArgument {
        command: name.to_owned(),
        written,
        values,
        is_last,
    })
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
