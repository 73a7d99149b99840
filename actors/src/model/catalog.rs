//! A cache of facts about the models, so that the API need not be asked before every call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use super::client::ApiClient;
use super::learned::LearnedFacts;
use super::live_models::{Models, list, one};
use super::properties::properties;
use super::{ModelError, ModelInfo};
use crate::limit::within;

/// Time for which an answer of the API holds.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Time without another question after the API gave no answer.
const PAUSE: Duration = Duration::from_secs(60);
/// Time limit for one question.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum number of answers that are kept.
const MAX_ANSWERS: usize = 256;

/// Number of models that are remembered beyond their answers' time before all are forgotten.
const MAX_MODELS: usize = 4096;

/// The key of an answer: another credential may see other models.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Question {
    key_source: Option<Arc<str>>,
    about: CatalogSubject,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CatalogSubject {
    /// The whole list.
    All,
    /// One model.
    Model(Arc<str>),
    /// The properties that the server tells of itself while it serves that model.
    Server(Arc<str>),
}

impl Question {
    fn new(key_source: Option<&Arc<str>>, about: CatalogSubject) -> Self {
        Self {
            key_source: key_source.cloned(),
            about,
        }
    }
}

type FoundModels = Result<Models, ModelError>;
type LookUp = Shared<LocalBoxFuture<'static, FoundModels>>;

enum CatalogAnswer {
    /// It holds until then.
    Known(Instant, FoundModels),
    /// A question that is under way. All who ask it wait for the same answer; it is dropped with
    /// the last of them.
    Asked(WeakShared<LocalBoxFuture<'static, FoundModels>>),
}

/// Caches the API's descriptions of its models. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Catalog {
    answers: Rc<RefCell<HashMap<Question, CatalogAnswer>>>,
    /// The last description of each model, however old: an old one is worth more than nothing.
    last: Rc<RefCell<HashMap<Question, Arc<ModelInfo>>>>,
    learned: LearnedFacts,
}

impl Catalog {
    /// All models that the API lists. The client has the key from that source.
    pub(super) async fn list(
        &self,
        client: &ApiClient,
        key_source: Option<&Arc<str>>,
    ) -> FoundModels {
        let question = Question::new(key_source, CatalogSubject::All);
        self.ask(question, || list(client.clone()).boxed_local())
            .await
    }

    /// The API's description of one model, which it need not list; its last one if it gives none
    /// now. A window that it does not name is the server's own, and one that an error named is
    /// never larger than that.
    pub(super) async fn model(
        &self,
        client: &ApiClient,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> Result<Option<Arc<ModelInfo>>, ModelError> {
        let found = self.look_up(client, key_source, model).await;
        let found = found.or_else(|error| match self.known(key_source, model) {
            Some(info) => Ok(Some(info)),
            None => Err(error),
        });
        let window = self.learned.window(key_source, model);
        let says_window = |info: &Arc<ModelInfo>| info.max_input_tokens.is_some();
        let server = if matches!(&found, Ok(Some(info)) if says_window(info)) {
            None
        } else {
            match self.list(client, key_source).await {
                // A server that lists the windows of other models has one route for them.
                Ok(listed) if listed.iter().any(says_window) => None,
                // A server without a list may have properties; one that gave no answer has none.
                Ok(_) | Err(ModelError::Api { .. } | ModelError::Malformed { .. }) => {
                    self.server(client, key_source, model).await
                }
                Err(_) => None,
            }
        };
        let nothing = || Arc::new(ModelInfo::nothing_of(model));
        let info = match (found, server) {
            (Ok(Some(info)), Some(server)) => Some(Arc::new(info.completed(&server))),
            (Ok(None) | Err(_), Some(server)) => Some(server),
            (found, None) if window.is_none() => found?,
            (found, None) => found.ok().flatten(),
        };
        Ok(match window {
            None => info,
            Some(window) => Some(Arc::new(info.unwrap_or_else(nothing).within(window))),
        })
    }

    /// The server's own description, if it gives one.
    async fn server(
        &self,
        client: &ApiClient,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> Option<Arc<ModelInfo>> {
        if client.transport().is_some() {
            return None;
        }
        let question = Question::new(key_source, CatalogSubject::Server(Arc::clone(model)));
        let look_up = || properties(client.clone(), Arc::clone(model)).boxed_local();
        self.ask(question, look_up).await.ok()?.first().cloned()
    }

    /// Facts learned from answers of the API.
    pub(super) fn learned(&self) -> &LearnedFacts {
        &self.learned
    }

    /// The last description of a model, if there ever was one. This asks nothing.
    pub(super) fn known(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> Option<Arc<ModelInfo>> {
        let question = Question::new(key_source, CatalogSubject::Model(Arc::clone(model)));
        self.last.borrow().get(&question).cloned()
    }

    async fn look_up(
        &self,
        client: &ApiClient,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> Result<Option<Arc<ModelInfo>>, ModelError> {
        let listed = self.list(client, key_source).await?;
        if let Some(info) = listed.iter().find(|info| *info.id == **model) {
            return Ok(Some(Arc::clone(info)));
        }
        if client.transport().is_some() {
            return Ok(None);
        }
        let question = Question::new(key_source, CatalogSubject::Model(Arc::clone(model)));
        let look_up = || one(client.clone(), Arc::clone(model)).boxed_local();
        let found = self.ask(question, look_up).await?;
        Ok(found.first().cloned())
    }

    /// Takes over a list that was read for another reason.
    pub(super) fn note_list(&self, key_source: Option<&Arc<str>>, models: Models) {
        self.note(Question::new(key_source, CatalogSubject::All), Ok(models));
    }

    async fn ask(
        &self,
        question: Question,
        look_up: impl FnOnce() -> LocalBoxFuture<'static, FoundModels>,
    ) -> FoundModels {
        let asked = match self.answers.borrow().get(&question) {
            Some(CatalogAnswer::Known(until, found)) if Instant::now() < *until => {
                return found.clone();
            }
            Some(CatalogAnswer::Asked(asked)) => asked.upgrade(),
            Some(CatalogAnswer::Known(..)) | None => None,
        };
        let asked: LookUp = asked.unwrap_or_else(|| {
            let look_up = look_up();
            let bounded = async {
                let limit = LOOK_UP_TIMEOUT;
                let found = within(limit, look_up).await;
                found.unwrap_or(Err(ModelError::NoAnswer { limit }))
            };
            let asked = bounded.boxed_local().shared();
            if let Some(shared) = asked.downgrade() {
                let mut answers = self.answers.borrow_mut();
                answers.insert(question.clone(), CatalogAnswer::Asked(shared));
            }
            asked
        });
        let found = asked.await;
        if let Err(error) = &found {
            log::warn!("what models there are could not be read: {error}");
        }
        self.note(question, found.clone());
        found
    }

    fn note(&self, question: Question, found: FoundModels) {
        if let Ok(models) = &found {
            self.note_models(&question, models);
        }
        let now = Instant::now();
        let mut answers = self.answers.borrow_mut();
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        // An unknown model may become known any time: a list may have misspelt it.
        let is_empty = found.as_ref().is_ok_and(|models| models.is_empty());
        let lifetime = if found.is_err() || is_empty {
            PAUSE
        } else {
            LIFETIME
        };
        answers.insert(question, CatalogAnswer::Known(now + lifetime, found));
    }

    fn note_models(&self, question: &Question, models: &Models) {
        let asked_for = match &question.about {
            CatalogSubject::All => None,
            CatalogSubject::Model(model) => Some(model),
            CatalogSubject::Server(_) => return,
        };
        let mut last = self.last.borrow_mut();
        if last.len() >= MAX_MODELS {
            last.clear();
        }
        for info in models.iter().take(MAX_MODELS) {
            // An alias goes by the name that was asked for.
            let model = asked_for.map_or_else(|| info.id.as_str().into(), Arc::clone);
            let asked = Question::new(question.key_source.as_ref(), CatalogSubject::Model(model));
            last.insert(asked, Arc::clone(info));
        }
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
