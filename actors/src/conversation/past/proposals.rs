//! A call whose tool has returned, and whose changes at protected places wait for operators.

use std::collections::VecDeque;
use std::time::Duration;

use harness_protocol::{ChangeAction, FileChange};

use crate::journal::Record;
use crate::tool::ToolOutcome;

/// A call whose tool has returned and that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::conversation) struct ReturnedCall {
    call: String,
    result: String,
    is_error: bool,
    folder: Option<String>,
    duration_ms: Option<u64>,
    open: VecDeque<FileChange>,
}

impl ReturnedCall {
    /// Adds a record to the call that has returned, if one has.
    pub(super) fn apply(returned: &mut Option<Self>, record: &Record) {
        if let Record::ToolReturned {
            call,
            result,
            is_error,
            proposals,
            folder,
            duration_ms,
        } = record
        {
            *returned = Some(Self {
                call: call.clone(),
                result: result.clone(),
                is_error: *is_error,
                folder: folder.clone(),
                duration_ms: *duration_ms,
                open: proposals.clone().into(),
            });
        } else if let Record::ProposalDecided { call, decision, .. } = record {
            if let Some(returned) = returned.as_mut().filter(|it| it.call == *call) {
                returned.decide(decision);
            }
        } else if let Record::ToolResult { id, .. } = record {
            returned.take_if(|returned| returned.call == *id);
        } else if matches!(
            record,
            Record::CallsSkipped { .. }
                | Record::RunStarted { .. }
                | Record::RunEnded { .. }
                | Record::Checkpoint { .. }
        ) {
            *returned = None;
        }
    }

    /// The id of the call.
    pub(in crate::conversation) fn call(&self) -> &str {
        &self.call
    }

    /// The first change that is not decided.
    pub(in crate::conversation) fn first_open(&self) -> Option<&FileChange> {
        self.open.front()
    }

    /// Takes the first change off, and adds to the result what was decided.
    pub(super) fn decide(&mut self, decision: &str) {
        if self.open.pop_front().is_some() {
            let newline = if self.result.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            self.result.push_str(&format!("{newline}[{decision}]"));
        }
    }

    /// The outcome of the call, with what was decided so far.
    pub(in crate::conversation) fn outcome(&self) -> ToolOutcome {
        ToolOutcome {
            is_error: self.is_error,
            folder: self.folder.clone(),
            took: self.duration_ms.map(Duration::from_millis),
            ..ToolOutcome::from(Ok(self.result.clone()))
        }
    }
}

/// The decision about a change, for the model: `outcome` is that of making the change again.
pub(in crate::conversation) fn decision(change: &FileChange, outcome: &ToolOutcome) -> String {
    let mut path = String::new();
    for character in change.path.chars() {
        match character.is_control() {
            true => path.extend(character.escape_default()),
            false => path.push(character),
        }
    }
    let is_removal = change.action == ChangeAction::Removed;
    if !outcome.is_error {
        let kept = match is_removal {
            true => "an operator let the command remove it",
            false => "an operator kept the command's version",
        };
        return format!("{path} is protected; {kept}");
    }
    let reason = outcome.error().unwrap_or_default();
    let reason = reason.strip_prefix("not done: ").unwrap_or(&reason);
    let taken_back = match is_removal {
        true => "it is there again",
        false => "the command's version was taken back",
    };
    format!("{path} is protected; {taken_back}: {reason}")
}
