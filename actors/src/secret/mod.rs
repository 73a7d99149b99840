//! Texts that must never be seen, and how they are taken out of what is shown.

mod forms;
mod matcher;
mod redaction;
mod value;

pub use redaction::Redaction;
pub use value::Secret;
