//! Compaction as a value: when the past must be summarized, and the state of a summary.
//!
//! Invariant: it knows requests and answers, and decides no run. Never more than two attempts
//! between two replies of the model.

use std::sync::Arc;

use harness_protocol::{CompactionReason, ContextWindow};

use super::effect::Effect;
use super::manual::Manual;
use super::plan::RunPlan;
use super::run::Run;
use super::summary::{Summarizing, SummaryRoom, fitting, limit, readable, summary_tokens, window};
use crate::compaction::{CompactionCut, DroppedPiece, Goal, finish};
use crate::conversation::messages::{CompactError, Compacted};
use crate::conversation::past::{Dropped, History, Ledger, add};
use crate::conversation::retrying;
use crate::ids::CallId;
use crate::model::ModelInfo;
use crate::model::messages::ModelEvent;
use crate::reply::BlockKind;

/// How many tokens a request may have without a look at what the model can take.
const SMALL: u64 = 2_000;
/// How many compactions there may be between two replies.
const MAX_ATTEMPTS: u32 = 2;

/// The state of compaction in the current run, with the summary that is being written.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// Whether it was looked up what the model can do.
    is_described: bool,
    /// The capabilities of the model that the API reports.
    info: Option<Arc<ModelInfo>>,
    /// The window that the API named when it said that a request is too long.
    named_window: Option<u64>,
    /// How many compactions were begun since the last reply.
    attempts: u32,
    /// How many compactions failed since the last one that did not.
    failures: u32,
    /// Whether the API said since the last reply that the request is too long.
    overflowed: bool,
    /// The summary that is being written, for the run or for an operator.
    summarizing: Option<Summarizing>,
    /// The compaction that an operator asked for.
    pub(super) manual: Option<Manual>,
}

/// The request that is to be made next.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextRequest<'a> {
    pub(super) plan: &'a RunPlan,
    pub(super) head_tokens: u64,
    pub(super) history: &'a History,
}

/// The step that the next request needs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompactionVerdict {
    /// It can be made.
    Fits,
    /// First look up what the model can take.
    Describe,
    /// First put a summary in place of so much of the past.
    Summarize(CompactionCut, Dropped),
    /// It does not fit, and no summary helps.
    TooLong { tokens: u64, window: u64 },
}

/// The state of the summary after an answer of the model.
pub(super) enum Progress {
    /// Nothing yet.
    Waits,
    /// It takes longer.
    Remark(String),
    /// The next piece of the past is to be summarized.
    Asks(Effect),
    /// It is there.
    Written { ended: Summarizing, summary: String },
    /// It will not be.
    Failed { ended: Summarizing, error: String },
}

impl<'a> NextRequest<'a> {
    pub(super) fn for_run(run: &'a Run, ledger: &'a Ledger) -> Self {
        Self {
            plan: &run.plan,
            head_tokens: run.head.tokens(),
            history: ledger.history(),
        }
    }

    /// The estimate of it.
    pub(super) fn tokens(&self) -> u64 {
        let whole = self.history.estimate(self.head_tokens);
        match self.plan.settings.clear_tool_results {
            true => whole.saturating_sub(self.history.cleared()),
            false => whole,
        }
    }
}

impl Compaction {
    /// Tells what is to be done before the request can be made.
    pub(super) fn look(&mut self, next: &NextRequest<'_>) -> CompactionVerdict {
        let tokens = next.tokens();
        let settings = next.plan.compaction;
        if !settings.auto {
            return CompactionVerdict::Fits;
        }
        if !self.is_described && tokens > SMALL {
            self.is_described = true;
            return CompactionVerdict::Describe;
        }
        let Some(window) = self.window(next) else {
            return CompactionVerdict::Fits;
        };
        if tokens <= limit(settings, window) {
            return CompactionVerdict::Fits;
        }
        // As long as the request fits, what has failed again and again is not tried again.
        let is_hopeless = self.failures >= MAX_ATTEMPTS && tokens <= window;
        let may_try = self.attempts < MAX_ATTEMPTS && !is_hopeless;
        match may_try.then(|| self.plan_cut(next, window)).flatten() {
            Some((cut, dropped)) => CompactionVerdict::Summarize(cut, dropped),
            None if tokens > window => CompactionVerdict::TooLong { tokens, window },
            None => CompactionVerdict::Fits,
        }
    }

    /// Notes what the model can do.
    pub(super) fn described(&mut self, info: Option<Arc<ModelInfo>>) {
        self.info = info;
    }

    /// Notes that the model replied, and not that the request is too long.
    pub(super) fn replied(&mut self) {
        self.attempts = 0;
        self.overflowed = false;
    }

    /// Notes the window that the API named.
    pub(super) fn window_named(&mut self, window: Option<u64>) {
        self.named_window = window.or(self.named_window);
    }

    /// The API says that the request is too long. Tells what is done about it; nothing if nothing
    /// can be done.
    pub(super) fn cut_for_overflow(
        &mut self,
        next: &NextRequest<'_>,
    ) -> Option<(CompactionCut, Dropped)> {
        let may_try = !self.overflowed && self.attempts < MAX_ATTEMPTS;
        if !may_try || !next.plan.compaction.auto {
            return None;
        }
        let cut = self.plan_cut(next, self.window_of(CompactionReason::Overflow, next)?)?;
        self.overflowed = true;
        Some(cut)
    }

    /// Notes that there is no summary; whether the request is to be made without one.
    pub(super) fn goes_without(
        &mut self,
        reason: CompactionReason,
        next: &NextRequest<'_>,
    ) -> bool {
        self.failures += 1;
        let is_too_long = self
            .window(next)
            .is_some_and(|window| next.tokens() > window);
        reason != CompactionReason::Overflow && !is_too_long
    }

    /// Maximum number of tokens of a request. `None` if it is not known.
    pub(super) fn window(&self, next: &NextRequest<'_>) -> Option<u64> {
        let known = window(next.plan, self.info.as_deref());
        let named = self.named_window;
        known.map_or(named, |known| {
            Some(named.map_or(known, |named| named.min(known)))
        })
    }

    /// The window, and the size of a request behind which a summary begins.
    pub(super) fn context_window(&self, next: &NextRequest<'_>) -> Option<ContextWindow> {
        let tokens = self.window(next)?;
        let settings = next.plan.compaction;
        Some(ContextWindow {
            tokens,
            summary_at: settings.auto.then(|| limit(settings, tokens)),
        })
    }

    /// How many tokens the request may have that a summary makes room for. Where the API said that
    /// it is too long, fewer than it has, whatever else is known of the model.
    fn window_of(&self, reason: CompactionReason, next: &NextRequest<'_>) -> Option<u64> {
        let known = self.window(next);
        if reason != CompactionReason::Overflow {
            return known;
        }
        let tokens = next.tokens();
        Some(known.map_or(tokens, |known| known.min(tokens)))
    }

    fn plan_cut(&self, next: &NextRequest<'_>, window: u64) -> Option<(CompactionCut, Dropped)> {
        let settings = fitting(next.plan.compaction, window);
        let info = self.info.as_deref();
        let goal = Goal {
            window: readable(next.plan, window),
            settings,
            head_tokens: next.head_tokens,
            summary_tokens: summary_tokens(settings, info, next.tokens(), Some(window)),
        };
        let tools = next.plan.tools.now();
        next.history.plan_cut(&goal, None, &tools)
    }

    /// Prepares a summary within a run.
    pub(super) fn attempt(
        &mut self,
        reason: CompactionReason,
        cut: CompactionCut,
        next: &NextRequest<'_>,
        call_id: CallId,
    ) -> Summarizing {
        self.attempts += 1;
        let window = self.window_of(reason, next);
        let settings = next.plan.compaction;
        let settings = window.map_or(settings, |window| fitting(settings, window));
        let info = self.info.as_deref();
        let allowance = summary_tokens(settings, info, next.tokens(), window);
        let room = SummaryRoom::new(allowance, info, window);
        Summarizing::new(call_id, reason, cut, next.plan, room)
    }

    /// Begins a summary: the dropped part is described first.
    pub(super) fn begin(&mut self, summarizing: Summarizing, dropped: Dropped) -> Effect {
        let summarizing = self.summarizing.insert(summarizing);
        Effect::TellDropped(summarizing.call_id.clone(), dropped)
    }

    /// Takes a piece of what is dropped, and asks for a summary with it.
    pub(super) fn take_piece(
        &mut self,
        call_id: &CallId,
        (told, rest): (DroppedPiece, Option<Dropped>),
    ) -> Progress {
        let summarizing = self.summarizing.as_mut();
        let Some(summarizing) = summarizing.filter(|it| it.call_id == *call_id) else {
            return Progress::Waits;
        };
        if summarizing.cancelled {
            let error = "cancelled".to_owned();
            let ended = self.summarizing.take();
            return ended.map_or(Progress::Waits, |ended| Progress::Failed { ended, error });
        }
        summarizing.take(told, rest);
        Progress::Asks(summarizing.ask())
    }

    /// Takes what the model says of a summary.
    pub(super) fn answered(
        &mut self,
        event: ModelEvent,
        history: &History,
        last_call: &mut CallId,
    ) -> Progress {
        let Some(summarizing) = &mut self.summarizing else {
            return Progress::Waits;
        };
        let is_whole = match event {
            ModelEvent::BlockFinished { block, .. } => {
                if let BlockKind::Text(text) = block.kind() {
                    summarizing.text.push_str(text);
                }
                return Progress::Waits;
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
                    return Progress::Waits;
                }
                let error = error.to_string();
                let remark = retrying::remark_of_summary(delay, retry, max_retries, &error);
                return Progress::Remark(remark);
            }
            ModelEvent::RetryBegan { .. } if !summarizing.cancelled => {
                return Progress::Remark("compacting".to_owned());
            }
            ModelEvent::ModelReplaced { .. }
            | ModelEvent::RetryBegan { .. }
            | ModelEvent::NotCharged { .. }
            | ModelEvent::Adapted { .. }
            | ModelEvent::Remarked { .. }
            | ModelEvent::Described { .. }
            | ModelEvent::Delta { .. } => return Progress::Waits,
            ModelEvent::Finished { end, .. } => {
                add(&mut summarizing.usage, &end.usage.counts());
                summarizing.end_piece(&end.stop_reason)
            }
            ModelEvent::Failed { .. } if summarizing.cancelled => Err("cancelled".to_owned()),
            ModelEvent::Failed { failure, .. } => Err(failure.to_string()),
        };
        if is_whole == Ok(false)
            && let Some(rest) = summarizing.rest.take()
        {
            summarizing.call_id = last_call.next();
            let tells = Effect::TellDropped(summarizing.call_id.clone(), rest);
            return Progress::Asks(tells);
        }
        let Some(ended) = self.summarizing.take() else {
            return Progress::Waits;
        };
        if let Err(error) = is_whole {
            return Progress::Failed { ended, error };
        }
        let summary = finish(ended.summary.as_deref().unwrap_or_default(), &ended.cut);
        if !history.shrinks(&ended.cut, &summary, ended.allowance) {
            let error = "the summary is not much shorter than what it replaces".to_owned();
            return Progress::Failed { ended, error };
        }
        self.failures = 0;
        Progress::Written { ended, summary }
    }

    /// The call that is under way.
    pub(super) fn call(&self) -> Option<&CallId> {
        let describing = self
            .manual
            .as_ref()
            .and_then(|manual| manual.call_id.as_ref());
        describing.or(self.summary_call())
    }

    /// The call for the summary.
    pub(super) fn summary_call(&self) -> Option<&CallId> {
        self.summarizing.as_ref().map(|summing| &summing.call_id)
    }

    /// Gives up what is under way; tells which call is to be dropped.
    pub(super) fn cancel(&mut self) -> Option<CallId> {
        if let Some(manual) = &mut self.manual {
            manual.cancelled = true;
        }
        if let Some(summarizing) = &mut self.summarizing {
            summarizing.cancelled = true;
        }
        self.call().cloned()
    }

    /// The name of the client that asked for the summary that is being written; none if it began by
    /// itself.
    pub(super) fn asked_by(&self) -> Option<String> {
        self.manual
            .as_ref()
            .and_then(|manual| manual.order.by.clone())
    }

    /// Ends the order. One that was cancelled did not fail.
    pub(super) fn end_order(&mut self, result: Result<Compacted, CompactError>) -> Effect {
        let manual = self.manual.take();
        let was_cancelled = manual.is_some_and(|manual| manual.cancelled);
        Effect::EndCompaction(match result {
            Err(_) if was_cancelled => Err(CompactError::Cancelled),
            result => result,
        })
    }
}
