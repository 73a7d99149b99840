//! Files that are kept for an order, as long as it may be refused.

use std::sync::Arc;

use harness_protocol::Attachment;

use super::intake::{attachment, check};
use super::store::{AttachmentStore, Fate};
use super::{AttachmentError, NewAttachment};

/// Files that are held for an order. If this is dropped before the order is given, or after it was refused, the files
/// are removed, unless something else has the same contents.
pub struct HeldAttachments {
    store: Arc<dyn AttachmentStore>,
    attachments: Vec<Attachment>,
    fate: Fate,
}

/// Checks files and holds their contents, durably, for an order.
///
/// # Errors
/// When there are too many, or one of them cannot be used, or the storage cannot be written.
/// Nothing is held then.
pub async fn hold_attachments(
    store: &Arc<dyn AttachmentStore>,
    files: Vec<NewAttachment>,
) -> Result<HeldAttachments, AttachmentError> {
    let kinds = check(&files)?;
    let mut held = HeldAttachments {
        store: Arc::clone(store),
        attachments: Vec::with_capacity(files.len()),
        fate: Fate::Refused,
    };
    for (file, kind) in files.into_iter().zip(kinds) {
        let content = file.content.clone();
        let holding = store.hold(content).await;
        let sha256 = holding.map_err(AttachmentError::NotKept)?;
        held.attachments.push(attachment(sha256, &file, kind));
    }
    Ok(held)
}

impl HeldAttachments {
    /// No files.
    #[must_use]
    pub fn none(store: &Arc<dyn AttachmentStore>) -> Self {
        Self {
            store: Arc::clone(store),
            attachments: Vec::new(),
            fate: Fate::Refused,
        }
    }

    /// The files, for the order, which is about to be given: from now on it may have been taken.
    pub fn give(&mut self) -> Vec<Attachment> {
        self.fate = Fate::Named;
        self.attachments.clone()
    }

    /// The order was refused.
    pub fn refused(&mut self) {
        self.fate = Fate::Refused;
    }
}

impl Drop for HeldAttachments {
    fn drop(&mut self) {
        for attachment in &self.attachments {
            self.store.settle(&attachment.sha256, self.fate);
        }
    }
}
