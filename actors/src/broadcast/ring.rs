//! The last events of a conversation, for clients that come back soon.

use std::collections::VecDeque;

use super::frame::Frame;

/// Maximum number of events that are remembered.
pub const RING_EVENTS: usize = 1024;
/// Maximum size of those events, in bytes.
pub const RING_BYTES: usize = 1024 * 1024;

/// The last lasting events, without gaps.
#[derive(Debug, Default)]
pub(super) struct Ring {
    frames: VecDeque<Frame>,
    bytes: usize,
}

impl Ring {
    pub(super) fn push(&mut self, frame: Frame) {
        self.bytes += frame.size();
        self.frames.push_back(frame);
        while self.frames.len() > RING_EVENTS || self.bytes > RING_BYTES {
            let Some(oldest) = self.frames.pop_front() else {
                return;
            };
            self.bytes -= oldest.size();
        }
    }

    /// The events after record `after`, if all of them are remembered. `end` is the last record.
    pub(super) fn behind(&self, after: u64, end: u64) -> Option<impl Iterator<Item = &Frame>> {
        let missing = usize::try_from(end.checked_sub(after)?).ok()?;
        let first = self.frames.len().checked_sub(missing)?;
        Some(self.frames.iter().skip(first))
    }
}
