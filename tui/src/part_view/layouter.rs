//! Lays out parts, and remembers what helps it with those that grow.

use super::{FoldAmount, GrowingPart, layout};
use crate::conversation::{Part, PartId, PartKind};
use crate::layout::PartLayout;

/// Maximum number of parts that grow at the same time; a reply has one, as a rule.
const MAX_GROWING: usize = 4;

/// Lays out parts. One that grows is not read again from its beginning each time.
#[derive(Debug, Default)]
pub(crate) struct Layouter {
    growing: Vec<(PartId, String, GrowingPart)>,
}

impl Layouter {
    /// As [`layout`].
    pub(crate) fn layout(&mut self, part: &Part, width: u16, fold: FoldAmount) -> PartLayout {
        let Some(content) = live_content(&part.kind) else {
            self.growing.retain(|(id, _, _)| *id != part.id);
            return layout(part, width, fold);
        };
        let known = self.growing.iter().position(|(id, _, _)| *id == part.id);
        // A text that was begun again is another one.
        let is_same = |at: &usize| content.starts_with(&self.growing[*at].1);
        let at = match (known.filter(is_same), GrowingPart::from_kind(&part.kind)) {
            (Some(at), _) => at,
            (None, Some(new)) => {
                self.growing.retain(|(id, _, _)| *id != part.id);
                if self.growing.len() == MAX_GROWING {
                    self.growing.remove(0);
                }
                self.growing.push((part.id, String::new(), new));
                self.growing.len() - 1
            }
            (None, None) => return layout(part, width, fold),
        };
        let (_, seen, growing) = &mut self.growing[at];
        seen.push_str(&content[seen.len()..]);
        growing.layout(content, width).clone()
    }
}

/// The text of a part that grows.
fn live_content(kind: &PartKind) -> Option<&str> {
    match kind {
        PartKind::Text {
            content,
            is_live: true,
            ..
        }
        | PartKind::Reasoning {
            content,
            is_live: true,
            ..
        } => Some(content),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(content: &str, is_live: bool) -> Part {
        Part {
            id: PartId(1),
            revision: 0,
            seq: None,
            at: None,
            kind: PartKind::Text {
                content: content.to_owned(),
                is_live,
                is_cut: false,
            },
        }
    }

    /// Spec: [VIEW-01]
    #[test]
    fn a_text_looks_the_same_however_it_grew() {
        let whole = "# One\n\nsome *words* here\n\n- a\n- b\n\n```\ncode\n```\nend";
        let mut layouter = Layouter::default();
        for end in (1..=whole.len()).chain([3, 9, 40]) {
            let text = &whole[..end];
            let grown = layouter.layout(&part(text, true), 30, FoldAmount::Cut);
            assert_eq!(
                grown,
                layout(&part(text, true), 30, FoldAmount::Cut),
                "{text:?}"
            );
        }
        let other = layouter.layout(&part("another text", true), 30, FoldAmount::Cut);
        assert_eq!(
            other,
            layout(&part("another text", true), 30, FoldAmount::Cut)
        );
        layouter.layout(&part(whole, false), 30, FoldAmount::Cut);
        assert!(layouter.growing.is_empty());
    }
}
