//! The inline content of a paragraph, a heading, an item or a cell.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use ratatui::style::Modifier;

use crate::layout::{RowPiece, ScreenRow, Target, WordsOrigin};
use crate::text::{self, Hidden};
use crate::theme::{Look, Token};

/// The lines of one paragraph, while its events come.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// Pieces of lines; a line ends where the text has a break.
    pub(super) lines: Vec<Vec<RowPiece>>,
    /// The attributes that are open, the innermost last.
    attributes: Vec<Modifier>,
    /// The links that are open, with where their text begins.
    links: Vec<InlineLink>,
}

#[derive(Debug)]
struct InlineLink {
    /// The address of the link. `None` if its text is the address.
    url: Option<String>,
    /// Its text so far.
    text: String,
    /// The target of its words.
    target: Arc<Target>,
}

impl Inline {
    /// True if it has no text.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines, and none are left.
    pub(super) fn take(&mut self) -> Vec<Vec<RowPiece>> {
        std::mem::take(&mut self.lines)
    }

    /// True if the event was one of a paragraph's inside. `range` is that of the event in `source`.
    pub(super) fn take_event(
        &mut self,
        source: &str,
        event: &Event<'_>,
        range: Range<usize>,
    ) -> bool {
        match event {
            Event::Start(tag) => return self.start(tag, range.start),
            Event::End(tag) => return self.end(source, *tag, range),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.text(source, text, range);
            }
            Event::Code(code) => self.code(source, code, range),
            Event::TaskListMarker(_) => {
                self.push(RowPiece::source(range, self.look()));
                self.push(RowPiece::drawn(" ", self.look()));
            }
            Event::SoftBreak | Event::HardBreak => self.lines.push(Vec::new()),
            Event::Rule
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => {
                return false;
            }
        }
        true
    }

    fn start(&mut self, tag: &Tag<'_>, start: usize) -> bool {
        match tag {
            Tag::Emphasis => self.attributes.push(Modifier::ITALIC),
            Tag::Strong => self.attributes.push(Modifier::BOLD),
            Tag::Strikethrough => self.attributes.push(Modifier::CROSSED_OUT),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => {
                self.open(dest_url, *link_type, start);
            }
            Tag::Image {
                link_type,
                dest_url,
                ..
            } => {
                self.push(RowPiece::drawn("image: ", Look::new(Token::Quiet)));
                self.open(dest_url, *link_type, start);
            }
            _ => return false,
        }
        true
    }

    fn open(&mut self, url: &str, kind: LinkType, start: usize) {
        self.attributes.push(Modifier::UNDERLINED);
        let is_text = matches!(kind, LinkType::Autolink | LinkType::Email);
        let scheme = if kind == LinkType::Email {
            "mailto:"
        } else {
            ""
        };
        self.links.push(InlineLink {
            url: (!is_text).then(|| url.to_owned()),
            text: String::new(),
            target: Arc::new(Target {
                url: format!("{scheme}{url}"),
                start,
            }),
        });
    }

    fn end(&mut self, source: &str, tag: TagEnd, range: Range<usize>) -> bool {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.attributes.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.links.pop() {
                    self.close(source, &link, range);
                }
                self.attributes.pop();
            }
            _ => return false,
        }
        true
    }

    /// Shows where a link leads, if it does not say so.
    fn close(&mut self, source: &str, link: &InlineLink, range: Range<usize>) {
        let Some(url) = link.url.as_deref().filter(|url| *url != link.text) else {
            return;
        };
        if let Some(outer) = self.links.last_mut() {
            outer.text.push_str(&link.text);
        }
        let found = source
            .get(range.clone())
            .and_then(|text| text.rfind(url))
            .map(|at| range.start + at)
            .filter(|at| *at >= self.shown_to());
        let look = Look::new(Token::Link).underlined();
        let quiet = Look::new(Token::Quiet);
        self.push(RowPiece::drawn(" (", quiet));
        let piece = match found {
            Some(at) => RowPiece::source(at..at + url.len(), look),
            None => RowPiece::drawn(text::one_line(url), look),
        };
        self.push(RowPiece {
            target: Some(Arc::clone(&link.target)),
            ..piece
        });
        self.push(RowPiece::drawn(")", quiet));
    }

    /// Up to where of the source this paragraph shows it.
    fn shown_to(&self) -> usize {
        self.lines
            .iter()
            .rev()
            .flat_map(|line| line.iter().rev())
            .find_map(|piece| match &piece.words {
                WordsOrigin::Source(range) => usize::try_from(range.end).ok(),
                WordsOrigin::Shown(_) => None,
            })
            .unwrap_or(0)
    }

    /// Adds text with its line breaks. An entity, for example `&amp;`, is shown as its character, sanitized since it
    /// may be any character.
    fn text(&mut self, source: &str, text: &str, range: Range<usize>) {
        self.note(text);
        let look = self.look();
        if source.get(range.clone()) == Some(text) {
            let mut start = range.start;
            for (index, line) in text.split('\n').enumerate() {
                if index > 0 {
                    self.lines.push(Vec::new());
                }
                let end = start + line.len();
                if end > start {
                    self.push(RowPiece::source(start..end, look));
                }
                start = end + 1;
            }
        } else {
            let shown = text::sanitize(text, Hidden::Dropped).replace('\n', " ");
            self.push(RowPiece::drawn(shown, look));
        }
    }

    /// A code span. A line break in it is a space.
    fn code(&mut self, source: &str, code: &str, range: Range<usize>) {
        let look = self.look().on(Token::InlineCode);
        self.note(code);
        let Some(range) = code_range(source, code, range) else {
            self.push(RowPiece::drawn(text::one_line(code), look));
            return;
        };
        let mut start = range.start;
        for line in source.get(range.clone()).unwrap_or_default().split('\n') {
            if start > range.start {
                self.push(RowPiece::drawn(" ", look));
            }
            self.push(RowPiece::source(start..start + line.len(), look));
            start += line.len() + 1;
        }
    }

    fn note(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
    }

    fn look(&self) -> Look {
        let token = if self.links.is_empty() {
            Token::Text
        } else {
            Token::Link
        };
        self.attributes
            .iter()
            .fold(Look::new(token), |look, attribute| look.with(*attribute))
    }

    fn push(&mut self, mut piece: RowPiece) {
        if let Some(link) = self.links.last() {
            piece.target.get_or_insert_with(|| Arc::clone(&link.target));
        }
        if self.lines.is_empty() {
            self.lines.push(Vec::new());
        }
        if let Some(line) = self.lines.last_mut() {
            line.push(piece);
        }
    }
}

/// The range of a code span's text within its marks.
fn code_range(source: &str, code: &str, range: Range<usize>) -> Option<Range<usize>> {
    let whole = source.get(range.clone())?;
    let marks = whole.bytes().take_while(|byte| *byte == b'`').count();
    let inner = whole.get(marks..whole.len().checked_sub(marks)?)?;
    let is_code = |text: &str| {
        text.len() == code.len()
            && text
                .bytes()
                .zip(code.bytes())
                .all(|(a, b)| a == b || a == b'\n' && b == b' ')
    };
    let skipped = if is_code(inner) {
        0
    } else if inner.len() >= 2 && is_code(inner.get(1..inner.len() - 1)?) {
        1
    } else {
        return None;
    };
    let start = range.start + marks + skipped;
    Some(start..start + code.len())
}

/// Breaks the pieces of a line into rows.
pub(crate) fn wrap(source: &str, line: &[RowPiece], width: usize) -> Vec<Vec<RowPiece>> {
    let texts: Vec<&str> = line.iter().map(|piece| piece.text(source).0).collect();
    text::wrap(&texts, width)
        .into_iter()
        .map(|row| {
            row.into_iter()
                .filter_map(|part| Some(slice(line.get(part.text)?, part.range)))
                .collect()
        })
        .collect()
}

/// A part of a piece.
fn slice(piece: &RowPiece, part: Range<usize>) -> RowPiece {
    let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    let words = match &piece.words {
        WordsOrigin::Source(range) => {
            WordsOrigin::Source(range.start + place(part.start)..range.start + place(part.end))
        }
        WordsOrigin::Shown(Cow::Borrowed(text)) => {
            WordsOrigin::Shown(Cow::Borrowed(text.get(part).unwrap_or_default()))
        }
        WordsOrigin::Shown(Cow::Owned(text)) => {
            WordsOrigin::Shown(Cow::Owned(text.get(part).unwrap_or_default().to_owned()))
        }
    };
    RowPiece {
        words,
        look: piece.look,
        target: piece.target.clone(),
    }
}

/// A row of pieces after others.
pub(super) fn row(mut before: Vec<RowPiece>, pieces: Vec<RowPiece>) -> ScreenRow {
    before.extend(pieces);
    ScreenRow {
        pieces: before,
        fill: None,
    }
}
