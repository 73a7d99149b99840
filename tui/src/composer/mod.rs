//! The draft: text, pasted pieces, the caret, and the way into the history.

mod clean;
mod draft;
mod edits;
mod mention;
mod place;
mod rows;
mod state;
mod undo;
mod vi;
mod walk;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod testing;

pub(crate) use draft::Draft;
pub(crate) use edits::{ComposerEdit, ComposerOutcome};
pub(crate) use state::{Composer, MAX_ROWS};
pub(crate) use vi::{ViKey, ViKeys, ViMode};
