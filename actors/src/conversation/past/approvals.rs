//! The approvals of a conversation according to its records: the open one, the ends of the others,
//! the changes that were allowed for longer, and the change that was begun.

use std::collections::BTreeMap;

use harness_protocol::{
    Approval, ApprovalMode, HeldRule, RuleAction, RunRules, Scope, Subject, Verdict, Withdrawal,
};

use crate::journal::{Record, Totals};

/// How an approval ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalEnd {
    /// An operator answered.
    Answered {
        /// The answer.
        answer: Verdict,
        /// Its scope.
        scope: Scope,
        /// The rule that it made.
        rule: Option<String>,
        /// The name of the client that gave it.
        by: Option<String>,
        /// The key that it was said with.
        key: Option<String>,
    },
    /// It was withdrawn.
    Withdrawn(Withdrawal),
}

/// The approvals of a conversation.
#[derive(Debug, Default)]
pub struct ApprovalHistory {
    open: Option<Box<Approval>>,
    ends: BTreeMap<u64, ApprovalEnd>,
    /// The last approval that was allowed, until it begins or its call has a result.
    allowed: Option<Box<Approval>>,
    /// The change that was begun and has no result: the call, and its subject.
    began: Option<(String, Subject)>,
    /// Whether that change is on record as made.
    made: bool,
    /// The rules that hold to the end of the run.
    run_rules: Vec<HeldRule>,
    /// The mode that the prompt of the run asked for.
    run_mode: Option<ApprovalMode>,
}

impl ApprovalHistory {
    /// Adds a record. What lasts longer than the journal is in the sums.
    #[expect(
        clippy::too_many_lines,
        reason = "one short arm for each kind of record, as in the ledger"
    )]
    pub(super) fn apply(&mut self, record: &Record, totals: &mut Totals) {
        match record {
            Record::ApprovalAsked(approval) => {
                totals.approvals = totals.approvals.max(approval.id);
                // A change that was begun was not made: its file was another by then.
                self.began = None;
                self.open = Some(approval.clone());
            }
            Record::ApprovalAnswered {
                id,
                answer,
                scope,
                by,
                key,
                ..
            } => {
                let asked = self.open.as_ref().filter(|open| open.id == *id);
                let rule = asked.and_then(|open| open.rule.clone());
                let end = ApprovalEnd::Answered {
                    answer: *answer,
                    scope: *scope,
                    rule: rule.filter(|_| *scope != Scope::Once),
                    by: by.clone(),
                    key: key.clone(),
                };
                let Some(approval) = self.end(*id, end) else {
                    return;
                };
                if *answer != Verdict::Allow {
                    return;
                }
                let rules = match scope {
                    Scope::Run => Some(&mut self.run_rules),
                    Scope::Conversation => Some(&mut totals.rules),
                    Scope::Once | Scope::Workspace | Scope::Unknown => None,
                };
                if let (Some(rules), Some(rule)) = (rules, &approval.rule) {
                    let held = HeldRule {
                        action: RuleAction::Allow,
                        rule: rule.clone(),
                        scope: *scope,
                        workspace: None,
                        by: by.clone(),
                    };
                    add(rules, &held);
                }
                self.allowed = Some(approval);
            }
            Record::ApprovalWithdrawn { id, reason, .. } => {
                self.end(*id, ApprovalEnd::Withdrawn(*reason));
            }
            Record::EffectBegan { call, subject } => {
                self.allowed = None;
                self.began = Some((call.clone(), (**subject).clone()));
                self.made = false;
            }
            Record::FilesChanged { call, .. } => {
                self.made = self.began().is_some_and(|(began, _)| began == call);
            }
            Record::ToolResult { .. }
            | Record::CallsSkipped { .. }
            | Record::ToolReturned { .. }
            | Record::ProposalDecided { .. } => {
                self.allowed = None;
                self.began = None;
            }
            Record::RulesChanged { added, removed, .. } => {
                let is_removed = |held: &HeldRule| removed.iter().any(|gone| gone.is_like(held));
                totals.rules.retain(|held| !is_removed(held));
                added.iter().for_each(|held| add(&mut totals.rules, held));
            }
            Record::RunStarted { .. } | Record::RunEnded { .. } | Record::Checkpoint { .. } => {
                self.leave_run();
                if let Record::RunStarted { rules, .. } = record {
                    self.begin_run(rules);
                }
            }
            Record::Prompt { .. }
            | Record::Status { .. }
            | Record::TurnStarted { .. }
            | Record::SpendingReserved { .. }
            | Record::SpendingReleased { .. }
            | Record::Block { .. }
            | Record::ReplyEnded { .. }
            | Record::ReplyFailed { .. }
            | Record::TurnEnded { .. }
            | Record::Renamed { .. }
            | Record::Queued { .. }
            | Record::Withdrawn { .. }
            | Record::SettingsChanged { .. }
            | Record::ToolsRenewed { .. }
            | Record::ReplyLeftOut { .. }
            | Record::CompactionStarted { .. }
            | Record::Compacted { .. }
            | Record::CompactionFailed { .. }
            | Record::Undone { .. }
            | Record::CommandRan { .. }
            | Record::Branched { .. }
            | Record::JobStarted { .. }
            | Record::JobEnded { .. }
            | Record::Workflow(_)
            | Record::Unknown { .. } => {}
        }
    }

    /// Nothing of a run lasts longer than it.
    fn leave_run(&mut self) {
        if let Some(open) = self.open.take() {
            let end = ApprovalEnd::Withdrawn(Withdrawal::RunEnded);
            self.ends.insert(open.id, end);
        }
        self.allowed = None;
        self.began = None;
        self.run_rules.clear();
        self.run_mode = None;
    }

    fn begin_run(&mut self, rules: &RunRules) {
        self.run_mode = rules.mode;
        let held = |action, rule: &String| HeldRule {
            action,
            rule: rule.clone(),
            scope: Scope::Run,
            workspace: None,
            by: None,
        };
        let allow = rules.allow.iter().map(|rule| held(RuleAction::Allow, rule));
        let deny = rules.deny.iter().map(|rule| held(RuleAction::Deny, rule));
        self.run_rules.extend(allow.chain(deny));
    }

    /// Ends an approval; tells it if it was open.
    fn end(&mut self, id: u64, end: ApprovalEnd) -> Option<Box<Approval>> {
        // The first end counts.
        self.ends.entry(id).or_insert(end);
        self.open.take_if(|open| open.id == id)
    }

    /// The approval that waits for an answer.
    #[must_use]
    pub fn open(&self) -> Option<&Approval> {
        self.open.as_deref()
    }

    /// How an approval ended.
    #[must_use]
    pub fn end_of(&self, id: u64) -> Option<&ApprovalEnd> {
        self.ends.get(&id)
    }

    /// The approval that was allowed and has not begun.
    #[must_use]
    pub fn allowed(&self) -> Option<&Approval> {
        self.allowed.as_deref()
    }

    /// The change that was begun and has no result, behind its call.
    #[must_use]
    pub fn began(&self) -> Option<&(String, Subject)> {
        self.began.as_ref()
    }

    /// Whether the change that was begun is on record as made.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.made
    }

    /// The rules that hold to the end of the run: of its prompt, and of answers.
    #[must_use]
    pub fn run_rules(&self) -> &[HeldRule] {
        &self.run_rules
    }

    /// The mode that the prompt of the run asked for.
    #[must_use]
    pub fn run_mode(&self) -> Option<ApprovalMode> {
        self.run_mode
    }

    /// The rules for a run that continues under the same rules.
    #[must_use]
    pub fn to_run(&self) -> RunRules {
        let texts = |action| {
            let held = self
                .run_rules
                .iter()
                .filter(move |held| held.action == action);
            held.map(|held| held.rule.clone()).collect()
        };
        RunRules {
            mode: self.run_mode,
            allow: texts(RuleAction::Allow),
            deny: texts(RuleAction::Deny),
        }
    }

    /// Whether a run that has not ended waits for an answer, or for what the answer allowed to begin:
    /// it continues after a crash.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.open.is_some() || self.allowed.is_some()
    }
}

/// Adds a rule that is not there yet.
fn add(rules: &mut Vec<HeldRule>, held: &HeldRule) {
    if !rules.iter().any(|there| there.is_like(held)) {
        rules.push(held.clone());
    }
}
