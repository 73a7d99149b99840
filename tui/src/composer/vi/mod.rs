//! The keys of vi for the draft: the setting `editing_mode`.
//!
//! ```text
//! keys --> command.rs: what is typed so far is one command, the beginning of one, or none
//!          motion.rs:  where a motion leads in a text
//!          apply.rs:   what a command does to the draft
//! ```
//!
//! Source: POSIX, the utility `vi`; for words, visual mode and `.` the manual of Vim.

mod apply;
mod command;
mod keys;
mod motion;

#[cfg(test)]
mod vi_tests;

pub(crate) use keys::{ViKey, ViKeys, ViMode};
