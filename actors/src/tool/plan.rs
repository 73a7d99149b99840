//! What a tool would change, found without changing anything, and how it is carried out.

use derive_more::{Display, Error, From};
use futures_util::future::BoxFuture;
use harness_protocol::FileChange;

use super::error::ToolError;
use crate::attachment::sha256;

/// What becomes of a plan: `None` if the tool changes nothing that is asked about.
pub type PlanFuture<'a> = BoxFuture<'a, Result<Option<Planned>, ToolError>>;

/// A change that a tool is about to make.
#[must_use = "a plan changes nothing until it is carried out"]
pub struct Planned {
    /// What it changes.
    pub change: FileChange,
    effect: BoxFuture<'static, Result<Done, EffectError>>,
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// What the model is told.
    pub result: String,
    /// What was changed.
    pub change: FileChange,
}

/// Why a plan was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum EffectError {
    /// The file is not as it was when the change was planned. Nothing was changed.
    #[display("the file was changed meanwhile")]
    Changed,
    /// It failed. Nothing was changed.
    #[display("{_0}")]
    Failed(ToolError),
}

impl Planned {
    /// A plan and what carries it out.
    pub fn new(
        change: FileChange,
        effect: impl Future<Output = Result<Done, EffectError>> + Send + 'static,
    ) -> Self {
        Self {
            change,
            effect: Box::pin(effect),
        }
    }

    /// Makes the change.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn carry_out(self) -> Result<Done, EffectError> {
        self.effect.await
    }
}

impl std::fmt::Debug for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Planned").field(&self.change).finish()
    }
}

/// Tells a change from any other: SHA-256 of it as JSON, in hexadecimal digits.
#[must_use]
pub fn digest(change: &FileChange) -> String {
    sha256(&serde_json::to_vec(change).unwrap_or_default())
}
