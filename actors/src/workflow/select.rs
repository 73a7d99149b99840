//! Chooses the next feature to work on.

use super::ledger::WorkflowLedger;
use super::manifest::{Feature, Manifest};
use super::state::FeatureState;

/// A feature and its state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice<'a> {
    /// The feature.
    pub feature: &'a Feature,
    /// Its state; `Blocked` if it waits for another.
    pub state: FeatureState,
}

/// The choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The feature.
    pub feature: String,
    /// The reason for the choice.
    pub why: String,
}

/// Chooses features.
pub trait FeatureSelector: Send + Sync {
    /// Chooses an open feature among all, which are in the order of the file. `None` if none may be chosen.
    fn select(&self, features: &[Choice<'_>]) -> Option<Chosen>;
}

/// Chooses the open feature with the smallest priority; of several, the first in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstPendingFeatureSelector;

impl FeatureSelector for FirstPendingFeatureSelector {
    fn select(&self, features: &[Choice<'_>]) -> Option<Chosen> {
        let open = features
            .iter()
            .filter(|choice| choice.state == FeatureState::Failing);
        // Of equal ones the first is the smallest.
        let chosen = open.min_by_key(|choice| choice.feature.priority)?;
        Some(Chosen {
            feature: chosen.feature.id.clone(),
            why: format!(
                "the first open feature of priority {}",
                chosen.feature.priority
            ),
        })
    }
}

/// The features with their states.
#[must_use]
pub fn choices<'a>(manifest: &'a Manifest, ledger: &WorkflowLedger) -> Vec<Choice<'a>> {
    let of = |feature: &'a Feature| {
        let known = ledger.feature(&feature.id).map(|known| known.state);
        let state = known.unwrap_or(FeatureState::Failing);
        let waits = feature.after.iter().any(|other| !ledger.passes(other));
        let is_blocked = state == FeatureState::Failing && waits;
        Choice {
            feature,
            state: if is_blocked {
                FeatureState::Blocked
            } else {
                state
            },
        }
    };
    manifest.features.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(id: &str, priority: i64) -> Feature {
        Feature {
            id: id.to_owned(),
            description: String::new(),
            steps: vec![],
            required: true,
            priority,
            after: vec![],
            holds: false,
            checks: vec![],
        }
    }

    /// Spec: [FLOW-27]
    #[test]
    fn the_smallest_priority_is_first_and_then_the_order_of_the_file() {
        let features = ["stuck", "late", "b", "a", "waits", "done", "out"];
        let features = features.map(|id| feature(id, if id == "late" { 5 } else { 0 }));
        let states = [
            FeatureState::Stuck,
            FeatureState::Failing,
            FeatureState::Failing,
            FeatureState::Failing,
            FeatureState::Blocked,
            FeatureState::Passing,
            FeatureState::Skipped,
        ];
        let choices = features.iter().zip(states);
        let mut choices: Vec<Choice<'_>> = choices
            .map(|(feature, state)| Choice { feature, state })
            .collect();
        let mut order = Vec::new();
        while let Some(chosen) = FirstPendingFeatureSelector.select(&choices) {
            choices.retain(|choice| choice.feature.id != chosen.feature);
            order.push(chosen.feature);
        }
        assert_eq!(order, ["b", "a", "late"]);
    }
}
