//! Finds some secrets, in all their forms, in one pass over a text.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::forms::add_forms;

/// Some secrets, ready to be looked for.
#[derive(Default)]
pub(super) struct Matcher {
    forms: Vec<String>,
    automaton: Option<AhoCorasick>,
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matcher({} forms)", self.forms.len())
    }
}

impl Matcher {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = BTreeSet::new();
        for secret in secrets {
            add_forms(secret, &mut forms);
        }
        let forms: Vec<String> = forms.into_iter().collect();
        if forms.is_empty() {
            return Self::default();
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&forms);
        Self {
            forms,
            // It fails for gigabytes of secrets only; each is looked for by itself then.
            automaton: automaton.ok(),
        }
    }

    /// Adds the ranges of the secrets in the text.
    pub(super) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        match &self.automaton {
            // Those that overlap count too: what is left of one would be a piece of the other.
            Some(automaton) => {
                found.extend(
                    automaton
                        .find_overlapping_iter(text)
                        .map(|found| found.range()),
                );
            }
            None => {
                for form in &self.forms {
                    let places = text.match_indices(form);
                    found.extend(places.map(|(start, form)| start..start + form.len()));
                }
            }
        }
    }

    /// Length of the longest form, in bytes.
    pub(super) fn longest(&self) -> usize {
        self.forms.iter().map(String::len).max().unwrap_or_default()
    }

    /// The offset from which the end of the text may be the start of a secret. `None` if no end of it may.
    pub(super) fn unfinished(&self, text: &str) -> Option<usize> {
        let starts = self.forms.iter().filter_map(|form| {
            let longest = form.len().saturating_sub(1).min(text.len());
            let tail = &text.as_bytes()[text.len() - longest..];
            let first = form.as_bytes().first()?;
            let places = tail.iter().enumerate().filter(|(_, byte)| *byte == first);
            let mut places = places.map(|(at, _)| at);
            let at = places.find(|at| form.as_bytes().starts_with(&tail[*at..]))?;
            Some(text.len() - longest + at)
        });
        starts.min()
    }
}
