//! The ids that may name a journal.

/// The longest id.
const MAX_LENGTH: usize = 64;

/// True if a journal may have this id. Ids are file names, so no other id ever reaches a disk.
pub(super) fn is_valid(id: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    (1..=MAX_LENGTH).contains(&id.len()) && id.bytes().all(is_allowed) && !id.starts_with('-')
}
