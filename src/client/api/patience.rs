//! How long a client waits for the service, and when it gives up.

use std::time::Duration;

/// How long a client waits for the service, and when it gives up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// How long a stream may be without a byte. The service sends a heartbeat every 30 s.
    pub(crate) silence: Duration,
    /// The longest wait before the first try after a break; each further one is twice as long,
    pub(crate) first_wait: Duration,
    /// up to this.
    pub(crate) longest_wait: Duration,
    /// The part of a wait that is left to chance, so that the clients of a service that comes back
    /// do not come all at once.
    pub(crate) chance: f64,
    /// When there is no further try.
    pub(crate) gives_up: GivesUp,
}

/// When there is no further try. A refusal ends them in each case.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GivesUp {
    /// At the first break.
    AtOnce,
    /// When so many tries in a row found no service, or the one that runs cannot be talked to.
    WithoutService(u32),
    /// Not before a refusal.
    Never,
}

impl Default for Patience {
    /// Sees a restart of the service through, and little more: it is gone after 35 s.
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(75),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(10),
            chance: 0.0,
            gives_up: GivesUp::WithoutService(6),
        }
    }
}

impl Patience {
    /// The wait before a try; tries count from 0.
    pub(crate) fn wait(&self, tries: u32) -> Duration {
        let doubled = self
            .first_wait
            .saturating_mul(2_u32.saturating_pow(tries))
            .min(self.longest_wait);
        doubled.mul_f64(1.0 - self.chance * fastrand::f64())
    }

    /// Whether there may be so many tries in a row without a service.
    pub(crate) fn allows(&self, tries: u32) -> bool {
        match self.gives_up {
            GivesUp::AtOnce => false,
            GivesUp::WithoutService(most) => tries < most,
            GivesUp::Never => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-31]
    #[test]
    fn waits_double_up_to_a_limit() {
        let patience = Patience::default();
        let waits = [0, 1, 2, 3, 4, 99].map(|tries| patience.wait(tries).as_secs());
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    }
}
