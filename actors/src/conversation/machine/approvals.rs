//! Approvals: what a tool may change only when an operator says so. An approval is on record before it
//! is shown, has one end, and outlives the service: its run continues where it waited.

use harness_protocol::{
    Answered, Approval, ApprovalMode, HeldRule, Scope, Subject, Verdict, Withdrawal,
};

use super::Machine;
use super::effect::Effect;
use super::order::{ConversationOrder, OrderResult};
use super::plan::RunPlan;
use super::run::{Run, RunStep};
use super::tools::PendingCalls;
use crate::approval::{ApprovalPolicy, Decision, Rule};
use crate::conversation::messages::{
    AnswerApproval, AnswerError, CancelRun, ChangeConversationRules, MAX_RULES, RulesError,
    SubmitError,
};
use crate::conversation::past::ApprovalEnd;
use crate::ids::CallId;
use crate::journal::{Activity, Record};
use crate::tool::{ToolCall, ToolOutcome, digest};

impl ConversationOrder for AnswerApproval {
    type Answer = Answered;
    type Refusal = AnswerError;

    /// An answer is taken however full the disk is.
    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(None)
    }

    /// The first answer counts; the same again is answered with the first.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
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
        let rules = machine.ledger.totals().rules.len();
        if order.scope == Scope::Conversation && rules >= MAX_RULES {
            return Err(AnswerError::TooManyRules);
        }
        let approval = open.clone();
        let approval_rule = approval.rule.clone();
        let scope = if allows { order.scope } else { Scope::Once };
        let mut effects = machine.end_lost_jobs();
        effects.push(machine.note(Record::ApprovalAnswered {
            id,
            answer: order.answer,
            scope,
            message: order.message.clone(),
            by: order.by.clone(),
            key: order.key,
        }));
        if allows {
            effects.extend(machine.begin_effect(approval.subject));
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
        let rule = approval_rule.filter(|_| scope != Scope::Once);
        let answered = Answered {
            id,
            answer: order.answer,
            scope,
            rule,
            by: order.by,
        };
        Ok((answered, effects))
    }
}

impl ConversationOrder for ChangeConversationRules {
    /// The rules of the run and of the conversation.
    type Answer = Vec<HeldRule>;
    type Refusal = RulesError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        let texts = self.add.iter().chain(&self.remove);
        Ok(Some(texts.map(|held| held.rule.len()).sum()))
    }

    /// Changes the rules at once, also for what waits for an answer.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self { add, remove, by } = self;
        if machine.stopping {
            return Err(SubmitError::Stopping.into());
        }
        let there = &machine.ledger.totals().rules;
        let is_there = |rule: &HeldRule| there.iter().any(|held| held.is_like(rule));
        if let Some(unknown) = remove.iter().find(|rule| !is_there(rule)) {
            return Err(RulesError::Unknown(unknown.rule.clone()));
        }
        let added: Vec<HeldRule> = add.into_iter().filter(|rule| !is_there(rule)).collect();
        if (there.len() + added.len()).saturating_sub(remove.len()) > MAX_RULES {
            return Err(RulesError::TooMany);
        }
        let mut effects = Vec::new();
        if !added.is_empty() || !remove.is_empty() {
            effects.push(machine.note(Record::RulesChanged {
                added,
                removed: remove,
                by: by.clone(),
            }));
            effects.extend(machine.reconsider(by));
        }
        Ok((machine.ledger.rules(), effects))
    }
}

/// The reply to an answer to an approval that has ended.
fn repeated(
    id: u64,
    order: &harness_protocol::AnswerOrder,
    end: &ApprovalEnd,
) -> Result<Answered, AnswerError> {
    match end {
        ApprovalEnd::Answered {
            answer,
            scope,
            rule,
            by,
            key,
        } => {
            let is_repeated = order.key.is_some() && order.key == *key;
            let by = by.clone();
            if is_repeated || order.answer == *answer {
                return Ok(Answered {
                    id,
                    answer: *answer,
                    scope: *scope,
                    rule: rule.clone(),
                    by,
                });
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
    /// Decides about what a call is about to do.
    pub(super) fn tool_planned(
        &mut self,
        planned: &CallId,
        subject: Subject,
        folder_inode: Option<u64>,
    ) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        run.folder_inode = folder_inode;
        let RunStep::Tools(tools) = &run.step else {
            return vec![];
        };
        let Some(call) = tools.runs(planned) else {
            return vec![];
        };
        if run.ending.is_some() {
            return self.tool_finished(planned, ToolOutcome::failed("cancelled by user"));
        }
        let call = call.clone();
        match self.decide(&call.name, &subject) {
            Decision::Refuse(reason) => self.tool_finished(planned, ToolOutcome::failed(&reason)),
            Decision::Allow => {
                self.hold(planned);
                self.begin_effect(subject)
            }
            Decision::Ask { because, rule } => {
                self.hold(planned);
                self.ask_operators(&call, subject, because, rule)
            }
        }
    }

    /// Asks operators about what a call that is held would do.
    pub(super) fn ask_operators(
        &mut self,
        call: &ToolCall,
        subject: Subject,
        because: String,
        rule: Option<Rule>,
    ) -> Vec<Effect> {
        let scopes: &[Scope] = match rule {
            Some(_) => &[
                Scope::Once,
                Scope::Run,
                Scope::Conversation,
                Scope::Workspace,
            ],
            None => &[Scope::Once],
        };
        let approval = Approval {
            id: self.ledger.totals().approvals + 1,
            run_id: self.run().unwrap_or_default().0,
            call: call.id.clone(),
            digest: digest(&subject),
            subject,
            because,
            scopes: scopes.to_vec(),
            rule: rule.map(|rule| rule.to_string()),
            tool: call.name.clone(),
        };
        let waits = format!("{}: waits for approval", approval.tool);
        vec![
            self.status(Activity::RunningTool, &waits),
            self.note(Record::ApprovalAsked(Box::new(approval))),
        ]
    }

    pub(super) fn decide(&self, tool: &str, subject: &Subject) -> Decision {
        let rules = self.rules();
        let policy = ApprovalPolicy {
            mode: self.mode(),
            rules: &rules,
            folder: &self.planner.folder,
            home: self.planner.home.as_deref(),
        };
        policy.decide(tool, subject)
    }

    /// The mode that holds: that of the run, else that of the conversation, else the service's.
    fn mode(&self) -> ApprovalMode {
        let default = self.planner.defaults.settings.mode;
        let of_run = self.ledger.approvals().run_mode();
        of_run.or(self.settings().mode).unwrap_or(default)
    }

    /// All rules that hold: of the run, of the conversation and of its folder.
    #[must_use]
    pub fn rules(&self) -> Vec<HeldRule> {
        let mut rules = self.ledger.rules();
        let inode = self.run.as_ref().and_then(|run| run.folder_inode);
        rules.extend(self.planner.rules.rules_in(&self.planner.folder, inode));
        rules
    }

    /// Decides again about what waits, since the rules of the folder are others.
    pub(super) fn rules_changed(&mut self, folder_inode: Option<u64>) -> Vec<Effect> {
        if let Some(run) = &mut self.run {
            run.folder_inode = folder_inode;
        }
        self.reconsider(None)
    }

    /// Decides again about what waits for an answer: the rules or the mode are others.
    pub(super) fn reconsider(&mut self, by: Option<String>) -> Vec<Effect> {
        let (Some(open), Some(held)) = (self.ledger.open_approval(), self.held()) else {
            return vec![];
        };
        let decision = self.decide(&open.tool, &open.subject);
        if matches!(decision, Decision::Ask { .. }) {
            return vec![];
        }
        let withdrawn = self.note(Record::ApprovalWithdrawn {
            id: open.id,
            reason: Withdrawal::Decided,
            by,
        });
        let decided = match decision {
            Decision::Refuse(reason) => self.tool_finished(&held, ToolOutcome::failed(&reason)),
            Decision::Allow | Decision::Ask { .. } => self.begin_effect(open.subject),
        };
        [withdrawn].into_iter().chain(decided).collect()
    }

    /// Ends what waits for an answer that did not come in time.
    pub(super) fn approval_expired(&mut self, id: u64) -> Vec<Effect> {
        let is_open = self.ledger.approvals().open().map(|open| open.id) == Some(id);
        let Some(held) = self.held().filter(|_| is_open) else {
            return vec![];
        };
        let withdrawn = self.note(Record::ApprovalWithdrawn {
            id,
            reason: Withdrawal::Expired,
            by: None,
        });
        let outcome = ToolOutcome::failed("not done: no operator answered in time");
        let finished = self.tool_finished(&held, outcome);
        [withdrawn].into_iter().chain(finished).collect()
    }

    /// How long an approval waits for an answer, in seconds; as long as it takes if none.
    #[must_use]
    pub fn approval_timeout(&self) -> Option<u64> {
        let default = self.planner.defaults.settings.approval_timeout;
        self.settings().approval_timeout.or(default)
    }

    /// The call waits for a decision.
    pub(super) fn hold(&mut self, planned: &CallId) {
        if let Some(Run {
            step: RunStep::Tools(tools),
            ..
        }) = &mut self.run
        {
            tools.hold(planned);
        }
    }

    /// Lets the call that was held do what it planned.
    pub(super) fn begin_effect(&mut self, subject: Subject) -> Vec<Effect> {
        let Some(Run {
            step: RunStep::Tools(tools),
            ..
        }) = &mut self.run
        else {
            return vec![];
        };
        let Some((call_id, call)) = tools.release(&mut self.last_call) else {
            return vec![];
        };
        let allowed = digest(&subject);
        let id = call.id.clone();
        let brief = subject.clone().brief();
        let effect = self.allowed_effect(call_id, call.clone(), subject, allowed);
        let running = self.status(Activity::RunningTool, &call.name);
        vec![
            running,
            self.note(Record::EffectBegan {
                call: id,
                subject: Box::new(brief),
            }),
            effect,
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
            RunStep::Tools(tools) => tools.held().cloned(),
            RunStep::Describe(_) | RunStep::Summarize | RunStep::Model(_) => None,
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

    /// Continues a run that waited for an operator's answer when the service ended, or that was
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
        let allowed = approvals.allowed().map(|approval| approval.subject.clone());
        let plan = RunPlan {
            schema: self.ledger.schema().cloned(),
            ..self.plan()
        };
        let Ok(head) = self.planner.head(&plan, self.ledger.history()) else {
            return vec![];
        };
        let turns = self.ledger.turn().unwrap_or_default();
        let mut tools = PendingCalls::new(calls);
        tools.hold_first(&mut self.last_call);
        self.run = Some(Run {
            turns,
            asked: turns,
            step: RunStep::Tools(tools),
            ..Run::new(id, plan, head)
        });
        allowed.map_or_else(Vec::new, |subject| self.begin_effect(subject))
    }
}
