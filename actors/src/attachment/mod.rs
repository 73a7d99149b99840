//! Files that go with prompts: images and texts, each content kept once under its hash.

mod dimensions;
mod hash;
mod held;
mod intake;
mod media_type;
mod store;

pub(crate) use hash::PieceHash;
pub use hash::{is_sha256, sha256};
pub use held::{HeldAttachments, hold_attachments};
pub use intake::{AttachmentError, NewAttachment, Unusable, keep_attachments};
pub use media_type::MediaType;
pub use store::{AttachmentStore, Fate, MemoryAttachments, is_missing};
#[cfg(feature = "journal")]
pub(crate) use store::{changed, missing};

/// Maximum number of files that go with one prompt. With more images in a request the API takes smaller ones only.
pub const MAX_ATTACHMENTS: usize = 20;
/// Maximum size of all files of a prompt together, in bytes. In base64 they are a third longer, and a request of the
/// API may have 32 MB.
pub const MAX_ATTACHED_BYTES: usize = 22 * 1024 * 1024;
