//! The state of the keys of vi.

use super::command::{CharacterSearch, ParsedKeys, ViCommand, ViMotion, parse};
use crate::composer::{Composer, place};
use crate::terminal::Key;

/// The mode that the keys are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ViMode {
    /// Keys are text.
    #[default]
    Insert,
    /// Keys are commands.
    Normal,
    /// Keys are commands for what is selected, from this place to the caret.
    Visual(usize),
}

impl ViMode {
    /// Its name for the operator.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Normal => "NORMAL",
            Self::Visual(_) => "VISUAL",
        }
    }
}

/// The result of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViKey {
    /// It was a key of vi.
    Taken,
    /// It does what it does without vi.
    Passed,
    /// It does what it does without vi, but is no text.
    NoText,
    /// One row up, or to an older prompt.
    Up,
    /// One row down, or to a newer prompt.
    Down,
}

/// The text that was deleted or copied last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ViRegister {
    pub(super) text: String,
    pub(super) has_lines: bool,
}

/// The last change, so that it can be made once more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastChange {
    /// Its keys.
    pub(super) keys: String,
    /// The text that was inserted in it.
    pub(super) inserted: String,
}

/// The keys of vi, between one key and the next.
#[derive(Debug, Default)]
pub(crate) struct ViKeys {
    pub(super) mode: ViMode,
    /// The keys of a command that is not whole yet.
    pending: String,
    pub(super) register: ViRegister,
    pub(super) last_change: LastChange,
    last_search: Option<CharacterSearch>,
}

impl ViKeys {
    /// The mode.
    pub(crate) fn mode(&self) -> ViMode {
        self.mode
    }

    /// Begins a new draft: what is typed is inserted.
    pub(crate) fn start_over(&mut self) {
        self.begin_to_insert();
        self.last_change = LastChange {
            keys: "i".to_owned(),
            inserted: String::new(),
        };
    }

    /// Takes keys as text from now on.
    pub(super) fn begin_to_insert(&mut self) {
        self.mode = ViMode::Insert;
        self.pending.clear();
    }

    /// Notes what was written in insert mode, so that it can be repeated.
    pub(crate) fn note_written(&mut self, text: &str) {
        if self.mode == ViMode::Insert {
            self.last_change.inserted.push_str(text);
        }
    }

    /// Notes that the last character of it was deleted.
    pub(crate) fn note_backspace(&mut self) {
        let inserted = &mut self.last_change.inserted;
        if self.mode == ViMode::Insert {
            match place::before(inserted, inserted.len()) {
                Some(before) => inserted.truncate(before),
                None => self.last_change = LastChange::default(),
            }
        }
    }

    /// Notes another edit in insert mode: after it the change is none that can be repeated.
    pub(crate) fn note_other_edit(&mut self) {
        if self.mode == ViMode::Insert {
            self.last_change = LastChange::default();
        }
    }

    /// Takes a key without Control and Alt.
    pub(crate) fn press(&mut self, composer: &mut Composer, key: Key) -> ViKey {
        match (self.mode, key) {
            (ViMode::Insert, Key::Escape) => {
                self.mode = ViMode::Normal;
                composer.vi_leave_insert();
                ViKey::Taken
            }
            (ViMode::Insert, _) => ViKey::Passed,
            (ViMode::Normal | ViMode::Visual(_), Key::Escape) => {
                let is_idle = self.pending.is_empty() && self.mode == ViMode::Normal;
                self.pending.clear();
                self.mode = ViMode::Normal;
                composer.vi_settle();
                // With a draft, Esc too many must not do more than leave a mode.
                if is_idle && composer.is_empty() {
                    ViKey::NoText
                } else {
                    ViKey::Taken
                }
            }
            (ViMode::Normal | ViMode::Visual(_), Key::Char(character)) => {
                self.command_key(composer, character)
            }
            (ViMode::Normal | ViMode::Visual(_), key) => {
                let is_begun = !std::mem::take(&mut self.pending).is_empty();
                match key {
                    // The command is given up, and nothing else is done.
                    _ if is_begun => ViKey::Taken,
                    Key::Backspace if !composer.text().is_empty() => {
                        self.command_key(composer, 'h')
                    }
                    _ => ViKey::NoText,
                }
            }
        }
    }

    fn command_key(&mut self, composer: &mut Composer, key: char) -> ViKey {
        self.pending.push(key);
        if let ViMode::Visual(anchor) = self.mode
            && self.pending.chars().count() == 1
            && composer.vi_visual_key(self, anchor, key)
        {
            self.pending.clear();
            return ViKey::Taken;
        }
        match parse(&self.pending) {
            ParsedKeys::Begun => ViKey::Taken,
            ParsedKeys::Unknown => {
                // Alone it may be bound to something else.
                let is_alone = self.pending.chars().count() == 1;
                self.pending.clear();
                if is_alone {
                    ViKey::NoText
                } else {
                    ViKey::Taken
                }
            }
            ParsedKeys::Whole(command) => {
                let keys = std::mem::take(&mut self.pending);
                self.carry_out(composer, &keys, command)
            }
        }
    }

    fn carry_out(&mut self, composer: &mut Composer, keys: &str, command: ViCommand) -> ViKey {
        let command = self.with_search(command);
        match command {
            ViCommand::Move(ViMotion::Up, None) if self.mode == ViMode::Normal => ViKey::Up,
            ViCommand::Move(ViMotion::Down, None) if self.mode == ViMode::Normal => ViKey::Down,
            ViCommand::Repeat(times) => {
                for _ in 0..times {
                    composer.vi_repeat(self);
                }
                ViKey::Taken
            }
            // What is selected has commands of its own.
            command if self.mode != ViMode::Normal && !matches!(command, ViCommand::Move(..)) => {
                ViKey::Taken
            }
            command => {
                let is_change = composer.vi_apply(self, command);
                if is_change {
                    keys.clone_into(&mut self.last_change.keys);
                    self.last_change.inserted.clear();
                }
                ViKey::Taken
            }
        }
    }

    /// The command with the search that `;` and `,` repeat. A new search is kept for them.
    pub(super) fn with_search(&mut self, command: ViCommand) -> ViCommand {
        let known = self.last_search;
        let mut resolve = |motion| match motion {
            ViMotion::Find(search) => {
                self.last_search = Some(search);
                motion
            }
            ViMotion::FindAgain { is_reverse } => match known {
                Some(search) => ViMotion::Find(CharacterSearch {
                    is_forward: search.is_forward != is_reverse,
                    is_again: true,
                    ..search
                }),
                None => motion,
            },
            _ => motion,
        };
        match command {
            ViCommand::Move(motion, count) => ViCommand::Move(resolve(motion), count),
            ViCommand::Operate(operator, motion, count) => {
                ViCommand::Operate(operator, resolve(motion), count)
            }
            _ => command,
        }
    }
}
