//! The table of all keys.

use super::binding::{Binding, alt, bind, control, key};
use super::{Action, Chord, Place};
use crate::terminal::Key;

const ANYWHERE: &[Place] = &[Place::Empty, Place::Writing];
const EMPTY: &[Place] = &[Place::Empty];
const WRITING: &[Place] = &[Place::Writing];
const SELECTING: &[Place] = &[Place::Selecting];
const COMMANDS: &[Place] = &[Place::Commands];
const PICKER: &[Place] = &[Place::Picker];
const SEARCH: &[Place] = &[Place::Search];
const CHOOSER: &[Place] = &[Place::Chooser];
const FILTERS: &[Place] = &[Place::Picker, Place::Chooser, Place::Search];
const OPEN: &[Place] = &[
    Place::Picker,
    Place::Chooser,
    Place::Search,
    Place::Commands,
];

/// All keys. What is in no row here is text where text can be written, and nothing elsewhere.
pub(crate) const BINDINGS: &[Binding] = &[
    bind(
        &[key(Key::Enter)],
        ANYWHERE,
        Action::Submit,
        "send; during a run, say it before the next request",
    ),
    bind(
        &[
            Chord::control(Key::Enter),
            Chord::shift(Key::Enter),
            alt(Key::Enter),
            control('j'),
        ],
        ANYWHERE,
        Action::Newline,
        "new line (Ctrl+J always works; so does \\ then Enter)",
    ),
    bind(
        &[key(Key::Tab)],
        ANYWHERE,
        Action::FollowUp,
        "send; during a run, say it at its end",
    ),
    bind(
        &[control('c')],
        ANYWHERE,
        Action::Interrupt,
        "cancel the run; else clear; else leave",
    ),
    bind(
        &[control('c')],
        SELECTING,
        Action::Copy,
        "copy the selection",
    ),
    bind(
        &[Chord::control_shift(Key::Char('c'))],
        &[Place::Empty, Place::Writing, Place::Selecting],
        Action::Copy,
        "copy the selection",
    ),
    bind(
        &[key(Key::Escape)],
        SELECTING,
        Action::Deselect,
        "drop the selection",
    ),
    bind(
        &[key(Key::Escape)],
        ANYWHERE,
        Action::Follow,
        "follow the conversation again",
    ),
    bind(
        &[key(Key::Up)],
        ANYWHERE,
        Action::Up,
        "row up, then earlier prompts",
    ),
    bind(
        &[key(Key::Down)],
        ANYWHERE,
        Action::Down,
        "row down, then later prompts",
    ),
    bind(&[key(Key::PageUp)], ANYWHERE, Action::PageUp, "page up"),
    bind(
        &[key(Key::PageDown)],
        ANYWHERE,
        Action::PageDown,
        "page down",
    ),
    bind(
        &[key(Key::Home)],
        EMPTY,
        Action::Top,
        "beginning of the conversation (nothing written)",
    ),
    bind(
        &[key(Key::End)],
        EMPTY,
        Action::Bottom,
        "end of the conversation (nothing written)",
    ),
    bind(
        &[Chord::control(Key::Home)],
        ANYWHERE,
        Action::Top,
        "beginning of the conversation",
    ),
    bind(
        &[Chord::control(Key::End)],
        ANYWHERE,
        Action::Bottom,
        "end of the conversation",
    ),
    bind(
        &[alt(Key::Up)],
        ANYWHERE,
        Action::PreviousPrompt,
        "prompt before",
    ),
    bind(
        &[alt(Key::Down)],
        ANYWHERE,
        Action::NextPrompt,
        "prompt behind",
    ),
    bind(
        &[key(Key::Home), control('a')],
        WRITING,
        Action::LineStart,
        "beginning of the line",
    ),
    bind(
        &[key(Key::End), control('e')],
        WRITING,
        Action::LineEnd,
        "end of the line",
    ),
    bind(
        &[key(Key::Left), control('b')],
        WRITING,
        Action::Left,
        "character back",
    ),
    bind(&[key(Key::Right)], WRITING, Action::Right, "character on"),
    bind(
        &[
            Chord::control(Key::Left),
            alt(Key::Left),
            alt(Key::Char('b')),
        ],
        WRITING,
        Action::WordLeft,
        "word back",
    ),
    bind(
        &[
            Chord::control(Key::Right),
            alt(Key::Right),
            alt(Key::Char('f')),
        ],
        WRITING,
        Action::WordRight,
        "word on",
    ),
    bind(
        &[key(Key::Backspace), Chord::shift(Key::Backspace)],
        WRITING,
        Action::Backspace,
        "delete back",
    ),
    bind(
        &[key(Key::Backspace)],
        EMPTY,
        Action::TakeBack,
        "drop the last paste; else take back what waits in the queue",
    ),
    bind(
        &[key(Key::Delete), control('d')],
        WRITING,
        Action::Delete,
        "delete on",
    ),
    bind(
        &[control('d')],
        EMPTY,
        Action::Leave,
        "leave (nothing written); the conversation goes on",
    ),
    bind(
        &[
            control('w'),
            alt(Key::Backspace),
            control('h'),
            Chord::control(Key::Backspace),
        ],
        WRITING,
        Action::DeleteWordLeft,
        "delete the word before",
    ),
    bind(
        &[alt(Key::Char('d'))],
        WRITING,
        Action::DeleteWordRight,
        "delete the word behind",
    ),
    bind(&[control('u')], ANYWHERE, Action::Clear, "clear the input"),
    bind(
        &[control('k')],
        WRITING,
        Action::KillToEnd,
        "cut to the end of the line",
    ),
    bind(
        &[control('y')],
        ANYWHERE,
        Action::Yank,
        "put back what was cut",
    ),
    bind(
        &[control('_'), control('7')],
        ANYWHERE,
        Action::Undo,
        "undo",
    ),
    bind(
        &[alt(Key::Char('v'))],
        ANYWHERE,
        Action::OpenPaste,
        "put an attached paste into the text",
    ),
    bind(
        &[control('g')],
        ANYWHERE,
        Action::Editor,
        "write in $EDITOR",
    ),
    bind(
        &[control('o')],
        ANYWHERE,
        Action::Fold,
        "fold or unfold the tools",
    ),
    bind(&[control('f')], ANYWHERE, Action::Search, "search"),
    bind(&[control('p')], ANYWHERE, Action::Picker, "conversations"),
    bind(&[key(Key::Function(1))], ANYWHERE, Action::Help, "help"),
    bind(
        &[key(Key::Char('?'))],
        EMPTY,
        Action::Help,
        "help (type a space first to write ?)",
    ),
    bind(
        &[key(Key::Function(2))],
        ANYWHERE,
        Action::Mouse,
        "leave the mouse to the terminal",
    ),
    bind(
        &[control('r')],
        ANYWHERE,
        Action::TryNow,
        "attach again at once",
    ),
    bind(
        &[control('l')],
        ANYWHERE,
        Action::Redraw,
        "draw everything anew",
    ),
    bind(
        &[control('z')],
        ANYWHERE,
        Action::Suspend,
        "back to the shell for now",
    ),
    bind(
        &[key(Key::Tab)],
        COMMANDS,
        Action::Complete,
        "complete the command",
    ),
    bind(
        &[key(Key::Up)],
        COMMANDS,
        Action::Previous,
        "command before",
    ),
    bind(&[key(Key::Down)], COMMANDS, Action::Next, "command behind"),
    bind(&[key(Key::Escape)], OPEN, Action::Close, "close"),
    bind(&[control('c')], FILTERS, Action::Close, "close"),
    bind(
        &[key(Key::Enter)],
        PICKER,
        Action::Accept,
        "open the conversation",
    ),
    bind(
        &[key(Key::Up)],
        PICKER,
        Action::Previous,
        "conversation before",
    ),
    bind(
        &[key(Key::Down)],
        PICKER,
        Action::Next,
        "conversation behind",
    ),
    bind(&[key(Key::PageUp)], PICKER, Action::PageUp, "page up"),
    bind(&[key(Key::PageDown)], PICKER, Action::PageDown, "page down"),
    bind(&[control('n')], PICKER, Action::New, "new conversation"),
    bind(&[key(Key::Tab)], PICKER, Action::Rename, "rename"),
    bind(&[control('x')], PICKER, Action::Trash, "move to the trash"),
    bind(
        &[control('a')],
        PICKER,
        Action::Folders,
        "those of all folders, or of this one",
    ),
    bind(&[key(Key::Enter)], CHOOSER, Action::Accept, "take it"),
    bind(&[key(Key::Up)], CHOOSER, Action::Previous, "one before"),
    bind(&[key(Key::Down)], CHOOSER, Action::Next, "one behind"),
    bind(&[key(Key::PageUp)], CHOOSER, Action::PageUp, "page up"),
    bind(
        &[key(Key::PageDown)],
        CHOOSER,
        Action::PageDown,
        "page down",
    ),
    bind(
        &[key(Key::Enter), key(Key::Down), control('f')],
        SEARCH,
        Action::Next,
        "next hit",
    ),
    bind(
        &[Chord::shift(Key::Enter), alt(Key::Enter), key(Key::Up)],
        SEARCH,
        Action::Previous,
        "hit before",
    ),
    bind(
        &[key(Key::Tab)],
        SEARCH,
        Action::Accept,
        "close and stay here",
    ),
    bind(&[key(Key::PageUp)], SEARCH, Action::PageUp, "page up"),
    bind(&[key(Key::PageDown)], SEARCH, Action::PageDown, "page down"),
    bind(
        &[key(Key::Backspace)],
        FILTERS,
        Action::Backspace,
        "delete back",
    ),
    bind(&[control('u')], FILTERS, Action::Clear, "clear"),
];

/// What a key does in a place; nothing if it is not bound there.
pub(crate) fn action(chord: Chord, place: Place) -> Option<Action> {
    BINDINGS
        .iter()
        .find(|binding| binding.places.contains(&place) && binding.chords.contains(&chord))
        .map(|binding| binding.action)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
