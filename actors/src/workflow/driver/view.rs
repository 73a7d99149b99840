//! The view of a workflow for clients.

use std::path::PathBuf;

use harness_protocol::{
    ActivityState, WorkflowFeature, WorkflowGate, WorkflowSnapshot, WorkflowSpent, WorkflowStep,
};
use serde::Serialize;

use super::site::Site;
use crate::broadcast::Now;
use crate::workflow::ledger::WorkflowLedger;
use crate::workflow::machine::WorkflowMachine;
use crate::workflow::manifest::{GitMode, Manifest};
use crate::workflow::state::FeatureState;

/// The facts about a workflow that its machine does not know.
pub(super) struct WorkflowFacts<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) site: &'a Site,
    pub(super) folder: PathBuf,
    pub(super) created_at: u64,
    pub(super) position: String,
    /// For how long the open step goes.
    pub(super) for_ms: u64,
}

/// The status for clients that attach before anything happens.
pub(super) fn now(machine: &WorkflowMachine) -> Now {
    let is_active = machine.ledger().is_active();
    Now {
        state: if is_active {
            ActivityState::Thinking
        } else {
            ActivityState::Idle
        },
        message: word(&machine.ledger().state()),
        timestamp: 0,
        run_id: None,
        interrupted: false,
    }
}

/// The snapshot of a workflow.
pub(super) fn view(about: &WorkflowFacts<'_>, machine: &WorkflowMachine) -> WorkflowSnapshot {
    let ledger = machine.ledger();
    let manifest = machine.manifest();
    let paused = ledger.paused();
    let applied = ledger.manifest();
    let spent = ledger.spent();
    WorkflowSnapshot {
        id: about.id.to_owned(),
        name: about.name.to_owned(),
        objective: manifest
            .map(|own| own.objective.clone())
            .unwrap_or_default(),
        state: word(&ledger.state()),
        reason: paused.map(|(reason, _)| word(&reason)),
        detail: paused
            .map(|(_, detail)| detail.to_owned())
            .unwrap_or_default(),
        manifest: applied.map(|own| own.hash.clone()).unwrap_or_default(),
        created_at: about.created_at,
        version: applied.map(|own| own.version).unwrap_or_default(),
        folder: about.folder.display().to_string(),
        branch: manifest
            .filter(|own| own.workspace.git == GitMode::Worktree)
            .map(|own| about.site.branch(own)),
        head: ledger.head().map(|head| head.head.commit.clone()),
        worktree: manifest.map(|own| about.site.worktree(own).display().to_string()),
        features: manifest
            .map(|own| features(own, ledger))
            .unwrap_or_default(),
        iterations: ledger.iterations(),
        step: step(about, ledger),
        gate: ledger.gate().map(|gate| WorkflowGate {
            gate: gate.gate.clone(),
            asks: gate.asks.clone(),
        }),
        spent: WorkflowSpent {
            tokens: spent.tokens,
            cost_micro_usd: spent.cost_micro_usd,
            active_ms: spent.active_ms,
        },
        progress: ledger.progress().map(|entry| entry.text.clone()).collect(),
        limits: machine.limits(),
        next_start: ledger.next_start().filter(|_| !ledger.is_at_rest()),
        commits: ledger.commits(),
        merge: manifest
            .filter(|own| own.workspace.git == GitMode::Worktree && ledger.commits() > 0)
            .map(|own| format!("git merge {}", about.site.branch(own))),
        position: about.position.clone(),
    }
}

fn features(manifest: &Manifest, ledger: &WorkflowLedger) -> Vec<WorkflowFeature> {
    let of = |feature: &crate::workflow::manifest::Feature| {
        let known = ledger.feature(&feature.id).map(|known| known.state);
        let waits = feature.after.iter().any(|before| !ledger.passes(before));
        let state = match known {
            Some(FeatureState::Failing) | None if waits => FeatureState::Blocked,
            Some(state) => state,
            None => FeatureState::Failing,
        };
        WorkflowFeature {
            id: feature.id.clone(),
            description: feature.description.clone(),
            state: word(&state),
            required: feature.required,
        }
    };
    manifest.features.iter().map(of).collect()
}

fn step(about: &WorkflowFacts<'_>, ledger: &WorkflowLedger) -> Option<WorkflowStep> {
    let open = ledger.step()?;
    let iteration = ledger.iteration();
    let linked = iteration.and_then(|iteration| iteration.attempt.linked.as_ref());
    Some(WorkflowStep {
        iteration: open.at.n,
        attempt: open.at.attempt,
        step: open.step.to_string(),
        feature: iteration.map(|iteration| iteration.feature.clone()),
        conversation: linked.map(|linked| linked.conversation.clone()),
        waits_until: iteration.and_then(|iteration| iteration.attempt.waits_until),
        for_ms: about.for_ms,
    })
}

/// The word that a value has on the wire.
pub(super) fn word<T: Serialize>(value: &T) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
