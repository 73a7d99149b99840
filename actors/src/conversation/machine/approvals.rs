//! Approvals: what a tool may change only when an operator says so. An approval is on record before it
//! is shown, has one end, and outlives the service: its run goes on where it waited.

use harness_protocol::{Answered, Approval, FileChange, Scope, Verdict, Withdrawal};

use super::Machine;
use super::effect::Effect;
use super::order::{Order, Taken};
use super::run::{Run, Step};
use super::tools::Tools;
use crate::approval::{Decision, Policy, Rule};
use crate::conversation::messages::{AnswerApproval, AnswerError, CancelRun, SubmitError};
use crate::conversation::past::ApprovalEnd;
use crate::ids::CallId;
use crate::journal::{Activity, Record};
use crate::tool::{ToolOutcome, digest};

impl Order for AnswerApproval {
    type Answer = Answered;
    type Refusal = AnswerError;

    /// An answer is taken however full the disk is.
    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(None)
    }

    /// The first answer counts; the same again is answered with the first.
    fn apply(self, machine: &mut Machine) -> Taken<Self> {
        let Self { id, order } = self;
        if let Some(end) = machine.ledger.approvals().end_of(id) {
            return repeated(id, &order, end).map(|answered| (answered, vec![]));
        }
        let open = machine.ledger.approvals().open();
        let Some(open) = open.filter(|open| open.id == id) else {
            return Err(AnswerError::Unknown { id });
        };
        if machine.stopping {
            return Err(SubmitError::Stopping.into());
        }
        let allows = match order.answer {
            Verdict::Allow => true,
            Verdict::Deny => false,
            Verdict::Unknown => return Err(AnswerError::NoVerdict),
        };
        if allows && order.digest.as_ref() != Some(&open.digest) {
            return Err(AnswerError::OtherDigest { id });
        }
        if !open.scopes.contains(&order.scope) {
            return Err(AnswerError::NoScope { id });
        }
        let approval = open.clone();
        let mut effects = vec![machine.note(Record::ApprovalAnswered {
            id,
            answer: order.answer,
            scope: if allows { order.scope } else { Scope::Once },
            message: order.message.clone(),
            by: order.by.clone(),
            key: order.key,
        })];
        if allows {
            effects.extend(machine.begin_effect(approval.change));
        } else {
            effects.extend(machine.denied(order.message.as_deref()));
            if order.stop {
                let by = order.by.clone();
                effects.extend(machine.cancel(CancelRun {
                    by,
                    ..CancelRun::default()
                }));
            }
        }
        let answered = Answered {
            id,
            answer: order.answer,
            by: order.by,
        };
        Ok((answered, effects))
    }
}

/// What an answer to an approval is answered with that has ended.
fn repeated(
    id: u64,
    order: &harness_protocol::AnswerOrder,
    end: &ApprovalEnd,
) -> Result<Answered, AnswerError> {
    match end {
        ApprovalEnd::Answered { answer, by, key } => {
            let is_repeated = order.key.is_some() && order.key == *key;
            let by = by.clone();
            if is_repeated || order.answer == *answer {
                let answer = *answer;
                return Ok(Answered { id, answer, by });
            }
            Err(AnswerError::Answered {
                id,
                answer: *answer,
                by,
            })
        }
        ApprovalEnd::Withdrawn(reason) => Err(AnswerError::Withdrawn {
            id,
            reason: *reason,
        }),
    }
}

impl Machine {
    /// Decides about what a call is about to change.
    pub(super) fn tool_planned(&mut self, planned: &CallId, change: FileChange) -> Vec<Effect> {
        let Some(run) = &self.run else {
            return vec![];
        };
        let Step::Tools(tools) = &run.step else {
            return vec![];
        };
        let Some(call) = tools.runs(planned) else {
            return vec![];
        };
        if run.ending.is_some() {
            return self.tool_finished(planned, ToolOutcome::failed("cancelled by user"));
        }
        let (call, tool, run_id) = (call.id.clone(), call.name.clone(), run.id.0);
        match self.decide(&tool, &change) {
            Decision::Refuse(reason) => self.tool_finished(planned, ToolOutcome::failed(&reason)),
            Decision::Allow => {
                self.hold(planned);
                self.begin_effect(change)
            }
            Decision::Ask { because, rule } => {
                self.hold(planned);
                let scopes = match rule {
                    Some(_) => vec![Scope::Once, Scope::Run, Scope::Conversation],
                    None => vec![Scope::Once],
                };
                let approval = Approval {
                    id: self.ledger.totals().approvals + 1,
                    run_id,
                    call,
                    digest: digest(&change),
                    change,
                    because,
                    scopes,
                    rule: rule.map(|rule| rule.to_string()),
                    tool,
                };
                let waits = format!("{}: waits for approval", approval.tool);
                vec![
                    self.status(Activity::RunningTool, &waits),
                    self.note(Record::ApprovalAsked(Box::new(approval))),
                ]
            }
        }
    }

    fn decide(&self, tool: &str, change: &FileChange) -> Decision {
        let default = self.planner.defaults.settings.mode;
        let approvals = self.ledger.approvals();
        let texts = self.ledger.totals().rules.iter();
        let texts = texts.chain(approvals.run_rules());
        let rules: Vec<Rule> = texts.filter_map(|text| text.parse().ok()).collect();
        let policy = Policy {
            mode: self.settings().mode.unwrap_or(default),
            rules: &rules,
        };
        let path = std::path::Path::new(&change.path);
        let below = path.strip_prefix(&self.planner.folder).ok();
        policy.decide(tool, below.and_then(std::path::Path::to_str), change)
    }

    /// The call waits for a decision.
    fn hold(&mut self, planned: &CallId) {
        if let Some(Run {
            step: Step::Tools(tools),
            ..
        }) = &mut self.run
        {
            tools.hold(planned);
        }
    }

    /// Lets the call that was held do what it planned.
    fn begin_effect(&mut self, change: FileChange) -> Vec<Effect> {
        let Some(Run {
            step: Step::Tools(tools),
            ..
        }) = &mut self.run
        else {
            return vec![];
        };
        let Some((call_id, call)) = tools.release(&mut self.last_call) else {
            return vec![];
        };
        let allowed = digest(&change);
        let change = FileChange {
            diff: String::new(),
            ..change
        };
        let id = call.id.clone();
        let running = self.status(Activity::RunningTool, &call.name);
        vec![
            running,
            self.note(Record::EffectBegan { call: id, change }),
            Effect::RunTool(call_id, call, Some(allowed)),
        ]
    }

    /// The call that was held is not done.
    fn denied(&mut self, message: Option<&str>) -> Vec<Effect> {
        let said = message.map_or_else(String::new, |message| format!(": {message}"));
        let outcome = ToolOutcome::failed(&format!("not done: an operator denied it{said}"));
        match self.held() {
            Some(held) => self.tool_finished(&held, outcome),
            None => vec![],
        }
    }

    fn held(&self) -> Option<CallId> {
        match &self.run.as_ref()?.step {
            Step::Tools(tools) => tools.held().cloned(),
            Step::Describe(_) | Step::Summarize | Step::Model(_) => None,
        }
    }

    /// Whether the run that is going waits for an operator's answer.
    #[must_use]
    pub fn waits_for_approval(&self) -> bool {
        self.held().is_some()
    }

    /// Withdraws the approval that is open, if one is; its call ends as cancelled.
    pub(super) fn withdraw_approval(&mut self, by: Option<String>) -> Vec<Effect> {
        let Some(held) = self.held() else {
            return vec![];
        };
        let open = self.ledger.approvals().open().map(|open| open.id);
        let mut effects = Vec::new();
        effects.extend(open.map(|id| {
            self.note(Record::ApprovalWithdrawn {
                id,
                reason: Withdrawal::Cancelled,
                by,
            })
        }));
        effects.extend(self.tool_finished(&held, ToolOutcome::failed("cancelled by user")));
        effects
    }

    /// Goes on with a run that waited for an operator's answer when the service ended, or that was
    /// answered and had not begun what the answer allowed.
    pub fn resume(&mut self) -> Vec<Effect> {
        let (Some(id), true) = (self.ledger.run(), self.ledger.approvals().waits()) else {
            return vec![];
        };
        let calls = self.ledger.unanswered();
        let approvals = self.ledger.approvals();
        let waiting = approvals.open().or(approvals.allowed());
        let is_first = |call: &str| calls.first().is_some_and(|first| first.id == call);
        if !waiting.is_some_and(|approval| is_first(&approval.call)) {
            return vec![]; // The journal lacks something; the run is interrupted.
        }
        let allowed = approvals.allowed().map(|approval| approval.change.clone());
        let plan = self.planner.plan(self.settings(), self.tool_list());
        let Ok(head) = self.planner.head(&plan, self.ledger.history()) else {
            return vec![];
        };
        let turns = self.ledger.turn().unwrap_or_default();
        let mut tools = Tools::new(calls);
        tools.hold_first(&mut self.last_call);
        self.run = Some(Run {
            turns,
            asked: turns,
            step: Step::Tools(tools),
            ..Run::new(id, plan, head)
        });
        allowed.map_or_else(Vec::new, |change| self.begin_effect(change))
    }
}
