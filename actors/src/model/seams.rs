//! What of the way to the model can be replaced.

use std::fmt;
use std::sync::Arc;

use super::{KeyResolver, Transport};
use crate::attachment::{AttachmentStore, MemoryAttachments};
use crate::secret::Redaction;

/// What a [`super::ModelActor`] is given besides its settings. Apart from them, because settings
/// can be compared and these cannot.
#[derive(Clone)]
pub struct ModelSeams {
    /// Where the contents of attachments are.
    pub attachments: Arc<dyn AttachmentStore>,
    /// What requests go through; the HTTP client if none.
    pub transport: Option<Arc<dyn Transport>>,
    /// What is asked for a key before every call; the settings' credential is used if none.
    pub keys: Option<Arc<dyn KeyResolver>>,
    /// What is taken out of what the API says. It learns the settings' credential, and the keys that
    /// are resolved, so that they are never seen either.
    pub redaction: Redaction,
}

impl Default for ModelSeams {
    fn default() -> Self {
        Self {
            attachments: Arc::new(MemoryAttachments::default()),
            transport: None,
            keys: None,
            redaction: Redaction::default(),
        }
    }
}

impl fmt::Debug for ModelSeams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSeams")
            .field("has_transport", &self.transport.is_some())
            .field("has_keys", &self.keys.is_some())
            .finish_non_exhaustive()
    }
}
