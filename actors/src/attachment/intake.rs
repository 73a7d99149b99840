//! Checks what is to go with a prompt, and keeps it. A content that the API refuses would be
//! refused with every later request of its conversation, too, so it is not let in.

use bytes::Bytes;
use derive_more::{Display, Error};
use harness_protocol::Attachment;

use super::dimensions::dimensions;
use super::{AttachmentStore, MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, MediaType};
use crate::storage::StorageError;

/// Maximum width and height of an image, in pixels; the API takes no larger ones.
const MAX_PIXELS: u32 = 8000;
/// Maximum length of a file's name, in characters.
const MAX_NAME: usize = 200;

/// A file that is to go with a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewAttachment {
    /// Its content.
    pub content: Bytes,
    /// Its declared media type.
    pub media_type: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// The reason why files cannot go with a prompt. Nothing was stored of them unless the storage failed.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum AttachmentError {
    /// There are more than a request can have.
    #[display("{count} attachments are too many; a prompt may have {MAX_ATTACHMENTS}")]
    TooMany {
        /// Number of attachments.
        count: usize,
    },
    /// They are larger than a request can be.
    #[display(
        "the attachments have {bytes} bytes together; those of a prompt may have {MAX_ATTACHED_BYTES}"
    )]
    TooLarge {
        /// Total size in bytes.
        bytes: usize,
    },
    /// The model cannot be shown one of them.
    #[display("attachment {number}{} {reason}", called(name.as_deref()))]
    Unusable {
        /// Number of the attachment, counted from 1.
        number: usize,
        /// Its name.
        name: Option<String>,
        /// The reason.
        #[error(not(source))]
        reason: Unusable,
    },
    /// The storage did not take them.
    NotKept(StorageError),
}

/// The reason why a file cannot be sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
pub enum Unusable {
    /// The file is empty.
    #[display("is empty")]
    Empty,
    /// It is none of the known types.
    #[display(
        "has {bytes} bytes and is no image, PDF or text; it may be a PNG, JPEG, GIF or WebP image, \
         a PDF, or UTF-8 text of at most {} bytes", MediaType::Text.max_bytes()
    )]
    UnknownType {
        /// Size in bytes.
        bytes: usize,
    },
    /// The declared media type differs from the actual one.
    #[display("is {found}, not {declared:?}; leave `media_type` out or correct it")]
    OtherType {
        /// Its media type.
        found: MediaType,
        /// Its declared media type.
        declared: String,
    },
    /// It is too large for its type.
    #[display("has {bytes} bytes; {kind} may have {}", kind.max_bytes())]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
        /// Its media type.
        kind: MediaType,
    },
    /// The image is too wide or too high.
    #[display("has {width} x {height} pixels; an image may have {MAX_PIXELS} x {MAX_PIXELS}")]
    TooManyPixels {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
}

/// The name in parentheses, to be appended to a number.
fn called(name: Option<&str>) -> String {
    name.map(|name| format!(" ({name})")).unwrap_or_default()
}

/// Checks files and keeps their contents, durably, unless they are kept.
///
/// # Errors
/// When there are too many, or one of them cannot be used, or the storage cannot be written.
pub async fn keep_attachments(
    store: &dyn AttachmentStore,
    files: Vec<NewAttachment>,
) -> Result<Vec<Attachment>, AttachmentError> {
    let kinds = check(&files)?;
    let mut kept = Vec::with_capacity(files.len());
    for (file, kind) in files.into_iter().zip(kinds) {
        let putting = store.put(file.content.clone()).await;
        let sha256 = putting.map_err(AttachmentError::NotKept)?;
        kept.push(attachment(sha256, &file, kind));
    }
    Ok(kept)
}

/// A file as a prompt names it.
pub(super) fn attachment(sha256: String, file: &NewAttachment, kind: MediaType) -> Attachment {
    Attachment {
        sha256,
        media_type: kind.to_string(),
        bytes: file.content.len() as u64,
        name: display_name(file.name.as_deref()),
    }
}

/// The printable part of a name, cut to its maximum length. `None` if that is blank.
fn display_name(name: Option<&str>) -> Option<String> {
    let shown = name?
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_NAME)
        .collect();
    Some(shown).filter(|shown: &String| !shown.trim().is_empty())
}

pub(super) fn check(files: &[NewAttachment]) -> Result<Vec<MediaType>, AttachmentError> {
    let count = files.len();
    if count > MAX_ATTACHMENTS {
        return Err(AttachmentError::TooMany { count });
    }
    let mut kinds = Vec::with_capacity(count);
    for (file, number) in files.iter().zip(1..) {
        let kind = check_one(file).map_err(|reason| AttachmentError::Unusable {
            number,
            name: display_name(file.name.as_deref()),
            reason,
        })?;
        kinds.push(kind);
    }
    let bytes = files.iter().map(|file| file.content.len()).sum();
    if bytes > MAX_ATTACHED_BYTES {
        return Err(AttachmentError::TooLarge { bytes });
    }
    Ok(kinds)
}

fn check_one(file: &NewAttachment) -> Result<MediaType, Unusable> {
    let bytes = file.content.len();
    if bytes == 0 {
        return Err(Unusable::Empty);
    }
    let kind = MediaType::detect(&file.content).ok_or(Unusable::UnknownType { bytes })?;
    if let Some(declared) = &file.media_type
        && !kind.is_meant_by(declared)
    {
        let declared = declared.chars().take(MAX_NAME).collect();
        return Err(Unusable::OtherType {
            found: kind,
            declared,
        });
    }
    if bytes > kind.max_bytes() {
        return Err(Unusable::TooLarge { bytes, kind });
    }
    if let Some((width, height)) = dimensions(kind, &file.content)
        && width.max(height) > MAX_PIXELS
    {
        return Err(Unusable::TooManyPixels { width, height });
    }
    Ok(kind)
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
