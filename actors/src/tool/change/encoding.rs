//! The encoding of a file that is changed: new text is UTF-8, and is never mixed with another encoding.

use super::replace::Known;
use crate::tool::ToolError;

/// Checks that new text may be put into a file in place of those bytes of it. Into a file that is not UTF-8 it
/// brings ASCII only, and characters that the replaced bytes had in UTF-8.
///
/// # Errors
/// If the file would have two encodings.
pub(in crate::tool) fn check_encoding(
    known: &Known,
    replaced: &[u8],
    text: &str,
) -> Result<(), ToolError> {
    if text.is_ascii() {
        return Ok(());
    }
    let Err(error) = std::str::from_utf8(&known.bytes) else {
        return Ok(());
    };
    let had = String::from_utf8_lossy(replaced);
    let is_new =
        |c: &char| !c.is_ascii() && (*c == char::REPLACEMENT_CHARACTER || !had.contains(*c));
    let Some(new) = text.chars().find(is_new) else {
        return Ok(());
    };
    let (before, behind) = known.bytes.split_at(error.valid_up_to());
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let byte = behind.first().copied().unwrap_or_default();
    Err(ToolError(format!(
        "{} is not UTF-8 (byte 0x{byte:02x} in line {line}), and the new text has {new:?}, which would mix two \
         encodings; use ASCII only, or convert the file first with a command such as iconv",
        known.path.display()
    )))
}
