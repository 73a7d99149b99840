//! How much a call brought, noted by its tool beside the result.

use std::sync::{Arc, Mutex, PoisonError};

use harness_protocol::Extent;

/// Takes what a tool counts. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ExtentNote(Arc<Mutex<Option<Extent>>>);

impl ExtentNote {
    /// Notes how much the call brought; what was noted before is void.
    pub fn note(&self, extent: Extent) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(extent);
    }

    /// The noted extent.
    pub(crate) fn take(&self) -> Option<Extent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
#[path = "extent_tests.rs"]
mod tests;
