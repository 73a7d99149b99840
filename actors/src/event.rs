//! The events that clients see of records: the one place where a kept fact becomes a shown one.

use std::borrow::Cow;

use harness_protocol::{ActivityState, DeltaKind, EndOutcome as ShownOutcome, Event, TokenUsage};

use crate::journal::{Activity, Outcome, Record, Totals};
use crate::reply::{Block, BlockKind, Object};
use crate::tool::defined_name;
use crate::web;

/// An event that is shown and not written down.
#[derive(Debug, Clone, PartialEq)]
pub enum Passing {
    /// A piece of an unfinished block.
    Delta {
        /// The block's place in the reply.
        index: u64,
        /// The kind of block that the piece belongs to.
        kind: DeltaKind,
        /// Where the piece begins in its block, in bytes.
        offset: u64,
        /// The piece.
        text: String,
    },
    /// A running tool shows something.
    ToolOutput {
        /// The id of the call.
        id: String,
        /// Where it begins in all that the call has shown, in bytes.
        offset: u64,
        /// The new text.
        text: String,
    },
    /// The pieces of unfinished blocks so far are void.
    Discarded,
    /// The conversation cannot continue, and the journal cannot say so.
    Failed(String),
}

/// The event of a record, with its time in Unix seconds.
#[must_use]
#[expect(
    clippy::too_many_lines,
    reason = "one arm a record, each a list of fields"
)]
pub fn event(record: &Record, timestamp: u64) -> Event {
    match record {
        Record::RunStarted { run, by, .. } => Event::RunStarted {
            run_id: run.0,
            by: by.clone(),
            timestamp,
        },
        Record::Prompt {
            run,
            content,
            key,
            by,
            queue,
            item,
            attachments,
        } => Event::User {
            content: content.clone(),
            run_id: Some(run.0),
            key: key.clone(),
            by: by.clone(),
            queue: *queue,
            item: item.map(|item| item.0),
            attachments: attachments.clone(),
            timestamp,
        },
        Record::Status { activity, message } => Event::Status {
            state: state(*activity),
            message: message.clone(),
            timestamp,
        },
        Record::ApprovalAsked(approval) => Event::ApprovalAsked {
            approval: approval.clone(),
            timestamp,
        },
        Record::ApprovalAnswered {
            id,
            answer,
            scope,
            message,
            by,
            ..
        } => Event::ApprovalAnswered {
            id: *id,
            answer: *answer,
            scope: *scope,
            message: message.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::ApprovalWithdrawn { id, reason, by } => Event::ApprovalWithdrawn {
            id: *id,
            reason: *reason,
            by: by.clone(),
            timestamp,
        },
        Record::EffectBegan { call, .. } => Event::EffectBegan {
            call: call.clone(),
            timestamp,
        },
        Record::FilesChanged {
            call,
            changes,
            note,
        } => Event::FilesChanged {
            call: call.clone(),
            changes: changes.clone(),
            note: note.clone(),
            timestamp,
        },
        Record::ToolReturned { call, .. } => Event::ToolReturned {
            call: call.clone(),
            timestamp,
        },
        Record::ProposalDecided {
            call,
            path,
            decision,
        } => Event::ProposalDecided {
            call: call.clone(),
            path: path.clone(),
            decision: decision.clone(),
            timestamp,
        },
        Record::Undone { files, by, .. } => Event::Undone {
            files: files.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::CommandRan {
            command,
            result,
            is_error,
            is_hidden,
            by,
        } => Event::CommandRan {
            command: command.clone(),
            result: result.clone(),
            is_error: *is_error,
            is_hidden: *is_hidden,
            by: by.clone(),
            timestamp,
        },
        Record::Branched {
            conversation,
            behind,
            by,
        } => Event::Branched {
            conversation: conversation.clone(),
            seq: *behind,
            by: by.clone(),
            timestamp,
        },
        Record::JobStarted { job, call, command } => Event::JobStarted {
            job: *job,
            call: call.clone(),
            command: command.clone(),
            timestamp,
        },
        Record::JobEnded { job, end, changes } => Event::JobEnded {
            job: *job,
            end: end.clone(),
            changes: changes.clone(),
            timestamp,
        },
        Record::RulesChanged { added, removed, by } => Event::RulesChanged {
            added: added.clone(),
            removed: removed.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::TurnStarted { run, turn, .. } => Event::TurnStarted {
            run_id: run.0,
            turn: *turn,
            timestamp,
        },
        Record::Block {
            block,
            partial,
            duration_ms,
            ..
        } => block_event(block, *partial, *duration_ms, timestamp),
        Record::ReplyEnded {
            model,
            stop_reason,
            usage,
            window,
            ..
        } => Event::ReplyEnded {
            model: model.clone(),
            stop_reason: stop_reason.clone(),
            usage: usage.clone(),
            window: *window,
            timestamp,
        },
        Record::ReplyFailed { error, .. } => Event::ReplyFailed {
            error: error.clone(),
            timestamp,
        },
        Record::ToolResult {
            id,
            result,
            is_error,
            duration_ms,
            extent,
            ..
        } => Event::ToolResult {
            id: id.clone(),
            result: result.clone(),
            is_error: *is_error,
            duration_ms: *duration_ms,
            extent: *extent,
            timestamp,
        },
        Record::CallsSkipped { reason } => Event::CallsSkipped {
            reason: reason.text().to_owned(),
            timestamp,
        },
        Record::TurnEnded { run, turn, outcome } => Event::TurnEnded {
            run_id: run.0,
            turn: *turn,
            outcome: shown_outcome(*outcome),
            timestamp,
        },
        Record::RunEnded {
            run,
            outcome,
            message,
            totals,
            run_usage,
            duration_ms,
            by,
        } => Event::RunEnded {
            run_id: run.0,
            outcome: shown_outcome(*outcome),
            message: message.clone(),
            usage: usage(totals),
            run_usage: *run_usage,
            duration_ms: *duration_ms,
            by: by.clone(),
            timestamp,
        },
        Record::Renamed { title, by } => Event::Renamed {
            title: title.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::Queued {
            item,
            queue,
            content,
            attachments,
            key,
            by,
        } => Event::Queued {
            item: item.0,
            queue: *queue,
            content: content.clone(),
            attachments: attachments.clone(),
            key: key.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::Withdrawn { items, by } => Event::Withdrawn {
            items: items.iter().map(|item| item.0).collect(),
            by: by.clone(),
            timestamp,
        },
        Record::SettingsChanged { settings, by } => Event::SettingsChanged {
            settings: Box::new(settings.clone()),
            by: by.clone(),
            timestamp,
        },
        Record::ReplyLeftOut { by } => Event::ReplyLeftOut {
            by: by.clone(),
            timestamp,
        },
        Record::CompactionStarted { reason, tokens, by } => Event::CompactionStarted {
            reason: *reason,
            tokens: *tokens,
            by: by.clone(),
            timestamp,
        },
        Record::Compacted {
            reason,
            summary,
            tokens_before,
            tokens_after,
            usage,
            ..
        } => Event::Compacted {
            reason: *reason,
            summary: summary.clone(),
            tokens_before: *tokens_before,
            tokens_after: *tokens_after,
            usage: counts(usage),
            timestamp,
        },
        Record::CompactionFailed { error, by, .. } => Event::CompactionFailed {
            error: error.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::Checkpoint { summary, by, .. } => Event::Checkpoint {
            summary: summary.clone(),
            by: by.clone(),
            timestamp,
        },
        Record::SpendingReserved { run, micro_usd } => Event::SpendingReserved {
            run_id: run.0,
            micro_usd: *micro_usd,
            timestamp,
        },
        Record::SpendingReleased { run, micro_usd } => Event::SpendingReleased {
            run_id: run.0,
            micro_usd: *micro_usd,
            timestamp,
        },
        Record::ToolsRenewed { tools, by } => Event::ToolsRenewed {
            tools: tools.iter().map(defined_name).map(str::to_owned).collect(),
            by: by.clone(),
            timestamp,
        },
        Record::Workflow(record) => Event::Workflow {
            record: record.clone(),
            timestamp,
        },
        Record::Unknown { kind, .. } => Event::Record {
            record_type: kind.clone(),
            timestamp,
        },
    }
}

/// The event as `GET /events` carries it: with the fields of the first version. `None` if its type is not carried.
#[must_use]
pub fn plain(event: &Event) -> Option<Cow<'_, Event>> {
    let has_sources = matches!(event, Event::Text { sources, .. } if !sources.is_empty());
    let has_later_fields = has_sources
        || matches!(
            event,
            Event::User { .. } | Event::ToolResult { .. } | Event::Reasoning { .. }
        );
    if !has_later_fields
        && !matches!(
            event,
            Event::Text { .. } | Event::ToolCall { .. } | Event::Status { .. }
        )
    {
        return None;
    }
    let mut plain = Cow::Borrowed(event);
    if has_later_fields {
        leave_later_fields_out(plain.to_mut());
    }
    Some(plain)
}

/// Clears the fields that an event did not have in the first version.
fn leave_later_fields_out(event: &mut Event) {
    if let Event::User {
        run_id,
        key,
        by,
        queue,
        item,
        attachments,
        ..
    } = event
    {
        *run_id = None;
        *key = None;
        *by = None;
        *queue = None;
        *item = None;
        attachments.clear();
    } else if let Event::ToolResult {
        duration_ms,
        extent,
        ..
    } = event
    {
        *duration_ms = None;
        *extent = None;
    } else if let Event::Reasoning { duration_ms, .. } = event {
        *duration_ms = None;
    } else if let Event::Text { sources, .. } = event {
        sources.clear();
    }
}

/// The event of what passes, with its time in Unix seconds.
#[must_use]
pub fn passing_event(passing: Passing, timestamp: u64) -> Event {
    match passing {
        Passing::Delta {
            index,
            kind,
            offset,
            text,
        } => Event::Delta {
            index,
            kind,
            offset,
            text,
        },
        Passing::ToolOutput { id, offset, text } => Event::ToolOutput { id, offset, text },
        Passing::Discarded => Event::Discarded {},
        Passing::Failed(message) => Event::Status {
            state: ActivityState::Error,
            message,
            timestamp,
        },
    }
}

fn block_event(block: &Block, partial: bool, duration_ms: Option<u64>, timestamp: u64) -> Event {
    match block.kind() {
        BlockKind::Text(text) => Event::Text {
            content: text.to_owned(),
            partial,
            sources: web::sources(block),
            timestamp,
        },
        BlockKind::Thinking { thinking, .. } if !thinking.is_empty() => Event::Reasoning {
            content: thinking.to_owned(),
            duration_ms,
            timestamp,
        },
        BlockKind::ToolCall { id, name, input } => Event::ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input.clone(),
            timestamp,
        },
        BlockKind::Thinking { .. }
        | BlockKind::RedactedThinking
        | BlockKind::ServerToolCall { .. }
        | BlockKind::ServerToolResult { .. }
        | BlockKind::Unknown => Event::Block {
            block_type: block.type_name().to_owned(),
            web: web::step(block),
            fallback: block.fallback(),
            timestamp,
        },
    }
}

/// The counts that the API reported.
fn counts(usage: &Object) -> TokenUsage {
    let usage = crate::reply::Usage::from(usage.clone());
    usage.counts()
}

/// The state that clients see of a conversation's activity.
#[must_use]
pub fn state(activity: Activity) -> ActivityState {
    match activity {
        Activity::Idle => ActivityState::Idle,
        Activity::Thinking => ActivityState::Thinking,
        Activity::RunningTool => ActivityState::RunningTool,
        Activity::Error => ActivityState::Error,
    }
}

/// The token counts of a conversation.
#[must_use]
pub fn usage(totals: &Totals) -> TokenUsage {
    TokenUsage {
        input_tokens: totals.input_tokens,
        output_tokens: totals.output_tokens,
        cache_creation_input_tokens: totals.cache_creation_input_tokens,
        cache_read_input_tokens: totals.cache_read_input_tokens,
        web_search_requests: totals.web_search_requests,
    }
}

fn shown_outcome(outcome: Outcome) -> ShownOutcome {
    match outcome {
        Outcome::Completed => ShownOutcome::Completed,
        Outcome::Cancelled => ShownOutcome::Cancelled,
        Outcome::Error => ShownOutcome::Error,
        Outcome::Interrupted => ShownOutcome::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use harness_protocol::Extent;

    use super::*;
    use crate::journal::Record;

    /// Spec: [EVENT-260] [EVENT-12]
    #[test]
    fn times_and_extents_are_told_and_not_on_the_plain_stream() {
        let extent = Extent {
            lines: Some(4),
            of_lines: Some(10),
            ..Extent::default()
        };
        let result = Record::ToolResult {
            id: "t".to_owned(),
            result: "x".to_owned(),
            is_error: false,
            seen: Vec::new(),
            folder: None,
            duration_ms: Some(12),
            extent: Some(extent),
        };
        let thinking = serde_json::json!({"type": "thinking", "thinking": "so", "signature": "s"});
        let thinking = Record::Block {
            index: 0,
            block: serde_json::from_value(thinking).unwrap(),
            partial: false,
            duration_ms: Some(14_000),
        };
        let line = |event: &Event| serde_json::to_string(event).unwrap();
        for (record, told, left) in [
            (
                result,
                r#"{"type":"tool_result","id":"t","result":"x","isError":false,"duration_ms":12,"extent":{"lines":4,"of_lines":10},"timestamp":7}"#,
                r#"{"type":"tool_result","id":"t","result":"x","isError":false,"timestamp":7}"#,
            ),
            (
                thinking,
                r#"{"type":"reasoning","content":"so","duration_ms":14000,"timestamp":7}"#,
                r#"{"type":"reasoning","content":"so","timestamp":7}"#,
            ),
        ] {
            let event = event(&record, 7);
            assert_eq!(line(&event), told);
            assert_eq!(line(&plain(&event).unwrap()), left);
            // And on record: what is written reads back, and a record of before does, too.
            let written = serde_json::to_string(&record).unwrap();
            let read: Record = serde_json::from_str(&written).unwrap();
            assert_eq!(line(&super::event(&read, 7)), told);
        }
        let old = r#"{"type":"tool_result","data":{"id":"t","result":"x","is_error":false}}"#;
        let old: Record = serde_json::from_str(old).unwrap();
        assert_eq!(
            serde_json::to_string(&old).unwrap(),
            r#"{"type":"tool_result","data":{"id":"t","result":"x","is_error":false}}"#
        );
    }
}
