//! The endpoints: which request goes where, and what is refused.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use crate::api_error::ApiError;
use crate::incoming::Incoming;
use crate::journal::{Journal, Keep};
use crate::messages_request::MessagesRequest;
use crate::model::page;
use crate::reply::Reply;
use crate::responder::Responder;
use crate::validate::{Endpoint, check_headers, strict_roles, validate};
use crate::wire::Wire;

/// Answers requests: what all connections share.
pub(crate) struct Service {
    responder: Box<dyn Responder>,
    pub(crate) journal: Journal,
    answered: AtomicU64,
}

impl Service {
    pub(crate) fn new(responder: Box<dyn Responder>, keep: Keep) -> Self {
        Self {
            responder,
            journal: Journal::new(keep),
            answered: AtomicU64::new(0),
        }
    }

    /// The answer to a request that could be read.
    pub(crate) fn answer(&self, incoming: &Incoming) -> Wire {
        let (path, query) = incoming
            .path
            .split_once('?')
            .unwrap_or((&incoming.path, ""));
        let method = incoming.method.as_str();
        let answer = match (path, method) {
            ("/v1/messages", "POST") => self.message(incoming),
            ("/v1/messages/count_tokens", "POST") => self.count(incoming),
            ("/v1/models", "GET") => self.models(incoming, query),
            ("/v1/messages" | "/v1/messages/count_tokens" | "/v1/models", _) => Err(bad_method()),
            _ => match path.strip_prefix("/v1/models/") {
                Some(id) if !id.is_empty() && method == "GET" => self.model(incoming, id),
                Some(id) if !id.is_empty() => Err(bad_method()),
                Some(_) | None => Err(ApiError::not_found(format!("no such path: {path}"))),
            },
        };
        match answer {
            Ok((request, reply)) => reply.render(request.as_ref(), &self.next_id()),
            Err(error) => self.refuse(error),
        }
    }

    /// The answer to what is refused, and its note.
    pub(crate) fn refuse(&self, error: ApiError) -> Wire {
        if error.status == 400 {
            self.journal.note_violation(error.message.clone());
        }
        Reply::from(error).render(None, &self.next_id())
    }

    /// The answer to a body over the limit.
    pub(crate) fn refuse_too_large(&self) -> Wire {
        let message = "Request exceeds the maximum size of 32 MB";
        self.refuse(ApiError::new(413, "request_too_large", message))
    }

    fn message(&self, incoming: &Incoming) -> Answer {
        let request = self.valid(Endpoint::Messages, incoming)?;
        for violation in strict_roles(&request) {
            self.journal.note_violation(violation);
        }
        let reply = self.responder.respond(&request);
        Ok((Some(request), reply))
    }

    fn count(&self, incoming: &Incoming) -> Answer {
        let request = self.valid(Endpoint::CountTokens, incoming)?;
        let count = json!({"input_tokens": request.input_tokens()});
        Ok((Some(request), Reply::json(&count).sized()))
    }

    fn valid(&self, endpoint: Endpoint, incoming: &Incoming) -> Result<MessagesRequest, ApiError> {
        let request = validate(endpoint, &incoming.headers, &incoming.body)?;
        let id = request.model();
        if !self.responder.accepts_model(id) {
            return Err(ApiError::not_found(format!("model: {id}")));
        }
        let models = self.responder.models();
        let limit = models
            .iter()
            .find(|model| model.id == id)
            .map(|model| model.max_tokens);
        if let (Some(limit), Some(asked)) = (limit, request.body["max_tokens"].as_u64())
            && asked > limit
        {
            let message = format!("{asked} > {limit}, the most that {id} can write");
            return Err(ApiError::at("max_tokens", message));
        }
        Ok(request)
    }

    fn models(&self, incoming: &Incoming, query: &str) -> Answer {
        check_headers(&incoming.headers)?;
        let page = page(&self.responder.models(), query)?;
        Ok((None, Reply::json(&page).sized()))
    }

    fn model(&self, incoming: &Incoming, id: &str) -> Answer {
        check_headers(&incoming.headers)?;
        let models = self.responder.models();
        let model = models.iter().find(|model| model.id == id);
        let model = model.ok_or_else(|| ApiError::not_found(format!("model: {id}")))?;
        Ok((None, Reply::json(&model.to_json()).sized()))
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

/// A reply and the valid request that it answers, if it is about one.
type Answer = Result<(Option<MessagesRequest>, Reply), ApiError>;

fn bad_method() -> ApiError {
    ApiError::new(405, "invalid_request_error", "Method Not Allowed")
}
