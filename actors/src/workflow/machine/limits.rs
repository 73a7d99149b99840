//! The total budget of a workflow: the budget of its file, with the grants of resumes.

use harness_protocol::WorkflowLimits;

use crate::workflow::facts::Grants;
use crate::workflow::manifest::Manifest;

/// The limits of a file, with what was granted besides.
pub(super) fn granted_limits(manifest: &Manifest, granted: Grants) -> WorkflowLimits {
    let budget = &manifest.budget;
    let iterations = manifest.policy.max_iterations;
    WorkflowLimits {
        tokens: budget
            .tokens
            .map(|tokens| tokens.saturating_add(granted.tokens)),
        cost_micro_usd: budget
            .cost_usd
            .map(|usd| micro(usd).saturating_add(granted.cost_micro_usd)),
        active_ms: budget
            .active_s
            .map(|s| s.saturating_mul(1000).saturating_add(granted.active_ms)),
        iterations: iterations.map(|most| most.saturating_add(granted.iterations)),
    }
}

/// A price in millionths of a dollar. The conversion saturates.
fn micro(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}
