//! What can be written after a slash.

use super::{App, Effect, LinkState, Overlay};
use crate::conversation::{PartKind, ToolOutcome};
use crate::link::Order;
use crate::part_view::Fold;
use crate::text::{Hidden, sanitize};
use crate::theme::Scheme;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// What may follow; brackets mark what may be left out.
    pub(crate) arguments: &'static str,
    /// What it does.
    pub(crate) help: &'static str,
}

const fn command(name: &'static str, arguments: &'static str, help: &'static str) -> Command {
    Command {
        name,
        arguments,
        help,
    }
}

/// All commands.
pub(crate) const COMMANDS: &[Command] = &[
    command("help", "", "the keys and commands"),
    command("new", "[title]", "make a conversation and open it"),
    command("open", "[filter]", "choose a conversation"),
    command(
        "rename",
        "title",
        "give this conversation a title, for all clients",
    ),
    command("fork", "", "copy this conversation and open the copy"),
    command("delete", "", "choose a conversation to move to the trash"),
    command("cancel", "", "cancel the run, for all clients"),
    command(
        "copy",
        "[n|all]",
        "copy the last reply, its n-th code block, or everything",
    ),
    command("search", "[text]", "search the conversation"),
    command(
        "fold",
        "all|none|tools",
        "fold the tools, unfold them, or cut them at 100 lines",
    ),
    command("theme", "dark|light|terminal", "other colours"),
    command("clients", "", "who is attached"),
    command("debug", "", "what this client knows of itself"),
    command("quit", "", "leave; the conversation goes on"),
];

/// The commands whose names begin so, and then those that have the letters in that order.
pub(crate) fn fitting(written: &str) -> Vec<&'static Command> {
    let begins = |command: &&Command| command.name.starts_with(written);
    let has_letters = |command: &&Command| {
        let mut letters = command.name.chars();
        written.chars().all(|wanted| letters.any(|c| c == wanted))
    };
    let first = COMMANDS.iter().filter(begins);
    let then = COMMANDS.iter().filter(|c| has_letters(c) && !begins(c));
    first.chain(then).collect()
}

impl App {
    /// The commands that fit what is written, while one is being named.
    pub(crate) fn fitting_commands(&self) -> Vec<&'static Command> {
        let text = self.composer.text();
        let is_closed = self.closed_commands.as_deref() == Some(text);
        match text.strip_prefix('/') {
            // With a paste attached it is a prompt.
            Some(_) if is_closed || !self.composer.chips().is_empty() => Vec::new(),
            Some(name) if !name.contains([' ', '\n', '/']) => fitting(name),
            _ => Vec::new(),
        }
    }

    /// Which of so many fitting commands is chosen.
    pub(crate) fn chosen_command(&self, count: usize) -> usize {
        self.chosen_command.min(count.saturating_sub(1))
    }

    pub(super) fn choose_command(&mut self, by: isize) {
        let count = self.fitting_commands().len();
        let chosen = self.chosen_command(count).saturating_add_signed(by);
        self.chosen_command = chosen.min(count.saturating_sub(1));
    }

    pub(super) fn complete_command(&mut self) {
        let fitting = self.fitting_commands();
        if let Some(command) = fitting.get(self.chosen_command(fitting.len())) {
            let space = if command.arguments.is_empty() {
                ""
            } else {
                " "
            };
            self.composer
                .write_anew(&format!("/{}{space}", command.name));
        }
    }

    /// Carries out a command; whether there is one of that name. What is not whole is completed
    /// to the command that was chosen.
    pub(super) fn command(&mut self, line: &str) -> bool {
        let (name, argument) = line[1..]
            .split_once(char::is_whitespace)
            .unwrap_or((&line[1..], ""));
        let argument = argument.trim();
        let is_known = COMMANDS.iter().any(|command| command.name == name);
        let fitting = self.fitting_commands();
        let name = match fitting.get(self.chosen_command(fitting.len())) {
            Some(chosen) if !is_known => chosen.name,
            _ => name,
        };
        match name {
            "help" => self.overlay = Some(Overlay::Help { above: 0 }),
            "new" => self.create(Some(argument.to_owned()).filter(|title| !title.is_empty())),
            "open" => self.open_picker(argument),
            "rename" | "fork" if self.open_id().is_empty() => {
                self.complain("no conversation is open yet");
                return false;
            }
            "rename" => return self.rename(self.open_id().to_owned(), argument.to_owned()),
            "fork" => {
                self.is_making = true;
                let conversation = self.open_id().to_owned();
                self.order(Order::Fork { conversation });
            }
            "delete" => {
                self.open_picker(argument);
                self.say("choose one and press Ctrl+X twice");
            }
            "cancel" => match self.conversation.status().run_id {
                Some(run_id) => self.cancel(run_id),
                None => self.say("no run is going"),
            },
            "copy" => self.copy(argument),
            "search" => self.open_search(argument),
            "fold" => return self.fold_as(argument),
            "theme" => return self.change_theme(argument),
            "clients" => self.clients(),
            "debug" => self.debug(),
            "quit" => self.effects.push(Effect::Leave),
            unknown => {
                self.complain(format!("there is no command /{unknown}; /help lists them"));
                return false;
            }
        }
        true
    }

    fn fold_as(&mut self, argument: &str) -> bool {
        let fold = match argument {
            "all" => Fold::Folded,
            "none" => Fold::Open,
            "tools" | "" => Fold::Cut,
            _ => {
                self.complain("say /fold all, /fold none or /fold tools");
                return false;
            }
        };
        self.viewport.folds.set_all(fold);
        true
    }

    fn change_theme(&mut self, argument: &str) -> bool {
        let Some(scheme) = Scheme::parse(argument) else {
            self.complain("say /theme dark, /theme light or /theme terminal");
            return false;
        };
        self.theme = self.theme.with_scheme(scheme);
        self.follows_background = false;
        true
    }

    fn clients(&mut self) {
        let status = self.conversation.status();
        let mut lines = vec![format!("{} attached to this conversation", status.clients)];
        lines.extend(status.names.iter().map(|name| {
            let is_me = *name == self.name;
            format!("  {name}{}", if is_me { " (this one)" } else { "" })
        }));
        let unnamed = status.clients.saturating_sub(status.names.len());
        if unnamed > 0 {
            lines.push(format!("  {unnamed} without a name"));
        }
        self.overlay = Some(Overlay::Facts(lines));
    }

    fn debug(&mut self) {
        let link = match &self.link {
            LinkState::Opening => "opening".to_owned(),
            LinkState::Up => "up".to_owned(),
            LinkState::Down { reason, tries, .. } => format!("down, {tries} tries: {reason}"),
        };
        let status = self.conversation.status();
        self.overlay = Some(Overlay::Facts(vec![
            format!("version       {}", env!("CARGO_PKG_VERSION")),
            format!("name          {}", self.name),
            format!("conversation  {}", self.open_id()),
            format!("position      {}", self.conversation.last_seq()),
            format!("parts         {}", self.conversation.len()),
            format!("digest        {:016x}", self.conversation.digest()),
            format!("state         {:?}, run {:?}", status.state, status.run_id),
            format!("link          {link}"),
            format!("missed        {} times, then loaded anew", self.missed),
            format!("duplicates    {} dropped", self.duplicates),
            format!("invalid       {} dropped", self.invalid),
            format!("unknown       {} events of newer services", status.unknown),
            format!("screen        {}x{}", self.size.0, self.size.1),
        ]));
    }

    /// Copies the last reply, one of its code blocks, or the whole conversation.
    fn copy(&mut self, argument: &str) {
        let text = match argument {
            "all" => Some(self.whole_text()),
            "" => self.last_reply().map(str::to_owned),
            number => number.parse().ok().and_then(|number: usize| {
                let reply = self.last_reply()?;
                let block = crate::markdown::code_blocks(reply);
                block.get(number.checked_sub(1)?).cloned()
            }),
        };
        match text {
            Some(text) if !text.is_empty() => {
                // Whatever it is pasted into may be a shell.
                let text = sanitize(&text, Hidden::Dropped);
                self.effects.push(Effect::Copy(text));
            }
            _ => self.complain("there is nothing like that to copy"),
        }
    }

    fn last_reply(&self) -> Option<&str> {
        let texts = self.conversation.parts().rev();
        texts.into_iter().find_map(|part| match &part.kind {
            PartKind::Text { content, .. } => Some(content.as_str()),
            _ => None,
        })
    }

    /// What is loaded of the conversation, as text.
    fn whole_text(&self) -> String {
        let texts = self.conversation.parts().map(|part| match &part.kind {
            PartKind::User { content, .. } => format!("> {}", content.replace('\n', "\n> ")),
            PartKind::Text { content, .. } | PartKind::Reasoning { content, .. } => content.clone(),
            PartKind::Tool(tool) => match &tool.outcome {
                ToolOutcome::Ended(result) => {
                    let cut = match result.is_whole {
                        true => "",
                        false => "\n(the rest was not loaded)",
                    };
                    format!("{} {}\n{}{cut}", tool.name, tool.input, result.text)
                }
                _ => format!("{} {}", tool.name, tool.input),
            },
            PartKind::Note { text, .. } => text.clone(),
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}
