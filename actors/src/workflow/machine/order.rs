//! The consequences of an operator's order.

use std::sync::Arc;

use super::{NewManifest, OperatorOrder, OrderOutcome, Refused, WorkflowEffect, WorkflowMachine};
use crate::workflow::facts::{Grants, RunOrder};
use crate::workflow::manifest::{Manifest, RunMode};
use crate::workflow::record::{GateAnswer, Intervention, ManifestApplied, Purpose, WorkflowRecord};
use crate::workflow::state::{
    FeatureState, PauseReason, PauseWhen, RunErrorKind, RunPhase, WorkflowState,
};

type OrderTaken = Result<OrderOutcome, (Refused, String)>;

fn conflict<T>(message: impl Into<String>) -> Result<T, (Refused, String)> {
    Err((Refused::Conflict, message.into()))
}

fn invalid<T>(message: impl Into<String>) -> Result<T, (Refused, String)> {
    Err((Refused::InvalidRequest, message.into()))
}

impl WorkflowMachine {
    /// Takes an order, and answers at once unless it is done only when nothing runs any longer.
    pub(super) fn take_order(&mut self, asker: u64, by: Option<String>, order: OperatorOrder) {
        let taken = match order {
            OperatorOrder::Create { workflow, applied } => Ok(self.create(workflow, &applied, by)),
            OperatorOrder::Apply {
                applied,
                over,
                allow_remove,
            } => self.apply_manifest(&applied, over.as_deref(), allow_remove, by),
            OperatorOrder::Run {
                key,
                max_features,
                max_iterations,
            } => self.run(RunOrder {
                key,
                max_features,
                max_iterations,
                by,
            }),
            OperatorOrder::Pause(when) => return self.order_pause(asker, when, by),
            OperatorOrder::Resume {
                grants,
                retry_stuck,
            } => self.order_resume(grants, retry_stuck, by),
            OperatorOrder::Cancel => return self.order_cancel(asker, by),
            OperatorOrder::Gate {
                gate,
                approved,
                comment,
            } => self.answer_gate(
                &gate,
                GateAnswer {
                    approved,
                    comment,
                    by,
                },
            ),
            OperatorOrder::Retry(feature) => self.intervene(Intervention::Retried, feature, by),
            OperatorOrder::Skip(feature) => self.intervene(Intervention::Skipped, feature, by),
            OperatorOrder::Unskip(feature) => self.intervene(Intervention::Unskipped, feature, by),
            OperatorOrder::Verify => self.verify(),
        };
        self.reply(asker, taken);
    }

    fn reply(&mut self, asker: u64, taken: OrderTaken) {
        let answer =
            taken.unwrap_or_else(|(kind, message)| OrderOutcome::Refused { kind, message });
        self.tell(WorkflowEffect::Answer { asker, answer });
    }

    fn create(&mut self, workflow: String, new: &NewManifest, by: Option<String>) -> OrderOutcome {
        if self.ledger.manifest().is_some() {
            return OrderOutcome::Created { created: false };
        }
        // A service that died between the two records has left the first.
        if self.ledger.workflow().is_none() {
            self.note(WorkflowRecord::Created {
                workflow,
                by: by.clone(),
            });
        }
        self.note_manifest(new, Vec::new(), by);
        OrderOutcome::Created { created: true }
    }

    fn note_manifest(&mut self, new: &NewManifest, changed: Vec<String>, by: Option<String>) {
        let version = self
            .ledger
            .manifest()
            .map_or(0, |manifest| manifest.version);
        let head = self.ledger.head().map(|head| head.head.clone());
        let features = new.manifest.features.iter();
        let applied = ManifestApplied {
            version: version.saturating_add(1),
            hash: new.hash.clone(),
            base: head.unwrap_or_else(|| new.base.clone()),
            features: features.map(|feature| feature.id.clone()).collect(),
            changed,
            approved: new.approved,
            sandbox: new.sandbox,
            file: new.file.clone(),
            by,
        };
        self.manifest = Some(Arc::clone(&new.manifest));
        self.note(WorkflowRecord::ManifestApplied(Box::new(applied)));
    }

    fn apply_manifest(
        &mut self,
        new: &NewManifest,
        over: Option<&str>,
        allow_remove: bool,
        by: Option<String>,
    ) -> OrderTaken {
        let Some(old) = self.manifest.clone() else {
            return Err((
                Refused::NotReady,
                "the workflow has to be made first".to_owned(),
            ));
        };
        let applied = self.ledger.manifest();
        if applied.is_some_and(|applied| applied.hash == new.hash) {
            return Ok(OrderOutcome::Taken);
        }
        if let (Some(over), Some(applied)) = (over, applied)
            && over != applied.hash
        {
            let message = format!("the file {} counts by now; look at it again", applied.hash);
            return Err((Refused::Stale, message));
        }
        if self.is_busy() || self.ledger.iteration().is_some() {
            return conflict("an iteration is open; pause the workflow at the end of it first");
        }
        match self.ledger.state() {
            WorkflowState::Cancelled | WorkflowState::Failed => {
                return conflict("the workflow is at its end; make another");
            }
            WorkflowState::Draft
            | WorkflowState::Initializing
            | WorkflowState::WaitingForApproval
            | WorkflowState::Ready
            | WorkflowState::Running
            | WorkflowState::Paused
            | WorkflowState::Completed => {}
        }
        let ground =
            |manifest: &Manifest| (manifest.workspace.git, manifest.workspace.branch.clone());
        if ground(&old) != ground(&new.manifest) {
            return invalid(
                "`workspace.git` and `workspace.branch` stay as they are: the work is there; make another workflow",
            );
        }
        let stays = |id: &str| new.manifest.features.iter().any(|feature| feature.id == id);
        let gone = old.features.iter().filter(|feature| !stays(&feature.id));
        let gone: Vec<&str> = gone.map(|feature| feature.id.as_str()).collect();
        if !gone.is_empty() && !allow_remove {
            return invalid(format!(
                "these features are missing in the new manifest: {}; allow their removal",
                gone.join(", ")
            ));
        }
        let changed = Self::changed_features(&old, &new.manifest);
        self.end_phase_for_manifest();
        self.note_manifest(new, changed, by);
        Ok(OrderOutcome::Taken)
    }

    /// Ends a run of an older manifest.
    fn end_phase_for_manifest(&mut self) {
        if let Some(gate) = self.ledger.gate().map(|open| open.gate.clone()) {
            self.note(WorkflowRecord::GateClosed {
                gate,
                answer: GateAnswer {
                    approved: false,
                    comment: Some("another manifest was applied".to_owned()),
                    by: None,
                },
            });
        }
        if let Some(phase) = self.ledger.phase().map(|open| open.phase) {
            self.note(WorkflowRecord::PhaseEnded {
                phase,
                error: Some(RunErrorKind::InvalidRequest),
                detail: "another manifest was applied".to_owned(),
                progress: None,
                checkpoint: None,
            });
        }
    }

    fn is_busy(&self) -> bool {
        self.ledger.step().is_some() || self.ledger.verification().is_some()
    }

    pub(super) fn run(&mut self, order: RunOrder) -> OrderTaken {
        let Some(manifest) = self.manifest.clone() else {
            return Err((
                Refused::NotReady,
                "the workflow has no manifest yet".to_owned(),
            ));
        };
        if order.key.is_some() && order.key.as_deref() == self.ledger.last_key() {
            return Ok(OrderOutcome::Taken);
        }
        if manifest.mode == RunMode::Strict
            && order.max_features.is_some_and(|features| features != 1)
        {
            return invalid(
                "a strict workflow takes one feature in a run; leave `max_features` out",
            );
        }
        if order.max_features == Some(0) || order.max_iterations == Some(0) {
            return invalid("a run needs one feature and one iteration at least");
        }
        match self.ledger.state() {
            WorkflowState::Draft | WorkflowState::Ready => {}
            WorkflowState::Paused => return conflict("the workflow is paused; resume it"),
            WorkflowState::Completed | WorkflowState::Cancelled | WorkflowState::Failed => {
                return conflict("the workflow is at its end");
            }
            WorkflowState::Initializing
            | WorkflowState::WaitingForApproval
            | WorkflowState::Running => return conflict("the workflow is running"),
        }
        let phase = if self.ledger.is_initialized() {
            RunPhase::TaskIteration
        } else {
            RunPhase::Initializer
        };
        self.note(WorkflowRecord::PhaseStarted { phase, order });
        Ok(OrderOutcome::Taken)
    }

    fn order_pause(&mut self, asker: u64, when: PauseWhen, by: Option<String>) {
        let reason = self.ledger.paused().map(|(reason, _)| reason);
        let goes_on = matches!(reason, Some(PauseReason::Ask | PauseReason::Gate));
        match self.ledger.state() {
            WorkflowState::Initializing
            | WorkflowState::Running
            | WorkflowState::WaitingForApproval => self.wish(when, by),
            WorkflowState::Paused if goes_on => self.wish(when, by),
            WorkflowState::Paused
            | WorkflowState::Draft
            | WorkflowState::Ready
            | WorkflowState::Completed
            | WorkflowState::Cancelled
            | WorkflowState::Failed => {}
        }
        self.waiters.push(asker);
    }

    fn order_resume(
        &mut self,
        grants: Grants,
        retry_stuck: bool,
        by: Option<String>,
    ) -> OrderTaken {
        if self.ledger.is_cancelling() {
            return conflict("the workflow is being cancelled");
        }
        if self.ledger.wish().is_some() {
            return conflict("a pause is wanted and has not happened yet");
        }
        match self.ledger.paused().map(|(reason, _)| reason) {
            None => conflict("the workflow is not paused"),
            Some(PauseReason::Ask) => conflict("a tool waits for an answer; give it"),
            Some(PauseReason::Gate) => conflict("a gate is open; answer it"),
            Some(PauseReason::OutsideSchedule) => self.resume_outside(grants, retry_stuck, by),
            Some(_) => {
                self.go_on_resumed(grants, retry_stuck, by);
                Ok(OrderOutcome::Taken)
            }
        }
    }

    /// Continues, if the window of the schedule is open.
    fn resume_outside(
        &mut self,
        grants: Grants,
        retry_stuck: bool,
        by: Option<String>,
    ) -> OrderTaken {
        let outside = self.manifest.as_ref().and_then(|own| self.outside(own));
        if let Some((_, detail)) = outside {
            return conflict(format!("{detail}; apply a file with another window first"));
        }
        self.go_on_resumed(grants, retry_stuck, by);
        Ok(OrderOutcome::Taken)
    }

    fn order_cancel(&mut self, asker: u64, by: Option<String>) {
        let state = self.ledger.state();
        let is_over = match state {
            WorkflowState::Completed | WorkflowState::Cancelled | WorkflowState::Failed => true,
            WorkflowState::Draft
            | WorkflowState::Initializing
            | WorkflowState::WaitingForApproval
            | WorkflowState::Ready
            | WorkflowState::Running
            | WorkflowState::Paused => false,
        };
        if is_over || self.ledger.is_cancelling() {
            let message = match state {
                WorkflowState::Completed => "the workflow is already completed",
                WorkflowState::Failed => "the workflow has already failed",
                WorkflowState::Cancelled
                | WorkflowState::Draft
                | WorkflowState::Initializing
                | WorkflowState::WaitingForApproval
                | WorkflowState::Ready
                | WorkflowState::Running
                | WorkflowState::Paused => "the workflow is already cancelled, or about to be",
            };
            self.reply(asker, conflict(message));
            return;
        }
        if self.ledger.workflow().is_none() {
            let message = "there is no workflow to cancel".to_owned();
            self.reply(asker, Err((Refused::NotReady, message)));
            return;
        }
        self.note(WorkflowRecord::CancelRequested { by });
        self.waiters.push(asker);
        self.reissue();
    }

    fn answer_gate(&mut self, gate: &str, answer: GateAnswer) -> OrderTaken {
        let is_open = self.ledger.gate().is_some_and(|open| open.gate == gate);
        if !is_open {
            return match self.ledger.gate_answer(gate) {
                Some(first) => Ok(OrderOutcome::AnsweredBefore(first.clone())),
                None => invalid(format!("there is no open gate {gate:?}")),
            };
        }
        let ends_plan = !answer.approved && self.ledger.iteration().is_none();
        self.note(WorkflowRecord::GateClosed {
            gate: gate.to_owned(),
            answer,
        });
        if ends_plan {
            self.note(WorkflowRecord::PhaseEnded {
                phase: RunPhase::Initializer,
                error: Some(RunErrorKind::InvalidRequest),
                detail: "the manifest was not approved".to_owned(),
                progress: None,
                checkpoint: None,
            });
        }
        Ok(OrderOutcome::Taken)
    }

    fn intervene(&mut self, what: Intervention, feature: String, by: Option<String>) -> OrderTaken {
        let Some(known) = self.ledger.feature(&feature) else {
            return invalid(format!("there is no feature {feature:?}"));
        };
        let fits = match what {
            Intervention::Retried => {
                matches!(known.state, FeatureState::Stuck | FeatureState::Failing)
            }
            Intervention::Skipped => {
                matches!(known.state, FeatureState::Stuck | FeatureState::Failing)
            }
            Intervention::Unskipped => known.state == FeatureState::Skipped,
        };
        if !fits {
            return conflict(format!("the feature {feature:?} is {:?}", known.state));
        }
        self.note(WorkflowRecord::Intervened { what, feature, by });
        Ok(OrderOutcome::Taken)
    }

    fn verify(&mut self) -> OrderTaken {
        if self.is_busy() || self.ledger.phase().is_some() {
            return conflict("the workflow is running; pause it or wait for the end of the run");
        }
        match self.ledger.state() {
            WorkflowState::Ready => {
                self.begin_verification(Purpose::Operator);
                Ok(OrderOutcome::Taken)
            }
            WorkflowState::Draft => {
                let message = "the workflow has to be initialized first; run it".to_owned();
                Err((Refused::NotReady, message))
            }
            WorkflowState::Initializing
            | WorkflowState::WaitingForApproval
            | WorkflowState::Running
            | WorkflowState::Paused
            | WorkflowState::Completed
            | WorkflowState::Cancelled
            | WorkflowState::Failed => conflict("the head can be verified between runs"),
        }
    }
}
