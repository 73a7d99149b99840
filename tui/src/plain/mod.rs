//! The client without a screen: lines that are written once, for pipes, for terminals that know no
//! escape sequences, and for who listens to a screen reader.
//!
//! Invariant: what is written has no control character but line ends, whatever anybody said.

mod approvals;
mod command;
mod lines;
mod machine;
mod news;
mod run;
mod shows;
mod transcript;
mod typed;

pub(crate) use machine::Options;
pub(crate) use run::run;
pub(crate) use typed::typed;
