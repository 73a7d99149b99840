//! Something written that is not sent yet.

use std::sync::Arc;

/// More bytes than this are kept beside the text, where they cost nothing at each key.
const MAX_PASTED_BYTES: usize = 4 * 1024;
/// More lines than this are kept beside the text.
const MAX_PASTED_LINES: usize = 20;

/// A large piece that was pasted. It stands above the text and never in it, so that it can be
/// neither damaged by editing nor sent as the name of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chip {
    /// What was pasted.
    pub(crate) text: Arc<str>,
    /// How many lines it has.
    pub(crate) lines: usize,
    /// How long it is.
    pub(crate) bytes: usize,
}

impl Chip {
    /// A chip of a text that is too large to be edited with ease; none if it is not.
    pub(super) fn of(text: &str) -> Option<Self> {
        let lines = text.lines().count();
        let bytes = text.len();
        (bytes > MAX_PASTED_BYTES || lines > MAX_PASTED_LINES).then(|| Self {
            text: Arc::from(text),
            lines,
            bytes,
        })
    }
}

/// What was written, with what was pasted beside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    /// The text.
    pub(super) text: String,
    /// Where the caret stands: a place in the text between two graphemes.
    pub(super) caret: usize,
    /// The pastes, in the order in which they came.
    pub(super) chips: Vec<Chip>,
}

impl Draft {
    /// A draft of this text, with the caret behind it.
    pub(super) fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            caret: text.len(),
            chips: Vec::new(),
        }
    }

    /// Whether there is nothing in it at all. Spaces are something.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.chips.is_empty()
    }

    /// What is sent: the pastes, a blank line behind each, then the text; trimmed at its ends.
    pub(crate) fn order(&self) -> String {
        self.whole().trim().to_owned()
    }

    /// What the history is given: as [`Self::order`], but a space that the text begins with stays,
    /// since it says that the prompt is not to be kept.
    pub(crate) fn entry(&self) -> String {
        if self.text.starts_with(' ') {
            format!(" {}", self.order())
        } else {
            self.order()
        }
    }

    fn whole(&self) -> String {
        let pasted: usize = self.chips.iter().map(|chip| chip.bytes + 2).sum();
        let mut whole = String::with_capacity(pasted + self.text.len());
        for chip in &self.chips {
            whole.push_str(chip.text.trim_end_matches('\n'));
            whole.push_str("\n\n");
        }
        whole.push_str(&self.text);
        whole
    }

    /// Puts another draft in front of this one. The caret stays at the letter where it is, so that
    /// whoever is writing writes on.
    pub(super) fn prepend(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        let mut text = other.text;
        if !text.is_empty() && !self.text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.caret = if self.text.is_empty() {
            other.caret
        } else {
            text.len() + self.caret
        };
        text.push_str(&self.text);
        self.text = text;
        self.chips.splice(0..0, other.chips);
    }
}
