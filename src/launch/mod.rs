//! Starts the commands that the model asks for, contained.

#[cfg(target_os = "linux")]
pub(crate) mod contain;
pub(crate) mod policy;
