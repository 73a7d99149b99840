//! Lines of a layout's source that are code.

use std::ops::Range;

use super::Language;

/// Lines of code in the source of a layout, from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Code {
    /// The named language. `None` if no known one is named.
    language: Option<Language>,
    /// The range of each line, without its line break, in bytes of the source.
    lines: Vec<Range<u32>>,
}

impl Code {
    /// No lines yet, of this language.
    pub(crate) fn new(language: Option<Language>) -> Self {
        Self {
            language,
            lines: Vec::new(),
        }
    }

    /// One more line.
    pub(crate) fn push(&mut self, line: &Range<usize>) {
        let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        self.lines.push(place(line.start)..place(line.end));
    }

    /// Only the first lines.
    pub(crate) fn truncate(&mut self, lines: usize) {
        self.lines.truncate(lines);
    }

    /// Number of lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if it is a diff.
    pub(crate) fn is_diff(&self) -> bool {
        self.language.as_ref().is_some_and(Language::is_diff)
    }

    /// The named language, or the one that the first line declares.
    pub(super) fn language(&self, source: &str) -> Option<Language> {
        let first = || Language::of_first_line(self.text(source, 0));
        self.language.clone().or_else(first)
    }

    /// A line.
    pub(crate) fn text<'a>(&self, source: &'a str, line: usize) -> &'a str {
        let range = self.range(line).unwrap_or_default();
        source.get(range).unwrap_or_default()
    }

    /// The range of a line in the source, in bytes.
    pub(crate) fn range(&self, line: usize) -> Option<Range<usize>> {
        let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        let range = self.lines.get(line)?;
        Some(place(range.start)..place(range.end))
    }

    /// The lines that overlap a range of the source.
    pub(crate) fn within(&self, range: &Range<usize>) -> Range<usize> {
        let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let first = self
            .lines
            .partition_point(|line| line.end < place(range.start));
        let end = self
            .lines
            .partition_point(|line| line.start < place(range.end));
        first..end.max(first)
    }
}
