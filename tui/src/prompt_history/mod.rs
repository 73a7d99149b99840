//! The prompts of the past, kept in a file that several clients share.

mod entries;
mod file;

pub use entries::PromptHistory;
pub(crate) use file::HistoryFile;
