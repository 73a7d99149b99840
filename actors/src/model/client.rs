//! The client of the Messages API for one call: its settings, its key, its way to the model.

use std::rc::Rc;
use std::time::Duration;

use super::http::Http;
use super::settings::ApiAccess;
use super::version::ApiVersion;
use super::{Credential, ModelError, ModelExtensions, ModelSettings, Transport};
use crate::attachment::AttachmentStore;
use crate::ids::ConversationId;
use crate::limit::within;
use crate::secret::{Redaction, Secret};

/// Time limit for finding a key.
const KEY_TIMEOUT: Duration = Duration::from_secs(10);

/// The hint after the refusal of a request that had no key.
const NO_KEY: &str = "; no key was sent: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN for the service, \
    and start it again";

/// The hint after the origin of a key that was refused.
const OTHER_KEY: &str = ": `harness config` shows what is set, and `harness restart` takes another";

/// A client for one arbiter.
#[derive(Clone)]
pub(super) struct ApiClient {
    http: Http,
    settings: Rc<ModelSettings>,
    /// A key that was resolved for this call, in place of the settings' credential.
    resolved: Option<Secret>,
    /// The source of the key of this call, if the conversation names one.
    source: Option<String>,
    /// Secrets that must not come back from the API.
    redaction: Redaction,
    extensions: Rc<ModelExtensions>,
}

impl ApiClient {
    pub(super) fn new(settings: ModelSettings, extensions: ModelExtensions) -> Self {
        let (Credential::ApiKey(secret) | Credential::Bearer(secret)) = &settings.credential;
        extensions.redaction.add(secret.clone());
        Self {
            http: Http::new(&settings),
            settings: Rc::new(settings),
            resolved: None,
            source: None,
            redaction: extensions.redaction.clone(),
            extensions: Rc::new(extensions),
        }
    }

    /// The client for one call: with the key that its source, or the service's resolver, has now.
    pub(super) async fn for_call(&self, source: Option<&str>) -> Result<Self, ModelError> {
        let no_key = |reason: &str| {
            let origin = source.map(|source| format!("the key source {source:?}"));
            let error = ModelError::Key {
                origin: origin.unwrap_or_else(|| "the service's own source".to_owned()),
                reason: reason.to_owned(),
            };
            // A resolver may quote the key that it had before.
            error.redacted(&self.redaction)
        };
        let Some(keys) = &self.extensions.keys else {
            let Some(_) = source else {
                return Ok(self.clone());
            };
            return Err(no_key("this service resolves no keys"));
        };
        let resolved = within(KEY_TIMEOUT, keys.resolve(source));
        let key = match resolved.await {
            Some(Ok(key)) => key.filter(|key| !key.expose().is_empty()),
            Some(Err(reason)) => return Err(no_key(&reason)),
            None => return Err(no_key(&format!("nothing within {KEY_TIMEOUT:?}"))),
        };
        let Some(key) = key else {
            return Ok(Self {
                resolved: None,
                ..self.clone()
            });
        };
        if !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(no_key("it has characters that no key has"));
        }
        Ok(Self {
            redaction: self.redaction.with(&key),
            resolved: Some(key),
            source: source.map(ToOwned::to_owned),
            ..self.clone()
        })
    }

    /// The client with what that conversation must not see.
    pub(super) fn for_conversation(self, conversation: &ConversationId) -> Self {
        Self {
            redaction: self.redaction.for_conversation(conversation),
            ..self
        }
    }

    /// Notes that the API took the key of this call, so that it is one: from now on the
    /// conversation that brought it does not see it.
    pub(super) fn learn_key(&self, conversation: &ConversationId) {
        if let Some(key) = &self.resolved {
            self.redaction.learn(conversation, key.clone());
        }
    }

    /// An error, with how to give a key where the server asked for one and none was sent, and which
    /// key it was where it was refused.
    pub(super) fn with_hint_of_key(&self, mut error: ModelError) -> ModelError {
        if let ModelError::Api {
            status: 401 | 403,
            message,
            ..
        } = &mut error
        {
            if self.credential().is_none() {
                message.push_str(NO_KEY);
            } else if let Some(origin) = self.origin_of_key() {
                message.push_str(&format!("; the key that was sent is {origin}{OTHER_KEY}"));
            }
        }
        error
    }

    fn origin_of_key(&self) -> Option<String> {
        self.extensions
            .keys
            .as_ref()?
            .origin(self.source.as_deref())
    }

    /// The transport that takes the place of HTTP.
    pub(super) fn transport(&self) -> Option<&dyn Transport> {
        self.extensions.transport.as_deref()
    }

    /// The store of the contents of attachments.
    pub(super) fn attachments(&self) -> &dyn AttachmentStore {
        &*self.extensions.attachments
    }

    /// The connections over HTTP.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// The access to the API that a request of this call has.
    pub(super) fn access(&self) -> ApiAccess<'_> {
        ApiAccess {
            settings: &self.settings,
            credential: self.credential(),
            redaction: &self.redaction,
        }
    }

    /// The credential of this call.
    pub(super) fn credential(&self) -> Credential {
        match &self.resolved {
            Some(key) => Credential::ApiKey(key.clone()),
            None => self.settings.credential.clone(),
        }
    }

    /// The version of the API that a request names first. What takes the place of HTTP names none, and gets
    /// what the oldest takes.
    pub(super) fn first_version(&self) -> ApiVersion {
        match self.transport() {
            Some(_) => ApiVersion::June2023,
            None => self.settings.first_version(),
        }
    }

    pub(super) fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Secrets that must not come back from the API because a gateway may quote them, the key of
    /// this call among them.
    pub(super) fn redaction(&self) -> &Redaction {
        &self.redaction
    }
}
