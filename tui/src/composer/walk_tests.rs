//! The way through the history and back.

use super::super::edits::{ComposerEdit, ComposerOutcome};
use super::super::testing::{WIDTH, composer, shown};
use super::*;

fn history(prompts: &[&str]) -> PromptHistory {
    prompts.iter().map(|prompt| (*prompt).to_owned()).collect()
}

/// The actions of the keys Up and Down.
fn up(composer: &mut Composer, history: &PromptHistory) -> String {
    if composer.edit(ComposerEdit::Up, WIDTH) == ComposerOutcome::AtTop {
        composer.older(history);
    }
    shown(composer)
}

fn down(composer: &mut Composer) -> String {
    if composer.edit(ComposerEdit::Down, WIDTH) == ComposerOutcome::AtBottom {
        composer.newer();
    }
    shown(composer)
}

/// Spec: [EDIT-09]
#[test]
fn the_history_is_walked_from_the_newest_to_the_oldest_and_back() {
    let history = history(&["one", "two\nlines\nhere", "three"]);
    let mut composer = Composer::default();
    assert_eq!(up(&mut composer, &history), "three|");
    assert_eq!(up(&mut composer, &history), "two\nlines\nhere|");
    assert_eq!(up(&mut composer, &history), "one|");
    assert_eq!(up(&mut composer, &history), "one|");
    assert!(!composer.older(&history));
    assert_eq!(down(&mut composer), "two\nlines\nhere|");
    assert_eq!(down(&mut composer), "three|");
    assert_eq!(down(&mut composer), "|");
    assert_eq!(down(&mut composer), "|");
    assert!(!composer.newer());
}

/// Spec: [EDIT-09]
#[test]
fn an_entry_that_is_worked_on_is_left_at_its_boundaries_only() {
    let history = history(&["one", "two\nlines"]);
    let mut composer = Composer::default();
    up(&mut composer, &history);
    composer.edit(ComposerEdit::Left, WIDTH);
    assert_eq!(up(&mut composer, &history), "two|\nlines");
    assert_eq!(up(&mut composer, &history), "|two\nlines");
    assert_eq!(up(&mut composer, &history), "one|");
    assert_eq!(down(&mut composer), "two\nlines|");
    composer.insert("!");
    assert_eq!(up(&mut composer, &history), "two|\nlines!");
}

/// Spec: [EDIT-10]
#[test]
fn the_draft_comes_back_with_its_pastes() {
    let history = history(&["one", "two"]);
    let mut composer = composer("|dra\nft");
    composer.paste(&"x\n".repeat(30));
    let chips = composer.chips().to_vec();
    assert_eq!(up(&mut composer, &history), "two|");
    assert_eq!(composer.chips(), []);
    assert_eq!(up(&mut composer, &history), "one|");
    assert_eq!(down(&mut composer), "two|");
    assert_eq!(down(&mut composer), "|dra\nft");
    assert_eq!(composer.chips(), chips);
}

/// Spec: [EDIT-10]
#[test]
fn the_draft_comes_back_behind_an_entry_that_was_cleared() {
    let history = history(&["one", "two"]);
    let mut composer = composer("|draft");
    up(&mut composer, &history);
    composer.edit(ComposerEdit::Clear, WIDTH);
    assert_eq!(down(&mut composer), "|draft");
    assert_eq!(up(&mut composer, &history), "two|");
}

/// Spec: [EDIT-11]
#[test]
fn what_was_changed_in_an_entry_is_there_again() {
    let history = history(&["one", "two"]);
    let mut composer = Composer::default();
    up(&mut composer, &history);
    composer.insert("!");
    composer.edit(ComposerEdit::LineStart, WIDTH);
    assert_eq!(up(&mut composer, &history), "one|");
    for _ in 0..2 {
        assert_eq!(down(&mut composer), "|two!");
        assert_eq!(up(&mut composer, &history), "one|");
    }
    assert_eq!(history.entries(), ["one", "two"]);
}

/// Spec: [EDIT-11]
#[test]
fn an_entry_that_was_cleared_is_there_again_as_it_was() {
    let history = history(&["one", "two"]);
    let mut composer = Composer::default();
    up(&mut composer, &history);
    composer.edit(ComposerEdit::Clear, WIDTH);
    assert_eq!(up(&mut composer, &history), "one|");
    assert_eq!(down(&mut composer), "two|");
}

/// Spec: [EDIT-09]
#[test]
fn what_others_add_meanwhile_moves_nothing() {
    let (before, after) = (history(&["one", "two"]), history(&["two", "three", "four"]));
    let mut composer = Composer::default();
    assert_eq!(up(&mut composer, &before), "two|");
    assert_eq!(up(&mut composer, &after), "one|");
    composer.take();
    assert_eq!(up(&mut composer, &after), "four|");
}

/// Spec: [EDIT-09]
#[test]
fn without_a_history_nothing_is_lost() {
    let mut composer = composer("|draft");
    assert_eq!(up(&mut composer, &PromptHistory::default()), "|draft");
    assert!(!composer.older(&PromptHistory::default()));
    assert!(!composer.newer());
    assert_eq!(shown(&composer), "|draft");
}

/// Spec: [EDIT-17]
#[test]
fn what_was_not_sent_comes_back_in_the_place_of_an_untouched_entry() {
    let history = history(&["one"]);
    let mut composer = composer("sent|");
    let draft = composer.take();
    composer.insert("next");
    composer.edit(ComposerEdit::LineStart, WIDTH);
    assert_eq!(up(&mut composer, &history), "one|");
    composer.restore(draft);
    assert_eq!(shown(&composer), "sent\n|next");
    assert!(!composer.newer());
}

/// Spec: [EDIT-14]
#[test]
fn what_is_recalled_is_cleaned() {
    let history = history(&["a\tb\r\nc\u{1b}"]);
    assert_eq!(up(&mut Composer::default(), &history), "a    b\nc|");
}
