//! The models that a server of this crate lists, and the reply of its models endpoint in place of the list.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::messages_request::MessagesRequest;
use crate::model::Model;
use crate::reply::Reply;
use crate::responder::Responder;

/// A list of models that a test can change while the server runs. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    models: Option<Vec<Model>>,
    instead: Option<Reply>,
    properties: Option<Value>,
}

impl Catalogue {
    /// A list of these models.
    #[must_use]
    pub fn new(models: Vec<Model>) -> Self {
        let list = Self::default();
        list.set(models);
        list
    }

    /// Replaces the models, and with them those that a request may name.
    pub fn set(&self, models: Vec<Model>) {
        self.lock().models = Some(models);
    }

    /// The models: the current ones as long as none were set.
    #[must_use]
    pub fn models(&self) -> Vec<Model> {
        self.lock().models.clone().unwrap_or_else(Model::current)
    }

    /// Has both models endpoints answer with this instead of the list: a refusal, or a reply that
    /// is `silent`. `None` shows the list again. Requests for messages do not notice.
    pub fn answer_instead(&self, reply: Option<Reply>) {
        self.lock().instead = reply;
    }

    /// Has `GET /props` answer with this, as llama.cpp's server does. `None` removes the path.
    pub fn set_properties(&self, properties: Option<Value>) {
        self.lock().properties = properties;
    }

    pub(crate) fn properties(&self) -> Option<Value> {
        self.lock().properties.clone()
    }

    pub(crate) fn instead(&self) -> Option<Reply> {
        self.lock().instead.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A responder with a separate list of models.
pub(crate) struct Serving<R> {
    pub(crate) responder: R,
    pub(crate) catalogue: Catalogue,
}

impl<R: Responder> Responder for Serving<R> {
    fn respond(&self, request: &MessagesRequest) -> Reply {
        self.responder.respond(request)
    }

    fn models(&self) -> Vec<Model> {
        self.catalogue.models()
    }

    fn models_reply(&self) -> Option<Reply> {
        self.catalogue.instead()
    }

    fn properties(&self) -> Option<Value> {
        self.catalogue.properties()
    }
}
