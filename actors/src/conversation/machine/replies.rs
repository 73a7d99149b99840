//! The model's answers, and the conversation's reactions.

use harness_protocol::Queue;

use super::Machine;
use super::effect::Effect;
use crate::conversation::retrying;
use crate::event::Passing;
use crate::ids::CallId;
use crate::journal::{Activity, Record, Unanswered};
use crate::model::ModelFailure;
use crate::model::messages::ModelEvent;
use crate::reply::{Block, BlockKind, ReplyEnd, StopReason};
use crate::tool::{ToolCall, ToolOutcome};

/// How often one run sends a paused reply back.
const MAX_PAUSES: u32 = 8;
/// The remark of a reply that has nothing to send back.
const EMPTY_REPLY: &str = "stopped: the model's reply was empty, without text or a tool call; \
                           `/continue` or `harness continue` asks again";
/// The consequence of a refusal for later requests, and the ways out.
const LEFT_OUT: &str = "what was new in the request is left out of later ones; say it in other \
                        words, or send it again with `/retry` or `harness retry`";

impl Machine {
    pub(super) fn model_answered(&mut self, event: ModelEvent) -> Vec<Effect> {
        let is_of_summary = self.compaction.summary_call() == Some(event.call_id());
        if is_of_summary && !matches!(event, ModelEvent::NotCharged { .. }) {
            if matches!(event, ModelEvent::Finished { .. }) {
                self.summary_replied();
            }
            return self.summary_answered(event);
        }
        match event {
            ModelEvent::NotCharged { call_id } => self.attempt_cost_nothing(&call_id),
            ModelEvent::Described { call_id, info } => self.described(&call_id, info),
            ModelEvent::Retrying {
                call_id,
                retry,
                max_retries,
                delay,
                error,
            } => {
                let remark = retrying::remark(delay, retry, max_retries, &error.to_string());
                self.discard(&call_id, &remark)
            }
            ModelEvent::Adapted { call_id, remark } => self.discard(&call_id, &remark),
            ModelEvent::Remarked { call_id, remark } => self.remark_once(&call_id, &remark),
            ModelEvent::RetryBegan { call_id } => self.end_remark(&call_id),
            ModelEvent::Delta {
                call_id,
                index,
                kind,
                offset,
                text,
            } => {
                let mut effects = self.end_remark(&call_id);
                let run = self.asking(&call_id);
                if run.is_some_and(|run| run.ending.is_none()) {
                    effects.push(Effect::Show(Passing::Delta {
                        index,
                        kind,
                        offset,
                        text,
                    }));
                }
                effects
            }
            ModelEvent::ModelReplaced { call_id, from, to } => self.remark(
                &call_id,
                &format!("the model {from} is not served any more; using {to}"),
            ),
            ModelEvent::BlockFinished {
                call_id,
                index,
                block,
            } => {
                let mut effects = self.end_remark(&call_id);
                effects.extend(self.block_finished(&call_id, index, block));
                effects
            }
            ModelEvent::Finished { call_id, end } => self.reply_finished(&call_id, &end),
            ModelEvent::Failed {
                call_id,
                failure,
                partial,
            } => self.model_failed(&call_id, failure, partial),
        }
    }

    /// Says what the model's call is up to.
    pub(super) fn remark(&mut self, call_id: &CallId, remark: &str) -> Vec<Effect> {
        match self.asking(call_id) {
            Some(run) if run.ending.is_none() => {
                run.has_remark = true;
                vec![self.status(Activity::Thinking, remark)]
            }
            Some(_) | None => vec![],
        }
    }

    /// Says what holds for every request of the run when it is known first.
    fn remark_once(&mut self, call_id: &CallId, remark: &str) -> Vec<Effect> {
        let run = self.asking(call_id);
        if run.is_some_and(|run| run.remarks.insert(remark.to_owned())) {
            return self.remark(call_id, remark);
        }
        vec![]
    }

    /// Takes back what a reply had begun, and says why.
    fn discard(&mut self, call_id: &CallId, remark: &str) -> Vec<Effect> {
        let mut effects = self.remark(call_id, remark);
        if !effects.is_empty() {
            effects.insert(0, Effect::Show(Passing::Discarded));
        }
        effects
    }

    /// Ends what was said of the model's call: the run continues.
    fn end_remark(&mut self, call_id: &CallId) -> Vec<Effect> {
        match self.asking(call_id) {
            Some(run) if run.has_remark && run.ending.is_none() => {
                run.has_remark = false;
                vec![self.status(Activity::Thinking, "")]
            }
            Some(_) | None => vec![],
        }
    }

    pub(super) fn block_finished(
        &mut self,
        call_id: &CallId,
        index: u64,
        mut block: Block,
    ) -> Vec<Effect> {
        if self.asking(call_id).is_none() {
            return vec![];
        }
        if let BlockKind::ToolCall { id, .. } = block.kind() {
            let unique = self.ledger.unique_id(id);
            if unique != id {
                block.set_id(unique);
            }
        }
        self.show_block(index, block, false)
    }

    /// Records a block; a call is announced before.
    pub(super) fn show_block(&mut self, index: u64, block: Block, partial: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let BlockKind::ToolCall { name, .. } = block.kind() {
            effects.push(self.status(Activity::RunningTool, name));
        }
        effects.push(self.note(Record::Block {
            index,
            block,
            partial,
            // It is known when the record is written.
            duration_ms: None,
        }));
        effects
    }

    pub(super) fn reply_finished(&mut self, call_id: &CallId, end: &ReplyEnd) -> Vec<Effect> {
        let Some(run) = self.asking(call_id) else {
            return vec![];
        };
        let ending = run.ending;
        let is_full = end.stop_reason == StopReason::ContextWindowExceeded && ending.is_none();
        let cut = is_full.then(|| self.cut_for_overflow()).flatten();
        if !is_full {
            self.compaction.replied();
        }
        let calls = self.ledger.calls();
        let reason = &end.stop_reason;
        let paused = *reason == StopReason::PauseTurn && calls.is_empty() && ending.is_none();
        let unanswered = match (ending, reason) {
            (Some(_), _) => Unanswered::Cancelled,
            (None, StopReason::Refusal) => Unanswered::Refused,
            (None, _) => Unanswered::Interrupted,
        };
        let is_empty = calls.is_empty() && !self.ledger.keeps_reply();
        let window = self.context_window();
        let mut effects = vec![self.note(Record::ReplyEnded {
            id: end.id.clone(),
            model: end.model.clone(),
            stop_reason: reason.to_string(),
            usage: end.usage.json().clone(),
            paused,
            unanswered,
            overflow: cut.is_some(),
            // Also at a cancel: what the API declines once, it declines in each later request.
            refused: *reason == StopReason::Refusal,
            window,
        })];
        effects.extend(self.reply_recorded(&end.usage.by_model(&end.model)));
        if let Some(cut) = cut {
            effects.extend(self.compact_overflow(cut));
            return effects;
        }
        effects.extend(match reason {
            _ if ending.is_some() => self.end_as_asked(),
            StopReason::MaxTokens if !calls.is_empty() => {
                let mut effects = self.refuse_cut_calls(&calls);
                effects.extend(self.turn_done(true));
                effects
            }
            StopReason::ContextWindowExceeded => {
                let mut effects = self.refuse_cut_calls(&calls);
                effects.extend(self.end("stopped: the model's context window is full"));
                effects
            }
            StopReason::MaxTokens => self.end_of_reply("stopped: the reply reached max_tokens"),
            StopReason::Refusal => self.end(&refusal(end)),
            StopReason::PauseTurn if paused => self.after_pause(),
            StopReason::Other(reason) => self.end_of_reply(&format!("stopped: {reason}")),
            _ if is_empty => self.end_of_reply(EMPTY_REPLY),
            StopReason::EndTurn
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::PauseTurn => self.run_tools(calls),
        });
        effects
    }

    /// Answers the calls of a reply that the output limit cut: their inputs may be incomplete.
    pub(super) fn refuse_cut_calls(&mut self, calls: &[ToolCall]) -> Vec<Effect> {
        let outcome = ToolOutcome::failed(
            "not executed: the reply was cut at the output limit, so the call may be incomplete; \
             make it again, shorter",
        );
        let refuse = |call: &ToolCall| {
            let answer = self.tool_answered(call, &outcome);
            [answer, self.status(Activity::Thinking, "")]
        };
        calls.iter().flat_map(refuse).collect()
    }

    pub(super) fn after_pause(&mut self) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        run.pauses += 1;
        if run.pauses > MAX_PAUSES {
            return self.end(&format!("stopped: the reply was paused {MAX_PAUSES} times"));
        }
        self.ask_again()
    }

    /// Ends the run, unless an operator has something to say.
    fn end_of_reply(&mut self, remark: &str) -> Vec<Effect> {
        if self.waits(Queue::Steer) || self.waits(Queue::FollowUp) {
            let mut effects = vec![self.status(Activity::Thinking, remark)];
            effects.extend(self.turn_done(false));
            return effects;
        }
        self.end(remark)
    }

    pub(super) fn model_failed(
        &mut self,
        call_id: &CallId,
        failure: ModelFailure,
        partial: Vec<(u64, Block)>,
    ) -> Vec<Effect> {
        let Some(run) = self.asking(call_id) else {
            // Else it was not looked up what the model can do, which is no reason to stop.
            return self.described(call_id, None);
        };
        let ending = run.ending;
        let mut effects = Vec::new();
        for (index, block) in partial {
            effects.extend(self.show_block(index, block, true));
        }
        let unanswered = match ending {
            Some(_) => Unanswered::Cancelled,
            None => Unanswered::Interrupted,
        };
        let is_bare = !self.ledger.has_block() && ending.is_none();
        let is_too_long = is_bare && failure.error.is_too_long();
        self.compaction.window_named(failure.error.window());
        let cut = is_too_long.then(|| self.cut_for_overflow()).flatten();
        let refused = is_bare && failure.error.is_refused_request() && cut.is_none();
        effects.push(self.note(Record::ReplyFailed {
            error: failure.to_string(),
            unanswered,
            refused,
            overflow: cut.is_some(),
        }));
        effects.extend(match ending {
            Some(_) => self.end_as_asked(),
            None => match cut {
                Some(cut) => self.compact_overflow(cut),
                None => self.fail(failure),
            },
        });
        effects
    }
}

/// The remark that the API declined, with the category and explanation that it gave, and the way
/// out.
fn refusal(end: &ReplyEnd) -> String {
    let detail = |key: &str| {
        end.stop_details
            .get(key)
            .and_then(serde_json::Value::as_str)
    };
    let mut text = "refusal: the model declined to answer".to_owned();
    for part in ["category", "explanation"].into_iter().filter_map(detail) {
        text = format!("{text}; {part}");
    }
    format!("{text}; {LEFT_OUT}")
}
