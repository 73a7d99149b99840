//! Compaction: when the past is summarized, and what becomes of the summary.
//!
//! Invariant: never more than two attempts between two replies of the model. Where the past is
//! summarized by itself, what does not fit the window is not sent: the run fails and says so.

use std::sync::Arc;

use harness_protocol::{CompactionReason, Usage};

use super::effect::Effect;
use super::plan::Plan;
use super::{Machine, Step};
use crate::compaction::{
    CompactionSettings, Cut, Goal, SYSTEM_PROMPT, SummaryRequest, finish, prompt,
};
use crate::conversation::messages::{CompactError, Compacted, SubmitError};
use crate::ids::CallId;
use crate::journal::{Activity, Outcome, Record, Unanswered};
use crate::model::messages::ModelEvent;
use crate::model::{ModelChoice, ModelError, ModelFailure, ModelInfo};
use crate::reply::{BlockKind, Object, StopReason};

/// How many tokens a request may have without a look at what the model can take.
const SMALL: u64 = 2_000;
/// How many compactions there may be between two replies.
const MAX_ATTEMPTS: u32 = 2;
/// The least that a summary may have, in tokens.
const MIN_SUMMARY: u64 = 256;
/// The least that a model is given to write one, in tokens.
const MIN_ROOM: u64 = 8_192;

/// A summary that is being written.
#[derive(Debug)]
pub(super) struct Summarizing {
    pub(super) call_id: CallId,
    reason: CompactionReason,
    model: ModelChoice,
    key_source: Option<Arc<str>>,
    max_tokens: u32,
    /// How many tokens the cut was planned with for the summary.
    allowance: u64,
    cut: Cut,
    /// How many of the cut's pieces are in the summary.
    done: usize,
    /// The summary so far.
    summary: Option<String>,
    /// What came of the summary that includes the next piece.
    text: String,
    usage: Usage,
    /// Whether somebody wants no summary any more.
    pub(super) cancelled: bool,
}

impl Machine {
    /// Asks the model, unless something is to be done before: a look at what it can take, or a
    /// summary of what is too long for it.
    pub(super) fn ask(&mut self) -> Vec<Effect> {
        let tokens = self.tokens();
        let call_id = self.next_call();
        let Some(run) = &mut self.run else {
            return vec![];
        };
        if !run.plan.compaction.auto {
            return self.start_turn(call_id);
        }
        if !run.is_described && tokens > SMALL {
            run.is_described = true;
            run.step = Step::Describe(call_id.clone());
            return vec![describe(call_id, &run.plan)];
        }
        let plan = &run.plan;
        let Some(window) = window(plan, run.info.as_deref()) else {
            return self.start_turn(call_id);
        };
        let settings = fitting(plan.compaction, window);
        if tokens <= window.saturating_sub(settings.reserve_tokens) {
            return self.start_turn(call_id);
        }
        // As long as the request fits, what has failed again and again is not tried again.
        let is_hopeless = run.failures >= MAX_ATTEMPTS && tokens <= window;
        let may_try = run.attempts < MAX_ATTEMPTS && !is_hopeless;
        match may_try.then(|| self.plan_cut(window)).flatten() {
            Some(cut) => self.compact_run(CompactionReason::Threshold, cut),
            None if tokens > window => self.fail_too_long(window),
            None => self.start_turn(call_id),
        }
    }

    /// The estimate of the next request, in tokens.
    fn tokens(&self) -> u64 {
        let head = self.run.as_ref().map_or(0, |run| run.head.tokens());
        self.ledger.history().estimate(head)
    }

    /// What the model can take, as far as the API says it.
    pub(super) fn described(
        &mut self,
        described: &CallId,
        info: Option<Arc<ModelInfo>>,
    ) -> Vec<Effect> {
        if let Some(effects) = self.compact_described(described, info.as_deref()) {
            return effects;
        }
        let Some(run) = &mut self.run else {
            return vec![];
        };
        match &run.step {
            Step::Describe(call_id) if call_id == described => {}
            Step::Describe(_) | Step::Model(_) | Step::Summarize | Step::Tools(_) => {
                return vec![];
            }
        }
        run.info = info;
        if run.ending.is_some() {
            return self.end_as_asked();
        }
        let mut effects = self.drain_late();
        effects.extend(self.ask());
        effects
    }

    fn plan_cut(&self, window: u64) -> Option<Cut> {
        let run = self.run.as_ref()?;
        let settings = fitting(run.plan.compaction, window);
        let goal = Goal {
            window: readable(&run.plan, window),
            settings,
            head_tokens: run.head.tokens(),
            summary_tokens: self.summary_tokens(settings, Some(window)),
        };
        let tools = run.plan.tools.now();
        self.ledger.history().plan_cut(&goal, None, &tools)
    }

    /// How many tokens a summary of the run may have.
    fn summary_tokens(&self, settings: CompactionSettings, window: Option<u64>) -> u64 {
        let info = self.run.as_ref().and_then(|run| run.info.as_deref());
        summary_tokens(settings, info, self.tokens(), window)
    }

    /// The request does not fit, and no summary helps: what is new in it is left out from now on,
    /// or no later request would fit either.
    fn fail_too_long(&mut self, window: u64) -> Vec<Effect> {
        let failure = ModelFailure {
            error: ModelError::TooLong {
                tokens: self.tokens(),
                window,
            },
            interrupted: false,
        };
        let mut effects = vec![self.note(Record::ReplyFailed {
            error: failure.to_string(),
            unanswered: Unanswered::Interrupted,
            refused: true,
        })];
        effects.extend(self.fail(failure));
        effects
    }

    /// The API says that the request is too long. Tells what is done about it; nothing if nothing
    /// can be done.
    pub(super) fn cut_for_overflow(&mut self) -> Option<Cut> {
        let run = self.run.as_ref()?;
        let may_try = !run.overflowed && run.attempts < MAX_ATTEMPTS;
        if !may_try || !run.plan.compaction.auto {
            return None;
        }
        let cut = self.plan_cut(self.window_of(CompactionReason::Overflow)?)?;
        if let Some(run) = &mut self.run {
            run.overflowed = true;
        }
        Some(cut)
    }

    /// How many tokens the request may have that a summary makes room for. Where the API said that
    /// it is too long, fewer than it has, whatever else is known of the model.
    fn window_of(&self, reason: CompactionReason) -> Option<u64> {
        let run = self.run.as_ref()?;
        let known = window(&run.plan, run.info.as_deref());
        match reason {
            CompactionReason::Overflow => {
                let tokens = self.tokens();
                Some(known.map_or(tokens, |known| known.min(tokens)))
            }
            CompactionReason::Threshold | CompactionReason::Manual | CompactionReason::Unknown => {
                known
            }
        }
    }

    /// Ends the turn that was too long, and summarizes.
    pub(super) fn compact_overflow(&mut self, cut: Cut) -> Vec<Effect> {
        let Some(run) = self.run.as_ref().map(|run| run.id) else {
            return vec![];
        };
        let ended = self.end_turn(run, Outcome::Error);
        let mut effects: Vec<Effect> = ended.into_iter().collect();
        effects.extend(self.compact_run(CompactionReason::Overflow, cut));
        effects
    }

    /// Begins a summary within a run.
    fn compact_run(&mut self, reason: CompactionReason, cut: Cut) -> Vec<Effect> {
        let window = self.window_of(reason);
        let Some(run) = &mut self.run else {
            return vec![];
        };
        run.attempts += 1;
        run.step = Step::Summarize;
        let plan = run.plan.clone();
        let settings = window.map_or(plan.compaction, |window| fitting(plan.compaction, window));
        let allowance = self.summary_tokens(settings, window);
        let started = self.note(Record::CompactionStarted {
            reason,
            tokens: cut.tokens_before,
            by: None,
        });
        let mut effects = vec![started, self.status(Activity::Thinking, "compacting")];
        let info = self.run.as_ref().and_then(|run| run.info.as_deref());
        let room = Room::new(allowance, info, window);
        effects.push(self.summarize(reason, cut, &plan, room));
        effects
    }

    fn summarize(
        &mut self,
        reason: CompactionReason,
        cut: Cut,
        plan: &Plan,
        Room { allowance, room }: Room,
    ) -> Effect {
        let call_id = self.next_call();
        let summarizing = Summarizing {
            call_id: call_id.clone(),
            reason,
            model: summary_model(plan),
            key_source: plan.key_source.clone(),
            max_tokens: u32::try_from(room).unwrap_or(u32::MAX),
            allowance,
            summary: cut.previous.clone(),
            cut,
            done: 0,
            text: String::new(),
            usage: Usage::default(),
            cancelled: false,
        };
        let call = summarizing.call();
        self.summarizing = Some(summarizing);
        Effect::Summarize(call_id, call)
    }

    /// Takes what the model says of a summary.
    pub(super) fn summary_answered(&mut self, event: ModelEvent) -> Vec<Effect> {
        let Some(summarizing) = &mut self.summarizing else {
            return vec![];
        };
        match event {
            ModelEvent::BlockFinished { block, .. } => {
                if let BlockKind::Text(text) = block.kind() {
                    summarizing.text.push_str(text);
                }
                vec![]
            }
            ModelEvent::Finished { end, .. } => {
                let usage = end.usage.counts();
                crate::conversation::past::add(&mut summarizing.usage, &usage);
                if summarizing.cancelled {
                    return self.summary_failed("cancelled");
                }
                let is_for_good = summarizing.reason == CompactionReason::Manual;
                match end.stop_reason {
                    StopReason::Refusal => self.summary_failed("the model declined to summarize"),
                    // The journal keeps what such a summary lacks, unless it is replaced.
                    StopReason::MaxTokens if is_for_good => {
                        self.summary_failed("the summary was cut at the limit of its output tokens")
                    }
                    StopReason::EndTurn
                    | StopReason::StopSequence
                    | StopReason::ToolUse
                    | StopReason::PauseTurn
                    | StopReason::MaxTokens
                    | StopReason::ContextWindowExceeded
                    | StopReason::Other(_) => self.piece_finished(),
                }
            }
            ModelEvent::Failed { failure, .. } => {
                let error = if summarizing.cancelled {
                    "cancelled".to_owned()
                } else {
                    failure.to_string()
                };
                self.summary_failed(&error)
            }
            ModelEvent::Retrying {
                retry,
                max_retries,
                delay,
                error,
                ..
            } => {
                summarizing.text.clear();
                if summarizing.cancelled {
                    return vec![];
                }
                let remark = format!(
                    "compacting; retrying in {:.1} s ({retry} of {max_retries}): {error}",
                    delay.as_secs_f64()
                );
                vec![self.status(Activity::Thinking, &remark)]
            }
            ModelEvent::ModelReplaced { .. }
            | ModelEvent::Described { .. }
            | ModelEvent::Delta { .. } => vec![],
        }
    }

    fn piece_finished(&mut self) -> Vec<Effect> {
        let call_id = self.next_call();
        let Some(summarizing) = &mut self.summarizing else {
            return vec![];
        };
        let text = std::mem::take(&mut summarizing.text);
        if text.trim().is_empty() {
            return self.summary_failed("the summary is empty");
        }
        summarizing.summary = Some(text);
        summarizing.done += 1;
        if summarizing.done < summarizing.cut.pieces.len() {
            summarizing.call_id = call_id.clone();
            return vec![Effect::Summarize(call_id, summarizing.call())];
        }
        let Some(finished) = self.summarizing.take() else {
            return vec![];
        };
        let summary = finish(&finished.summary.unwrap_or_default(), &finished.cut);
        let before = finished.cut.tokens_before;
        let history = self.ledger.history();
        if !history.shrinks(&finished.cut, &summary, finished.allowance) {
            let error = "the summary is not much shorter than what it replaces";
            return self.compaction_failed(error, &finished.usage, finished.reason);
        }
        let head = self.head_tokens();
        let mut record = Record::Compacted {
            reason: finished.reason,
            summary,
            kept: finished.cut.kept,
            tokens_before: before,
            tokens_after: 0,
            model: finished.model.id.to_string(),
            usage: object(&finished.usage),
        };
        self.ledger.apply(&record);
        let after = self.ledger.history().estimate(head);
        if let Record::Compacted { tokens_after, .. } = &mut record {
            *tokens_after = after;
        }
        let mut effects = vec![Effect::Record(record)];
        if let Some(run) = &mut self.run {
            run.failures = 0;
            effects.extend(self.drain_late());
            effects.push(self.status(Activity::Thinking, ""));
            effects.extend(self.ask());
        } else {
            effects.push(self.status(Activity::Idle, ""));
            effects.push(self.rewriting(before, after));
        }
        effects
    }

    /// Puts the summary in place of the past for good.
    fn rewriting(&self, tokens_before: u64, tokens_after: u64) -> Effect {
        let by = self.asked_by();
        let compacted = Compacted {
            compacted: true,
            tokens_before,
            tokens_after,
            archive: None,
        };
        Effect::Rewrite { compacted, by }
    }

    /// Who asked for the summary that is being written; nobody if it began by itself.
    fn asked_by(&self) -> Option<String> {
        let manual = self.manual.as_ref()?;
        manual.order.by.clone()
    }

    fn head_tokens(&self) -> u64 {
        match (&self.run, &self.manual) {
            (Some(run), _) => run.head.tokens(),
            (None, Some(manual)) => manual.head_tokens,
            (None, None) => 0,
        }
    }

    fn summary_failed(&mut self, error: &str) -> Vec<Effect> {
        let Some(Summarizing { usage, reason, .. }) = self.summarizing.take() else {
            return vec![];
        };
        self.compaction_failed(error, &usage, reason)
    }

    /// Goes on without a summary: with all of the past if it fits.
    fn compaction_failed(
        &mut self,
        error: &str,
        usage: &Usage,
        reason: CompactionReason,
    ) -> Vec<Effect> {
        let mut effects = vec![self.note(Record::CompactionFailed {
            error: error.to_owned(),
            usage: object(usage),
            by: self.asked_by(),
        })];
        let Some(run) = &mut self.run else {
            let manual = self.manual.take();
            effects.push(self.status(Activity::Idle, ""));
            let error = if manual.is_some_and(|manual| manual.cancelled) {
                CompactError::Cancelled
            } else {
                CompactError::Summary(error.to_owned())
            };
            effects.push(Effect::EndCompaction(Err(error)));
            return effects;
        };
        if run.ending.is_some() {
            effects.extend(self.end_as_asked());
            return effects;
        }
        run.failures += 1;
        let window = window(&run.plan, run.info.as_deref());
        let tokens = self.tokens();
        let is_too_long = window.is_some_and(|window| tokens > window);
        if reason == CompactionReason::Overflow || is_too_long {
            let failure = ModelFailure {
                error: ModelError::Compaction {
                    reason: error.to_owned(),
                },
                interrupted: false,
            };
            effects.extend(self.fail(failure));
            return effects;
        }
        effects.push(self.status(Activity::Thinking, ""));
        let call_id = self.next_call();
        effects.extend(self.start_turn(call_id));
        effects
    }

    /// Summarizes for good: looks at what the model can take first. `None` if there is nothing to
    /// do; else the order ends with one `Effect::EndCompaction` or `Effect::Rewrite`.
    ///
    /// # Errors
    /// Refused orders change nothing and show nothing.
    pub fn compact(&mut self, order: CompactOrder) -> Result<Option<Vec<Effect>>, SubmitError> {
        self.check_idle()?;
        if self.ledger.history().is_empty() && self.ledger.run().is_none() {
            return Ok(None);
        }
        let mut effects = self.close();
        let plan = self.planner.plan(self.settings(), self.tool_list());
        let call_id = self.next_call();
        effects.push(describe(call_id.clone(), &plan));
        self.manual = Some(Manual {
            call_id: Some(call_id),
            order,
            plan,
            head_tokens: 0,
            cancelled: false,
        });
        Ok(Some(effects))
    }

    /// The order to summarize for good, if it waits for this answer.
    fn compact_described(
        &mut self,
        described: &CallId,
        info: Option<&ModelInfo>,
    ) -> Option<Vec<Effect>> {
        let manual = self.manual.as_mut()?;
        manual.call_id.take_if(|call_id| call_id == described)?;
        if manual.cancelled {
            self.manual = None;
            return Some(vec![Effect::EndCompaction(Err(CompactError::Cancelled))]);
        }
        let Manual { order, plan, .. } = manual;
        let (order, plan) = (order.clone(), plan.clone());
        let history = self.ledger.history();
        let head = self.planner.head(&plan, history);
        let head_tokens = head.map_or(0, |head| head.tokens());
        manual.head_tokens = head_tokens;
        let tokens = history.estimate(head_tokens);
        let window = window(&plan, info);
        let mut settings =
            window.map_or(plan.compaction, |window| fitting(plan.compaction, window));
        let is_due =
            window.is_some_and(|window| tokens > window.saturating_sub(settings.reserve_tokens));
        let mut summary = summary_tokens(settings, info, tokens, window);
        if order.force {
            settings.keep_tokens = settings.keep_tokens.min(tokens / 4);
            summary = summary.min(tokens / 4).max(MIN_SUMMARY);
        }
        let mut goal = Goal {
            window: readable(&plan, window.unwrap_or(DEFAULT_WINDOW)),
            settings,
            head_tokens,
            summary_tokens: summary,
        };
        let tools = plan.tools.now();
        let instructions = order.instructions.as_deref();
        let plan_cut = |goal: &Goal| history.plan_cut(goal, instructions, &tools);
        let is_wanted = is_due || order.force;
        let mut cut = is_wanted.then(|| plan_cut(&goal)).flatten();
        // Whoever insists gets less kept, if nothing else helps.
        while order.force && cut.is_none() && goal.settings.keep_tokens > 0 {
            goal.settings.keep_tokens /= 2;
            cut = plan_cut(&goal);
        }
        let nothing = Compacted {
            compacted: false,
            tokens_before: tokens,
            tokens_after: tokens,
            archive: None,
        };
        let Some(cut) = cut else {
            // What was summarized already stays summarized for good.
            if self.ledger.totals().compacted {
                return Some(vec![self.rewriting(tokens, tokens)]);
            }
            self.manual = None;
            return Some(vec![Effect::EndCompaction(Ok(nothing))]);
        };
        let reason = CompactionReason::Manual;
        let tokens = cut.tokens_before;
        let by = order.by;
        let started = self.note(Record::CompactionStarted { reason, tokens, by });
        let mut effects = vec![started, self.status(Activity::Thinking, "compacting")];
        let room = Room::new(summary, info, window);
        effects.push(self.summarize(reason, cut, &plan, room));
        Some(effects)
    }

    /// Ends an operator's order to summarize; nothing if there is none or it is too late.
    pub(super) fn cancel_compaction(&mut self) -> Vec<Effect> {
        let Some(manual) = &mut self.manual else {
            return vec![];
        };
        manual.cancelled = true;
        let describing = manual.call_id.clone();
        let summarizing = self.summarizing.as_mut().map(|summarizing| {
            summarizing.cancelled = true;
            summarizing.call_id.clone()
        });
        let call = describing.or(summarizing);
        call.map(Effect::CancelModel).into_iter().collect()
    }

    /// Whether the past is being summarized for good.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        self.manual.is_some()
    }
}

/// The window of a model of which nothing is known, in tokens; only tells how much one request for
/// a summary may have.
const DEFAULT_WINDOW: u64 = 200_000;

/// A compaction that an operator asked for.
#[derive(Debug)]
pub(super) struct Manual {
    /// The look at what the model can take, as long as it goes on.
    call_id: Option<CallId>,
    order: CompactOrder,
    plan: Plan,
    head_tokens: u64,
    cancelled: bool,
}

impl Manual {
    /// The look at what the model can take, as long as it goes on.
    pub(super) fn describing(&self) -> Option<&CallId> {
        self.call_id.as_ref()
    }
}

/// An operator's order to summarize for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactOrder {
    /// Whether it is done even if there is no need.
    pub force: bool,
    /// What the summary is to look at above all.
    pub instructions: Option<String>,
    /// Who asks for it.
    pub by: Option<String>,
}

/// A request for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryCall {
    /// Which model to ask.
    pub model: ModelChoice,
    /// Where the key comes from.
    pub key_source: Option<Arc<str>>,
    /// What it is asked.
    pub request: SummaryRequest,
}

impl Summarizing {
    fn call(&self) -> SummaryCall {
        let earlier = self.summary.as_deref();
        let piece = self.cut.pieces.get(self.done).map_or("", String::as_str);
        SummaryCall {
            model: self.model.clone(),
            key_source: self.key_source.clone(),
            request: SummaryRequest {
                model: self.model.id.to_string(),
                max_tokens: self.max_tokens,
                system_prompt: SYSTEM_PROMPT,
                prompt: prompt(piece, earlier),
            },
        }
    }
}

/// How many tokens a summary may have.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// What the cut was planned with.
    allowance: u64,
    /// What the model is given: one that thinks does so within the same limit.
    room: u64,
}

impl Room {
    fn new(allowance: u64, info: Option<&ModelInfo>, window: Option<u64>) -> Self {
        let least = window.map_or(MIN_ROOM, |window| MIN_ROOM.min(window / 8));
        let most = info.and_then(|info| info.max_tokens).unwrap_or(u64::MAX);
        Self {
            allowance,
            room: allowance.max(least).min(most),
        }
    }
}

/// Looks up what the model can take.
fn describe(call_id: CallId, plan: &Plan) -> Effect {
    Effect::DescribeModel {
        call_id,
        model: plan.model.clone(),
        key_source: plan.key_source.clone(),
    }
}

/// How many tokens a request may have.
fn window(plan: &Plan, info: Option<&ModelInfo>) -> Option<u64> {
    info.and_then(|info| info.max_input_tokens)
        .filter(|window| *window > 0)
        .or(plan.settings.context_window)
}

/// How many tokens a request for a summary may have: of another model nothing is known.
fn readable(plan: &Plan, window: u64) -> u64 {
    match &plan.settings.compaction_model {
        Some(other) if **other != *plan.model.id => window.min(DEFAULT_WINDOW),
        Some(_) | None => window,
    }
}

/// The settings as far as they make sense for a window.
fn fitting(settings: CompactionSettings, window: u64) -> CompactionSettings {
    let reserve_tokens = settings.reserve_tokens.min(window / 2);
    CompactionSettings {
        auto: settings.auto,
        reserve_tokens,
        keep_tokens: settings.keep_tokens.min((window - reserve_tokens) / 2),
    }
}

/// How many tokens a summary may have: 0.8 of the reserve, no more than the model can write, nor
/// than half of what it replaces, nor than an eighth of the window. A request for a summary has the
/// earlier one in it too, and most of it is to be what is summarized.
fn summary_tokens(
    settings: CompactionSettings,
    info: Option<&ModelInfo>,
    tokens: u64,
    window: Option<u64>,
) -> u64 {
    let most = info.and_then(|info| info.max_tokens).unwrap_or(u64::MAX);
    let eighth = window.map_or(u64::MAX, |window| window / 8);
    let wanted = settings.reserve_tokens.saturating_mul(4) / 5;
    wanted
        .min(most)
        .min(tokens / 2)
        .min(eighth)
        .max(MIN_SUMMARY)
}

fn summary_model(plan: &Plan) -> ModelChoice {
    let own = plan.settings.compaction_model.as_deref();
    own.map_or_else(
        || plan.model.clone(),
        |id| ModelChoice {
            id: id.into(),
            chosen: true,
        },
    )
}

/// Token counts as the API names them.
fn object(usage: &Usage) -> Object {
    [
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        (
            "cache_creation_input_tokens",
            usage.cache_creation_input_tokens,
        ),
        ("cache_read_input_tokens", usage.cache_read_input_tokens),
    ]
    .into_iter()
    .map(|(name, count)| (name.to_owned(), count.into()))
    .collect()
}
