//! The endpoints: which request goes where, and what is refused.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use crate::api_error::ApiError;
use crate::cache::{InputUsage, Memory};
use crate::incoming::Incoming;
use crate::journal::{Journal, Keep, Outcome};
use crate::messages_request::MessagesRequest;
use crate::model::{Model, page};
use crate::reply::Reply;
use crate::responder::Responder;
use crate::validate::{Checked, Endpoint, check_headers, strict_roles, validate_for};
use crate::wire::Rendered;

/// Answers requests: what all connections share.
pub(crate) struct Service {
    responder: Box<dyn Responder>,
    pub(crate) journal: Journal,
    memory: Memory,
    answered: AtomicU64,
}

impl Service {
    pub(crate) fn new(responder: Box<dyn Responder>, keep: Keep) -> Self {
        Self {
            responder,
            journal: Journal::new(keep),
            memory: Memory::default(),
            answered: AtomicU64::new(0),
        }
    }

    /// The answer to a request that could be read, and its outcome.
    pub(crate) fn answer(&self, incoming: &Incoming) -> (Rendered, Outcome) {
        let (path, query) = incoming
            .path
            .split_once('?')
            .unwrap_or((&incoming.path, ""));
        let method = incoming.method.as_str();
        let answer = match (path, method) {
            ("/v1/messages", "POST") => self.message(incoming),
            ("/v1/messages/count_tokens", "POST") => self.count(incoming),
            ("/v1/models", "GET") => self.models(incoming, query),
            ("/props", "GET") => self.properties(),
            ("/v1/messages" | "/v1/messages/count_tokens" | "/v1/models", _) => Err(bad_method()),
            _ => match path.strip_prefix("/v1/models/") {
                Some(id) if !id.is_empty() && method == "GET" => self.model(incoming, id),
                Some(id) if !id.is_empty() => Err(bad_method()),
                Some(_) | None => Err(ApiError::not_found(format!("no such path: {path}"))),
            },
        };
        match answer {
            Ok((request, reply, mut outcome)) => {
                outcome.status = reply.visible_status();
                (reply.render(request.as_ref(), &self.next_id()), outcome)
            }
            Err(error) => self.refuse(error),
        }
    }

    /// The answer to what is refused, and its note.
    pub(crate) fn refuse(&self, error: ApiError) -> (Rendered, Outcome) {
        if error.status == 400 {
            self.journal.note_violation(error.message.clone());
        }
        let outcome = Outcome {
            status: error.status,
            refusal: Some(error.message.clone()),
            ..Outcome::default()
        };
        (Reply::from(error).render(None, &self.next_id()), outcome)
    }

    /// The answer to a body over the limit.
    pub(crate) fn refuse_too_large(&self) -> (Rendered, Outcome) {
        let message = "Request exceeds the maximum size of 32 MB";
        self.refuse(ApiError::new(413, "request_too_large", message))
    }

    fn message(&self, incoming: &Incoming) -> Answer {
        let checked = self.valid(Endpoint::Messages, incoming)?;
        let Checked {
            mut request,
            model,
            weight,
        } = checked;
        for violation in strict_roles(&request) {
            self.journal.note_violation(violation);
        }
        let (input, marks) = self.memory.look_up(&model.id, &weight);
        request.input = input;
        let mut outcome = outcome(&model, input);
        if outcome.is_overflow() {
            // No violation: a client can not know the size of its request for sure.
            let message = too_long(&outcome);
            outcome.refusal = Some(message.clone());
            let reply = Reply::from(ApiError::invalid(message));
            return Ok((Some(request), reply, outcome));
        }
        let reply = self.responder.respond(&request);
        if reply.visible_status() == 200 {
            self.memory.remember(marks);
        }
        Ok((Some(request), reply, outcome))
    }

    fn count(&self, incoming: &Incoming) -> Answer {
        let Checked { request, model, .. } = self.valid(Endpoint::CountTokens, incoming)?;
        let count = json!({"input_tokens": request.input_tokens()});
        let outcome = Outcome {
            window: None,
            ..outcome(&model, request.input)
        };
        Ok((Some(request), Reply::json(&count).sized(), outcome))
    }

    fn valid(&self, endpoint: Endpoint, incoming: &Incoming) -> Result<Checked, ApiError> {
        let (headers, body) = (&incoming.headers, &incoming.body);
        validate_for(endpoint, headers, body, |id| {
            if self.responder.accepts_model(id) {
                Ok(self.model_of(id))
            } else {
                Err(ApiError::not_found(format!("model: {id}")))
            }
        })
    }

    /// The listed model with an id, or a model made from the id.
    fn model_of(&self, id: &str) -> Model {
        let listed = self.responder.models().into_iter();
        let mut listed = listed.filter(|model| model.id == id);
        listed.next().unwrap_or_else(|| Model::new(id))
    }

    fn models(&self, incoming: &Incoming, query: &str) -> Answer {
        check_headers(&incoming.headers)?;
        if let Some(reply) = self.responder.models_reply() {
            return Ok((None, reply, Outcome::default()));
        }
        let page = page(&self.responder.models(), query)?;
        Ok((None, Reply::json(&page).sized(), Outcome::default()))
    }

    fn model(&self, incoming: &Incoming, id: &str) -> Answer {
        check_headers(&incoming.headers)?;
        if let Some(reply) = self.responder.models_reply() {
            return Ok((None, reply, Outcome::default()));
        }
        let models = self.responder.models();
        let model = models.iter().find(|model| model.id == id);
        let model = model.ok_or_else(|| ApiError::not_found(format!("model: {id}")))?;
        Ok((
            None,
            Reply::json(&model.to_json()).sized(),
            Outcome::default(),
        ))
    }

    fn properties(&self) -> Answer {
        let properties = self.responder.properties();
        let properties = properties.ok_or_else(|| ApiError::not_found("no such path: /props"))?;
        Ok((None, Reply::json(&properties).sized(), Outcome::default()))
    }

    fn next_id(&self) -> String {
        format!(
            "req_standin{:08}",
            self.answered.fetch_add(1, Ordering::Relaxed) + 1
        )
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}

/// A reply with its outcome, and with the valid request that it answers, if it is about one.
type Answer = Result<(Option<MessagesRequest>, Reply, Outcome), ApiError>;

fn outcome(model: &Model, input: InputUsage) -> Outcome {
    Outcome {
        model: Some(model.id.clone()),
        input,
        window: Some(model.max_input_tokens),
        ..Outcome::default()
    }
}

fn too_long(outcome: &Outcome) -> String {
    let (tokens, window) = (outcome.input.total(), outcome.window.unwrap_or_default());
    format!("prompt is too long: {tokens} tokens > {window} maximum")
}

fn bad_method() -> ApiError {
    ApiError::new(405, "invalid_request_error", "Method Not Allowed")
}
