//! Cuts a text so that each piece can be laid out alone and only the last one changes while the text grows.
//!
//! A cut is made before and after the lines of a fenced block, and after a blank line where a line begins that cannot
//! belong to anything before it.

use std::ops::Range;

/// Maximum number of bytes that are parsed at once.
pub(super) const MAX_CHUNK: usize = 256 * 1024;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The range of the text.
    pub(super) range: Range<usize>,
    /// The value itself.
    pub(super) kind: ChunkKind,
    /// True if a blank line is before it.
    pub(super) has_gap: bool,
}

/// The kind of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkKind {
    /// Any Markdown but a fenced block at the edge.
    Markdown,
    /// The line that opens a fenced block.
    Opening,
    /// Lines in one, each less so many spaces.
    Code {
        /// Indentation of the block, in columns.
        indent: usize,
    },
    /// The line that closes one.
    Closing,
}

/// The beginning of the next chunk, and the kind of text that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChunkPlace {
    at: usize,
    fence: Option<Fence>,
}

/// The beginning of an open fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: u8,
    length: usize,
    indent: usize,
}

/// A chunk that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkCut {
    /// The chunk.
    pub(super) chunk: Chunk,
    /// The beginning of the next one.
    pub(super) after: ChunkPlace,
    /// True if no text after it can change it.
    pub(super) is_final: bool,
}

/// The chunk at a place; none at the end of the text.
pub(super) fn next(source: &str, place: ChunkPlace) -> Option<ChunkCut> {
    let rest = source.get(place.at..).filter(|rest| !rest.is_empty())?;
    let cut = match place.fence {
        Some(fence) => code(source, rest, place.at, fence),
        None => text(source, rest, place.at),
    };
    Some(cut)
}

/// The next lines of an open fenced block.
fn code(source: &str, rest: &str, at: usize, fence: Fence) -> ChunkCut {
    let mut end = at;
    for line in rest.split_inclusive('\n') {
        let is_complete = line.ends_with('\n');
        if closes(line, fence) {
            if end > at {
                break;
            }
            return ChunkCut {
                chunk: Chunk {
                    range: at..at + line.len(),
                    kind: ChunkKind::Closing,
                    has_gap: false,
                },
                after: ChunkPlace {
                    at: at + line.len(),
                    fence: None,
                },
                is_final: is_complete,
            };
        }
        // A line that is being written may yet turn out to be the closing one.
        if end > at && (!is_complete || end - at >= MAX_CHUNK) {
            break;
        }
        end += line.len();
    }
    let range = at..end;
    let is_final = source
        .get(range.clone())
        .is_some_and(|lines| lines.ends_with('\n'));
    let indent = fence.indent;
    ChunkCut {
        chunk: Chunk {
            range,
            kind: ChunkKind::Code { indent },
            has_gap: false,
        },
        after: ChunkPlace {
            at: end,
            fence: Some(fence),
        },
        is_final,
    }
}

/// The next piece of Markdown, or the opening of a fenced block.
fn text(source: &str, rest: &str, at: usize) -> ChunkCut {
    let mut scan = ChunkScan::default();
    let mut end = at;
    // Where the first line begins that is not blank.
    let mut content = None;
    for line in rest.split_inclusive('\n') {
        let is_complete = line.ends_with('\n');
        let step = scan.step(line, content.is_some());
        match step {
            LineStep::Opens(fence) if content.is_none() => {
                return opening(source, end..end + line.len(), fence, is_complete);
            }
            LineStep::Opens(_) | LineStep::Begins => {
                return markdown(source, at..end, content, is_complete);
            }
            LineStep::Blank => {}
            LineStep::Goes if end + line.len() - at > MAX_CHUNK => {
                let most = source.floor_char_boundary(at + MAX_CHUNK);
                // At the end of a line, unless there is only one.
                let end = if end > at { end } else { most };
                return markdown(source, at..end, content.or(Some(at)), true);
            }
            LineStep::Goes => content = content.or(Some(end)),
        }
        end += line.len();
    }
    markdown(source, at..end, content, false)
}

fn markdown(source: &str, range: Range<usize>, content: Option<usize>, is_final: bool) -> ChunkCut {
    let after = ChunkPlace {
        at: range.end,
        fence: None,
    };
    ChunkCut {
        chunk: Chunk {
            has_gap: content.is_some_and(|content| follows_blank(source, content)),
            range,
            kind: ChunkKind::Markdown,
        },
        after,
        is_final,
    }
}

fn opening(source: &str, line: Range<usize>, fence: Fence, is_final: bool) -> ChunkCut {
    ChunkCut {
        chunk: Chunk {
            has_gap: follows_blank(source, line.start),
            range: line.clone(),
            kind: ChunkKind::Opening,
        },
        after: ChunkPlace {
            at: line.end,
            fence: Some(fence),
        },
        is_final,
    }
}

/// True if the line before the one that begins at a place is blank.
fn follows_blank(source: &str, start: usize) -> bool {
    source
        .get(..start)
        .and_then(|before| before.strip_suffix('\n'))
        .is_some_and(|before| {
            let line = before.rsplit('\n').next().unwrap_or_default();
            line.trim().is_empty()
        })
}

/// The meaning of a line for cutting.
enum LineStep {
    /// There is nothing in it.
    Blank,
    /// It opens a fenced block at the edge.
    Opens(Fence),
    /// It begins something new.
    Begins,
    /// It belongs to what is before it, or may.
    Goes,
}

/// The state after the lines of a chunk so far, for the next line.
#[derive(Default)]
struct ChunkScan {
    was_blank: bool,
    /// A list may be open.
    in_list: bool,
    /// HTML is open, until one of these.
    html_end: Option<&'static [&'static str]>,
    /// A line began with a tag: up to the next blank one a fence may mean nothing.
    after_tag: bool,
    /// A fence that belongs to a list, or does not.
    inner: Option<Fence>,
    /// True if the open block can no longer be determined.
    is_stuck: bool,
}

impl ChunkScan {
    fn step(&mut self, line: &str, has_content: bool) -> LineStep {
        let was_blank = std::mem::replace(&mut self.was_blank, line.trim().is_empty());
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        if let Some(end) = self.html_end {
            if contains(text, end) {
                self.html_end = None;
            }
            return LineStep::Goes;
        }
        if self.was_blank {
            self.after_tag = false;
            return LineStep::Blank;
        }
        if let Some(fence) = self.inner {
            if closes(line, fence) {
                self.inner = None;
            }
            self.is_stuck |= indent == 0;
        }
        if self.is_stuck || self.inner.is_some() {
            return LineStep::Goes;
        }
        // An indented line may belong to the list; a line at the edge never does.
        let is_at_edge = indent == 0 || indent <= 3 && !self.in_list;
        if is_at_edge && let Some(fence) = opens(text, indent) {
            self.is_stuck = self.after_tag;
            return if self.is_stuck {
                LineStep::Goes
            } else {
                LineStep::Opens(fence)
            };
        }
        self.after_tag |= text.starts_with('<');
        let is_item = indent <= 3 && may_begin_item(text);
        if has_content && was_blank && indent == 0 && !(self.in_list && is_item) {
            return LineStep::Begins;
        }
        self.in_list |= is_item;
        if indent <= 3 {
            let html =
                html_end(text).filter(|end| !contains(text.get(2..).unwrap_or_default(), end));
            if is_at_edge {
                self.html_end = html;
            } else {
                self.inner = opens(text, indent);
                self.is_stuck |= html.is_some();
            }
        }
        LineStep::Goes
    }
}

fn contains(line: &str, ends: &[&str]) -> bool {
    let line = line.to_ascii_lowercase();
    ends.iter().any(|end| line.contains(end))
}

/// The fence that a line opens.
fn opens(text: &str, indent: usize) -> Option<Fence> {
    let mark = *text
        .as_bytes()
        .first()
        .filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == mark).count();
    let has_mark_behind = mark == b'`' && text.bytes().skip(length).any(|byte| byte == mark);
    (length >= 3 && !has_mark_behind).then_some(Fence {
        mark,
        length,
        indent,
    })
}

fn closes(line: &str, fence: Fence) -> bool {
    let text = line.trim_start_matches(' ');
    let length = text.bytes().take_while(|byte| *byte == fence.mark).count();
    line.len() - text.len() <= 3
        && length >= fence.length
        && text
            .get(length..)
            .is_some_and(|rest| rest.trim().is_empty())
}

/// True if a line begins an item of a list, or may when more of it is written.
fn may_begin_item(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..).unwrap_or_default();
    let mut rest = rest.chars();
    let is_marker = match rest.next() {
        None => true,
        Some('.' | ')') => digits > 0,
        Some('-' | '*' | '+') => digits == 0,
        Some(_) => false,
    };
    is_marker && matches!(rest.next(), None | Some(' ' | '\n'))
}

/// The end of the HTML that a line begins, if a blank line does not end it.
fn html_end(text: &str) -> Option<&'static [&'static str]> {
    let text = text.strip_prefix('<')?;
    if text.starts_with("!--") {
        return Some(&["-->"]);
    }
    if text.starts_with('?') {
        return Some(&["?>"]);
    }
    if text.starts_with("![CDATA[") {
        return Some(&["]]>"]);
    }
    let begins_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic());
    if text.strip_prefix('!').is_some_and(begins_name) {
        return Some(&[">"]);
    }
    let name = text.split([' ', '>', '\n']).next().unwrap_or_default();
    let is_raw = ["pre", "script", "style", "textarea"]
        .iter()
        .any(|raw| raw.eq_ignore_ascii_case(name));
    is_raw.then_some(&["</pre>", "</script>", "</style>", "</textarea>"])
}

#[cfg(test)]
#[path = "chunks_tests.rs"]
mod tests;
