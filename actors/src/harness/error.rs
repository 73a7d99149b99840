//! The errors of a conversation's methods.

use derive_more::{Display, Error, From};

use crate::attachment::AttachmentError;
use crate::conversation::messages::{ChangeError, CompactError, SubmitError};
use crate::model::ModelFailure;
use crate::storage::StorageError;
use crate::tool::RegistryError;

/// A cause that is known by its words alone.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
#[from(forward)]
pub struct Cause(#[error(not(source))] String);

/// The reason why a method of [`super::Harness`] failed. Unless it reports that a run failed or was cancelled, nothing
/// was changed.
///
/// Its line is complete: it contains the words of its cause, which is the `source`. A caller shows the line alone, or
/// walks through the causes, but not both.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
#[from(skip)]
#[non_exhaustive]
pub enum HarnessError {
    /// A run or a compaction is in progress; one at a time. Messages for the run are queued by
    /// [`super::Harness::steer`] and [`super::Harness::follow_up`].
    #[display("a run is going; steer it, wait for its end or cancel it")]
    Busy,
    /// The message has no visible character.
    #[display("content must not be blank")]
    Blank,
    /// The run was cancelled, or the compaction.
    #[display("cancelled")]
    Cancelled,
    /// The model gave no complete reply.
    #[display("{_0}")]
    Failed(ModelFailure),
    /// The journal refuses new records.
    #[display("the conversation could not be kept: {_0}")]
    NotKept(Cause),
    /// The journal cannot be read.
    #[from]
    Storage(StorageError),
    /// There is nothing to continue: the conversation is empty.
    #[display("there is nothing to continue: the conversation is empty")]
    Empty,
    /// There is nothing to continue: the last message is the model's, and the queues are empty.
    #[display("there is nothing to continue: the model has replied and nothing is queued")]
    Replied,
    /// The queues are full.
    #[display("{max} messages wait already; withdraw some or wait")]
    QueueFull {
        /// Maximum number of queued messages.
        max: usize,
    },
    /// The tool does not exist.
    #[display("there is no tool {name:?}; the tools are {tools}")]
    UnknownTool {
        /// The name.
        name: String,
        /// The names of those that there are.
        tools: String,
    },
    /// The skill does not exist.
    #[display("there is no skill {name:?}; the skills are {skills}")]
    UnknownSkill {
        /// The name.
        name: String,
        /// The names of those that there are.
        skills: String,
    },
    /// The prompt template does not exist.
    #[display("there is no prompt template {name:?}; the templates are {templates}")]
    UnknownTemplate {
        /// The name.
        name: String,
        /// The names of those that there are.
        templates: String,
    },
    /// The tools cannot be offered.
    #[from]
    Tools(RegistryError),
    /// A file cannot go with a prompt.
    #[from]
    Attachment(AttachmentError),
    /// A setting cannot have that value.
    #[display("{_0}")]
    Invalid(Cause),
    /// The system prompt could not be built.
    #[display("{_0}")]
    SystemPrompt(Cause),
    /// The summary failed, so the past is unchanged.
    #[display("the summary failed: {_0}")]
    Compaction(Cause),
    /// The conversation is stopping.
    #[display("the conversation is stopping")]
    Stopping,
    /// The conversation's actor has stopped.
    #[display("the conversation has ended")]
    Gone,
}

impl From<SubmitError> for HarnessError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Busy => Self::Busy,
            SubmitError::Blank => Self::Blank,
            SubmitError::KeyReused => Self::Invalid(error.to_string().into()),
            SubmitError::Empty => Self::Empty,
            SubmitError::Replied => Self::Replied,
            SubmitError::Prompt(reason) => Self::SystemPrompt(reason.into()),
            SubmitError::QueueTooLarge { .. } => Self::Invalid(error.to_string().into()),
            SubmitError::QueueFull { max } => Self::QueueFull { max },
            SubmitError::Deleted => Self::Gone,
            SubmitError::NotKept(reason) => Self::NotKept(reason.into()),
            SubmitError::Stopping => Self::Stopping,
        }
    }
}

impl From<ChangeError> for HarnessError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Invalid(reason) => Self::Invalid(reason.into()),
            ChangeError::UnknownTool { name, tools } => Self::UnknownTool { name, tools },
            ChangeError::Order(error) => error.into(),
        }
    }
}

impl From<CompactError> for HarnessError {
    fn from(error: CompactError) -> Self {
        match error {
            CompactError::Order(error) => error.into(),
            CompactError::Summary(reason) => Self::Compaction(reason.into()),
            CompactError::Cancelled => Self::Cancelled,
        }
    }
}

impl From<actix::MailboxError> for HarnessError {
    fn from(_: actix::MailboxError) -> Self {
        Self::Gone
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::model::ModelError;

    /// Spec: [LIB-325]
    #[test]
    fn an_error_names_its_cause() {
        let failed = HarnessError::Failed(ModelError::Truncated.into());
        let failure = failed.source().unwrap();
        assert!(failure.downcast_ref::<ModelFailure>().is_some());
        let error = failure.source().unwrap().downcast_ref::<ModelError>();
        assert_eq!(error, Some(&ModelError::Truncated));
        for error in [
            HarnessError::Invalid(Cause::from("no such level")),
            HarnessError::NotKept(Cause::from("no such level")),
        ] {
            assert_eq!(error.source().unwrap().to_string(), "no such level");
            assert!(error.to_string().ends_with("no such level"));
        }
        assert!(HarnessError::Busy.source().is_none());
    }
}
