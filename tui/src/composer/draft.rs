//! Something written that is not sent yet.

use std::sync::Arc;

use super::mention::is_mentioned;
use crate::link::PromptFile;

/// More bytes than this are kept beside the text, where they cost nothing at each key.
const MAX_PASTED_BYTES: usize = 4 * 1024;
/// More lines than this are kept beside the text.
const MAX_PASTED_LINES: usize = 20;

/// A large piece that was pasted, or a file that goes along. It is above the text and never in it, so that it can be
/// neither damaged by editing nor sent as its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chip {
    /// The pasted text, or the path of the file.
    pub(crate) text: Arc<str>,
    /// Number of lines.
    pub(crate) lines: usize,
    /// Length in bytes.
    pub(crate) bytes: usize,
    /// The file that it is, if it is one.
    pub(crate) file: Option<ChipFile>,
}

/// A file that goes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChipFile {
    /// The path of the file.
    pub(crate) file: PromptFile,
    /// True if the text names it: without its name there, it does not go along.
    pub(crate) is_mention: bool,
}

impl Chip {
    /// A chip for a text that is too large for easy editing. `None` for smaller texts.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let lines = text.lines().count();
        let bytes = text.len();
        (bytes > MAX_PASTED_BYTES || lines > MAX_PASTED_LINES).then(|| Self {
            text: Arc::from(text),
            lines,
            bytes,
            file: None,
        })
    }

    /// A chip of a file.
    pub(super) fn of_file(file: ChipFile) -> Self {
        Self {
            text: Arc::from(file.file.path()),
            lines: 0,
            bytes: 0,
            file: Some(file),
        }
    }
}

/// The text, with the pastes beside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    /// The text.
    pub(super) text: String,
    /// The offset of the caret in the text, between two graphemes.
    pub(super) caret: usize,
    /// The pastes, in the order in which they came.
    pub(super) chips: Vec<Chip>,
}

impl Draft {
    /// A draft of this text, with the caret at its end.
    pub(super) fn from_text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            caret: text.len(),
            chips: Vec::new(),
        }
    }

    /// True if the draft has neither text nor paste. Spaces count as text.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.chips.is_empty()
    }

    /// The text that is sent: the pastes, each followed by a blank line, then the text; trimmed at its ends.
    pub(crate) fn order(&self) -> String {
        self.full_text().trim().to_owned()
    }

    /// The text for the history: as [`Self::order`], but a leading space stays, since it marks a prompt that must not
    /// be kept.
    pub(crate) fn entry(&self) -> String {
        if self.text.starts_with(' ') {
            format!(" {}", self.order())
        } else {
            self.order()
        }
    }

    /// The chips that are sent along now: all except files that the text no longer names.
    pub(crate) fn live_chips(&self) -> impl Iterator<Item = &Chip> {
        self.chips.iter().filter(|chip| {
            let file = chip.file.as_ref().filter(|file| file.is_mention);
            file.is_none_or(|file| is_mentioned(&self.text, file.file.path()))
        })
    }

    /// The files that go along, each once.
    pub(crate) fn files(&self) -> Vec<PromptFile> {
        let mut files: Vec<PromptFile> = Vec::new();
        for file in self.live_chips().filter_map(|chip| chip.file.as_ref()) {
            if !files.contains(&file.file) {
                files.push(file.file.clone());
            }
        }
        files
    }

    /// The same draft without its text and without what was pasted.
    pub(crate) fn only_files(mut self) -> Self {
        self.chips = self.live_chips().cloned().collect();
        self.chips
            .retain(|chip| chip.file.as_ref().is_some_and(|file| !file.is_mention));
        self.text.clear();
        self.caret = 0;
        self
    }

    fn full_text(&self) -> String {
        let pasted: usize = self.chips.iter().map(|chip| chip.bytes + 2).sum();
        let mut whole = String::with_capacity(pasted + self.text.len());
        for chip in self.chips.iter().filter(|chip| chip.file.is_none()) {
            whole.push_str(chip.text.trim_end_matches('\n'));
            whole.push_str("\n\n");
        }
        whole.push_str(&self.text);
        whole
    }

    /// Puts another draft before this one. The caret stays at its letter, so that the operator can continue to write.
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
