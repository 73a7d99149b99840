//! How long the link waits for what.

use std::time::Duration;

use crate::client::api::patience::{GivesUp, Patience};

/// How long the link waits for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// How long a stream may be without a byte. The service sends a heartbeat every 30 s.
    pub(super) silence: Duration,
    /// The longest wait before the first try after a break; each further one is twice as long,
    pub(super) first_wait: Duration,
    /// up to this.
    pub(super) longest_wait: Duration,
    /// How long a prompt is sent again whose answer was lost, from the first loss on.
    pub(super) resending: Duration,
    /// How long a past may take to be summarized.
    pub(super) summarizing: Duration,
    /// How long orders that are under way may take when the client leaves.
    pub(super) farewell: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(75),
            first_wait: Duration::from_millis(250),
            longest_wait: Duration::from_secs(5),
            resending: Duration::from_secs(10),
            summarizing: Duration::from_mins(15),
            farewell: Duration::from_secs(1),
        }
    }
}

impl Pace {
    /// How the events are followed: until the service refuses.
    pub(super) fn patience(&self) -> Patience {
        Patience {
            silence: self.silence,
            first_wait: self.first_wait,
            longest_wait: self.longest_wait,
            chance: 0.5,
            gives_up: GivesUp::Never,
        }
    }

    /// The wait after so many tries that failed.
    pub(super) fn wait(&self, tries: u32) -> Duration {
        self.patience().wait(tries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [LINK-05] [LINK-06]
    #[test]
    fn waits_grow_to_a_limit_and_the_first_is_within_a_second() {
        let pace = Pace::default();
        assert_eq!(pace.silence, Duration::from_secs(75));
        for (tries, longest) in [
            (0, 250),
            (1, 500),
            (2, 1000),
            (4, 4000),
            (5, 5000),
            (6, 5000),
            (40, 5000),
            (u32::MAX, 5000),
        ] {
            let longest = Duration::from_millis(longest);
            let waits: Vec<_> = (0..100).map(|_| pace.wait(tries)).collect();
            for wait in &waits {
                assert!((longest / 2..=longest).contains(wait), "{tries}: {wait:?}");
            }
            assert!(
                waits.iter().any(|wait| wait != &waits[0]),
                "no chance in it"
            );
        }
    }
}
