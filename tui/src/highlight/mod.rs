//! The colours of code: which parts of it are keywords, strings and so on.
//!
//! ```text
//! layout (lines of code, a language) -> Colours -Request-> thread -Answer-> Colours -> marks -> rows
//! ```
//!
//! Invariant: nothing here changes a text or a row. Colours are painted over rows that are laid out
//! without them, and are left out where they are not there yet.

mod code;
mod colours;
mod language;
mod parse;
mod scopes;
mod thread;

pub(crate) use code::Code;
pub(crate) use colours::CodeColours;
pub(crate) use language::Language;
pub(crate) use parse::{CodeKey, Span};
pub use parse::{ParsedColours, Request};
pub(crate) use thread::start;

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod parse_tests;

#[cfg(test)]
mod colours_tests;
