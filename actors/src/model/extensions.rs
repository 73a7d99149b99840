//! Extension points of the way to the model.

use std::fmt;
use std::sync::Arc;

use super::{KeyResolver, Transport};
use crate::attachment::{AttachmentStore, MemoryAttachments};
use crate::secret::Redaction;

/// Extension points of a [`super::ModelActor`]. They are apart from its settings, because settings
/// can be compared and these cannot.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelExtensions {
    /// The store of the contents of attachments.
    pub attachments: Arc<dyn AttachmentStore>,
    /// Carries requests. `None` for the HTTP client.
    pub transport: Option<Arc<dyn Transport>>,
    /// Gives a key before every call. `None` for the settings' credential.
    pub keys: Option<Arc<dyn KeyResolver>>,
    /// Takes secrets out of the API's answers. It learns the settings' credential, and the keys that
    /// are resolved, so that they are never seen either.
    pub redaction: Redaction,
}

impl ModelExtensions {
    /// The same with another way to the model.
    #[must_use]
    pub fn with_transport(self, transport: impl Transport) -> Self {
        Self {
            transport: Some(Arc::new(transport)),
            ..self
        }
    }
}

impl Default for ModelExtensions {
    fn default() -> Self {
        Self {
            attachments: Arc::new(MemoryAttachments::default()),
            transport: None,
            keys: None,
            redaction: Redaction::default(),
        }
    }
}

impl fmt::Debug for ModelExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelExtensions")
            .field("has_transport", &self.transport.is_some())
            .field("has_keys", &self.keys.is_some())
            .finish_non_exhaustive()
    }
}
