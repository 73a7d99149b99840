//! How many tokens a request has, before the API has counted them.

use harness_protocol::Attachment;

use crate::model::CountedBeginning;
use crate::reply::{Block, BlockKind};

/// How many characters a token is taken for.
const CHARS_PER_TOKEN: u64 = 4;

/// The weight of an image or a document, in characters.
const FILE_CHARS: u64 = 4800;

/// Estimates are corrected by at most this factor, in thousandths.
const MAX_RATIO: u64 = 4000;

/// Counts of fewer tokens tell too little about how this text is counted.
const MIN_MEASURED: u64 = 2000;

/// From so many tokens on, what is before the messages weighs little beside them.
const MIN_GUESSED: u64 = 10_000;

/// No request has so many tokens before its messages.
const MAX_HEAD: u64 = 100_000;

/// The tokens of so many characters.
pub(super) fn tokens(chars: u64) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN)
}

/// How many characters a text has; not bytes, of which some scripts take four for one.
pub(super) fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

/// The size of a block of a reply, in characters.
pub(super) fn block(block: &Block) -> u64 {
    match block.kind() {
        BlockKind::Text(text) => chars(text),
        BlockKind::Thinking { thinking, .. } => chars(thinking),
        BlockKind::ToolCall { name, input, .. } => {
            let input = serde_json::to_string(input).unwrap_or_default();
            chars(name) + chars(&input)
        }
        BlockKind::RedactedThinking
        | BlockKind::ServerToolCall { .. }
        | BlockKind::ServerToolResult { .. }
        | BlockKind::Unknown => chars(&serde_json::to_string(block.json()).unwrap_or_default()),
    }
}

/// The size of a file that goes with a prompt, in characters.
pub(super) fn attachment(attachment: &Attachment) -> u64 {
    if attachment.media_type.starts_with("text/") {
        attachment.bytes
    } else {
        FILE_CHARS
    }
}

/// The API's counts, and the distance of the own estimates from them.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The first count since the past was changed.
    first: Option<Count>,
    /// The last one.
    last: Option<Count>,
    /// Number of tokens of the last one that the API left out of the request itself.
    cleared: u64,
    ratio: Ratio,
}

/// The API's count for a request and its reply, and the own estimate of the same messages.
#[derive(Debug, Clone, Copy)]
struct Count {
    tokens: u64,
    own: u64,
    size: MessageSize,
}

/// The size of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MessageSize {
    /// Bytes without files.
    pub(super) bytes: u64,
    /// Number of files.
    pub(super) files: u64,
}

impl MessageSize {
    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(more.bytes),
            files: self.files.saturating_add(more.files),
        }
    }

    pub(super) fn minus(self, less: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(less.bytes),
            files: self.files.saturating_sub(less.files),
        }
    }
}

/// The API's count for a token of the own estimate, in thousandths.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ratio {
    /// From one count, which includes what is before the messages.
    Guessed(u64),
    /// From two counts, whose difference are messages alone.
    Measured(u64),
}

impl Ratio {
    /// The API's likely count for so many estimated tokens.
    pub(super) fn corrected(self, tokens: u64) -> u64 {
        let (Self::Guessed(ratio) | Self::Measured(ratio)) = self;
        tokens.saturating_mul(ratio).div_ceil(1000)
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self::Guessed(1000)
    }
}

impl Meter {
    /// The API counted so many tokens for what is estimated at `own`. A count that cannot be is
    /// none: servers other than the API leave some out.
    pub(super) fn count(&mut self, tokens: u64, own: u64, size: MessageSize) {
        let most = own.saturating_add(MAX_HEAD).saturating_mul(10);
        if tokens == 0 || tokens < own / 10 || tokens > most {
            return;
        }
        let count = Count { tokens, own, size };
        let first = *self.first.get_or_insert(count);
        self.last = Some(count);
        self.cleared = 0;
        let added = own.saturating_sub(first.own);
        if added >= MIN_MEASURED {
            let counted = tokens.saturating_sub(first.tokens);
            self.ratio = Ratio::Measured(ratio(counted, added));
        } else if matches!(self.ratio, Ratio::Guessed(_)) && own >= MIN_GUESSED {
            self.ratio = Ratio::Guessed(ratio(tokens, own));
        }
    }

    /// Of the count of so many tokens, the API left that many out of the request itself.
    pub(super) fn note_cleared(&mut self, tokens: u64, cleared: u64) {
        // A count that cannot be was not taken.
        if self.last.is_some_and(|last| last.tokens == tokens) {
            self.cleared = cleared;
        }
    }

    /// Number of tokens that the API leaves out of the next request itself, if it does so again.
    pub(super) fn cleared(&self) -> u64 {
        self.last.map_or(0, |_| self.cleared)
    }

    /// The past is another now, so that no count is about it. How the text is counted stays.
    pub(super) fn forget(&mut self) {
        self.first = None;
        self.last = None;
    }

    /// The API's likely count for so many estimated tokens.
    pub(super) fn corrected(&self, tokens: u64) -> u64 {
        self.ratio.corrected(tokens)
    }

    /// The API's way of counting, by what is known now.
    pub(super) fn ratio(&self) -> Ratio {
        self.ratio
    }

    /// The messages that the API has counted, since the past was changed last.
    pub(super) fn counted(&self) -> Option<CountedBeginning> {
        self.last
            .map(|Count { tokens, size, .. }| CountedBeginning {
                tokens,
                bytes: size.bytes,
                files: size.files,
            })
    }

    /// A request of `head` tokens and messages of `own`.
    pub(super) fn estimate(&self, head: u64, own: u64) -> u64 {
        match self.last {
            Some(last) => {
                let added = own.saturating_sub(last.own);
                last.tokens.saturating_add(self.corrected(added))
            }
            None => self.corrected(head.saturating_add(own)),
        }
    }
}

fn ratio(counted: u64, own: u64) -> u64 {
    (counted.saturating_mul(1000) / own.max(1)).clamp(1000, MAX_RATIO)
}
