//! The blocks of a chunk as rows: paragraphs, headings, lists, quotes, code, rules.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::chunks::{Chunk, ChunkKind};
use super::code;
use super::containers::Containers;
use super::inline::{self, Inline};
use super::table::Table;
use crate::highlight::{Code, Language};
use crate::layout::{RowPiece, ScreenRow, WordsOrigin};
use crate::theme::{Look, Token};

const TEXT: Look = Look::new(Token::Text);
const BORDER: Look = Look::new(Token::Border);

/// Maximum width of prose, in columns: longer rows are hard to read. Code and tables take the whole width.
const PROSE: usize = 100;

/// Appends the rows of a chunk.
pub(super) fn lay_out(
    source: &str,
    chunk: &Chunk,
    width: usize,
    (rows, codes): (&mut Vec<ScreenRow>, &mut Vec<Code>),
) {
    let mut blocks = Blocks {
        source,
        first: rows.len(),
        rows,
        codes,
        inside: Containers::new(width),
        inline: Inline::default(),
        table: None,
        code: None,
        ended: chunk.range.start,
        shown: chunk.range.start,
    };
    match chunk.kind {
        ChunkKind::Markdown => blocks.markdown(chunk.range.clone()),
        ChunkKind::Opening => {
            let line = source.get(chunk.range.clone()).unwrap_or_default();
            blocks.code_heading(line, chunk.range.start);
        }
        ChunkKind::Code { indent } => {
            let lines = source.get(chunk.range.clone()).unwrap_or_default();
            for line in code::lines(lines, chunk.range.start, indent) {
                blocks.code_line(line);
            }
        }
        ChunkKind::Closing => {}
    }
}

/// Maximum number of lists and quotes that begin on one line. The parser looks at all that are open for each line that
/// follows.
const MAX_DEPTH: usize = 100;

/// True if more of them begin on a line.
fn is_too_deep(line: &str) -> bool {
    let mut rest = line;
    for _ in 0..=MAX_DEPTH {
        let text = rest
            .trim_start()
            .trim_start_matches(|c: char| c.is_ascii_digit());
        let Some(after) = text.strip_prefix(['>', '-', '*', '+', '.', ')']) else {
            return false;
        };
        rest = after;
    }
    // A line across is made of the same.
    !rest.trim_matches(['-', '*', ' ']).is_empty()
}

struct Blocks<'a> {
    source: &'a str,
    rows: &'a mut Vec<ScreenRow>,
    /// The codes of the text. The last may continue.
    codes: &'a mut Vec<Code>,
    /// Number of rows before the first one of this text.
    first: usize,
    inside: Containers,
    inline: Inline,
    table: Option<Table>,
    /// The lines of a code block that is open.
    code: Option<Vec<Range<usize>>>,
    /// The end of the last block that has rows.
    ended: usize,
    /// Up to where the outermost blocks reach.
    shown: usize,
}

impl Blocks<'_> {
    fn markdown(&mut self, chunk: Range<usize>) {
        let text = self.source.get(chunk.clone()).unwrap_or_default();
        if text.lines().any(is_too_deep) {
            self.passed_over(chunk.end);
            return;
        }
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut depth = 0_usize;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            let range = range.start + chunk.start..range.end + chunk.start;
            if depth == 0 && !matches!(event, Event::End(_)) {
                self.passed_over(range.start);
                self.shown = range.end.max(self.shown);
            }
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.event(&event, range);
        }
        self.flush();
        self.passed_over(chunk.end);
    }

    /// Shows text unchanged that the parser did not see, or that has no separate look, for example the definition of a
    /// link.
    fn passed_over(&mut self, end: usize) {
        let range = self.shown..end;
        let text = self.source.get(range.clone()).unwrap_or_default();
        if text.trim().is_empty() {
            return;
        }
        let mut start = range.start;
        for line in text.split_inclusive('\n') {
            let content = line.trim();
            let at = start + line.len() - line.trim_start().len();
            start += line.len();
            if content.is_empty() {
                continue;
            }
            self.gap(at);
            self.lay(vec![vec![RowPiece::source(at..at + content.len(), TEXT)]]);
            self.end(at + content.len());
        }
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        if let Some(lines) = &mut self.code {
            match event {
                Event::Text(text) => {
                    let is_source = self.source.get(range.clone()) == Some(&**text);
                    debug_assert!(is_source, "code is never anything but the source");
                    lines.extend(code::lines(text, range.start, 0));
                }
                Event::End(_) => {
                    self.end_code();
                    self.end(range.end);
                }
                _ => {}
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, &range, event),
            Event::End(tag) => self.close(*tag, &range, event),
            Event::Rule => {
                self.flush();
                self.gap(range.start);
                let width = self.inside.room();
                self.lay(vec![vec![RowPiece::drawn("─".repeat(width), BORDER)]]);
                self.end(range.end);
            }
            _ => {
                self.inline.take_event(self.source, event, range);
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>, event: &Event<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } | Tag::HtmlBlock => {
                self.flush();
                self.gap(range.start);
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.gap(range.start);
                self.inside.open_quote();
            }
            Tag::List(number) => {
                self.flush();
                self.inside.open_list(*number);
            }
            Tag::Item => {
                self.gap(range.start);
                let item = self.source.get(range.clone()).unwrap_or_default();
                self.inside.open_item(item);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap(range.start);
                if let CodeBlockKind::Fenced(_) = kind {
                    let line = self.source.get(range.clone()).unwrap_or_default();
                    let line = line.split('\n').next().unwrap_or_default();
                    self.code_heading(line, range.start);
                } else {
                    self.codes.push(Code::new(None));
                }
                self.code = Some(Vec::new());
            }
            Tag::Table(alignments) => {
                self.flush();
                self.gap(range.start);
                self.table = Some(Table {
                    alignments: alignments.clone(),
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => {
                self.inline.take_event(self.source, event, range.clone());
            }
        }
    }

    fn close(&mut self, tag: TagEnd, range: &Range<usize>, event: &Event<'_>) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.end(range.end);
            }
            TagEnd::Heading(level) => {
                for piece in self.inline.lines.iter_mut().flatten() {
                    piece.look = piece.look.bold();
                    if level == HeadingLevel::H1 {
                        piece.look = piece.look.underlined();
                    }
                }
                self.flush();
                self.end(range.end);
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                self.flush();
                self.inside.close();
            }
            TagEnd::Item => {
                self.flush();
                if self.inside.is_empty_item() {
                    self.lay(vec![Vec::new()]);
                }
                self.inside.close();
                self.end(range.end);
            }
            TagEnd::TableCell => {
                let cell = self.inline.take().into_iter().flatten().collect();
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let lines = table.lines(self.source, self.inside.room());
                    self.lay(lines);
                }
                self.end(range.end);
            }
            _ => {
                self.inline.take_event(self.source, event, range.clone());
            }
        }
    }

    /// Lays out the paragraph that is open.
    fn flush(&mut self) {
        if self.inline.is_empty() || self.table.is_some() {
            return;
        }
        let mut lines = self.inline.take();
        // HTML ends with a line break that belongs to it.
        while lines.last().is_some_and(Vec::is_empty) && lines.len() > 1 {
            lines.pop();
        }
        let place = lines
            .iter()
            .flatten()
            .rev()
            .find_map(|piece| match &piece.words {
                WordsOrigin::Source(range) => usize::try_from(range.end).ok(),
                WordsOrigin::Shown(_) => None,
            });
        self.lay_within(lines, self.inside.room().min(PROSE));
        if let Some(place) = place {
            self.end(place);
        }
    }

    fn lay(&mut self, lines: Vec<Vec<RowPiece>>) {
        self.lay_within(lines, self.inside.room());
    }

    fn lay_within(&mut self, lines: Vec<Vec<RowPiece>>, room: usize) {
        for line in lines {
            for pieces in inline::wrap(self.source, &line, room) {
                let before = self.inside.before();
                self.rows.push(inline::row(before, pieces));
            }
        }
    }

    /// A blank row before a block that begins at `start`, if the text has a blank line there.
    fn gap(&mut self, start: usize) {
        let between = self.source.get(self.ended..start).unwrap_or_default();
        let mut lines = between.split('\n').skip(1).peekable();
        let mut is_gap = false;
        while let Some(line) = lines.next() {
            let is_last = lines.peek().is_none();
            is_gap |= !is_last && line.trim_matches([' ', '>']).is_empty();
        }
        self.ended = self.ended.max(start);
        if is_gap && self.rows.len() > self.first {
            let before = self.inside.before_blank();
            self.rows.push(inline::row(before, Vec::new()));
        }
    }

    /// Notes where a block ended.
    fn end(&mut self, end: usize) {
        let text = self.source.get(..end).unwrap_or_default();
        let end = text.trim_end_matches([' ', '\n']).len();
        self.ended = self.ended.max(end);
    }

    fn end_code(&mut self) {
        for range in self.code.take().unwrap_or_default() {
            self.code_line(range);
        }
    }

    fn code_heading(&mut self, line: &str, start: usize) {
        let language = code::language(line, start);
        let info = self.source.get(language.clone()).unwrap_or_default();
        self.codes.push(Code::new(Language::of_fence(info)));
        code::heading(self.source, language, &mut self.inside, self.rows);
    }

    fn code_line(&mut self, line: Range<usize>) {
        let mut is_diff = false;
        if let Some(code) = self.codes.last_mut() {
            code.push(&line);
            is_diff = code.is_diff();
        }
        let form = match is_diff {
            true => code::CodeForm::Diff,
            false => code::CodeForm::Plain,
        };
        code::line(self.source, line, form, (&mut self.inside, self.rows));
    }
}
