//! When the screen is drawn: only when something changed, and not too often.

use std::time::Duration;

/// When the next frame is due. Times are since the start.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    due_at: Option<Duration>,
    drawn_at: Option<Duration>,
}

impl Pace {
    /// The first frame is due at once. Between two frames lies at least `interval`, but for those
    /// that answer a key.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            due_at: Some(Duration::ZERO),
            drawn_at: None,
        }
    }

    /// Something changed.
    pub(super) fn touch(&mut self) {
        let next = self
            .drawn_at
            .map_or(Duration::ZERO, |at| at + self.interval);
        self.due_at = Some(self.due_at.map_or(next, |due| due.min(next)));
    }

    /// Something changed that somebody waits for.
    pub(super) fn touch_now(&mut self) {
        self.due_at = Some(Duration::ZERO);
    }

    /// When the next frame is due, if something changed.
    pub(super) fn due_at(&self) -> Option<Duration> {
        self.due_at
    }

    /// Whether a frame is due.
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
        let mut pace = Pace::new(ms(33));
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
}
