//! The difference of two contents, for people.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};
use tokio::time::Instant;

/// How much of a diff is shown, in bytes.
const MAX_DIFF: usize = 64 * 1024;
/// How many lines stand around a change.
const CONTEXT: usize = 3;
/// How long the shortest diff is looked for; then one is taken that is longer.
const PATIENCE: Duration = Duration::from_millis(200);

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::tool) struct Diff {
    /// How many lines are new.
    pub(in crate::tool) added: u64,
    /// How many lines are gone.
    pub(in crate::tool) removed: u64,
    /// As a unified diff without file names: whole lines, as many as are shown.
    pub(in crate::tool) text: String,
    /// Whether there is more of it.
    pub(in crate::tool) is_cut: bool,
}

impl Diff {
    /// The same with a text of at most so many bytes, whole lines.
    pub(in crate::tool) fn cut(mut self, most: usize) -> Self {
        if self.text.len() > most {
            let start = &self.text[..self.text.floor_char_boundary(most)];
            let end = start.rfind('\n').map_or(0, |end| end + 1);
            self.text.truncate(end);
            self.is_cut = true;
        }
        self
    }
}

/// The difference of two contents. What is not UTF-8 is shown replaced.
pub(in crate::tool) fn diff(before: &[u8], after: &[u8]) -> Diff {
    let (before, after) = (
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    );
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline((Instant::now() + PATIENCE).into_std())
        .diff_lines(&*before, &*after);
    let mut found = Diff::default();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => found.added += 1,
            ChangeTag::Delete => found.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    found.text = diff.unified_diff().context_radius(CONTEXT).to_string();
    found.cut(MAX_DIFF)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tool::testing::patched;

    proptest! {
        /// Spec: [TOOL-57]
        #[test]
        fn a_diff_makes_of_the_old_text_the_new_one(
            before in "([ab]{0,2}\n){0,30}[ab]?",
            after in "([ab]{0,2}\n){0,30}[ab]?",
        ) {
            let diff = diff(before.as_bytes(), after.as_bytes());
            prop_assert_eq!(patched(&before, &diff.text), after, "{}", diff.text);
        }
    }

    /// Spec: [TOOL-57]
    #[test]
    fn a_long_diff_is_cut_behind_a_line() {
        let diff = diff(b"", "line\n".repeat(100_000).as_bytes());
        assert!(diff.is_cut && diff.text.ends_with("+line\n") && diff.text.len() <= MAX_DIFF);
        assert_eq!((diff.added, diff.removed), (100_000, 0));
    }
}
