//! The table of all keys.

use super::binding::{Binding, alt, control, key};
use super::{Chord, KeyAction, KeyPlace};
use crate::terminal::Key;

const ANYWHERE: &[KeyPlace] = &[KeyPlace::Empty, KeyPlace::Writing];
const EMPTY: &[KeyPlace] = &[KeyPlace::Empty];
const WRITING: &[KeyPlace] = &[KeyPlace::Writing];
const SELECTING: &[KeyPlace] = &[KeyPlace::Selecting];
const PICKED: &[KeyPlace] = &[KeyPlace::Picked];
const TALKING: &[KeyPlace] = &[KeyPlace::Empty, KeyPlace::Writing, KeyPlace::Selecting];
const COMMANDS: &[KeyPlace] = &[KeyPlace::Commands];
const PICKER: &[KeyPlace] = &[KeyPlace::Picker];
const SEARCH: &[KeyPlace] = &[KeyPlace::Search];
const CHOOSER: &[KeyPlace] = &[KeyPlace::Chooser];
const PAST: &[KeyPlace] = &[KeyPlace::Past];
const FILTERS: &[KeyPlace] = &[
    KeyPlace::Picker,
    KeyPlace::Chooser,
    KeyPlace::Past,
    KeyPlace::Search,
];
const BAND: &[KeyPlace] = &[KeyPlace::Band];
const BAND_SCOPE: &[KeyPlace] = &[KeyPlace::BandScope];
const BAND_REASON: &[KeyPlace] = &[KeyPlace::BandReason];
const BANDS: &[KeyPlace] = &[KeyPlace::Band, KeyPlace::BandScope, KeyPlace::BandReason];
const BOARD: &[KeyPlace] = &[KeyPlace::Board];
const BOARD_GATE: &[KeyPlace] = &[KeyPlace::BoardGate];
const BOARDS: &[KeyPlace] = &[KeyPlace::Board, KeyPlace::BoardGate];
const OPEN: &[KeyPlace] = &[
    KeyPlace::Picker,
    KeyPlace::Chooser,
    KeyPlace::Past,
    KeyPlace::Search,
    KeyPlace::Commands,
    KeyPlace::Board,
    KeyPlace::BoardGate,
];

/// The table, a row a binding: the places, the keys, the action, and the words of the help.
macro_rules! bindings {
    ($($places:tt: $($chord:expr),+ => $action:ident, $help:literal;)*) => {
        &[$(Binding {
            chords: &[$($chord),+],
            places: $places,
            action: KeyAction::$action,
            help: $help,
        }),*]
    };
}

/// All keys. What is in no row here is text where text can be written, and nothing elsewhere.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ANYWHERE: key(Key::Enter) => Submit, "send; during a run, say it before the next request";
    ANYWHERE: Chord::control(Key::Enter), Chord::shift(Key::Enter), alt(Key::Enter), control('j') =>
        Newline, "new line (Ctrl+J always works; so does \\ then Enter)";
    ANYWHERE: key(Key::Tab) => FollowUp, "send; during a run, say it at its end";
    ANYWHERE: control('c') => Interrupt, "cancel the run; else clear; else leave";
    SELECTING: control('c') => Copy, "copy the selection";
    TALKING: Chord::control_shift(Key::Char('c')) => Copy, "copy the selection";
    SELECTING: key(Key::Escape) => Deselect, "drop the selection";
    ANYWHERE: key(Key::Escape) => Follow, "follow the conversation again";
    ANYWHERE: key(Key::Up) => Up, "row up, then earlier prompts";
    ANYWHERE: key(Key::Down) => Down, "row down, then later prompts";
    ANYWHERE: key(Key::PageUp) => PageUp, "page up";
    ANYWHERE: key(Key::PageDown) => PageDown, "page down";
    EMPTY: key(Key::Home) => Top, "beginning of the conversation (nothing written)";
    EMPTY: key(Key::End) => Bottom, "end of the conversation (nothing written)";
    ANYWHERE: Chord::control(Key::Home) => Top, "beginning of the conversation";
    ANYWHERE: Chord::control(Key::End) => Bottom, "end of the conversation";
    ANYWHERE: alt(Key::Up) => PreviousPrompt, "prompt before";
    ANYWHERE: alt(Key::Down) => NextPrompt, "prompt behind";
    WRITING: key(Key::Home), control('a') => LineStart, "beginning of the line";
    WRITING: key(Key::End), control('e') => LineEnd, "end of the line";
    WRITING: key(Key::Left), control('b') => Left, "character back";
    WRITING: key(Key::Right) => Right, "character on";
    WRITING: Chord::control(Key::Left), alt(Key::Left), alt(Key::Char('b')) =>
        WordLeft, "word back";
    WRITING: Chord::control(Key::Right), alt(Key::Right), alt(Key::Char('f')) =>
        WordRight, "word on";
    WRITING: key(Key::Backspace), Chord::shift(Key::Backspace) => Backspace, "delete back";
    EMPTY: key(Key::Backspace) =>
        TakeBack, "drop the last paste; else take back what waits in the queue";
    WRITING: key(Key::Delete), control('d') => Delete, "delete on";
    EMPTY: control('d') => Leave, "leave (nothing written); the conversation goes on";
    WRITING: control('w'), alt(Key::Backspace), control('h'), Chord::control(Key::Backspace) =>
        DeleteWordLeft, "delete the word before";
    WRITING: alt(Key::Char('d')) => DeleteWordRight, "delete the word behind";
    ANYWHERE: control('u') => Clear, "clear the input";
    WRITING: control('k') => KillToEnd, "cut to the end of the line";
    ANYWHERE: control('y') => Yank, "put back what was cut";
    ANYWHERE: control('_'), control('7') => Undo, "undo";
    ANYWHERE: alt(Key::Char('v')) => OpenPaste, "put an attached paste into the text";
    ANYWHERE: control('v') => Picture, "attach the picture that is on the clipboard";
    ANYWHERE: control('g') => Editor, "write in $EDITOR";
    ANYWHERE: control('o') => Fold, "open or fold all results and thinking";
    ANYWHERE: alt(Key::Char('o')) => FoldOne, "open or fold the last one, or the one picked";
    ANYWHERE: alt(Key::Char('k')) => PickAbove, "pick the one above (Alt+J below)";
    ANYWHERE: alt(Key::Char('j')) => PickBelow, "pick the one below";
    PICKED: key(Key::Enter), key(Key::Char('o')) => FoldOne, "open or fold what is picked";
    PICKED: key(Key::Escape) => Unpick, "pick none";
    ANYWHERE: control('f') => Search, "search";
    ANYWHERE: control('p') => Picker, "conversations";
    ANYWHERE: alt(Key::Char('w')) => Board, "workflows";
    ANYWHERE: Chord::shift(Key::Tab) => Mode, "next mode: what tools may change unasked";
    ANYWHERE: key(Key::Function(1)) => Help, "help";
    EMPTY: key(Key::Char('?')) => Help, "help (type a space first to write ?)";
    ANYWHERE: key(Key::Function(2)) => Mouse, "leave the mouse to the terminal";
    ANYWHERE: control('r') => History, "prompts of the past; without a service, attach at once";
    ANYWHERE: alt(Key::Char('e')) => GoBack, "go on from before a prompt, in a branch";
    ANYWHERE: control('l') => Redraw, "draw everything again";
    ANYWHERE: control('z') => Suspend, "back to the shell for now";
    ANYWHERE: control('t') => Decide, "answer what waits for an answer (Tab, if nothing is written)";
    COMMANDS: key(Key::Tab) => Complete, "complete the command";
    COMMANDS: key(Key::Up) => Previous, "command before";
    COMMANDS: key(Key::Down) => Next, "command behind";
    OPEN: key(Key::Escape) => Close, "close";
    FILTERS: control('c') => Close, "close";
    PICKER: key(Key::Enter) => Accept, "open the conversation";
    PICKER: key(Key::Up) => Previous, "conversation before";
    PICKER: key(Key::Down) => Next, "conversation behind";
    PICKER: key(Key::PageUp) => PageUp, "page up";
    PICKER: key(Key::PageDown) => PageDown, "page down";
    PICKER: control('n') => New, "new conversation";
    PICKER: key(Key::Tab) => Rename, "rename";
    PICKER: control('x') => Trash, "move to the trash";
    PICKER: control('a') => Folders, "those of all folders, or of this one";
    CHOOSER: key(Key::Enter) => Accept, "take it";
    CHOOSER: key(Key::Up) => Previous, "one before";
    CHOOSER: key(Key::Down) => Next, "one behind";
    CHOOSER: key(Key::PageUp) => PageUp, "page up";
    CHOOSER: key(Key::PageDown) => PageDown, "page down";
    PAST: key(Key::Enter) => Accept, "take it, which sends nothing";
    PAST: key(Key::Up) => Previous, "newer";
    PAST: key(Key::Down), control('r') => Next, "older";
    PAST: key(Key::PageUp) => PageUp, "page up";
    PAST: key(Key::PageDown) => PageDown, "page down";
    SEARCH: key(Key::Enter), key(Key::Down), control('f') => Next, "next hit";
    SEARCH: Chord::shift(Key::Enter), alt(Key::Enter), key(Key::Up) => Previous, "hit before";
    SEARCH: key(Key::Tab) => Accept, "close and stay here";
    SEARCH: key(Key::PageUp) => PageUp, "page up";
    SEARCH: key(Key::PageDown) => PageDown, "page down";
    BAND: key(Key::Char('a')) => Allow, "allow it once";
    BAND: key(Key::Char('A')) => AllowLonger, "allow it for longer, by the rule that is shown";
    BAND: key(Key::Char('d')) => Deny, "refuse it";
    BAND: key(Key::Char('D')) => DenySaying, "refuse it, and say why";
    BAND: key(Key::Char('s')) => DenyAndStop, "refuse it, and cancel the run";
    BAND: key(Key::Char('c')) => Caveats, "what does not hold the command, or without it";
    BAND: key(Key::Enter) => Accept, "take the choice that is marked";
    BAND: key(Key::Left) => Left, "choice before";
    BAND: key(Key::Right) => Right, "choice behind";
    BAND: key(Key::Up), key(Key::Char('k')) => Up, "row up";
    BAND: key(Key::Down), key(Key::Char('j')) => Down, "row down";
    BAND: key(Key::PageUp) => PageUp, "page up";
    BAND: key(Key::PageDown), key(Key::Char(' ')) => PageDown, "page down";
    BAND: key(Key::Home) => Top, "its beginning";
    BAND: key(Key::End) => Bottom, "its end";
    BAND_SCOPE: key(Key::Char('r')) => ForRun, "for this run";
    BAND_SCOPE: key(Key::Char('c')) => ForConversation, "in this conversation";
    BAND_SCOPE: key(Key::Char('f')) => ForFolder, "in this folder";
    BAND_REASON: key(Key::Enter) => Accept, "refuse it with these words";
    BAND_REASON: key(Key::Backspace) => Backspace, "delete back";
    BAND_REASON: control('u') => Clear, "clear";
    BANDS: key(Key::Escape) => Close, "back";
    BANDS: control('t'), key(Key::Tab) => Decide, "back to the input";
    BANDS: control('c') => Interrupt, "cancel the run";
    BOARD: key(Key::Enter) => Accept, "open the conversation of the iteration; Esc there goes back";
    BOARD: key(Key::Up) => Previous, "workflow before";
    BOARD: key(Key::Down) => Next, "workflow behind";
    BOARD: key(Key::PageUp) => PageUp, "page up";
    BOARD: key(Key::PageDown), key(Key::Char(' ')) => PageDown, "page down";
    BOARD: key(Key::Char('o')) => Output, "output of the check that runs, or of the last one";
    BOARD: key(Key::Char('p')) => Pause, "pause when the iteration has ended";
    BOARD: key(Key::Char('P')) => PauseNow, "pause at once; the attempt is rolled back";
    BOARD: key(Key::Char('r')) => Resume, "resume, or begin a run";
    BOARD: key(Key::Char('R')) => ResumeStuck, "resume, and try stuck features again";
    BOARD: key(Key::Char('a')) => Decide, "answer what waits for a person";
    BOARD_GATE: key(Key::Char('y')) => Allow, "say yes at the gate";
    BOARD_GATE: key(Key::Char('n')) => Deny, "say no at the gate";
    BOARDS: control('c') => Interrupt, "cancel the workflow for good, if pressed twice";
    BOARDS: alt(Key::Char('w')) => Board, "back to the conversation";
    FILTERS: key(Key::Backspace) => Backspace, "delete back";
    FILTERS: control('u') => Clear, "clear";
};

/// The action of a key in a place. `None` if it is not bound there.
pub(crate) fn action(chord: Chord, place: KeyPlace) -> Option<KeyAction> {
    BINDINGS
        .iter()
        .find(|binding| binding.places.contains(&place) && binding.chords.contains(&chord))
        .map(|binding| binding.action)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
