//! The routes of workflows: what is asked of them, and the orders that they take.

mod create;
mod events;
mod file;
mod iterations;
mod manifest;
mod orders;
mod read;
mod refuse;

pub(super) use create::create;
pub(super) use events::events;
pub(super) use iterations::{diff, iteration, iterations, output};
pub(super) use manifest::{apply, manifest};
pub(super) use orders::{answer_gate, cancel, change_feature, delete, pause, resume, run, verify};
pub(super) use read::{history, list, read};
