//! The encoding of a file that is changed: new text is UTF-8, and is never mixed with another encoding.

use std::collections::HashSet;

use super::replace::KnownFile;
use crate::tool::ToolError;

/// A file that is not UTF-8.
pub(in crate::tool) struct OtherEncoding<'k> {
    known: &'k KnownFile,
    /// The place of its first byte that is not UTF-8.
    at: usize,
}

impl<'k> OtherEncoding<'k> {
    /// `None` if the text may be put anywhere in the file.
    pub(in crate::tool) fn find(known: &'k KnownFile, text: &str) -> Option<Self> {
        if text.is_ascii() {
            return None;
        }
        let error = std::str::from_utf8(&known.bytes).err()?;
        let at = error.valid_up_to();
        Some(Self { known, at })
    }

    /// Checks that the text may be put into the file in place of those bytes of it: that they have its characters
    /// outside of ASCII already, in UTF-8.
    ///
    /// # Errors
    /// If the file would have two encodings.
    pub(in crate::tool) fn check(&self, replaced: &[u8], text: &str) -> Result<(), ToolError> {
        let had = String::from_utf8_lossy(replaced);
        // It is there for each byte that is not UTF-8.
        let had = had.chars().filter(|c| *c != char::REPLACEMENT_CHARACTER);
        let had: HashSet<char> = had.collect();
        let is_new = |c: &char| !c.is_ascii() && !had.contains(c);
        let Some(new) = text.chars().find(is_new) else {
            return Ok(());
        };
        let (before, behind) = self.known.bytes.split_at(self.at);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let byte = behind.first().copied().unwrap_or_default();
        Err(ToolError(format!(
            "{} is not UTF-8 (byte 0x{byte:02x} in line {line}), and the new text has {new:?}, which would mix \
             two encodings; use ASCII only, or convert the file first with a command such as iconv",
            self.known.path.display()
        )))
    }
}
