//! The time of day in a workflow: it starts, stops at the end of its window, and continues in the next.

use super::WorkflowMachine;
use crate::workflow::facts::{Grants, RunOrder};
use crate::workflow::manifest::Manifest;
use crate::workflow::record::WorkflowRecord;
use crate::workflow::schedule::{DayWindow, Schedule};
use crate::workflow::state::{PauseReason, PauseWhen, RunPhase, WorkflowState};

/// The name of the operator of runs that the schedule starts.
const BY: &str = "schedule";

impl WorkflowMachine {
    /// Tells the time, in milliseconds since the Unix epoch. What is decided from now on goes by it.
    pub fn it_is(&mut self, now: u64) {
        self.now = now;
    }

    /// The next time that the machine must receive, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn alarm(&self) -> Option<u64> {
        if self.ledger.is_at_rest() {
            return None;
        }
        let alarms = [self.wait_ends(), self.start_due(), self.window_edge()];
        alarms.into_iter().flatten().min()
    }

    /// Does everything that is due. `has_room` is true if one more workflow may work.
    pub(super) fn time(&mut self, has_room: bool) {
        self.end_wait();
        self.mind_window();
        self.mind_start(has_room);
    }

    fn schedule(&self) -> Option<Schedule> {
        self.manifest.as_ref()?.schedule.clone()
    }

    fn window(&self) -> Option<DayWindow> {
        self.manifest.as_ref()?.schedule.as_ref()?.window
    }

    /// True if the schedule may start it: a person approved the file, or no approval is needed.
    fn starts_by_itself(&self) -> bool {
        let needs_yes = self.manifest.as_ref().is_some_and(|own| own.gates.plan);
        let applied = self.ledger.manifest();
        applied.is_some_and(|applied| applied.is_approved || !needs_yes)
    }

    fn start_due(&self) -> Option<u64> {
        let starts = self.schedule().is_some_and(|own| own.starts());
        if !starts || !self.starts_by_itself() {
            return None;
        }
        match self.ledger.state() {
            // A start that is due waits for the end of the initializer.
            WorkflowState::Initializing | WorkflowState::WaitingForApproval => None,
            WorkflowState::Draft
            | WorkflowState::Ready
            | WorkflowState::Running
            | WorkflowState::Paused => Some(self.ledger.next_start().unwrap_or_default()),
            WorkflowState::Completed | WorkflowState::Cancelled | WorkflowState::Failed => None,
        }
    }

    fn window_edge(&self) -> Option<u64> {
        let window = self.window()?;
        let reason = self.ledger.paused().map(|(reason, _)| reason);
        let is_open = window.holds(self.now);
        let waits = reason == Some(PauseReason::OutsideSchedule);
        let works = reason.is_none() && self.ledger.is_active();
        match (waits, works, is_open) {
            (true, _, true) => Some(self.now),
            (true, _, false) | (false, true, true) => Some(window.next_edge(self.now)),
            (false, _, _) => None,
        }
    }

    /// The reason why no iteration may begin at this time. `None` if one may.
    pub(super) fn outside(&self, manifest: &Manifest) -> Option<(PauseReason, String)> {
        let window = manifest.schedule.as_ref()?.window?;
        if window.holds(self.now) {
            return None;
        }
        let detail = format!(
            "it works in {window} UTC, and goes on by itself at {}",
            window.from()
        );
        Some((PauseReason::OutsideSchedule, detail))
    }

    fn mind_window(&mut self) {
        let Some(manifest) = self.manifest.clone() else {
            return;
        };
        let reason = self.ledger.paused().map(|(reason, _)| reason);
        let phase = self.ledger.phase().map(|open| open.phase);
        match self.outside(&manifest) {
            None if reason == Some(PauseReason::OutsideSchedule) => {
                self.go_on_resumed(Grants::default(), false, None);
            }
            Some((reason, detail))
                if self.ledger.state() == WorkflowState::Running
                    && phase == Some(RunPhase::TaskIteration)
                    && self.ledger.wish().is_none()
                    && !self.ledger.is_cancelling() =>
            {
                self.note(WorkflowRecord::PauseRequested {
                    when: PauseWhen::Attempt,
                    reason,
                    detail,
                    by: None,
                });
            }
            None | Some(_) => {}
        }
    }

    fn mind_start(&mut self, has_room: bool) {
        let (Some(schedule), Some(due)) = (self.schedule(), self.start_due()) else {
            return;
        };
        if due > self.now {
            return;
        }
        if self.ledger.next_start().is_none() {
            self.plan_start(schedule.next_start(self.now));
            return;
        }
        let next = schedule.start_behind(due, self.now);
        let key = |phase: &str| Some(format!("{BY}-{phase}-{due}"));
        if self.ledger.last_key() == key("work").as_deref() {
            // The service died between the two records.
            self.plan_start(next);
            return;
        }
        let why = match self.ledger.state() {
            WorkflowState::Draft | WorkflowState::Ready if !has_room => {
                "as many workflows work as may at once".to_owned()
            }
            WorkflowState::Draft | WorkflowState::Ready => {
                let is_first = !self.ledger.is_initialized();
                let order = RunOrder {
                    key: key(if is_first { "first" } else { "work" }),
                    by: Some(BY.to_owned()),
                    ..RunOrder::default()
                };
                match self.run(order) {
                    // The start stays due, and comes when the checks on the base have run.
                    Ok(_) if is_first => return,
                    Ok(_) => return self.plan_start(next),
                    Err((_, why)) => why,
                }
            }
            WorkflowState::Paused => "it is paused".to_owned(),
            WorkflowState::Initializing
            | WorkflowState::WaitingForApproval
            | WorkflowState::Running
            | WorkflowState::Completed
            | WorkflowState::Cancelled
            | WorkflowState::Failed => "it is still at work".to_owned(),
        };
        self.note(WorkflowRecord::StartSkipped { due, why });
        self.plan_start(next);
    }

    fn plan_start(&mut self, next: Option<u64>) {
        if let Some(at) = next {
            let in_s = at.saturating_sub(self.now).div_ceil(1000);
            self.note(WorkflowRecord::StartPlanned { at, in_s });
        }
    }
}
