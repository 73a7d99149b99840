//! Code that answers approvals.

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use harness_protocol::{AnswerOrder, Approval, Scope, Verdict};

use crate::ids::ConversationId;

/// An approver's answer; `None` leaves the approval open until an operator answers it.
pub type ApproverFuture = BoxFuture<'static, Option<ApproverAnswer>>;

/// Answers what tools ask before they change something.
///
/// ```
/// use std::sync::Arc;
///
/// use futures_util::FutureExt as _;
/// use harness_actors::approval::{ApproverAnswer, ApproverFuture};
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, ConversationId, Harness, Options, standard_tools};
/// use harness_protocol::Approval;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.tools = standard_tools();
/// options.workspace = folder.path().to_owned();
/// options.extensions.transport = Some(Arc::new(model.clone()));
/// options.extensions.approver = Arc::new(|_: &ConversationId, approval: &Approval| -> ApproverFuture {
///     let change = approval.subject.change();
///     let answer = if change.is_some_and(|change| change.path.ends_with(".txt")) {
///         ApproverAnswer::allow()
///     } else {
///         ApproverAnswer::deny("only text files")
///     };
///     async move { Some(answer) }.boxed()
/// });
/// let harness = Harness::start(options)?;
/// let input = json!({"path": "hello.txt", "content": "Hello."});
/// model.push(ScriptedReply::tool_use("t1", "write", input.as_object().unwrap()));
/// model.push(ScriptedReply::text("Done."));
/// harness.prompt("Write it.").await?;
/// assert_eq!(std::fs::read_to_string(folder.path().join("hello.txt"))?, "Hello.");
/// # Ok(())
/// # }
/// ```
pub trait Approver: Send + Sync + 'static {
    /// Answers an approval. It may take its time: a cancel withdraws the approval, and the answer is late
    /// then and changes nothing. After a crash the approval is asked again.
    fn answer(&self, conversation: &ConversationId, approval: &Approval) -> ApproverFuture;
}

impl<F> Approver for F
where
    F: Fn(&ConversationId, &Approval) -> ApproverFuture + Send + Sync + 'static,
{
    fn answer(&self, conversation: &ConversationId, approval: &Approval) -> ApproverFuture {
        self(conversation, approval)
    }
}

/// An approver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApproverAnswer {
    /// The answer.
    pub answer: Verdict,
    /// Its scope, if it allows.
    pub scope: Scope,
    /// A line for the model, if it denies.
    pub message: Option<String>,
}

impl ApproverAnswer {
    /// The tool may do what the approval shows.
    #[must_use]
    pub fn allow() -> Self {
        Self {
            answer: Verdict::Allow,
            scope: Scope::Once,
            message: None,
        }
    }

    /// It may not; the model receives the reason.
    #[must_use]
    pub fn deny(message: &str) -> Self {
        Self {
            answer: Verdict::Deny,
            scope: Scope::Once,
            message: Some(message.to_owned()),
        }
    }

    /// The order that answers that approval so.
    pub(crate) fn to(self, approval: &Approval) -> AnswerOrder {
        AnswerOrder {
            answer: self.answer,
            digest: Some(approval.digest.clone()),
            scope: self.scope,
            message: self.message,
            stop: false,
            by: None,
            key: None,
        }
    }
}

/// Denies everything: for programs without an operator.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    fn answer(&self, _: &ConversationId, _: &Approval) -> ApproverFuture {
        ready(Some(ApproverAnswer::deny("no operator can be asked"))).boxed()
    }
}

/// Leaves every approval to the operators, who send
/// [`AnswerApproval`](crate::conversation::messages::AnswerApproval).
#[derive(Debug, Clone, Copy, Default)]
pub struct Operators;

impl Approver for Operators {
    fn answer(&self, _: &ConversationId, _: &Approval) -> ApproverFuture {
        ready(None).boxed()
    }
}
