//! Texts that must never be seen, and how they are taken out of what is shown.

mod forms;
mod matcher;
mod named;
mod redaction;
mod value;

#[cfg(feature = "mcp")]
pub(crate) use named::is_url;
pub use named::{is_secret_name, may_be_secret, url_passwords};
pub use redaction::Redaction;
pub use value::Secret;
