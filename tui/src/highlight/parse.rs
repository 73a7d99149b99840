//! Reads lines of code one after the other, within limits, and continues where it stopped.

use std::time::Duration;

use syntect::parsing::{ParseState, ScopeStack, SyntaxSet};

use super::Language;
use super::scopes::Scopes;
use crate::conversation::PartId;
use crate::theme::Token;

/// Maximum size of a block that is read, in bytes.
pub(super) const MAX_BYTES: usize = 256 * 1024;
/// Maximum number of lines of a block that are read.
pub(super) const MAX_LINES: usize = 5_000;
/// Maximum length of a line that is read, in bytes. After a longer one its block has no colours.
pub(super) const MAX_LINE: usize = 2_000;
/// Limit of the thread's processor time for a block.
pub(super) const MAX_TIME: Duration = Duration::from_millis(100);

/// Names code on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CodeKey {
    /// The part that has the code.
    pub(crate) part: PartId,
    /// Index of the code in that part.
    pub(crate) code: usize,
}

/// Lines of code that want colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub(crate) key: CodeKey,
    /// Names the request, and its answer.
    pub(crate) number: u64,
    pub(crate) language: Language,
    /// Number of lines that came in requests before it.
    pub(crate) from: usize,
    /// The lines, each with its line break; only the last may have none, and is still being written.
    pub(crate) text: String,
}

/// The colours of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedColours {
    pub(crate) key: CodeKey,
    pub(crate) number: u64,
    pub(crate) result: Result<ReadColours, LostLines>,
}

/// The thread does not remember the lines before those that it was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostLines;

/// The colours of the lines that were read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReadColours {
    /// All but plain text, in the order of the text.
    pub(crate) spans: Vec<Span>,
    /// True if the rest of the code stays plain.
    pub(crate) is_over: bool,
}

/// A stretch of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The line, counted from the first of the code.
    pub(crate) line: u32,
    /// Offset of its beginning in the line, in bytes.
    pub(crate) start: u16,
    /// Offset of its end in the line, in bytes.
    pub(crate) end: u16,
    /// Its meaning.
    pub(crate) token: Token,
}

/// A parse that continues with each request for its code.
#[derive(Clone)]
pub(super) struct Parse {
    state: ParseState,
    scopes: ScopeStack,
    lines: usize,
    bytes: usize,
    spent: Duration,
    is_over: bool,
}

impl Parse {
    /// At the beginning of code in a language. `None` if the set does not have it.
    pub(super) fn new(language: &Language, set: &SyntaxSet) -> Option<Self> {
        let syntax = set.find_syntax_by_token(language.word())?;
        Some(Self {
            state: ParseState::new(syntax),
            scopes: ScopeStack::new(),
            lines: 0,
            bytes: 0,
            spent: Duration::ZERO,
            is_over: false,
        })
    }

    /// Number of whole lines that were read.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Reads the next lines. One without an end is read by a copy that is thrown away.
    pub(super) fn read(
        &mut self,
        text: &str,
        set: &SyntaxSet,
        scopes: &mut Scopes,
        clock: &dyn Fn() -> Duration,
    ) -> ReadColours {
        let begun = clock();
        let before = self.spent;
        let mut spans = Vec::new();
        for line in text.split_inclusive('\n') {
            self.is_over |= self.spent > MAX_TIME
                || line.len() > MAX_LINE
                || self.lines >= MAX_LINES
                || self.bytes + line.len() > MAX_BYTES;
            if self.is_over {
                break;
            }
            if line.ends_with('\n') {
                self.is_over |= self.line(line, set, scopes, &mut spans).is_none();
                self.lines += 1;
                self.bytes += line.len();
            } else {
                let line = format!("{line}\n");
                let mut copy = self.clone();
                // What is wrong with an unfinished line may be right when it is finished.
                if copy.line(&line, set, scopes, &mut spans).is_none() {
                    log::debug!("the colours of an unfinished line are left out");
                }
            }
            self.spent = before + clock().saturating_sub(begun);
        }
        ReadColours {
            spans,
            is_over: self.is_over,
        }
    }

    /// Reads a line with its end. `None` if it cannot be read.
    fn line(
        &mut self,
        line: &str,
        set: &SyntaxSet,
        scopes: &mut Scopes,
        spans: &mut Vec<Span>,
    ) -> Option<()> {
        let changes = self.state.parse_line(line, set).ok()?;
        let number = u32::try_from(self.lines).ok()?;
        let end = line.trim_end_matches('\n').len();
        let mut start = 0;
        for (at, change) in &changes {
            self.span(line, number, start..(*at).min(end), scopes, spans);
            start = start.max((*at).min(end));
            self.scopes.apply(change).ok()?;
        }
        self.span(line, number, start..end, scopes, spans);
        Some(())
    }

    /// Notes what a stretch of a line means, together with the one before if that means the same.
    fn span(
        &self,
        line: &str,
        number: u32,
        range: std::ops::Range<usize>,
        scopes: &mut Scopes,
        spans: &mut Vec<Span>,
    ) {
        let is_blank = line
            .get(range.clone())
            .is_none_or(|text| text.trim().is_empty());
        let token = scopes.token(self.scopes.as_slice());
        let (Ok(start), Ok(end)) = (u16::try_from(range.start), u16::try_from(range.end)) else {
            return;
        };
        if is_blank || token == Token::Text {
            return;
        }
        match spans.last_mut() {
            Some(last) if (last.line, last.end, last.token) == (number, start, token) => {
                last.end = end;
            }
            _ => spans.push(Span {
                line: number,
                start,
                end,
                token,
            }),
        }
    }
}
