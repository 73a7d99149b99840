//! How much of each part is shown that can be folded: tools and summaries.

use std::collections::HashMap;

use crate::conversation::{Part, PartId, PartKind, ToolOutcome};
use crate::part_view::{Fold, MAX_RESULT_LINES};

/// What is folded: all tool parts one way, and some another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Folds {
    all: Fold,
    each: HashMap<PartId, Fold>,
    /// A part that is open for as long as a search stands in it.
    peeked: Option<PartId>,
}

impl Folds {
    /// How a part is shown. Only tools and summaries are ever folded, and a summary is unless it
    /// was opened.
    pub(crate) fn of(&self, part: &Part) -> Fold {
        let each = self.each.get(&part.id).copied();
        match part.kind {
            PartKind::Tool(_) | PartKind::Change { .. } | PartKind::Summary { .. }
                if self.peeked == Some(part.id) =>
            {
                Fold::Open
            }
            PartKind::Tool(_) | PartKind::Change { .. } => each.unwrap_or(self.all),
            PartKind::Summary { .. } => each.unwrap_or(match self.all {
                Fold::Open => Fold::Open,
                Fold::Cut | Fold::Folded => Fold::Folded,
            }),
            PartKind::User { .. }
            | PartKind::Text { .. }
            | PartKind::Reasoning { .. }
            | PartKind::Note { .. } => Fold::default(),
        }
    }

    /// The same for another conversation: what holds for all tools.
    pub(crate) fn of_all(&self) -> Self {
        Self {
            all: self.all,
            ..Self::default()
        }
    }

    /// Shows all tools that way.
    pub(crate) fn set_all(&mut self, fold: Fold) {
        self.all = fold;
        self.each.clear();
    }

    /// Opens all tools, then folds them, then cuts them again. Says how they are shown then.
    pub(crate) fn toggle_all(&mut self) -> Fold {
        let fold = match self.all {
            Fold::Cut => Fold::Open,
            Fold::Open => Fold::Folded,
            Fold::Folded => Fold::Cut,
        };
        self.set_all(fold);
        fold
    }

    /// Opens a tool that was folded or cut; folds one of which all is shown.
    pub(crate) fn toggle(&mut self, part: &Part) {
        let fold = match self.of(part) {
            Fold::Folded => Fold::Open,
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

/// Whether there is more of a tool's result than is shown of one that is not open.
fn is_cut(part: &Part) -> bool {
    match &part.kind {
        PartKind::Tool(tool) => match &tool.outcome {
            ToolOutcome::Ended(result) => !result.is_whole || result.lines > MAX_RESULT_LINES,
            ToolOutcome::Writing | ToolOutcome::Waiting | ToolOutcome::Running => {
                tool.output.is_some()
            }
            ToolOutcome::Skipped { .. } => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::testing::{call, conversation, text};

    /// Spec: [SCRL-13]
    #[test]
    fn a_summary_is_folded_until_it_is_opened() {
        let known = conversation(&[crate::conversation::testing::event(
            serde_json::json!({"type": "checkpoint", "summary": "all"}),
        )]);
        let part = known.parts().next().unwrap();
        let mut folds = Folds::default();
        assert_eq!(folds.of(part), Fold::Folded);
        folds.toggle(part);
        assert_eq!(folds.of(part), Fold::Open);
        folds.toggle(part);
        assert_eq!(folds.of(part), Fold::Folded);
        for (all, of_it) in [
            (Fold::Open, Fold::Open),
            (Fold::Cut, Fold::Folded),
            (Fold::Folded, Fold::Folded),
        ] {
            folds.set_all(all);
            assert_eq!(folds.of(part), of_it);
        }
        folds.peek(Some(part.id));
        assert_eq!(folds.of(part), Fold::Open);
    }

    /// Spec: [SCRL-08]
    #[test]
    fn tools_open_one_by_one_or_all_at_once() {
        let known = conversation(&[call("a"), call("b"), text("t")]);
        let parts: Vec<&Part> = known.parts().collect();
        let mut folds = Folds::default();
        let all =
            |folds: &Folds| -> Vec<Fold> { parts.iter().map(|part| folds.of(part)).collect() };
        assert_eq!(all(&folds), [Fold::Cut; 3]);
        // All of these is shown: there is nothing to open.
        folds.toggle(parts[0]);
        assert_eq!(all(&folds), [Fold::Folded, Fold::Cut, Fold::Cut]);
        folds.toggle(parts[0]);
        assert_eq!(all(&folds), [Fold::Open, Fold::Cut, Fold::Cut]);
        for fold in [Fold::Open, Fold::Folded, Fold::Cut] {
            assert_eq!(folds.toggle_all(), fold);
            assert_eq!(all(&folds), [fold, fold, Fold::Cut]);
        }
        let long = "line\n".repeat(101);
        let long = conversation(&[call("a"), crate::conversation::testing::result("a", &long)]);
        let long = long.parts().next().unwrap();
        folds.toggle(long);
        assert_eq!(folds.of(long), Fold::Open);
        folds.set_all(Fold::Folded);
        assert_eq!(all(&folds), [Fold::Folded, Fold::Folded, Fold::Cut]);
        folds.peek(Some(parts[1].id));
        assert_eq!(all(&folds), [Fold::Folded, Fold::Open, Fold::Cut]);
        folds.peek(None);
        assert_eq!(all(&folds), [Fold::Folded, Fold::Folded, Fold::Cut]);
        folds.toggle(parts[1]);
        let other = folds.of_all();
        assert_eq!(all(&other), [Fold::Folded, Fold::Folded, Fold::Cut]);
    }
}
