//! The actions of the keys.

use harness_protocol::Queue;

use super::picked::StepWay;
use super::{App, AppEffect, Overlay, Picker, help, input_width};
use crate::composer::{ComposerEdit, ComposerOutcome, ViKey};
use crate::keys::{self, Chord, KeyAction, KeyPlace};
use crate::link::ClientOrder;
use crate::part_view::FoldAmount;
use crate::terminal::{Key, KeyPress};
use crate::viewport::TravelStep;

/// Number of rows that the help moves by.
const HELP_STEP: u16 = 5;

impl App {
    pub(super) fn key(&mut self, press: &KeyPress) {
        if let Some(Overlay::Help { above }) = &mut self.overlay {
            // Only a screen too low for it makes the help move; any other key closes it.
            let rows = help::overflow(self.size);
            match press.code {
                Key::Down | Key::PageDown if *above < rows => {
                    *above = (*above + HELP_STEP).min(rows);
                    return;
                }
                Key::Up | Key::PageUp if *above > 0 => {
                    *above = above.saturating_sub(HELP_STEP);
                    return;
                }
                _ => {}
            }
        }
        if matches!(self.overlay, Some(Overlay::Help { .. } | Overlay::Facts(_))) {
            self.overlay = None;
            if self.only_closes(press) {
                return;
            }
        }
        self.offer_focus();
        if self.must_ignore(press) {
            return;
        }
        let bound = self.bound(press);
        if !self.is_for_vi(press, bound) || !self.vi_key(press, bound) {
            match bound {
                Some((place, action)) => self.act(place, action),
                None => self.type_in(press),
            }
        }
        let asks_for_band = matches!(bound, Some((_, KeyAction::Decide | KeyAction::FollowUp)));
        if !self.answers() && !asks_for_band {
            self.typed_at = Some(self.now);
        }
    }

    /// True if a key that has closed the help or a box of facts does nothing else: it may have been pressed to close
    /// it, and would send, leave, cancel, take back, open the help again, or answer an approval.
    fn only_closes(&self, press: &KeyPress) -> bool {
        self.answers()
            || matches!(press.code, Key::Escape | Key::Enter | Key::Tab)
            || matches!(
                self.action(press),
                Some(
                    KeyAction::Interrupt | KeyAction::Leave | KeyAction::TakeBack | KeyAction::Help
                )
            )
    }

    /// The places in which a key counts as pressed, the first that binds it wins.
    fn places(&self) -> Vec<KeyPlace> {
        match &self.overlay {
            Some(Overlay::Picker(_)) => return vec![KeyPlace::Picker],
            Some(Overlay::Chooser(_)) => return vec![KeyPlace::Chooser],
            Some(Overlay::Past(_)) => return vec![KeyPlace::Past],
            Some(Overlay::Search(_)) => return vec![KeyPlace::Search],
            Some(Overlay::Board(board)) => return vec![Self::board_place(board)],
            Some(Overlay::Help { .. } | Overlay::Facts(_)) | None => {}
        }
        let mut places = Vec::new();
        match self.band_place() {
            // What a key of the band is not bound to, it does for the conversation.
            Some(KeyPlace::Band) if self.selection.is_some() => {
                return vec![KeyPlace::Selecting, KeyPlace::Band, KeyPlace::Empty];
            }
            Some(KeyPlace::Band) => return vec![KeyPlace::Band, KeyPlace::Empty],
            Some(place) => return vec![place],
            None => {}
        }
        if !self.completions().is_empty() {
            places.push(KeyPlace::Commands);
        }
        if self.selection.is_some() {
            places.push(KeyPlace::Selecting);
        }
        if self.picked.is_some() && self.composer.is_empty() {
            places.push(KeyPlace::Picked);
        }
        places.push(if self.composer.text().is_empty() {
            KeyPlace::Empty
        } else {
            KeyPlace::Writing
        });
        places
    }

    fn action(&self, press: &KeyPress) -> Option<KeyAction> {
        self.bound(press).map(|(_, action)| action)
    }

    /// The action of a key, and the place that binds it.
    fn bound(&self, press: &KeyPress) -> Option<(KeyPlace, KeyAction)> {
        let chord = Chord::from(press);
        let is_written = press.is_burst || !self.composer.is_empty();
        if is_written && chord == Chord::plain(Key::Char('?')) {
            // To an attached paste, or in a paste that the terminal does not mark as one.
            return None;
        }
        // A paste that the terminal does not mark as one answers nothing.
        let is_pasted = press.is_burst && matches!(press.code, Key::Char(_));
        let mut places = self.places();
        places.retain(|place| !(is_pasted && *place == KeyPlace::Band));
        let bound = |place| keys::action(chord, place).map(|action| (place, action));
        places.into_iter().find_map(bound)
    }

    /// True if the draft has the keys, and they are those of vi.
    fn is_for_vi(&self, press: &KeyPress, bound: Option<(KeyPlace, KeyAction)>) -> bool {
        let is_of_conversation = matches!(bound, Some((KeyPlace::Selecting | KeyPlace::Picked, _)));
        self.own.has_vi_keys
            && self.overlay.is_none()
            && !self.answers()
            && !is_of_conversation
            && !press.control
            && !press.alt
    }

    /// Takes a key of vi; `false` if it does what it does without vi.
    fn vi_key(&mut self, press: &KeyPress, bound: Option<(KeyPlace, KeyAction)>) -> bool {
        let key = self.vi.press(&mut self.composer, press.code);
        match key {
            ViKey::Passed => return false,
            ViKey::NoText => {
                if let Some((place, action)) = bound {
                    self.act(place, action);
                }
            }
            ViKey::Up | ViKey::Down => {
                let is_down = key == ViKey::Down;
                match self.composer.vi_row(is_down, input_width(self.size)) {
                    ComposerOutcome::AtTop => {
                        self.composer.older(&self.history);
                    }
                    ComposerOutcome::AtBottom => {
                        self.composer.newer();
                    }
                    ComposerOutcome::Nothing
                    | ComposerOutcome::Moved
                    | ComposerOutcome::Changed => {}
                }
                self.composer.vi_settle();
            }
            ViKey::Taken => self.chosen_command = 0,
        }
        true
    }

    /// A key that is bound to nothing is text, if it is any.
    fn type_in(&mut self, press: &KeyPress) {
        let Key::Char(character) = press.code else {
            return;
        };
        if press.control || press.alt {
            return;
        }
        self.leave_band_writing();
        let mut buffer = [0; 4];
        self.write(character.encode_utf8(&mut buffer));
    }

    fn write(&mut self, text: &str) {
        let answers = self.answers();
        match &mut self.overlay {
            Some(Overlay::Picker(picker)) => picker.write(text),
            Some(Overlay::Chooser(chooser)) => chooser.filter.insert(text),
            Some(Overlay::Past(past)) => {
                past.filter.insert(text);
                past.filtered();
            }
            Some(Overlay::Search(search)) => {
                search.field.insert(text);
                self.search_again();
            }
            Some(Overlay::Help { .. } | Overlay::Facts(_) | Overlay::Board(_)) => {}
            None if answers => self.write_to_band(text),
            None => {
                self.composer.insert(text);
                self.vi.note_written(text);
                self.chosen_command = 0;
            }
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        match &self.overlay {
            Some(
                Overlay::Picker(_) | Overlay::Chooser(_) | Overlay::Past(_) | Overlay::Search(_),
            ) => {
                self.write(text);
            }
            // Nothing is written there.
            Some(Overlay::Board(_)) => {}
            // A paste is not a key: it must not be lost.
            Some(Overlay::Help { .. } | Overlay::Facts(_)) | None => {
                self.overlay = None;
                if text.is_empty() {
                    // An empty paste is a terminal's way to announce a picture.
                    self.effects.push(AppEffect::TakePicture);
                } else if !self.drop_files(text) {
                    self.composer.paste(text);
                    self.vi.note_other_edit();
                }
                self.chosen_command = 0;
            }
        }
    }

    fn act(&mut self, place: KeyPlace, action: KeyAction) {
        let is_of_band = matches!(
            place,
            KeyPlace::Band | KeyPlace::BandScope | KeyPlace::BandReason
        );
        match &self.overlay {
            Some(Overlay::Picker(_)) => self.act_on_picker(action),
            Some(Overlay::Chooser(_)) => self.act_on_chooser(action),
            Some(Overlay::Past(_)) => self.act_on_past(action),
            Some(Overlay::Search(_)) => self.act_on_search(action),
            Some(Overlay::Board(_)) => self.act_on_board(action),
            None if is_of_band => self.act_on_band(action),
            Some(Overlay::Help { .. } | Overlay::Facts(_)) | None => {
                self.act_on_conversation(action);
            }
        }
    }

    fn act_on_conversation(&mut self, action: KeyAction) {
        match action {
            KeyAction::Submit => self.submit(Queue::Steer),
            KeyAction::FollowUp if self.band.is_some() && self.composer.is_empty() => {
                self.focus_band();
            }
            KeyAction::FollowUp => self.submit(Queue::FollowUp),
            KeyAction::Decide => self.focus_band(),
            KeyAction::Interrupt => self.interrupt(),
            KeyAction::Leave if self.composer.is_empty() => self.effects.push(AppEffect::Leave),
            KeyAction::Leave => self.say("a paste is attached; Ctrl+U drops it"),
            KeyAction::Copy => self.copy_selection(),
            KeyAction::Deselect => self.selection = None,
            KeyAction::Follow if self.goes_back_to_board() => {}
            KeyAction::Follow | KeyAction::Bottom => self.go(TravelStep::Bottom),
            KeyAction::PageUp => self.go(TravelStep::PageUp),
            KeyAction::PageDown => self.go(TravelStep::PageDown),
            KeyAction::Top => self.go(TravelStep::Top),
            KeyAction::PreviousPrompt => self.go(TravelStep::PreviousPrompt),
            KeyAction::NextPrompt => self.go(TravelStep::NextPrompt),
            KeyAction::Fold => {
                let fold = self.viewport.folds.toggle_all();
                self.keep_fold(fold);
                self.say(match fold {
                    FoldAmount::Cut => "opened: results up to 100 lines, and thinking".to_owned(),
                    FoldAmount::Open => "opened: whole results, and thinking".to_owned(),
                    FoldAmount::Head(lines) => format!("the first {lines} lines of results"),
                    FoldAmount::Folded => "folded: a row for each call".to_owned(),
                });
            }
            KeyAction::FoldOne => self.fold_one(),
            KeyAction::PickAbove => self.pick(StepWay::Up),
            KeyAction::PickBelow => self.pick(StepWay::Down),
            KeyAction::Unpick => self.picked = None,
            KeyAction::Search => self.open_search(""),
            KeyAction::Picker => self.open_picker(""),
            KeyAction::Board => self.open_board(),
            KeyAction::Help => self.overlay = Some(Overlay::Help { above: 0 }),
            KeyAction::Mouse => self.toggle_mouse(),
            KeyAction::Mode => self.next_mode(),
            KeyAction::Redraw => self.effects.push(AppEffect::Redraw),
            KeyAction::Suspend => self.effects.push(AppEffect::Suspend),
            KeyAction::Editor => {
                let text = self.composer.text().to_owned();
                self.effects.push(AppEffect::Write(text));
            }
            KeyAction::History if self.is_down() => self.order(ClientOrder::TryNow),
            KeyAction::History => self.open_history(),
            KeyAction::GoBack => self.open_rewind(),
            KeyAction::Complete => self.complete_command(),
            KeyAction::Previous => self.choose_command(-1),
            KeyAction::Next => self.choose_command(1),
            KeyAction::Close => self.close_commands(),
            KeyAction::TakeBack if self.composer.chips().is_empty() => self.take_back(),
            KeyAction::TakeBack => self.drop_paste(),
            KeyAction::OpenPaste => {
                if let Some(last) = self.composer.chips().len().checked_sub(1) {
                    self.composer.open_chip(last);
                }
            }
            KeyAction::Picture => self.effects.push(AppEffect::TakePicture),
            KeyAction::Up => self.up(),
            KeyAction::Down => self.down(),
            KeyAction::New
            | KeyAction::Rename
            | KeyAction::Trash
            | KeyAction::Folders
            | KeyAction::Accept
            | KeyAction::Allow
            | KeyAction::AllowLonger
            | KeyAction::ForRun
            | KeyAction::ForConversation
            | KeyAction::ForFolder
            | KeyAction::Deny
            | KeyAction::DenySaying
            | KeyAction::DenyAndStop
            | KeyAction::Caveats
            | KeyAction::Output
            | KeyAction::Pause
            | KeyAction::PauseNow
            | KeyAction::Resume
            | KeyAction::ResumeStuck => {}
            KeyAction::Newline => self.edit(ComposerEdit::Newline),
            KeyAction::Left => self.edit(ComposerEdit::Left),
            KeyAction::Right => self.edit(ComposerEdit::Right),
            KeyAction::WordLeft => self.edit(ComposerEdit::WordLeft),
            KeyAction::WordRight => self.edit(ComposerEdit::WordRight),
            KeyAction::LineStart => self.edit(ComposerEdit::LineStart),
            KeyAction::LineEnd => self.edit(ComposerEdit::LineEnd),
            KeyAction::Backspace => self.edit(ComposerEdit::Backspace),
            KeyAction::Delete => self.edit(ComposerEdit::Delete),
            KeyAction::DeleteWordLeft => self.edit(ComposerEdit::DeleteWordLeft),
            KeyAction::DeleteWordRight => self.edit(ComposerEdit::DeleteWordRight),
            KeyAction::KillToEnd => self.edit(ComposerEdit::KillToEnd),
            KeyAction::Yank => self.edit(ComposerEdit::Yank),
            KeyAction::Undo => self.edit(ComposerEdit::Undo),
            KeyAction::Clear => self.edit(ComposerEdit::Clear),
        }
    }

    fn edit(&mut self, edit: ComposerEdit) {
        let width = input_width(self.size);
        self.composer.edit(edit, width);
        match edit {
            ComposerEdit::Backspace => self.vi.note_backspace(),
            ComposerEdit::Newline => self.vi.note_written("\n"),
            ComposerEdit::Clear => self.vi.start_over(),
            _ => self.vi.note_other_edit(),
        }
        self.chosen_command = 0;
    }

    fn up(&mut self) {
        let width = input_width(self.size);
        if self.composer.edit(ComposerEdit::Up, width) == ComposerOutcome::AtTop {
            self.composer.older(&self.history);
            self.close_commands();
        }
    }

    fn down(&mut self) {
        let width = input_width(self.size);
        if self.composer.edit(ComposerEdit::Down, width) == ComposerOutcome::AtBottom {
            self.composer.newer();
            self.close_commands();
        }
    }

    /// Shows no commands until something else is written: with the list of them open, Up and Down
    /// would not lead on through the prompts of the past.
    fn close_commands(&mut self) {
        self.closed_commands = Some(self.composer.text().to_owned());
    }

    fn drop_paste(&mut self) {
        if let Some(last) = self.composer.chips().len().checked_sub(1) {
            self.composer.remove_chip(last);
        }
    }

    pub(super) fn toggle_mouse(&mut self) {
        self.has_mouse = !self.has_mouse;
        self.effects.push(AppEffect::TakeMouse(self.has_mouse));
        self.say(if self.has_mouse {
            "the mouse scrolls and selects here"
        } else {
            "the mouse is the terminal's; F2 takes it back"
        });
    }

    pub(super) fn open_picker(&mut self, filter: &str) {
        let folder = self.conversation.status().folder.clone();
        let picker = Picker::new(filter, folder, self.home.clone());
        self.overlay = Some(Overlay::Picker(picker));
        self.list();
    }

    /// Goes through the conversation. A step that needs older parts continues when they come.
    pub(super) fn go(&mut self, step: TravelStep) {
        self.journey = None;
        self.viewport.go(step, &self.conversation);
        let is_there = match step {
            TravelStep::Top => false,
            TravelStep::PreviousPrompt => self.viewport.is_at_prompt(&self.conversation),
            _ => true,
        };
        if !is_there && self.conversation.has_older() {
            self.journey = Some(step);
        }
    }

    /// Continues the step that waited for older parts.
    pub(super) fn travel_on(&mut self) {
        if let Some(step) = self.journey {
            self.go(step);
        }
    }

    pub(super) fn copy_selection(&mut self) {
        let Some(selection) = &self.selection else {
            self.say("nothing is selected");
            return;
        };
        let text = selection.text(&self.conversation, &mut self.viewport);
        self.selection = None;
        if !text.is_empty() {
            self.effects.push(AppEffect::Copy(text));
        }
    }
}
