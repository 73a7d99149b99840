//! Random editing, against a model that is too simple to be wrong.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::edits::{ComposerEdit, ComposerOutcome};
use super::rows::WrappedText;
use super::state::{Composer, MAX_ROWS};
use super::testing::{WIDTH, shown};

/// Characters that join each other in many ways, and plain ones.
const CHARACTERS: &[&str] = &[
    "a", "b", "Z", "1", " ", " ", "\n", ".", "'", "_", "漢", "字", "カ", "한", "ᄒ", "ᅡ", "。",
    "\u{301}", "\u{200d}", "\u{fe0f}", "👩", "👧", "🏽", "🇩", "🇪", "❤", "क", "\u{94d}", "ष",
    "\u{600}", "\u{3000}", "\u{a0}", "é",
];

#[derive(Debug, Clone)]
enum Action {
    Type(&'static str),
    Paste(String),
    Edit(ComposerEdit),
}

fn text() -> impl Strategy<Value = String> {
    vec(select(CHARACTERS), 0..60).prop_map(|pieces| pieces.concat())
}

fn action() -> impl Strategy<Value = Action> {
    let edits = [
        ComposerEdit::Left,
        ComposerEdit::Right,
        ComposerEdit::WordLeft,
        ComposerEdit::WordRight,
        ComposerEdit::LineStart,
        ComposerEdit::LineEnd,
        ComposerEdit::Backspace,
        ComposerEdit::Delete,
        ComposerEdit::DeleteWordLeft,
        ComposerEdit::DeleteWordRight,
        ComposerEdit::KillToEnd,
        ComposerEdit::Yank,
        ComposerEdit::Newline,
        ComposerEdit::Clear,
    ];
    prop_oneof![
        8 => select(CHARACTERS).prop_map(Action::Type),
        1 => text().prop_map(Action::Paste),
        8 => select(edits.to_vec()).prop_map(Action::Edit),
    ]
}

fn carry_out(composer: &mut Composer, action: &Action, width: u16) {
    match action {
        Action::Type(typed) => composer.insert(typed),
        Action::Paste(pasted) => composer.paste(pasted),
        Action::Edit(edit) => {
            composer.edit(*edit, width);
        }
    }
}

/// A text as its graphemes, which is cut up anew after each change.
#[derive(Debug, Default)]
struct Model {
    graphemes: Vec<String>,
    caret: usize,
    killed: String,
    /// The last typed run of characters, and how much stood before it.
    typing: Option<(String, String, String)>,
}

impl Model {
    fn text(&self) -> String {
        self.graphemes.concat()
    }

    fn shown(&self) -> String {
        let (before, behind) = self.graphemes.split_at(self.caret);
        format!("{}|{}", before.concat(), behind.concat())
    }

    /// The text is now `before` and `behind`, and the caret between them or where the grapheme
    /// ends in which that is.
    fn set(&mut self, before: &str, behind: &str) {
        let whole = format!("{before}{behind}");
        self.graphemes = whole.graphemes(true).map(str::to_owned).collect();
        let mut length = 0;
        self.caret = 0;
        while length < before.len() {
            length += self.graphemes[self.caret].len();
            self.caret += 1;
        }
    }

    fn delete(&mut self, from: usize, to: usize) -> String {
        let removed = self.graphemes[from..to].concat();
        let before = self.graphemes[..from].concat();
        let behind = self.graphemes[to..].concat();
        self.set(&before, &behind);
        removed
    }

    fn kill(&mut self, from: usize, to: usize) {
        if from < to {
            self.killed = self.delete(from, to);
        }
    }

    fn insert(&mut self, inserted: &str) {
        let before = self.graphemes[..self.caret].concat();
        let behind = self.graphemes[self.caret..].concat();
        self.set(&format!("{before}{inserted}"), &behind);
    }

    fn typed(&mut self, typed: &str) {
        let (before, so_far, behind) = self.typing.take().unwrap_or_else(|| {
            let (before, behind) = self.graphemes.split_at(self.caret);
            (before.concat(), String::new(), behind.concat())
        });
        let so_far = so_far + typed;
        self.set(&format!("{before}{so_far}"), &behind);
        self.typing = Some((before, so_far, behind));
    }

    /// Where each word begins and ends, in bytes.
    fn words(&self) -> Vec<(usize, usize)> {
        self.text()
            .split_word_bound_indices()
            .filter(|(_, word)| {
                word.chars()
                    .any(|character| character.is_alphanumeric() || character >= '\u{1F000}')
            })
            .map(|(start, word)| (start, start + word.len()))
            .collect()
    }

    fn place(&self) -> usize {
        self.graphemes[..self.caret].concat().len()
    }

    /// How many graphemes begin before this place.
    fn begun_before(&self, place: usize) -> usize {
        let text = self.text();
        let starts = text.grapheme_indices(true);
        starts.filter(|(start, _)| *start < place).count()
    }

    /// A word may begin or end within a grapheme, which is then part of it.
    fn word_left(&self) -> usize {
        let words = self.words();
        let before = words.iter().rev().find(|word| word.0 < self.place());
        before.map_or(0, |word| self.begun_before(word.0 + 1) - 1)
    }

    fn word_right(&self) -> usize {
        let words = self.words();
        let behind = words.iter().find(|word| word.1 > self.place());
        behind.map_or(self.graphemes.len(), |word| self.begun_before(word.1))
    }

    fn line_start(&self) -> usize {
        let before = &self.graphemes[..self.caret];
        before
            .iter()
            .rposition(|grapheme| grapheme == "\n")
            .map_or(0, |found| found + 1)
    }

    fn line_end(&self) -> usize {
        let mut behind = self.graphemes[self.caret..].iter();
        let found = behind.position(|grapheme| grapheme == "\n");
        found.map_or(self.graphemes.len(), |found| self.caret + found)
    }

    fn carry_out(&mut self, action: &Action) {
        if let Action::Type(typed) = action {
            self.typed(typed);
            return;
        }
        let (caret, end) = (self.caret, self.graphemes.len());
        match action {
            Action::Edit(ComposerEdit::Newline) => {
                self.typed("\n");
                return;
            }
            Action::Type(_) => {}
            Action::Paste(pasted) => {
                if !pasted.is_empty() {
                    match self.typing.take() {
                        Some((before, so_far, behind)) => {
                            self.set(&format!("{before}{so_far}{pasted}"), &behind);
                        }
                        None => self.insert(pasted),
                    }
                }
            }
            Action::Edit(ComposerEdit::Left) => self.caret = caret.saturating_sub(1),
            Action::Edit(ComposerEdit::Right) => self.caret = (caret + 1).min(end),
            Action::Edit(ComposerEdit::WordLeft) => self.caret = self.word_left(),
            Action::Edit(ComposerEdit::WordRight) => self.caret = self.word_right(),
            Action::Edit(ComposerEdit::LineStart) => self.caret = self.line_start(),
            Action::Edit(ComposerEdit::LineEnd) => self.caret = self.line_end(),
            Action::Edit(ComposerEdit::Backspace) => {
                drop(self.delete(caret.saturating_sub(1), caret));
            }
            Action::Edit(ComposerEdit::Delete) => drop(self.delete(caret, (caret + 1).min(end))),
            Action::Edit(ComposerEdit::DeleteWordLeft) => self.kill(self.word_left(), caret),
            Action::Edit(ComposerEdit::DeleteWordRight) => self.kill(caret, self.word_right()),
            Action::Edit(ComposerEdit::KillToEnd) => {
                let to = self.line_end();
                self.kill(
                    caret,
                    if to == caret {
                        (caret + 1).min(end)
                    } else {
                        to
                    },
                );
            }
            Action::Edit(ComposerEdit::Yank) => self.insert(&self.killed.clone()),
            Action::Edit(ComposerEdit::Clear) => self.kill(0, end),
            Action::Edit(ComposerEdit::Up | ComposerEdit::Down | ComposerEdit::Undo) => {
                unreachable!()
            }
        }
        self.typing = None;
    }
}

proptest! {
    /// Spec: [EDIT-01]
    /// Spec: [EDIT-02]
    /// Spec: [EDIT-03]
    #[test]
    fn editing_does_what_the_model_does(actions in vec(action(), 0..60)) {
        let (mut composer, mut model) = (Composer::default(), Model::default());
        for action in &actions {
            carry_out(&mut composer, action, WIDTH);
            model.carry_out(action);
            prop_assert_eq!(shown(&composer), model.shown(), "after {:?}", action);
        }
    }

    /// Spec: [EDIT-13]
    #[test]
    fn all_can_be_undone_by_way_of_what_was(actions in vec(action(), 0..60)) {
        let mut composer = Composer::default();
        let mut seen = vec![String::new()];
        for action in &actions {
            carry_out(&mut composer, action, WIDTH);
            seen.push(composer.text().to_owned());
        }
        while composer.edit(ComposerEdit::Undo, WIDTH) == ComposerOutcome::Changed {
            let found = seen.iter().rposition(|text| text == composer.text());
            prop_assert!(found.is_some(), "{:?} was never there", composer.text());
            seen.truncate(found.unwrap_or_default() + 1);
        }
        prop_assert_eq!(composer.text(), "");
    }

    /// Spec: [EDIT-04]
    #[test]
    fn rows_have_all_of_the_text_and_are_no_wider_than_the_input(
        text in text(),
        width in 1..30_u16,
    ) {
        let rows = WrappedText::wrap(&text, width).ranges;
        let mut end = 0;
        for (number, row) in rows.iter().enumerate() {
            // Between two rows there is nothing, or a line break.
            let between = &text[end..row.start];
            prop_assert!(between.is_empty() || (between == "\n" && number > 0));
            prop_assert!(number == 0 || !between.is_empty() || !row.is_empty());
            end = row.end;
            let graphemes: Vec<&str> = text[row.clone()].graphemes(true).collect();
            let shown: usize = graphemes.iter().map(|grapheme| grapheme.width()).sum();
            prop_assert!(shown <= usize::from(width) || graphemes.len() == 1, "{:?}", graphemes);
        }
        prop_assert_eq!(end, text.len());
    }

    /// Spec: [EDIT-04]
    #[test]
    fn no_grapheme_is_in_two_rows(text in text(), width in 1..30_u16) {
        let whole: Vec<usize> = text.grapheme_indices(true).map(|(place, _)| place).collect();
        for row in WrappedText::wrap(&text, width).ranges {
            prop_assert!(row.start == text.len() || whole.contains(&row.start));
        }
    }

    /// Spec: [EDIT-05]
    /// Spec: [EDIT-06]
    #[test]
    fn the_caret_is_always_in_the_window(
        actions in vec(action(), 0..60),
        width in 1..30_u16,
        height in 1..=MAX_ROWS,
    ) {
        let mut composer = Composer::default();
        for action in &actions {
            carry_out(&mut composer, action, width);
            let window = composer.window(width, height);
            prop_assert!(window.rows.len() <= usize::from(height));
            prop_assert!(window.caret.column < width);
            let row = window.rows.get(window.caret.row);
            let caret = composer.draft.caret;
            prop_assert!(row.is_some_and(|row| row.start <= caret && caret <= row.end));
            let rows = composer.rows(width);
            prop_assert_eq!(window.above + window.rows.len() + window.below, rows.len());
            prop_assert_eq!(&rows[window.above..][..window.rows.len()], &window.rows[..]);
            prop_assert_eq!(composer.caret(width).row, window.above + window.caret.row);
        }
    }

    /// Spec: [EDIT-07]
    #[test]
    fn up_and_down_go_exactly_one_row(
        actions in vec(action(), 0..60),
        width in 1..30_u16,
        goes_up in any::<bool>(),
    ) {
        let mut composer = Composer::default();
        for action in &actions {
            carry_out(&mut composer, action, width);
        }
        let last = composer.rows(width).len() - 1;
        let mut row = composer.caret(width).row;
        loop {
            let edited = composer.edit(if goes_up { ComposerEdit::Up } else { ComposerEdit::Down }, width);
            let now = composer.caret(width).row;
            match edited {
                ComposerOutcome::Moved if goes_up && row > 0 => prop_assert_eq!(now, row - 1),
                ComposerOutcome::Moved if !goes_up && row < last => prop_assert_eq!(now, row + 1),
                ComposerOutcome::Moved => prop_assert_eq!(now, row),
                ComposerOutcome::AtTop => {
                    prop_assert_eq!((composer.draft.caret, goes_up), (0, true));
                    break;
                }
                ComposerOutcome::AtBottom => {
                    prop_assert_eq!((composer.draft.caret, goes_up), (composer.text().len(), false));
                    break;
                }
                ComposerOutcome::Nothing | ComposerOutcome::Changed => prop_assert!(false, "{:?}", edited),
            }
            row = now;
        }
    }
}
