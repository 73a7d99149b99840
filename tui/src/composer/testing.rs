//! Composers as the tests write them: a text with `|` where the caret is.

use super::draft::Draft;
use super::edits::{ComposerEdit, ComposerOutcome};
use super::state::Composer;

/// The width at which tests wrap that are not about wrapping.
pub(super) const WIDTH: u16 = 80;

/// A composer with this text and caret.
pub(super) fn composer(text: &str) -> Composer {
    let (before, behind) = text.split_once('|').unwrap();
    let mut composer = Composer::default();
    composer.set(Draft {
        text: format!("{before}{behind}"),
        caret: before.len(),
        chips: Vec::new(),
    });
    composer
}

/// The text of a composer, with its caret.
pub(super) fn shown(composer: &Composer) -> String {
    let (before, behind) = composer.draft.text.split_at(composer.draft.caret);
    format!("{before}|{behind}")
}

/// The text that these edits make.
pub(super) fn after(
    text: &str,
    edits: &[ComposerEdit],
    width: u16,
) -> (String, Vec<ComposerOutcome>) {
    let mut composer = composer(text);
    let edited = edits
        .iter()
        .map(|edit| composer.edit(*edit, width))
        .collect();
    (shown(&composer), edited)
}
