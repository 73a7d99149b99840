//! The fold of each part that can be folded: tools, thinking, summaries, long prompts.

use std::collections::HashMap;

use crate::conversation::{Part, PartId, PartKind, ToolOutcome};
use crate::part_view::{Fold, MAX_RESULT_LINES, MAX_TAIL, is_long};

/// The folds: all parts one way, and some another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folds {
    all: Fold,
    /// Number of lines that are shown of results that are neither folded nor open.
    head: u16,
    each: HashMap<PartId, Fold>,
    /// A part that is open while the current hit of a search is in it.
    peeked: Option<PartId>,
}

impl Default for Folds {
    fn default() -> Self {
        Self {
            all: Fold::Folded,
            head: MAX_TAIL,
            each: HashMap::new(),
            peeked: None,
        }
    }
}

impl Folds {
    /// The fold of a part.
    pub(crate) fn fold(&self, part: &Part) -> Fold {
        if !can_fold(part) {
            return Fold::Open;
        }
        if self.peeked == Some(part.id) {
            return Fold::Open;
        }
        if let Some(fold) = self.each.get(&part.id) {
            return *fold;
        }
        let is_opened = matches!(self.all, Fold::Cut | Fold::Open);
        match &part.kind {
            // What a running call shows is of interest while it runs.
            PartKind::Tool(tool) if self.all == Fold::Folded && runs(&tool.outcome) => {
                Fold::Head(MAX_TAIL)
            }
            PartKind::Tool(_) | PartKind::Command(_) => self.all,
            // The lines of a change are what one wants to see of it.
            PartKind::Change { .. } if self.all == Fold::Open => Fold::Open,
            PartKind::Change { .. } => Fold::Cut,
            _ if is_opened => Fold::Open,
            _ => Fold::Folded,
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
    pub(crate) fn set_all(&mut self, fold: Fold) {
        if let Fold::Head(lines) = fold {
            self.head = lines;
        }
        self.all = fold;
        self.each.clear();
    }

    /// Opens all, then shows the heads of results, then folds them again. Returns the new state.
    pub(crate) fn toggle_all(&mut self) -> Fold {
        let fold = match self.all {
            Fold::Folded => Fold::Cut,
            Fold::Cut | Fold::Open => Fold::Head(self.head),
            Fold::Head(_) => Fold::Folded,
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
            Fold::Folded | Fold::Head(_) if is_result => Fold::Cut,
            Fold::Folded | Fold::Head(_) => Fold::Open,
            Fold::Cut if is_cut(part) => Fold::Open,
            Fold::Cut | Fold::Open => Fold::Folded,
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
fn runs(outcome: &ToolOutcome) -> bool {
    matches!(
        outcome,
        ToolOutcome::Writing | ToolOutcome::Waiting | ToolOutcome::Running
    )
}

/// True if a result has more than is shown of one that was opened.
fn is_cut(part: &Part) -> bool {
    match &part.kind {
        PartKind::Tool(tool) => match &tool.outcome {
            ToolOutcome::Ended(result) => !result.is_whole || result.lines > MAX_RESULT_LINES,
            ToolOutcome::Writing | ToolOutcome::Waiting | ToolOutcome::Running => {
                tool.output.is_some()
            }
            ToolOutcome::Skipped { .. } => false,
        },
        PartKind::Command(ran) => ran.result.lines > MAX_RESULT_LINES,
        _ => false,
    }
}

#[cfg(test)]
#[path = "folds_tests.rs"]
mod tests;
