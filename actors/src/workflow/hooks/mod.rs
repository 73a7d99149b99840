//! The decisions of a program that embeds workflows: whether the base is fit for work, which feature is next, and
//! whether what an attempt left is accepted.
//!
//! The hooks add to the checks of the service and take nothing away: a check that fails rejects, even if a validator
//! accepts. Each runs as a step of the workflow, with its start and its end on record.

mod command;
mod health;
mod outcome;

use std::fmt;
use std::sync::Arc;

pub use health::{CommandHealthChecker, HealthChecker, HealthSubject, NoopHealthChecker};
pub use outcome::{
    AcceptAllValidator, CommandValidator, OutcomeSubject, OutcomeValidator, OutcomeVerdict,
};

use super::select::{FeatureSelector, FirstPendingFeatureSelector};

/// The decisions of a program. A hook that is left out is not asked.
#[derive(Clone)]
pub struct Hooks {
    /// Judges the base's fitness for work.
    pub health: Option<Arc<dyn HealthChecker>>,
    /// Judges the candidates of attempts.
    pub validator: Option<Arc<dyn OutcomeValidator>>,
    /// Chooses the feature of an iteration.
    pub selector: Arc<dyn FeatureSelector>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            health: None,
            validator: None,
            selector: Arc::new(FirstPendingFeatureSelector),
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("health", &self.health.is_some())
            .field("validator", &self.validator.is_some())
            .finish_non_exhaustive()
    }
}
