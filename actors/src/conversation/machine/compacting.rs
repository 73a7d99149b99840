//! Compaction: when the past is summarized, and what becomes of the summary.
//!
//! Invariant: never more than two attempts between two replies of the model. Where the past is
//! summarized by itself, what does not fit the window is not sent: the run fails and says so.

use harness_protocol::{CompactionReason, Usage};

use super::Machine;
use super::effect::Effect;
use super::plan::Plan;
use super::run::Step;
use super::summary::{
    MAX_ATTEMPTS, Room, Summarizing, fitting, object, readable, summary_model, summary_tokens,
    window,
};
use crate::compaction::{CompactionSettings, Cut, Goal, finish};
use crate::conversation::messages::CompactError;
use crate::journal::{Activity, Outcome, Record};
use crate::model::messages::ModelEvent;
use crate::model::{ModelError, ModelFailure};
use crate::reply::{BlockKind, StopReason};

impl Machine {
    pub(super) fn plan_cut(&self, window: u64) -> Option<Cut> {
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
    pub(super) fn compact_run(&mut self, reason: CompactionReason, cut: Cut) -> Vec<Effect> {
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

    pub(super) fn summarize(
        &mut self,
        reason: CompactionReason,
        cut: Cut,
        plan: &Plan,
        Room { allowance, room }: Room,
    ) -> Effect {
        let call_id = self.last_call.next();
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
        let call_id = self.last_call.next();
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
        let call_id = self.last_call.next();
        effects.extend(self.start_turn(call_id));
        effects
    }
}
