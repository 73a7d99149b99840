//! Error answers: `application/problem+json` (RFC 9457), the same shape everywhere.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use derive_more::Display;
use harness_protocol::Problem;
use serde_json::{Value, json};

/// The reason why a request is refused. A handler's error.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[display("{detail}")]
pub(super) struct Refusal {
    kind: Kind,
    detail: String,
    /// True if the connection cannot be used again, since the request was not read to its end.
    closes: bool,
    /// Further members of the problem, for programs.
    members: Members,
}

/// Further members of a problem, each with its name.
type Members = Vec<(&'static str, Value)>;

/// A handler's answer.
pub(super) type HandlerResult = Result<HttpResponse, Refusal>;

impl Refusal {
    /// The same, with one more member for programs.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.members.push((name, value));
        self
    }

    /// The same, of a request that was not read to its end.
    pub(super) fn closing(self) -> Self {
        Self {
            closes: true,
            ..self
        }
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        self.kind.parts().2
    }

    fn error_response(&self) -> HttpResponse {
        self.kind.say(&*self.detail, &self.members, |answer| {
            if self.closes {
                answer.force_close();
            }
        })
    }
}

/// Makes the kinds of problems. A row is a kind, its status, its name in the problem's type, and its
/// title.
macro_rules! kinds {
    ($($kind:ident $status:ident $name:literal, $title:literal;)+) => {
        /// The kind of problem that a request met.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind {
            $($kind,)+
        }

        impl Kind {
            /// The name in the problem's type, its title and its status.
            fn parts(self) -> (&'static str, &'static str, StatusCode) {
                match self {
                    $(Self::$kind => ($name, $title, StatusCode::$status),)+
                }
            }
        }
    };
}

kinds! {
    BadRequest BAD_REQUEST "bad-request", "The request is not as expected";
    Unauthorized UNAUTHORIZED "unauthorized", "The request needs the service's token";
    FromTool FORBIDDEN "from-a-tool", "What a tool started may not use the service";
    ForeignOrigin FORBIDDEN "foreign-origin", "Requests of web pages are refused";
    NotFound NOT_FOUND "not-found", "There is no such route";
    NoConversation NOT_FOUND "no-conversation", "There is no such conversation";
    NoAttachment NOT_FOUND "no-attachment", "There is no such attachment";
    NoSkill NOT_FOUND "no-skill", "There is no such skill";
    NoTemplate NOT_FOUND "no-template", "There is no such template";
    NoWorkspace CONFLICT "no-workspace", "The folder of the conversation is gone";
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed", "The route does not take this method";
    NotAcceptable NOT_ACCEPTABLE "not-acceptable", "The route does not answer in this format";
    BodyTimeout REQUEST_TIMEOUT "body-timeout", "The body took too long to arrive";
    Busy CONFLICT "busy", "A run is going";
    BodyTooLarge PAYLOAD_TOO_LARGE "body-too-large", "The body is too large";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported-media-type", "The body has an unsupported format";
    ForeignHost MISDIRECTED_REQUEST "foreign-host", "The request is meant for another host";
    KeyReused UNPROCESSABLE_ENTITY "key-reused", "The key belongs to another prompt";
    NothingToContinue CONFLICT "nothing-to-continue", "There is nothing to go on from";
    QueueFull CONFLICT "queue-full", "Too many messages wait";
    NoPrompt INTERNAL_SERVER_ERROR "no-system-prompt", "The system prompt cannot be built";
    NoModels BAD_GATEWAY "no-models", "The API does not list its models";
    NoItem NOT_FOUND "no-item", "No such message waits";
    NoApproval NOT_FOUND "no-approval", "There is no such approval";
    ApprovalAnswered CONFLICT "approval-answered", "Another operator answered before";
    ApprovalWithdrawn GONE "approval-withdrawn", "An answer is no longer needed";
    NothingToUndo CONFLICT "nothing-to-undo", "There is nothing to take back";
    NoJob NOT_FOUND "no-job", "There is no such job";
    NoOutput NOT_FOUND "no-output", "No such output is kept";
    NoRule NOT_FOUND "no-rule", "There is no such rule";
    NoMcpServer NOT_FOUND "no-mcp-server", "There is no such MCP server";
    McpNotStarted UNPROCESSABLE_ENTITY "mcp-not-started", "The test of the MCP server failed";
    McpNotTested CONFLICT "mcp-not-tested", "The last test of the MCP server has another result";
    OtherChange CONFLICT "other-change", "The answer is to another change";
    NoWorkflow NOT_FOUND "no-workflow", "There is no such workflow";
    NoIteration NOT_FOUND "no-iteration", "There is no such iteration";
    InvalidWorkflow UNPROCESSABLE_ENTITY "invalid-workflow", "The file of the workflow cannot be used";
    OtherFile CONFLICT "other-file", "The file is another than the one that was approved";
    InvalidOrder UNPROCESSABLE_ENTITY "invalid-order", "The order cannot be carried out at any time";
    WorkflowConflict CONFLICT "workflow-conflict", "The workflow is in another state";
    WorkflowNotReady CONFLICT "workflow-not-ready", "Something has to be there first";
    WorkflowBusy CONFLICT "workflow-busy", "The workflow is at work";
    ManifestChanged PRECONDITION_FAILED "manifest-changed", "Another file counts in the workflow";
    GateAnswered CONFLICT "gate-answered", "Another operator answered before";
    Cancelled CONFLICT "cancelled", "It was cancelled";
    CompactionFailed BAD_GATEWAY "compaction-failed", "There is no summary";
    Unreadable INTERNAL_SERVER_ERROR "unreadable", "The conversation cannot be read";
    NotKept INSUFFICIENT_STORAGE "not-kept", "The journal cannot take it";
    Overloaded SERVICE_UNAVAILABLE "overloaded", "The service has too much to do";
    NotReady SERVICE_UNAVAILABLE "not-ready", "The service can take no work";
    Stopping SERVICE_UNAVAILABLE "stopping", "The service is stopping";
    NotKnown GATEWAY_TIMEOUT "not-known", "It is not known whether the order was taken";
}

impl Kind {
    /// A refusal, with what was wrong this time.
    pub(super) fn refuse(self, detail: impl Into<String>) -> Refusal {
        Refusal {
            kind: self,
            detail: masked(detail.into()),
            closes: false,
            members: Vec::new(),
        }
    }

    /// The answer, with what was wrong this time.
    pub(super) fn answer(self, detail: impl Into<String>) -> HttpResponse {
        self.answer_with(detail, |_| {})
    }

    /// The answer to a method that a route does not take.
    pub(super) fn method_not_allowed(allow: &str) -> HttpResponse {
        Self::MethodNotAllowed.answer_with(format!("use {allow}"), |answer| {
            answer.insert_header((header::ALLOW, allow));
        })
    }

    /// The answer, with more headers.
    pub(super) fn answer_with(
        self,
        detail: impl Into<String>,
        more: impl FnOnce(&mut HttpResponseBuilder),
    ) -> HttpResponse {
        self.say(detail, &Members::new(), more)
    }

    fn say(
        self,
        detail: impl Into<String>,
        members: &Members,
        more: impl FnOnce(&mut HttpResponseBuilder),
    ) -> HttpResponse {
        let (name, title, status) = self.parts();
        let problem = Problem {
            kind: format!("urn:harness:problem:{name}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            request_id: format!("{:016x}", fastrand::u64(..)),
        };
        // Those who may not use the service are not to fill its log.
        let level = match self {
            Self::Unauthorized | Self::ForeignHost | Self::ForeignOrigin => log::Level::Debug,
            _ => log::Level::Info,
        };
        let said = if self == Self::NotKnown {
            "answered"
        } else {
            "refused"
        };
        log::log!(
            level,
            "request {} {said} with {status}: {}",
            problem.request_id,
            problem.detail
        );
        let mut answer = HttpResponse::build(status);
        more(&mut answer);
        if status == StatusCode::UNAUTHORIZED {
            answer.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            answer.insert_header((header::RETRY_AFTER, "1"));
        }
        let mut json = json!(problem);
        for (name, value) in members {
            json[*name] = value.clone();
        }
        let json = json.to_string();
        answer.content_type("application/problem+json").body(json)
    }
}
/// The start of every key of the API.
const KEY_PREFIX: &str = "sk-";
/// Number of characters after that prefix from which a word counts as a key.
const KEY_LENGTH: usize = 8;

/// A text without what looks like a key of the API: it may have been put in the wrong place, and
/// refusals are logged.
fn masked(detail: String) -> String {
    if !detail.contains(KEY_PREFIX) {
        return detail;
    }
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut masked = String::with_capacity(detail.len());
    let mut rest = detail.as_str();
    while let Some(start) = rest.find(KEY_PREFIX) {
        let (before, found) = rest.split_at(start);
        let end = found.find(|c| !is_of_key(c)).unwrap_or(found.len());
        masked.push_str(before);
        let is_key = end >= KEY_PREFIX.len() + KEY_LENGTH;
        masked.push_str(if is_key { "***" } else { &found[..end] });
        rest = &found[end..];
    }
    masked.push_str(rest);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-13]
    #[test]
    fn no_key_that_was_put_in_the_wrong_place_is_told() {
        let told = |detail: &str| masked(detail.to_owned());
        assert_eq!(
            told("no setting \"sk-ant-api03-AbC_9\", none sk-ant-api03-AbC_9"),
            "no setting \"***\", none ***"
        );
        assert_eq!(told("task-list sk-1 of ask-me"), "task-list sk-1 of ask-me");
    }
}
