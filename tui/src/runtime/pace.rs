//! Decides when the screen is drawn: only when something changed, and not too often.

use std::time::Duration;

/// Minimum time between frames while nothing but text comes: a reader sees no difference.
const TEXT: Duration = Duration::from_millis(50);

/// The time of the next frame. Times are since the start.
#[derive(Debug)]
pub(super) struct FramePace {
    interval: Duration,
    due_at: Option<Duration>,
    drawn_at: Option<Duration>,
}

impl FramePace {
    /// The first frame is due at once. At least `interval` passes between two frames, but for those that answer a key.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            due_at: Some(Duration::ZERO),
            drawn_at: None,
        }
    }

    /// Something changed.
    pub(super) fn touch(&mut self) {
        self.touch_in(self.interval);
    }

    /// A reply has grown.
    pub(super) fn touch_by_text(&mut self) {
        self.touch_in(self.interval.max(TEXT));
    }

    fn touch_in(&mut self, interval: Duration) {
        let next = self.drawn_at.map_or(Duration::ZERO, |at| at + interval);
        self.due_at = Some(self.due_at.map_or(next, |due| due.min(next)));
    }

    /// Notes a change that the operator waits for.
    pub(super) fn touch_now(&mut self) {
        self.due_at = Some(Duration::ZERO);
    }

    /// The time of the next frame, if something changed.
    pub(super) fn due_at(&self) -> Option<Duration> {
        self.due_at
    }

    /// True if a frame is due.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.due_at.is_some_and(|due| due <= now)
    }

    /// A frame was drawn.
    pub(super) fn drawn(&mut self, now: Duration) {
        self.due_at = None;
        self.drawn_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Spec: [TUI-70]
    #[test]
    fn frames_come_only_after_changes_and_not_too_often_but_at_once_for_a_key() {
        let mut pace = FramePace::new(ms(33));
        assert!(pace.is_due(ms(0)));
        pace.drawn(ms(1));
        assert_eq!(pace.due_at(), None);
        assert!(!pace.is_due(ms(9_999)));
        pace.touch();
        pace.touch();
        assert_eq!(pace.due_at(), Some(ms(34)));
        assert!(!pace.is_due(ms(33)) && pace.is_due(ms(34)));
        pace.touch_now();
        assert!(pace.is_due(ms(2)));
        pace.touch();
        assert!(pace.is_due(ms(2)));
        pace.drawn(ms(2));
        pace.touch();
        assert_eq!(pace.due_at(), Some(ms(35)));
    }

    /// Spec: [TUI-300]
    #[test]
    fn while_only_text_comes_frames_are_rarer() {
        for (interval, text, other) in [(33, 51, 34), (66, 67, 67)] {
            let mut pace = FramePace::new(ms(interval));
            pace.drawn(ms(1));
            pace.touch_by_text();
            assert_eq!(pace.due_at(), Some(ms(text)));
            pace.touch();
            pace.touch_by_text();
            assert_eq!(pace.due_at(), Some(ms(other)));
        }
    }
}
