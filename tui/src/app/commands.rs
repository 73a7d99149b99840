//! The commands that can be written after a slash.

use super::{App, AppEffect, LinkState, Overlay};
use crate::link::{ClientOrder, ConversationView, FactKind, Recipe};
use crate::part_view::FoldAmount;
use crate::theme::Scheme;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlashCommand {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// The arguments; brackets mark optional ones.
    pub(crate) arguments: &'static str,
    /// Its action.
    pub(crate) help: &'static str,
}

/// The table, a row a command: its name, what may follow, what it does.
macro_rules! commands {
    ($($name:literal $arguments:literal => $help:literal;)*) => {
        &[$(SlashCommand {
            name: $name,
            arguments: $arguments,
            help: $help,
        }),*]
    };
}

/// All commands.
pub(crate) const COMMANDS: &[SlashCommand] = commands! {
    "help" "" => "the keys and commands";
    "new" "[title]" => "make a conversation and open it";
    "open" "[filter]" => "choose a conversation";
    "rename" "title" => "give this conversation a title, for all clients";
    "fork" "" => "copy this conversation and open the copy";
    "rewind" "" => "go on from before a prompt, in a branch; the others see where";
    "delete" "" => "choose a conversation to move to the trash";
    "cancel" "[clear]" => "cancel the run, and clear what waits, for all clients";
    "approve" "[run|conversation|folder]" => "allow what waits for an answer, once or for longer";
    "deny" "[words]" => "refuse what waits for an answer, and tell the model why";
    "workflows" "" => "the board of workflows: how far each is, pause, resume, cancel, answer";
    "jobs" "" => "what runs in the background, since when, and whether it wrote something";
    "mode" "[name]" => "what tools may change unasked, and setting it for all clients";
    "rules" "" => "the rules of what tools may change";
    "undo" "" => "take back what the tools changed last, for all clients";
    "continue" "" => "go on without a prompt, with what waits in the queue";
    "retry" "" => "ask for the last reply again";
    "attach" "path" => "send a file along with the prompt; @ completes files of the folder";
    "queue" "[clear|withdraw N]" => "what waits to be said, and taking it away";
    "model" "[name]" => "ask another model, for all clients";
    "thinking" "level" => "how much the model thinks, for all clients";
    "settings" "[name value]" => "what is set in this conversation and in this client, and setting it here";
    "usage" "" => "the tokens and the cost of this conversation";
    "tools" "[renew]" =>
        "what the model is offered, and offering what there is now, for all clients";
    "skill" "[name text]" => "send a text with a skill";
    "template" "[name args]" => "send a prompt from a template";
    "compact" "[instructions]" => "replace the past by a summary, for all clients";
    "copy" "[n|all]" => "copy the last reply, its n-th code block, or everything";
    "search" "[text]" => "search the conversation";
    "fold" "all|none|tools" => "fold the tools, unfold them, or cut them at 100 lines";
    "theme" "dark|light|terminal" => "other colours";
    "clients" "" => "who is attached";
    "status" "" => "what this client is attached to";
    "debug" "" => "what this client knows of itself";
    "quit" "" => "leave; the conversation goes on";
};

/// The commands whose names begin so, and then those that have the letters in that order.
pub(crate) fn fitting(written: &str) -> Vec<&'static SlashCommand> {
    let begins = |command: &&SlashCommand| command.name.starts_with(written);
    let has_letters = |command: &&SlashCommand| {
        let mut letters = command.name.chars();
        written.chars().all(|wanted| letters.any(|c| c == wanted))
    };
    let first = COMMANDS.iter().filter(begins);
    let then = COMMANDS.iter().filter(|c| has_letters(c) && !begins(c));
    first.chain(then).collect()
}

impl App {
    /// Carries out a command; whether there is one of that name. What is not whole is completed
    /// to the command that was chosen.
    pub(super) fn command(&mut self, line: &str) -> bool {
        let line = self.completed(line);
        let (name, argument) = line[1..]
            .split_once(char::is_whitespace)
            .unwrap_or((&line[1..], ""));
        let argument = argument.trim();
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
                let seq = None;
                self.order(ClientOrder::Fork { conversation, seq });
            }
            "rewind" => self.open_rewind(),
            "delete" => {
                self.open_picker(argument);
                self.say("choose one and press Ctrl+X twice");
            }
            "cancel" => return self.cancel_command(argument),
            "approve" => return self.approve_command(argument),
            "deny" => return self.deny_command(argument),
            "workflows" => self.open_board(),
            "jobs" => return self.ask_for_facts(FactKind::Jobs),
            "rules" => return self.ask_for_facts(FactKind::Rules),
            "mode" => return self.mode_command(argument),
            "undo" => return self.undo_changes(),
            "continue" => return self.go_on(false),
            "retry" => return self.go_on(true),
            "attach" => return self.attach_command(argument),
            "queue" => return self.queue_command(argument),
            "model" => return self.model(argument),
            "thinking" => return self.thinking(argument),
            "settings" if !argument.is_empty() => return self.set_own(argument),
            "settings" => return self.ask_for_settings(ConversationView::Settings),
            "usage" => return self.ask_for_usage(),
            "tools" => return self.tools(argument),
            "compact" => return self.compact(argument),
            "skill" => return self.expand(Recipe::Skill, argument),
            "template" => return self.expand(Recipe::Template, argument),
            "copy" => self.copy(argument),
            "search" => self.open_search(argument),
            "fold" => return self.fold_as(argument),
            "theme" => return self.change_theme(argument),
            "clients" => self.clients(),
            "status" => self.status(),
            "debug" => self.debug(),
            "quit" => self.effects.push(AppEffect::Leave),
            unknown => {
                self.complain(format!("there is no command /{unknown}; /help lists them"));
                return false;
            }
        }
        true
    }

    fn fold_as(&mut self, argument: &str) -> bool {
        let fold = match argument {
            "all" => FoldAmount::Folded,
            "none" => FoldAmount::Cut,
            "tools" | "" => FoldAmount::Head(self.own.head_lines),
            _ => {
                self.complain("say /fold all, /fold none or /fold tools");
                return false;
            }
        };
        self.viewport.folds.set_all(fold);
        self.keep_fold(fold);
        true
    }

    fn change_theme(&mut self, argument: &str) -> bool {
        let Some(scheme) = Scheme::parse(argument) else {
            self.complain("say /theme dark, /theme light or /theme terminal");
            return false;
        };
        self.theme = self.theme.with_scheme(scheme);
        self.follows_background = false;
        self.own.theme = Some(scheme);
        self.keep_own("theme");
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

    /// Asks the service for facts about the conversation, to show them. Returns true if that could be tried.
    fn ask_for_facts(&mut self, kind: FactKind) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(ClientOrder::Facts { conversation, kind });
        true
    }

    /// Shows the facts that the service told.
    pub(super) fn facts(&mut self, conversation: &str, lines: Vec<String>) {
        if conversation == self.open_id() && self.overlay.is_none() {
            self.overlay = Some(Overlay::Facts(lines));
        }
    }

    /// The service that it is attached to.
    fn status(&mut self) {
        let lines = match &self.service {
            Some(service) => {
                let facts = service.facts(self.own_folder()).into_iter();
                facts
                    .map(|(name, value)| format!("{name:<9} {value}"))
                    .collect()
            }
            None => vec!["no service was reached yet".to_owned()],
        };
        self.overlay = Some(Overlay::Facts(lines));
    }

    fn debug(&mut self) {
        let service = self.service.as_ref();
        let service = service
            .map_or("unknown", |service| &service.version)
            .to_owned();
        let link = match &self.link {
            LinkState::Opening => "opening".to_owned(),
            LinkState::Up => "up".to_owned(),
            LinkState::Down { reason, tries, .. } => format!("down, {tries} tries: {reason}"),
        };
        let status = self.conversation.status();
        self.overlay = Some(Overlay::Facts(vec![
            format!("version       {}", env!("CARGO_PKG_VERSION")),
            format!("service       {service}"),
            format!("name          {}", self.name),
            format!("conversation  {}", self.open_id()),
            format!("position      {}", self.conversation.last_seq()),
            format!("parts         {}", self.conversation.len()),
            format!("digest        {:016x}", self.conversation.digest()),
            format!("state         {:?}, run {:?}", status.state, status.run_id),
            format!("link          {link}"),
            format!("missed        {} times, then loaded again", self.missed),
            format!("duplicates    {} dropped", self.duplicates),
            format!("invalid       {} dropped", self.invalid),
            format!("unknown       {} events of newer services", status.unknown),
            format!("screen        {}x{}", self.size.0, self.size.1),
        ]));
    }
}
