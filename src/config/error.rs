//! The error for a configuration that cannot be used: one line that ends with, or is, the fix.

use derive_more::{Display, Error};

/// A setting that cannot be used, in one line, without any secret.
///
/// It is text and not an enum because no caller branches on it: the program prints it and stops.
#[derive(Debug, Display, Error)]
#[display("{line}")]
pub(crate) struct SettingError {
    line: String,
}

impl SettingError {
    /// Wraps a finished line.
    pub(super) fn new(line: impl Into<String>) -> Self {
        Self { line: line.into() }
    }
}
