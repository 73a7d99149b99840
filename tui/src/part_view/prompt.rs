//! A prompt: who sent it, all of it or its beginning, and a row for each file that goes with it.

use harness_protocol::words::{counted, number};

use super::{FoldAmount, Sign, Writer, lines_of};
use crate::conversation::Author;
use crate::layout::{PartLayout, RowPiece};
use crate::text::{self, Hidden, sanitize};
use crate::theme::{Look, Token};

/// Maximum number of lines, and of bytes, of a prompt that is shown whole by itself.
const MAX_LINES: usize = 30;
const MAX_BYTES: usize = 20_000;
/// The shown part of a longer one: its first lines, and so many bytes of them.
const HEAD_LINES: usize = 10;
const HEAD_BYTES: usize = 2_000;

/// True if it is folded unless the operator opens it.
pub(crate) fn is_long(content: &str) -> bool {
    content.len() > MAX_BYTES || content.lines().nth(MAX_LINES).is_some()
}

/// The parts of a prompt beside its text.
pub(super) struct PromptFacts<'a> {
    pub(super) by: &'a Author,
    pub(super) is_pending: bool,
    pub(super) files: &'a [String],
}

/// A prompt after a bar.
pub(super) fn layout(
    content: &str,
    sent: &PromptFacts<'_>,
    width: usize,
    fold: FoldAmount,
) -> PartLayout {
    let look = Look::new(Token::User);
    let quiet = Look::new(Token::Quiet);
    let name = match sent.by {
        Author::You => "you".to_owned(),
        Author::Named(name) => text::someone(name),
        Author::Unnamed => "someone".to_owned(),
    };
    let mut heading = vec![RowPiece::drawn(name, look.bold())];
    if sent.is_pending {
        heading.push(RowPiece::drawn(" (sending)", quiet));
    }
    // All of it, so that a search finds what is folded.
    let mut writer = Writer::new(sanitize(content, Hidden::Dropped), width);
    writer.wrapped(Sign::Bar, &heading);
    let end = writer.block.source.len();
    if fold == FoldAmount::Folded && is_long(content) {
        let rest = head(&mut writer, look);
        writer.wrapped(Sign::Bar, &[RowPiece::drawn(format!("▸ … {rest}"), quiet)]);
    } else {
        writer.lines(Sign::Bar, 0..end, look);
    }
    for file in sent.files {
        let label = format!("[{}]", text::one_line(file));
        writer.wrapped(
            Sign::Bar,
            &[RowPiece::drawn(label, Look::new(Token::Notice))],
        );
    }
    writer.block
}

/// The first lines; how much there is besides.
fn head(writer: &mut Writer, look: Look) -> String {
    let source = &writer.block.source;
    let lines: Vec<_> = lines_of(source, 0).collect();
    let most = source.floor_char_boundary(HEAD_BYTES);
    let shown: Vec<_> = lines
        .iter()
        .take(HEAD_LINES)
        .take_while(|line| line.start <= most)
        .map(|line| line.start..line.end.min(most))
        .collect();
    let (count, size) = (lines.len(), source.len());
    let reached = shown.last().map_or(0, |line| line.end);
    let left = count - shown.len();
    for line in shown {
        writer.wrapped(Sign::Bar, &[RowPiece::source(line, look)]);
    }
    match left {
        0 => format!("{} more bytes", number((size - reached) as u64)),
        left => counted(left as u64, "more line", "more lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::picture::text;

    fn rows(content: &str, fold: FoldAmount) -> Vec<String> {
        let sent = PromptFacts {
            by: &Author::You,
            is_pending: false,
            files: &["a.txt".to_owned()],
        };
        text(&layout(content, &sent, 60, fold))
    }

    /// Spec: [VIEW-264]
    #[test]
    fn a_long_paste_is_its_first_lines_until_it_is_opened() {
        let paste: String = (1..=12_000).map(|line| format!("line {line}\n")).collect();
        let folded = rows(&paste, FoldAmount::Folded);
        assert_eq!(folded[..2], ["┃ you", "┃ line 1"]);
        assert_eq!(
            folded[10..],
            ["┃ line 10", "┃ ▸ … 11,990 more lines", "┃ [a.txt]"]
        );
        let open = rows(&paste, FoldAmount::Open);
        assert_eq!(
            (open.len(), open[12_000].as_str()),
            (12_002, "┃ line 12000")
        );
        // What is not long is whole.
        let short: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        assert_eq!(rows(&short, FoldAmount::Folded).len(), 32);
        let wide = "x".repeat(20_001);
        let folded = rows(&wide, FoldAmount::Folded);
        assert!(folded[folded.len() - 2].ends_with("▸ … 18,001 more bytes"));
        assert!(folded.len() < 40);
    }
}
