//! The difference of two contents, for people.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};
use tokio::time::Instant;

use super::long_lines::{self, MAX_LINE};
use crate::secret::Redaction;

/// How much of a diff is shown, in bytes.
const MAX_DIFF: usize = 64 * 1024;
/// The end of a line that is not shown to its end.
const CUT: &str = "…\n";
/// Number of lines around a change.
const CONTEXT: usize = 3;
/// How long the shortest diff is looked for; then one is taken that is longer.
const PATIENCE: Duration = Duration::from_millis(200);

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::tool) struct FileDiff {
    /// How many lines are new.
    pub(in crate::tool) added: u64,
    /// Number of removed lines.
    pub(in crate::tool) removed: u64,
    /// As a unified diff without file names and secrets, as much as is shown.
    pub(in crate::tool) text: String,
    /// True if long lines are shown around the places that differ only.
    pub(in crate::tool) is_shortened: bool,
    /// Whether there is more of it.
    pub(in crate::tool) is_cut: bool,
}

impl FileDiff {
    /// The same with a text of at most so many bytes: whole lines, and the beginning of a long one.
    pub(in crate::tool) fn cut(mut self, most: usize) -> Self {
        if self.text.len() > most {
            let room = most.saturating_sub(CUT.len());
            let start = &self.text[..self.text.floor_char_boundary(room)];
            let whole = start.rfind('\n').map_or(0, |end| end + 1);
            if start.len() - whole > MAX_LINE {
                self.text.truncate(start.len());
                self.text.push_str(CUT);
            } else {
                self.text.truncate(whole);
            }
            self.is_cut = true;
        }
        self
    }

    /// The remark for the operator about a diff that is cut or shortened.
    pub(in crate::tool) fn remark(&self) -> Option<&'static str> {
        match self {
            Self { is_cut: true, .. } => {
                Some("the diff does not fit in 64 KiB: not all that would change is shown")
            }
            Self {
                is_shortened: true, ..
            } => Some("lines of more than 2 KiB are shown around the places that differ only"),
            Self { .. } => None,
        }
    }
}

/// The difference of two contents, without secrets. What is not UTF-8 is shown replaced.
pub(in crate::tool) fn diff(before: &[u8], after: &[u8], redaction: &Redaction) -> FileDiff {
    let (before, after) = (
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    );
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline((Instant::now() + PATIENCE).into_std())
        .diff_lines(&*before, &*after);
    let mut found = FileDiff::default();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => found.added += 1,
            ChangeTag::Delete => found.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    // Secrets are taken out of the whole: a part of one would not be found.
    found.text = redaction.apply(diff.unified_diff().context_radius(CONTEXT).to_string());
    if found.text.len() > MAX_DIFF {
        let short = long_lines::shortened(&found.text);
        found.is_shortened = short.len() < found.text.len();
        found.text = short;
    }
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
            let diff = diff(before.as_bytes(), after.as_bytes(), &Redaction::default());
            prop_assert_eq!(patched(&before, &diff.text), after, "{}", diff.text);
        }
    }

    /// Spec: [TOOL-57]
    #[test]
    fn a_long_diff_is_cut_behind_a_line() {
        let long = "line\n".repeat(100_000);
        let diff = diff(b"", long.as_bytes(), &Redaction::default());
        assert!(diff.is_cut && diff.text.ends_with("+line\n") && diff.text.len() <= MAX_DIFF);
        assert_eq!((diff.added, diff.removed), (100_000, 0));
    }

    /// Spec: [TOOL-590] [TOOL-591]
    #[test]
    fn the_place_that_differs_in_a_long_line_is_seen_without_the_secret_beside_it() {
        let line =
            |middle: &str| format!("{}{middle}{}", "x,".repeat(100_000), ",y".repeat(100_000));
        let redaction = Redaction::new(vec!["sk-0123456789".into()]);
        let seen =
            |before: &str, after: &str| diff(before.as_bytes(), after.as_bytes(), &redaction);
        let found = seen(
            &line("sk-0123456789,1"),
            &line("sk-0123456789,changed here"),
        );
        assert!(found.text.contains(",***,changed here,"), "{}", found.text);
        assert!(found.is_shortened && !found.is_cut);
        assert!(found.remark().unwrap().contains("around the places"));
        // All of a new line differs, so that it does not fit.
        let found = seen("", &line("1"));
        assert!(found.is_cut && found.text.len() <= MAX_DIFF && found.text.len() > MAX_DIFF - 9);
        assert!(found.text.ends_with("…\n"));
        assert!(found.remark().unwrap().contains("not all"));
        // Short lines stay as they are.
        let found = seen("a\n", "b\n");
        assert_eq!((found.remark(), found.is_shortened), (None, false));
    }
}
