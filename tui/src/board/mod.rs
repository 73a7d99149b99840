//! The board of workflows: their list, and the progress of the chosen one.
//!
//! Invariant: no IO and no clock, and the kept state is bounded, however long a workflow runs.

mod body;
mod detail;
mod link;
mod noted;
mod rows;
mod state;
#[cfg(test)]
pub(crate) mod testing;
mod words;

pub(crate) use detail::Detail;
pub(crate) use rows::{list_height, list_row, room, screen, scroll};
pub(crate) use state::{Board, BoardQuestion, Shows, Wants};
pub(crate) use words::{in_one_line, is_over, is_working};

pub use link::{BoardNews, BoardOrder, PauseAt, WorkflowOrder};
