//! The beginning of a step: its record, then its effect. After a crash the effect alone, or the step again.

use super::{CheckCall, IterationPrompt, WorkflowEffect, WorkflowMachine};
use crate::workflow::facts::{Head, StepPlace};
use crate::workflow::ledger::OpenStep;
use crate::workflow::manifest::{Check, Manifest};
use crate::workflow::prompt;
use crate::workflow::record::WorkflowRecord;
use crate::workflow::state::IterationStep;

impl WorkflowMachine {
    /// Begins a step.
    pub(super) fn start(&mut self, at: StepPlace, step: IterationStep, tree: Option<&str>) {
        let number = self.ledger.next_try(at, &step, tree);
        let key = (step == IterationStep::Converse).then(|| self.key(at));
        self.note(WorkflowRecord::StepStarted {
            n: at.n,
            attempt: at.attempt,
            step,
            tree: tree.map(str::to_owned),
            r#try: number,
            key,
        });
        self.issue();
    }

    /// The key of an attempt's prompt.
    fn key(&self, at: StepPlace) -> String {
        let id = self.ledger.workflow().unwrap_or_default();
        format!("{id}/{}/{}", at.n, at.attempt)
    }

    /// Tells to do the step that is open.
    pub(super) fn issue(&mut self) {
        let Some(open) = self.ledger.step().cloned() else {
            return;
        };
        self.is_running = true;
        self.is_stopping = false;
        if let Some(effect) = self.effect(&open) {
            self.effects.push(effect);
        }
    }

    fn effect(&self, open: &OpenStep) -> Option<WorkflowEffect> {
        let at = open.at;
        let manifest = self.manifest.as_deref()?;
        let iteration = self.ledger.iteration();
        match &open.step {
            IterationStep::Prepare => {
                let head = self.ledger.head()?.head.clone();
                Some(WorkflowEffect::RunPrepare { at, head })
            }
            IterationStep::Health => {
                let checks = manifest.health.clone();
                Some(WorkflowEffect::RunHealth { at, checks })
            }
            IterationStep::Converse => self.prompt(manifest, at),
            IterationStep::Snapshot => {
                let base = iteration?.base.clone();
                Some(WorkflowEffect::TakeSnapshot { at, base })
            }
            IterationStep::Check(id) => self.check_call(manifest, open, id),
            IterationStep::Accept => Some(WorkflowEffect::Accept {
                at,
                candidate: iteration?.attempt.candidate.clone()?,
                base: iteration?.base.clone(),
            }),
            IterationStep::Restore => {
                let base = iteration?.base.clone();
                Some(WorkflowEffect::Restore { at, base })
            }
        }
    }

    fn prompt(&self, manifest: &Manifest, at: StepPlace) -> Option<WorkflowEffect> {
        let iteration = self.ledger.iteration()?;
        let is_first = at.attempt == 1;
        let text = if is_first {
            prompt::first(manifest, &self.ledger, iteration)
        } else {
            prompt::answer(manifest, &self.ledger, iteration)
        };
        let prompt = IterationPrompt {
            at,
            conversation: self.conversation(at.n),
            text,
            key: self.key(at),
        };
        Some(if is_first {
            WorkflowEffect::StartConversation(prompt)
        } else {
            WorkflowEffect::SendPrompt(prompt)
        })
    }

    fn check_call(&self, manifest: &Manifest, open: &OpenStep, id: &str) -> Option<WorkflowEffect> {
        let (head, is_base) = self.checked(open)?;
        let call = CheckCall {
            at: open.at,
            check: Box::new(find(manifest, id)?.clone()),
            head,
            number: open.number,
        };
        Some(if is_base {
            WorkflowEffect::RunCheckOnBase(call)
        } else {
            WorkflowEffect::RunCheck(call)
        })
    }

    /// The tree that the check of an open step runs on, and whether that is the base of an iteration.
    pub(super) fn checked(&self, open: &OpenStep) -> Option<(Head, bool)> {
        let tree = open.tree.as_ref()?;
        if open.at.n == 0 {
            return Some((self.ledger.verification()?.head.clone(), false));
        }
        let iteration = self.ledger.iteration()?;
        if iteration.base.tree == *tree {
            return Some((iteration.base.clone(), true));
        }
        let candidate = iteration.attempt.candidate.as_ref()?;
        Some((candidate.head.clone(), false))
    }
}

/// A check of a manifest.
pub(super) fn find<'a>(manifest: &'a Manifest, id: &str) -> Option<&'a Check> {
    let of_features = manifest.features.iter().flat_map(|feature| &feature.checks);
    let mut all = manifest
        .checks
        .iter()
        .chain(&manifest.health)
        .chain(of_features);
    all.find(|check| check.id == id)
}
