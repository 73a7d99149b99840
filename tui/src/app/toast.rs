//! Remarks that pass.

use std::time::Duration;

use super::App;

/// How long a remark stays, unless another replaces it.
pub(super) const TOAST: Duration = Duration::from_secs(6);

/// A remark that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    /// Its text.
    pub(crate) text: String,
    /// Whether something went wrong.
    pub(crate) is_error: bool,
    /// Whether it is about the service, of more weight than that it is there again.
    pub(crate) is_of_service: bool,
    /// When it goes.
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
