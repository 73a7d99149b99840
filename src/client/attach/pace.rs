//! The time limits of the link.

use std::time::Duration;

use crate::client::api::patience::{GivesUp, Patience};

/// The time limits of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkTimeouts {
    /// The retry policy for following events: until the service refuses.
    pub(super) patience: Patience,
    /// The time during which a prompt whose answer was lost is sent again, from the first loss on.
    pub(super) resending: Duration,
    /// Time limit of a summary of the past.
    pub(super) summarizing: Duration,
    /// Time limit of orders in progress when the client leaves.
    pub(super) farewell: Duration,
}

impl Default for LinkTimeouts {
    fn default() -> Self {
        Self {
            patience: Patience {
                first_wait: Duration::from_millis(250),
                longest_wait: Duration::from_secs(5),
                chance: 0.5,
                gives_up: GivesUp::Never,
                ..Patience::default()
            },
            resending: Duration::from_secs(10),
            summarizing: Duration::from_mins(15),
            farewell: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [LINK-05] [LINK-06]
    #[test]
    fn waits_grow_to_a_limit_and_the_first_is_within_a_second() {
        let pace = LinkTimeouts::default();
        assert_eq!(pace.patience.silence, Duration::from_secs(75));
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
            let waits: Vec<_> = (0..100).map(|_| pace.patience.wait(tries)).collect();
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
