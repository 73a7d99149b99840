//! The judgement on a candidate, from the records of its attempt: which check is run next, and at the
//! end whether it is accepted. Cheap things come first.

use std::collections::BTreeSet;

use super::facts::{Candidate, GATE_CHECK, HEALTH_FEATURE, Head, Rejection};
use super::fingerprint;
use super::ledger::Attempt;
use super::manifest::{Check, CheckTime, Manifest, Regression};
use super::record::{CheckEnded, Evidence, VerdictNote};
use super::state::{CheckVerdict, RejectReason, StepOutcome};

/// A check's judgement of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckRole {
    /// A check that the candidate is whole.
    Global,
    /// A check that its feature is done.
    Acceptance,
    /// A check that what was accepted before still is.
    Regression,
}

/// A check that a candidate has to pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedCheck<'a> {
    /// The check.
    pub check: &'a Check,
    /// Its text.
    pub role: CheckRole,
}

/// The checks of a candidate in the order in which they run. `passes` tells which features pass.
#[must_use]
pub fn plan<'a>(
    manifest: &'a Manifest,
    feature: &str,
    passes: impl Fn(&str) -> bool,
) -> Vec<PlannedCheck<'a>> {
    let with = |role| move |check: &'a Check| PlannedCheck { check, role };
    let runs = |check: &&Check| check.command.is_some() && check.when == CheckTime::Always;
    let mut plan: Vec<PlannedCheck<'a>> = manifest
        .checks
        .iter()
        .filter(runs)
        .map(with(CheckRole::Global))
        .collect();
    plan.extend(
        acceptance(manifest, feature)
            .iter()
            .filter(runs)
            .map(with(CheckRole::Acceptance)),
    );
    match manifest.policy.regression {
        Regression::All => {}
        Regression::Global | Regression::None => return plan,
    }
    let others = manifest.features.iter();
    for other in others.filter(|other| other.id != feature && passes(&other.id)) {
        // A hook judged what was left for that feature, and this is for another.
        let again = other
            .checks
            .iter()
            .filter(runs)
            .filter(|check| check.hook().is_none());
        plan.extend(again.map(with(CheckRole::Regression)));
    }
    plan
}

/// The checks that accept a feature.
#[must_use]
pub fn acceptance<'a>(manifest: &'a Manifest, feature: &str) -> &'a [Check] {
    if feature == HEALTH_FEATURE {
        return &manifest.health;
    }
    let found = manifest.features.iter().find(|known| known.id == feature);
    found.map_or(&[], |feature| &feature.checks)
}

/// True if a person must accept what the checks accept.
#[must_use]
pub fn needs_person(manifest: &Manifest, feature: &str) -> bool {
    let checks = acceptance(manifest, feature);
    let decides = |check: &Check| check.command.is_some() && check.when == CheckTime::Always;
    let is_manual = |check: &Check| check.command.is_none();
    manifest.gates.accept || !checks.iter().any(decides) || checks.iter().any(is_manual)
}

/// The evidence of a judgement.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The iteration.
    pub n: u32,
    /// The tree that the attempt began with.
    pub base: &'a Head,
    /// The attempt.
    pub attempt: &'a Attempt,
    /// The tree that it left.
    pub candidate: &'a Candidate,
    /// The checks.
    pub plan: &'a [PlannedCheck<'a>],
    /// The checks that failed before the work began.
    pub red: &'a BTreeSet<String>,
    /// True if this tree was rejected before.
    pub is_seen: bool,
    /// True if a person must accept it.
    pub needs_person: bool,
}

/// The next step for a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep<'a> {
    /// This check runs on the candidate.
    Run(&'a Check),
    /// This check failed on the candidate and runs on its base.
    RunOnBase(&'a Check),
    /// A person is asked.
    AskPerson,
    /// The base is broken: these checks fail there, too.
    BaselineBroken(Vec<String>),
    /// It is judged.
    Judged(VerdictNote),
}

impl<'a> Case<'a> {
    /// The next step.
    #[must_use]
    pub fn next(&self) -> NextStep<'a> {
        if let Some(rejection) = self.before_checks() {
            return self.rejected(vec![rejection]);
        }
        let mut reasons = Vec::new();
        let mut broken = Vec::new();
        for planned in self.plan {
            let check = planned.check;
            let Some(ended) = self.result(check, &self.candidate.head) else {
                return NextStep::Run(check);
            };
            if !ended.lost.is_empty() {
                reasons.push(lost(ended));
            }
            if ended.verdict.is_good() {
                continue;
            }
            if planned.role != CheckRole::Acceptance {
                match self.result(check, self.base) {
                    None => return NextStep::RunOnBase(check),
                    Some(on_base) if !on_base.verdict.is_good() => {
                        broken.push(check.id.clone());
                        continue;
                    }
                    Some(_) => {}
                }
            }
            reasons.push(failed(planned.role, ended));
            if planned.role != CheckRole::Regression {
                break;
            }
        }
        if !broken.is_empty() {
            return NextStep::BaselineBroken(broken);
        }
        if !reasons.is_empty() {
            return self.rejected(reasons);
        }
        match &self.attempt.gate {
            None if self.needs_person => NextStep::AskPerson,
            Some(answer) if !answer.approved => {
                let comment = answer.comment.as_deref().unwrap_or("no reason was given");
                self.rejected(vec![Rejection {
                    reason: RejectReason::CheckFailed,
                    check: Some(GATE_CHECK.to_owned()),
                    detail: format!("a person did not accept it: {comment}"),
                }])
            }
            None | Some(_) => NextStep::Judged(self.note(Vec::new())),
        }
    }

    fn result(&self, check: &Check, on: &Head) -> Option<&'a CheckEnded> {
        self.attempt.results.result(&check.id, &on.tree)
    }

    /// The rejection without a check, if there is a reason for one.
    fn before_checks(&self) -> Option<Rejection> {
        let because = |reason, detail: String| {
            Some(Rejection {
                reason,
                check: None,
                detail,
            })
        };
        let candidate = self.candidate;
        if self.attempt.conversed == Some(StepOutcome::TimedOut) {
            return because(RejectReason::AttemptTimedOut, "it took too long".to_owned());
        }
        if !candidate.protected.is_empty() {
            let files = candidate.protected.join(", ");
            return because(RejectReason::ProtectedChanged, files);
        }
        if candidate.head.tree == self.base.tree {
            return because(RejectReason::NoChange, "no file was changed".to_owned());
        }
        if let Some(why) = &candidate.too_large {
            return because(RejectReason::TooLarge, why.clone());
        }
        if self.is_seen {
            let detail = "exactly these files were rejected before".to_owned();
            return because(RejectReason::SeenBefore, detail);
        }
        let accepting = self
            .plan
            .iter()
            .filter(|planned| planned.role == CheckRole::Acceptance);
        let mut green =
            accepting.filter(|planned| planned.check.red && !self.red.contains(&planned.check.id));
        green.next().map(|planned| Rejection {
            reason: RejectReason::CheckVacuous,
            check: Some(planned.check.id.clone()),
            detail: "it did not fail before the work began, so it shows nothing".to_owned(),
        })
    }

    fn rejected(&self, mut reasons: Vec<Rejection>) -> NextStep<'a> {
        reasons.sort_by_key(|rejection| rejection.reason);
        NextStep::Judged(self.note(reasons))
    }

    fn note(&self, reasons: Vec<Rejection>) -> VerdictNote {
        let counted = self.attempt.results.counted().iter();
        VerdictNote {
            n: self.n,
            attempt: self.attempt.number,
            tree: self.candidate.head.tree.clone(),
            accepted: reasons.is_empty(),
            fingerprint: self.fingerprint(&reasons),
            reasons,
            evidence: counted
                .map(|ended| Evidence {
                    check: ended.check.clone(),
                    tree: ended.tree.clone(),
                    r#try: ended.r#try,
                    verdict: ended.verdict,
                })
                .collect(),
        }
    }

    fn fingerprint(&self, reasons: &[Rejection]) -> Option<String> {
        let mut parts = Vec::new();
        for rejection in reasons {
            parts.push(rejection.reason.word());
            let Some(check) = &rejection.check else {
                // Another file is another mistake; sizes and counts are not.
                if rejection.reason == RejectReason::ProtectedChanged {
                    parts.push(&rejection.detail);
                }
                continue;
            };
            parts.push(check);
            let ended = self
                .attempt
                .results
                .result(check, &self.candidate.head.tree);
            match ended.and_then(|ended| ended.fingerprint.as_deref()) {
                Some(known) if rejection.reason != RejectReason::TestLost => parts.push(known),
                Some(_) | None => parts.push(&rejection.detail),
            }
        }
        (!parts.is_empty()).then(|| fingerprint::short(&parts))
    }
}

fn lost(ended: &CheckEnded) -> Rejection {
    let names: Vec<&str> = ended.lost.iter().map(String::as_str).collect();
    Rejection {
        reason: RejectReason::TestLost,
        check: Some(ended.check.clone()),
        detail: format!("passed before and not now: {}", names.join(", ")),
    }
}

fn failed(role: CheckRole, ended: &CheckEnded) -> Rejection {
    let reason = match (role, ended.verdict) {
        (CheckRole::Regression, _) => RejectReason::Regression,
        (CheckRole::Global | CheckRole::Acceptance, CheckVerdict::TimedOut) => {
            RejectReason::CheckTimedOut
        }
        (CheckRole::Global | CheckRole::Acceptance, CheckVerdict::Vacuous) => {
            RejectReason::CheckVacuous
        }
        (
            CheckRole::Global | CheckRole::Acceptance,
            CheckVerdict::Failed
            | CheckVerdict::NotStarted
            | CheckVerdict::Passed
            | CheckVerdict::Flaky,
        ) => RejectReason::CheckFailed,
    };
    Rejection {
        reason,
        check: Some(ended.check.clone()),
        detail: ended.why.clone(),
    }
}
