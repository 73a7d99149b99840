//! Remarks that pass.

use std::time::Duration;

use super::App;

/// Time that a remark stays, unless another replaces it.
pub(super) const TOAST: Duration = Duration::from_secs(6);

/// A remark that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    /// Its text.
    pub(crate) text: String,
    /// True if the remark reports a failure.
    pub(crate) is_error: bool,
    /// True if it is about the service, and weighs more than the remark that the service is back.
    pub(crate) is_of_service: bool,
    /// The time at which it disappears.
    pub(crate) until: Duration,
}

impl App {
    /// Remarks something for a while.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.toast = Some(Toast {
            text: text.into(),
            is_error: false,
            is_of_service: false,
            until: self.now + TOAST,
        });
    }

    /// As [`App::say`], of what went wrong.
    pub(crate) fn complain(&mut self, text: impl Into<String>) {
        self.toast = Some(Toast {
            text: text.into(),
            is_error: true,
            is_of_service: false,
            until: self.now + TOAST,
        });
    }
}
