//! How much of each tool part is shown.

use std::collections::HashMap;

use crate::conversation::{Part, PartId, PartKind};
use crate::part_view::Fold;

/// What is folded: all tool parts one way, and some another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Folds {
    all: Fold,
    each: HashMap<PartId, Fold>,
    /// A part that is open for as long as a search stands in it.
    peeked: Option<PartId>,
}

impl Folds {
    /// How a part is shown. Only tools are ever folded.
    pub(crate) fn of(&self, part: &Part) -> Fold {
        match part.kind {
            PartKind::Tool(_) if self.peeked == Some(part.id) => Fold::Open,
            PartKind::Tool(_) => self.each.get(&part.id).copied().unwrap_or(self.all),
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

    /// Opens all tools, or cuts them again.
    pub(crate) fn toggle_all(&mut self) {
        let fold = toggled(self.all);
        self.set_all(fold);
    }

    /// Opens a tool, or cuts it again.
    pub(crate) fn toggle(&mut self, part: &Part) {
        let fold = toggled(self.of(part));
        self.each.insert(part.id, fold);
    }

    /// Opens a part for the time being, and closes the one before.
    pub(crate) fn peek(&mut self, part: Option<PartId>) {
        self.peeked = part;
    }
}

fn toggled(fold: Fold) -> Fold {
    match fold {
        Fold::Folded | Fold::Cut => Fold::Open,
        Fold::Open => Fold::Cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::testing::{call, conversation, text};

    /// Spec: [SCRL-08]
    #[test]
    fn tools_open_one_by_one_or_all_at_once() {
        let known = conversation(&[call("a"), call("b"), text("t")]);
        let parts: Vec<&Part> = known.parts().collect();
        let mut folds = Folds::default();
        let all =
            |folds: &Folds| -> Vec<Fold> { parts.iter().map(|part| folds.of(part)).collect() };
        assert_eq!(all(&folds), [Fold::Cut; 3]);
        folds.toggle(parts[0]);
        assert_eq!(all(&folds), [Fold::Open, Fold::Cut, Fold::Cut]);
        folds.toggle_all();
        assert_eq!(all(&folds), [Fold::Open, Fold::Open, Fold::Cut]);
        folds.toggle(parts[1]);
        assert_eq!(folds.of(parts[1]), Fold::Cut);
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
