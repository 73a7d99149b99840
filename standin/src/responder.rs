//! Decides the answer to a valid request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::messages_request::MessagesRequest;
use crate::model::Model;
use crate::reply::Reply;

/// Answers the requests that passed the validator.
///
/// Closures from `&MessagesRequest` to [`Reply`] are responders too.
pub trait Responder: Send + Sync + 'static {
    /// The reply to one request. It runs on the server's only thread, so it must not block: work that takes time
    /// belongs into the reply's steps.
    fn respond(&self, request: &MessagesRequest) -> Reply;

    /// The models that `GET /v1/models` lists.
    fn models(&self) -> Vec<Model> {
        Model::current()
    }

    /// The answer of both models endpoints instead of the list, if any.
    fn models_reply(&self) -> Option<Reply> {
        None
    }

    /// The answer of `GET /props`, as on llama.cpp's server. `None` if the path does not exist.
    fn properties(&self) -> Option<Value> {
        None
    }

    /// True if a request may name this model; otherwise it is answered 404.
    fn accepts_model(&self, id: &str) -> bool {
        let serves = |model: &Model| model.id == id && model.lifecycle != "retired";
        self.models().iter().any(serves)
    }
}

impl<F> Responder for F
where
    F: Fn(&MessagesRequest) -> Reply + Send + Sync + 'static,
{
    fn respond(&self, request: &MessagesRequest) -> Reply {
        self(request)
    }
}

/// A queue of replies, one a request. Clones are the same queue.
///
/// A request that finds it empty is answered with a 500.
#[derive(Debug, Clone, Default)]
pub struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    catalogue: Catalogue,
}

impl Script {
    /// An empty script.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a reply at the end of the queue.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.lock().push_back(reply.into());
    }

    /// Puts several replies at the end of the queue.
    pub fn extend(&self, replies: impl IntoIterator<Item = Reply>) {
        self.lock().extend(replies);
    }

    /// Number of replies that wait in the queue.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.lock().len()
    }

    /// Forgets the replies that wait.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Replaces the list of models, and with it the models that a request may name.
    pub fn set_models(&self, models: Vec<Model>) {
        self.catalogue.set(models);
    }

    /// The list of models, to change the reply of the models endpoint.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Reply>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Responder for Script {
    fn respond(&self, _request: &MessagesRequest) -> Reply {
        let next = self.lock().pop_front();
        next.unwrap_or_else(|| Reply::error(500, "api_error", "the script is empty"))
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
