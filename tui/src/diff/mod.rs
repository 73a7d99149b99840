//! Diffs: how their lines look, and which words of them are new or gone.
//!
//! Invariant: the sign of a line is always shown; a colour alone never marks it as added or removed.

mod read;
mod rows;
mod words;

pub(crate) use read::Diff;
pub(crate) use rows::looks;
pub(crate) use words::emphasis;

#[cfg(test)]
mod diff_tests;
