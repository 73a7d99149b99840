//! Long work in many runs: features that the service itself checks, one conversation for each go.

pub mod check_run;
mod child;
mod driver;
pub mod facts;
pub mod file;
pub mod fingerprint;
pub mod git;
pub mod guard;
pub mod hooks;
pub mod judge;
pub mod keeper;
pub mod kept;
pub mod ledger;
pub mod machine;
pub mod manifest;
pub mod messages;
pub mod on_base;
pub mod past;
pub mod pattern;
pub mod prompt;
pub mod proposal;
pub mod record;
pub mod schedule;
pub mod schema;
pub mod select;
pub mod starter;
pub mod state;
#[cfg(test)]
mod testing;
pub mod verdict;

pub use child::StopHandle;
