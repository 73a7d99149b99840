//! The client without a screen: lines that are written once, for pipes, for terminals that know no
//! escape sequences, and for who listens to a screen reader.
//!
//! Invariant: the output has no control character but line ends, whatever the texts of people and models contain.

mod approvals;
mod call_output;
mod command;
mod lines;
mod machine;
mod news;
mod run;
mod transcript;
mod typed;

pub use call_output::CallOutput;
pub(crate) use machine::PlainOptions;
pub(crate) use run::run;
pub(crate) use typed::typed;
