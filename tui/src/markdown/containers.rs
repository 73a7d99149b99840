//! The containers of blocks, and the prefix that each puts before their rows.

use crate::layout::RowPiece;
use crate::text;
use crate::theme::{Look, Token};

const TEXT: Look = Look::new(Token::Text);
const BORDER: Look = Look::new(Token::Border);

/// The containers of blocks.
enum Container {
    Quote,
    /// A list, with the number of its next item if its items have numbers.
    List(Option<u64>),
    /// An item, with its mark until that is shown, and how wide that is.
    Item {
        mark: Option<String>,
        width: usize,
    },
}

/// All containers of a block, the innermost last.
pub(super) struct Containers {
    open: Vec<Container>,
    width: usize,
    /// Number of columns that they take together.
    indent: usize,
    /// Number of marks that have not been shown.
    marks: usize,
}

impl Containers {
    /// None yet, on a screen of so many columns.
    pub(super) fn new(width: usize) -> Self {
        Self {
            open: Vec::new(),
            width,
            indent: 0,
            marks: 0,
        }
    }

    pub(super) fn open_quote(&mut self) {
        self.open(Container::Quote);
    }

    pub(super) fn open_list(&mut self, number: Option<u64>) {
        self.open(Container::List(number));
    }

    /// Opens the next item of the innermost list. `item` is its text with the mark.
    pub(super) fn open_item(&mut self, item: &str) {
        let mark = match self.open.last_mut() {
            Some(Container::List(Some(number))) => {
                let behind = item.trim_start_matches(|c: char| c.is_ascii_digit());
                let closing = if behind.starts_with(')') { ')' } else { '.' };
                let mark = format!("{number}{closing} ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.marks += 1;
        self.open(Container::Item {
            width: text::width(&mark),
            mark: Some(mark),
        });
    }

    /// Closes the innermost.
    pub(super) fn close(&mut self) {
        let Some(container) = self.open.pop() else {
            return;
        };
        self.indent -= container.width();
        if let Container::Item { mark: Some(_), .. } = container {
            self.marks -= 1;
        }
    }

    fn open(&mut self, container: Container) {
        self.indent += container.width();
        self.open.push(container);
    }

    /// True if it is an item that has shown nothing, not even its mark.
    pub(super) fn is_empty_item(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Container::Item { mark: Some(_), .. })
        )
    }

    /// The columns that are left.
    pub(super) fn room(&self) -> usize {
        let taken = if self.is_too_deep() {
            self.short_mark().map_or(0, text::width)
        } else {
            self.indent
        };
        self.width.saturating_sub(taken).max(1)
    }

    /// The prefix of the next row. Marks are shown once.
    pub(super) fn before(&mut self) -> Vec<RowPiece> {
        let pieces = if self.is_too_deep() {
            let mark = self.short_mark().map(ToOwned::to_owned);
            mark.map(|mark| RowPiece::drawn(mark, TEXT))
                .into_iter()
                .collect()
        } else {
            self.open.iter().filter_map(Container::before).collect()
        };
        // There may be very many of them, and very many rows.
        if self.marks > 0 {
            self.marks = 0;
            for container in &mut self.open {
                if let Container::Item { mark, .. } = container {
                    *mark = None;
                }
            }
        }
        pieces
    }

    /// The prefix of a blank row: the bars of quotes.
    pub(super) fn before_blank(&mut self) -> Vec<RowPiece> {
        let has_quote = self
            .open
            .iter()
            .any(|open| matches!(open, Container::Quote));
        if has_quote && self.marks == 0 {
            self.before()
        } else {
            Vec::new()
        }
    }

    /// True if more would be indent than text; then nothing is indented.
    fn is_too_deep(&self) -> bool {
        self.indent > self.width / 2
    }

    /// The mark that is shown all the same.
    fn short_mark(&self) -> Option<&str> {
        let Some(Container::Item { mark, .. }) = self.open.last() else {
            return None;
        };
        mark.as_deref()
            .filter(|mark| text::width(mark) < self.width / 2)
    }
}

impl Container {
    fn width(&self) -> usize {
        match self {
            Self::Quote => 2,
            Self::List(_) => 0,
            Self::Item { width, .. } => *width,
        }
    }

    fn before(&self) -> Option<RowPiece> {
        match self {
            Self::Quote => Some(RowPiece::drawn("│ ", BORDER)),
            Self::List(_) => None,
            Self::Item {
                mark: Some(mark), ..
            } => Some(RowPiece::drawn(mark.clone(), TEXT)),
            Self::Item { mark: None, width } => Some(RowPiece::drawn(" ".repeat(*width), TEXT)),
        }
    }
}
