//! A place in the text of the conversation.

use crate::conversation::PartId;

/// A place in the shown source of a part, in bytes. Later places are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourcePlace {
    /// The part.
    pub(crate) part: PartId,
    /// Offset in its source, in bytes.
    pub(crate) offset: usize,
}
