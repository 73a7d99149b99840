//! The fold of each part that can be folded: tools, thinking, summaries, long prompts.

use std::collections::HashMap;

use crate::conversation::{CallOutcome, Part, PartId, PartKind};
use crate::part_view::{FoldAmount, MAX_RESULT_LINES, MAX_TAIL, is_long};

/// The folds: all parts one way, and some another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folds {
    all: FoldAmount,
    /// Number of lines that are shown of results that are neither folded nor open.
    head: u16,
    each: HashMap<PartId, FoldAmount>,
    /// A part that is open while the current hit of a search is in it.
    peeked: Option<PartId>,
}

impl Default for Folds {
    fn default() -> Self {
        Self {
            all: FoldAmount::Folded,
            head: MAX_TAIL,
            each: HashMap::new(),
            peeked: None,
        }
    }
}

impl Folds {
    /// The fold of a part.
    pub(crate) fn fold(&self, part: &Part) -> FoldAmount {
        if !can_fold(part) {
            return FoldAmount::Open;
        }
        if self.peeked == Some(part.id) {
            return FoldAmount::Open;
        }
        if let Some(fold) = self.each.get(&part.id) {
            return *fold;
        }
        let is_opened = matches!(self.all, FoldAmount::Cut | FoldAmount::Open);
        match &part.kind {
            // What a running call shows is of interest while it runs.
            PartKind::Tool(tool) if self.all == FoldAmount::Folded && runs(&tool.outcome) => {
                FoldAmount::Head(MAX_TAIL)
            }
            PartKind::Tool(_) | PartKind::Command(_) => self.all,
            // The lines of a change are what one wants to see of it.
            PartKind::Change { .. } if self.all == FoldAmount::Open => FoldAmount::Open,
            PartKind::Change { .. } => FoldAmount::Cut,
            _ if is_opened => FoldAmount::Open,
            _ => FoldAmount::Folded,
        }
    }

    /// The same for another conversation: what holds for all parts.
    pub(crate) fn of_all(&self) -> Self {
        Self {
            all: self.all,
            head: self.head,
            ..Self::default()
        }
    }

    /// Shows all that way.
    pub(crate) fn set_all(&mut self, fold: FoldAmount) {
        if let FoldAmount::Head(lines) = fold {
            self.head = lines;
        }
        self.all = fold;
        self.each.clear();
    }

    /// Opens all, then shows the heads of results, then folds them again. Returns the new state.
    pub(crate) fn toggle_all(&mut self) -> FoldAmount {
        let fold = match self.all {
            FoldAmount::Folded => FoldAmount::Cut,
            FoldAmount::Cut | FoldAmount::Open => FoldAmount::Head(self.head),
            FoldAmount::Head(_) => FoldAmount::Folded,
        };
        self.set_all(fold);
        fold
    }

    /// Opens a part that is folded, then shows all of it if it is cut; else folds it.
    pub(crate) fn toggle(&mut self, part: &Part) {
        if !can_fold(part) {
            return;
        }
        let is_result = matches!(part.kind, PartKind::Tool(_) | PartKind::Command(_));
        let fold = match self.fold(part) {
            FoldAmount::Folded | FoldAmount::Head(_) if is_result => FoldAmount::Cut,
            FoldAmount::Folded | FoldAmount::Head(_) => FoldAmount::Open,
            FoldAmount::Cut if is_cut(part) => FoldAmount::Open,
            FoldAmount::Cut | FoldAmount::Open => FoldAmount::Folded,
        };
        self.each.insert(part.id, fold);
    }

    /// Opens a part for the time being, and closes the one before.
    pub(crate) fn peek(&mut self, part: Option<PartId>) {
        self.peeked = part;
    }
}

/// True if a part is ever folded.
pub(crate) fn can_fold(part: &Part) -> bool {
    match &part.kind {
        PartKind::Tool(_)
        | PartKind::Command(_)
        | PartKind::Change { .. }
        | PartKind::Summary { .. } => true,
        PartKind::Reasoning { is_live, .. } => !is_live,
        PartKind::User { content, .. } => is_long(content),
        PartKind::Text { .. } | PartKind::RunEnd { .. } | PartKind::Note { .. } => false,
    }
}

/// True if a call has not ended.
fn runs(outcome: &CallOutcome) -> bool {
    matches!(
        outcome,
        CallOutcome::Writing | CallOutcome::Waiting | CallOutcome::Running
    )
}

/// True if a result has more than is shown of one that was opened.
fn is_cut(part: &Part) -> bool {
    match &part.kind {
        PartKind::Tool(tool) => match &tool.outcome {
            CallOutcome::Ended(result) => !result.is_whole || result.lines > MAX_RESULT_LINES,
            CallOutcome::Writing | CallOutcome::Waiting | CallOutcome::Running => {
                tool.output.is_some()
            }
            CallOutcome::Skipped { .. } => false,
        },
        PartKind::Command(ran) => ran.result.lines > MAX_RESULT_LINES,
        _ => false,
    }
}

#[cfg(test)]
#[path = "folds_tests.rs"]
mod tests;
