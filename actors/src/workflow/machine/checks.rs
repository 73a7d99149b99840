//! The end of a check, and what verifications of the head come to.

use std::sync::Arc;

use super::WorkflowMachine;
use super::start::find;
use crate::workflow::facts::{
    CommandEnd, CommandRun, Rejection, Spent, StepPlace, TestNames, tail,
};
use crate::workflow::fingerprint;
use crate::workflow::judge::{Judgement, judge, wrong_on_base};
use crate::workflow::ledger::{OpenStep, OpenVerification, Results};
use crate::workflow::manifest::{Check, CheckTime, Feature, Manifest};
use crate::workflow::record::{CheckEnded, Purpose, StepEnded, VerificationEnded, WorkflowRecord};
use crate::workflow::state::{CheckVerdict, IterationStep, PauseReason, RejectReason, StepOutcome};

impl WorkflowMachine {
    /// A check ended. One that was stopped is not judged.
    pub(super) fn check_ended(
        &mut self,
        at: StepPlace,
        check: &str,
        tree: &str,
        number: u32,
        run: &CommandRun,
    ) {
        let step = IterationStep::Check(check.to_owned());
        let is_it = |open: &&OpenStep| {
            open.at == at
                && open.step == step
                && open.tree.as_deref() == Some(tree)
                && open.number == number
        };
        let Some(open) = self.ledger.step().filter(is_it).cloned() else {
            return;
        };
        let Some(manifest) = self.manifest.clone() else {
            return;
        };
        let found = find(&manifest, check);
        let (Some(check), false) = (found, self.ledger.stops_now()) else {
            self.note(WorkflowRecord::StepEnded(StepEnded {
                n: at.n,
                attempt: at.attempt,
                step,
                outcome: StepOutcome::Interrupted,
                detail: String::new(),
                spent: Spent::time(run.ms),
            }));
            return;
        };
        let ended = self.judged(check, &open, run);
        self.note(WorkflowRecord::CheckEnded(Box::new(ended)));
    }

    fn judged(&self, check: &Check, open: &OpenStep, run: &CommandRun) -> CheckEnded {
        let (at, tree) = (open.at, open.tree.clone().unwrap_or_default());
        let on_base = self.checked(open).is_some_and(|(_, is_base)| is_base);
        let judgement = judge(check, run, &self.kept_before(check, on_base));
        let results = if at.n == 0 {
            self.ledger.verification().map(|open| &open.results)
        } else {
            self.ledger.iteration().map(|open| &open.attempt.results)
        };
        let flaky = if on_base { 0 } else { check.flaky };
        let passes = results.and_then(|results| results.passes(&check.id, &tree));
        let (verdict, counts) = counted(&judgement, flaky, passes);
        let is_good = verdict.is_good() && judgement.lost.is_empty();
        let fingerprint = || fingerprint::of_failure(&check.id, &run.end, &run.output);
        CheckEnded {
            n: at.n,
            attempt: at.attempt,
            check: check.id.clone(),
            tree,
            r#try: open.number,
            verdict,
            why: judgement.why,
            counts,
            end: run.end.clone(),
            ms: run.ms,
            output: run.output_hash.clone(),
            tail: tail(&run.output).to_owned(),
            fingerprint: (!is_good).then(fingerprint),
            kept: judgement.kept,
            lost: judgement.lost,
        }
    }

    /// The names that the check has to show again: none on a base, which shows what there is.
    fn kept_before(&self, check: &Check, on_base: bool) -> TestNames {
        let purpose = self.ledger.verification().map(|open| open.purpose);
        if on_base || purpose == Some(Purpose::Baseline) {
            return TestNames::new();
        }
        let kept = self.ledger.head().and_then(|head| head.kept.get(&check.id));
        kept.cloned().unwrap_or_default()
    }

    pub(super) fn begin_verification(&mut self, purpose: Purpose) {
        let Some(head) = self.ledger.head().map(|head| head.head.clone()) else {
            return;
        };
        self.note(WorkflowRecord::VerificationStarted {
            number: self.ledger.verifications().saturating_add(1),
            purpose,
            head,
        });
    }

    /// Runs the next check of the verification, or ends it.
    pub(super) fn go_on_verification(&mut self, manifest: &Arc<Manifest>) {
        let Some(open) = self.ledger.verification().cloned() else {
            return;
        };
        let mut ended = VerificationEnded {
            number: open.number,
            green: false,
            problems: Vec::new(),
            reopened: Vec::new(),
            stopped: self.ledger.stops_now(),
            holding: Vec::new(),
        };
        if ended.stopped {
            self.note(WorkflowRecord::VerificationEnded(ended));
            return;
        }
        let checks = self.verified(manifest, open.purpose);
        let has_none = |check: &&&Check| open.results.result(&check.id, &open.head.tree).is_none();
        if let Some(check) = checks.iter().find(has_none) {
            let at = StepPlace {
                n: 0,
                attempt: open.number,
            };
            self.start(
                at,
                IterationStep::Check(check.id.clone()),
                Some(&open.head.tree),
            );
            return;
        }
        ended.problems = self.problems(manifest, &open, &checks);
        ended.green = ended.problems.is_empty();
        match open.purpose {
            Purpose::Baseline => ended.holding = holding(manifest, &open),
            Purpose::Final | Purpose::Operator => {
                ended.reopened = self.reopened(manifest, &ended.problems);
            }
        }
        self.verification_ended(manifest, open.purpose, ended);
    }

    fn verification_ended(
        &mut self,
        manifest: &Arc<Manifest>,
        purpose: Purpose,
        ended: VerificationEnded,
    ) {
        let details = ended.problems.iter().map(|problem| {
            let check = problem.check.as_deref().unwrap_or_default();
            format!("{check}: {}", problem.detail)
        });
        let details: Vec<String> = details.collect();
        let details = details.join("; ");
        let (is_green, reopens) = (ended.green, !ended.reopened.is_empty());
        self.note(WorkflowRecord::VerificationEnded(ended));
        match purpose {
            Purpose::Baseline if is_green => self.end_initializer(manifest),
            Purpose::Baseline => self.pause(PauseReason::BaselineBroken, details, None),
            Purpose::Final if !is_green && !reopens => {
                self.pause(PauseReason::BaselineBroken, details, None);
            }
            Purpose::Final | Purpose::Operator => {}
        }
    }

    /// The checks of a verification: of the baseline those that judge candidates, else all there are of
    /// what passes.
    fn verified<'a>(&self, manifest: &'a Manifest, purpose: Purpose) -> Vec<&'a Check> {
        let is_baseline = purpose == Purpose::Baseline;
        let features = manifest.features.iter();
        let of_features = features
            .filter(|feature| self.ledger.passes(&feature.id) != is_baseline)
            .flat_map(|feature| &feature.checks);
        let all = manifest.checks.iter().chain(of_features);
        // A hook judges what an attempt left, which a head is not.
        let runs = |check: &&Check| {
            check.command.is_some()
                && check.hook().is_none()
                && (!is_baseline || check.when == CheckTime::Always)
        };
        all.filter(runs).collect()
    }

    fn problems(
        &self,
        manifest: &Manifest,
        open: &OpenVerification,
        checks: &[&Check],
    ) -> Vec<Rejection> {
        let is_global = |check: &Check| manifest.checks.iter().any(|known| known.id == check.id);
        let of = |check: &&&Check| {
            let check: &Check = check;
            match open.purpose {
                Purpose::Baseline => baseline_problem(check, is_global(check), open),
                Purpose::Final | Purpose::Operator => {
                    head_problem(check, &open.results, &open.head.tree)
                }
            }
        };
        checks.iter().filter_map(|check| of(&check)).collect()
    }

    /// The passing features whose checks have problems.
    fn reopened(&self, manifest: &Manifest, problems: &[Rejection]) -> Vec<String> {
        let has = |check: &Check| {
            problems
                .iter()
                .any(|problem| problem.check.as_ref() == Some(&check.id))
        };
        let features = manifest.features.iter();
        let passing = features.filter(|feature| self.ledger.passes(&feature.id));
        let failed = passing.filter(|feature| feature.checks.iter().any(has));
        failed.map(|feature| feature.id.clone()).collect()
    }
}

/// The verdict of a try, and whether it is the one that counts. `passes` is how often the check passed
/// since it failed on this tree.
fn counted(judgement: &Judgement, flaky: u32, passes: Option<u32>) -> (CheckVerdict, bool) {
    let verdict = judgement.verdict;
    let may_be_flaky = match verdict {
        CheckVerdict::Failed | CheckVerdict::TimedOut => true,
        CheckVerdict::Passed | CheckVerdict::Flaky => !judgement.lost.is_empty(),
        CheckVerdict::Vacuous | CheckVerdict::NotStarted => false,
    };
    match passes {
        None => (verdict, flaky == 0 || !may_be_flaky),
        Some(passes) if verdict.is_good() && !may_be_flaky => {
            let is_enough = passes.saturating_add(1) >= flaky;
            let verdict = if is_enough {
                CheckVerdict::Flaky
            } else {
                verdict
            };
            (verdict, is_enough)
        }
        Some(_) => (verdict, true),
    }
}

/// The features that are to hold and whose checks all pass before the work.
fn holding(manifest: &Manifest, open: &OpenVerification) -> Vec<String> {
    let passes = |check: &Check| {
        let ended = open.results.result(&check.id, &open.head.tree);
        ended.is_some_and(|ended| ended.verdict.is_good())
    };
    let decided = |feature: &&Feature| {
        let mut own = feature.checks.iter().filter(|check| check.hook().is_none());
        feature.holds && own.clone().next().is_some() && own.all(passes)
    };
    let held = manifest.features.iter().filter(decided);
    held.map(|feature| feature.id.clone()).collect()
}

/// The problem of a check before work begins.
fn baseline_problem(check: &Check, is_global: bool, open: &OpenVerification) -> Option<Rejection> {
    let ended = open.results.result(&check.id, &open.head.tree)?;
    let detail = wrong_on_base(check, is_global, ended.verdict, &ended.why)?;
    Some(Rejection {
        reason: RejectReason::CheckFailed,
        check: Some(check.id.clone()),
        detail,
    })
}

/// The problem of a check of the head.
fn head_problem(check: &Check, results: &Results, tree: &str) -> Option<Rejection> {
    let ended = results.result(&check.id, tree)?;
    let lost: Vec<&str> = ended.lost.iter().map(String::as_str).collect();
    let (reason, detail) = match ended.end {
        _ if !lost.is_empty() => (
            RejectReason::TestLost,
            format!("passed before and not now: {}", lost.join(", ")),
        ),
        _ if ended.verdict.is_good() => return None,
        CommandEnd::TimedOut => (RejectReason::CheckTimedOut, ended.why.clone()),
        CommandEnd::Exited(_) | CommandEnd::Signalled(_) | CommandEnd::NotStarted(_) => {
            (RejectReason::CheckFailed, ended.why.clone())
        }
    };
    Some(Rejection {
        reason,
        check: Some(check.id.clone()),
        detail,
    })
}
