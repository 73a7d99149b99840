//! A tool's plan, found without doing anything, and the way to carry it out.

use derive_more::{Display, Error, From};
use futures_util::future::BoxFuture;
use harness_protocol::Subject;

use super::error::ToolError;
use super::outcome::ToolOutcome;
use crate::attachment::sha256;

/// The outcome of planning: `None` if the tool changes nothing that is asked about.
pub type PlanFuture<'a> = BoxFuture<'a, Result<Option<PlannedAction>, ToolError>>;

/// A planned action of a tool.
#[must_use = "a plan changes nothing until it is carried out"]
pub struct PlannedAction {
    /// The subject that operators are asked about.
    pub subject: Subject,
    effect: BoxFuture<'static, Result<ToolOutcome, EffectError>>,
}

/// Why a plan was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum EffectError {
    /// The file was changed after the change was planned. Nothing was changed.
    #[display("the file was changed meanwhile")]
    Changed,
    /// It failed. Nothing was changed.
    #[display("{_0}")]
    Failed(ToolError),
}

impl PlannedAction {
    /// A plan and what carries it out.
    pub fn new(
        subject: Subject,
        effect: impl Future<Output = Result<ToolOutcome, EffectError>> + Send + 'static,
    ) -> Self {
        Self {
            subject,
            effect: Box::pin(effect),
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn carry_out(self) -> Result<ToolOutcome, EffectError> {
        self.effect.await
    }
}

impl std::fmt::Debug for PlannedAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Planned").field(&self.subject).finish()
    }
}

/// Tells a subject from any other: SHA-256 of it as JSON, in hexadecimal digits.
#[must_use]
pub fn digest(subject: &Subject) -> String {
    let json = match subject {
        Subject::Change(change) => serde_json::to_vec(change),
        Subject::Command(plan) => serde_json::to_vec(plan),
        Subject::McpCall(call) => serde_json::to_vec(call),
    };
    sha256(&json.unwrap_or_default())
}
