//! The known colours of the code on the screen, and the requests for missing ones.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;

use super::parse::{MAX_BYTES, MAX_LINES};
use super::{Code, CodeKey, Language, ParsedColours, Request, Span};
use crate::conversation::{Part, PartId};
use crate::layout::{Mark, PartLayout};

/// Maximum number of stretches that are kept; those shown last stay.
const MAX_SPANS: usize = 100_000;
/// Maximum number of codes that are kept.
const MAX_CODES: usize = 256;

/// The colours of codes that have come so far.
#[derive(Debug, Default)]
pub(crate) struct CodeColours {
    codes: HashMap<CodeKey, Colour>,
    /// Number of requests that were made.
    number: u64,
    /// Counts up with each look at the screen.
    clock: u64,
}

/// The colours of one code.
#[derive(Debug)]
struct Colour {
    language: Language,
    spans: Vec<Span>,
    /// Number of whole lines that were read, and the sum of their texts.
    lines: usize,
    sum: u64,
    /// The part and the lines that were looked at last: if they are the same, so is all else.
    seen: (u32, usize),
    /// The request that is on its way, with the lines of it that are whole and their sum.
    asked: Option<(u64, usize, u64)>,
    is_over: bool,
    used: u64,
}

impl CodeColours {
    /// Forgets all colours.
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
    }

    /// A look at the screen begins.
    pub(crate) fn look(&mut self) {
        self.clock += 1;
        self.trim();
    }

    /// The request for the code of a part, up to a place in the source of its layout.
    pub(crate) fn wanted(&mut self, part: &Part, block: &PartLayout, end: usize) -> Vec<Request> {
        let codes = block.code.iter().enumerate();
        codes
            .filter_map(|(number, code)| {
                let key = CodeKey {
                    part: part.id,
                    code: number,
                };
                self.wanted_of(key, part.revision, code, &block.source, end)
            })
            .collect()
    }

    fn wanted_of(
        &mut self,
        key: CodeKey,
        revision: u32,
        code: &Code,
        source: &str,
        end: usize,
    ) -> Option<Request> {
        let until = code.within(&(0..end)).end.min(MAX_LINES + 1);
        let seen = (revision, until);
        let known = self.codes.get_mut(&key);
        if let Some(known) = known {
            known.used = self.clock;
            if known.seen == seen || known.asked.is_some() {
                return None;
            }
        }
        let language = code.language(source).filter(|_| until > 0);
        let Some(language) = language.filter(|language| !language.is_diff()) else {
            self.codes.remove(&key);
            return None;
        };
        let goes_on = |known: &Colour| {
            known.language == language
                && (known.seen.0 == revision
                    || known.lines <= code.len()
                        && known.sum == sum(0, code, source, 0..known.lines))
        };
        if !self.codes.get(&key).is_some_and(goes_on) {
            self.codes.insert(key, Colour::new(language, self.clock));
        }
        let known = self.codes.get_mut(&key)?;
        known.seen = seen;
        if known.is_over {
            return None;
        }
        let (text, whole) = lines(code, source, known.lines..until);
        if text.is_empty() {
            return None;
        }
        self.number += 1;
        let sum = sum(known.sum, code, source, known.lines..known.lines + whole);
        known.asked = Some((self.number, whole, sum));
        Some(Request {
            key,
            number: self.number,
            language: known.language.clone(),
            from: known.lines,
            text,
        })
    }

    /// Takes an answer; whether something on the screen may look otherwise.
    pub(crate) fn take(&mut self, answer: ParsedColours) -> bool {
        let Some(known) = self.codes.get_mut(&answer.key) else {
            return false;
        };
        let Some((_, whole, sum)) = known.asked.filter(|asked| asked.0 == answer.number) else {
            return false;
        };
        known.asked = None;
        let Ok(read) = answer.result else {
            // The thread has forgotten where it was.
            self.codes.remove(&answer.key);
            return true;
        };
        let from = u32::try_from(known.lines).unwrap_or(u32::MAX);
        known.spans.retain(|span| span.line < from);
        known.spans.extend(read.spans);
        known.lines += whole;
        known.sum = sum;
        known.is_over = read.is_over;
        true
    }

    /// The colours of a part that are known, within a range of the source of its layout.
    pub(crate) fn marks(
        &self,
        part: PartId,
        block: &PartLayout,
        range: &Range<usize>,
    ) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (number, code) in block.code.iter().enumerate() {
            let key = CodeKey { part, code: number };
            if let Some(known) = self.codes.get(&key) {
                known.mark(code, range, &mut marks);
            }
        }
        marks
    }

    /// Forgets what was used longest ago, and nothing of what the last look saw.
    fn trim(&mut self) {
        let spans: usize = self.codes.values().map(|known| known.spans.len()).sum();
        if spans <= MAX_SPANS && self.codes.len() <= MAX_CODES {
            return;
        }
        let last = self.clock.saturating_sub(1);
        self.codes.retain(|_, known| known.used >= last);
    }
}

impl Colour {
    fn new(language: Language, used: u64) -> Self {
        Self {
            language,
            spans: Vec::new(),
            lines: 0,
            sum: 0,
            seen: (0, 0),
            asked: None,
            is_over: false,
            used,
        }
    }

    fn mark(&self, code: &Code, range: &Range<usize>, marks: &mut Vec<Mark>) {
        let place = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let lines = code.within(range);
        let first = self
            .spans
            .partition_point(|span| span.line < place(lines.start));
        for span in self.spans.get(first..).unwrap_or_default() {
            if span.line >= place(lines.end) {
                return;
            }
            let line = usize::try_from(span.line).ok();
            if let Some(line) = line.and_then(|line| code.range(line)) {
                let end = line.end.min(line.start + usize::from(span.end));
                marks.push(Mark {
                    range: line.start + usize::from(span.start)..end,
                    token: span.token,
                });
            }
        }
    }
}

/// Lines as the thread reads them, and how many of them are whole. The last of a source may still be
/// written.
fn lines(code: &Code, source: &str, range: Range<usize>) -> (String, usize) {
    let mut text = String::new();
    let mut whole = 0;
    for line in range {
        let Some(place) = code.range(line) else {
            break;
        };
        text.push_str(source.get(place.clone()).unwrap_or_default());
        if place.end < source.len() {
            text.push('\n');
            whole += 1;
        }
        if text.len() > MAX_BYTES {
            break;
        }
    }
    (text, whole)
}

/// The checksum of lines that follow others with a known checksum.
fn sum(before: u64, code: &Code, source: &str, range: Range<usize>) -> u64 {
    range.fold(before, |sum, line| {
        let mut hasher = DefaultHasher::new();
        (sum, code.text(source, line)).hash(&mut hasher);
        hasher.finish()
    })
}
