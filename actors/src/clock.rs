//! The wall clock, handed in so that tests can set it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of day. Only for timestamps and HTTP dates; delays use tokio's timers.
#[derive(Debug, Clone, Copy)]
pub struct Clock(fn() -> SystemTime);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock that everything else is handed"
        )]
        Self(SystemTime::now)
    }

    /// A clock that tells what `now` returns.
    #[must_use]
    pub fn new(now: fn() -> SystemTime) -> Self {
        Self(now)
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        (self.0)()
    }

    /// Whole seconds since the Unix epoch; 0 before it.
    #[must_use]
    pub fn unix_seconds(&self) -> u64 {
        self.unix_millis() / 1000
    }

    /// Whole milliseconds since the Unix epoch; 0 before it.
    #[must_use]
    pub fn unix_millis(&self) -> u64 {
        let since = self.now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }
}
