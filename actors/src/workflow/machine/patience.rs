//! The waits of a workflow for a provider that does not answer: their sum and their steps.

/// The share of all patience that the first wait takes: a minute of six hours. Each further one is twice the last.
const FIRST: u64 = 360;
/// The share that the longest wait takes: half an hour of six hours.
const LONGEST: u64 = 12;
/// Six hours, in milliseconds.
const DEFAULT_MS: u64 = 6 * 60 * 60 * 1000;

/// Limit of all waits of an attempt for its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderPatience {
    total_ms: u64,
}

impl Default for ProviderPatience {
    fn default() -> Self {
        Self::of_ms(DEFAULT_MS)
    }
}

impl ProviderPatience {
    /// So many milliseconds in all; none with 0.
    #[must_use]
    pub fn of_ms(total_ms: u64) -> Self {
        Self { total_ms }
    }

    /// The next wait after `waits` earlier ones that took `waited_ms` together, in milliseconds. `None` when the
    /// patience is exhausted.
    #[must_use]
    pub fn next_ms(self, waits: u32, waited_ms: u64) -> Option<u64> {
        let rest = self.total_ms.checked_sub(waited_ms)?;
        let first = (self.total_ms / FIRST).max(1);
        let doubled = first.saturating_mul(1_u64 << waits.min(32));
        let longest = (self.total_ms / LONGEST).max(1);
        (rest > 0).then(|| doubled.min(longest).min(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-220]
    #[test]
    fn waits_grow_from_a_minute_to_half_an_hour_and_take_six_hours_together() {
        let patience = ProviderPatience::default();
        let (mut waits, mut waited) = (Vec::new(), 0);
        while let Some(ms) = patience.next_ms(u32::try_from(waits.len()).unwrap(), waited) {
            waited += ms;
            waits.push(ms / 60_000);
        }
        assert_eq!(waits[..7], [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(waited, DEFAULT_MS);
        assert_eq!(ProviderPatience::of_ms(0).next_ms(0, 0), None);
        assert_eq!(ProviderPatience::of_ms(1).next_ms(0, 0), Some(1));
        assert_eq!(ProviderPatience::of_ms(1).next_ms(1, 1), None);
    }
}
