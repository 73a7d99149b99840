//! The messages to the directory of conversations.

use std::path::PathBuf;

use harness_protocol::Settings;

use actix::Message;
use derive_more::{Display, Error};

use super::conversation::OpenedConversation;
use crate::conversation::messages::Overview;
use crate::ids::ConversationId;
use crate::journal::{Header, ListedJournal, OpenError};
use crate::storage::StorageError;

/// Opens a conversation. Sent by HTTP; answered with its actors, which it has from then on.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<OpenedConversation, OpenError>")]
pub struct OpenConversation {
    /// The conversation.
    pub id: ConversationId,
}

/// A conversation that was just made. It is not open: most are not asked for at once.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeConversation {
    /// The header of its journal.
    pub header: Header,
    /// The overview of the conversation.
    pub overview: Overview,
}

/// Makes a conversation. Sent by HTTP; answered when it is safe on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<MadeConversation, OpenError>")]
pub struct CreateConversation {
    /// Its id, which must be free. `None` generates one.
    pub id: Option<ConversationId>,
    /// Its title.
    pub title: Option<String>,
    /// The settings in which it differs from the service.
    pub settings: Settings,
    /// The folder that it works in, absolute and without links. `None` for the service's folder.
    pub workspace: Option<PathBuf>,
}

/// Asks how many runs are going. Sent by HTTP.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "usize")]
pub struct CountRuns;

/// Makes a conversation that begins like another. Sent by HTTP; answered when it is safe on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<MadeConversation, ForkError>")]
pub struct ForkConversation {
    /// The other.
    pub id: ConversationId,
    /// The last record that both have. `None` for all of them.
    pub seq: Option<u64>,
    /// The title. `None` for that of the other.
    pub title: Option<String>,
}

/// The reason why a conversation was not forked.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum ForkError {
    /// The journal does not have that record.
    #[display("the conversation has {end} records; there is no record {seq} to fork at")]
    NoSuchRecord {
        /// The number in the order.
        seq: u64,
        /// The last one there is.
        end: u64,
    },
    /// A journal cannot be opened or made.
    #[display("{_0}")]
    Open(OpenError),
}

/// Deletes a conversation, which moves its journal to the trash. Sent by HTTP; answered with
/// where it is then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<String, RemoveError>")]
pub struct RemoveConversation {
    /// The conversation.
    pub id: ConversationId,
}

/// The reason why a conversation was not deleted.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum RemoveError {
    /// A run is going.
    #[display("a run is going; cancel it first")]
    Busy,
    /// Its journal cannot be moved.
    #[display("{_0}")]
    Open(OpenError),
}

/// Lists conversations, the last changed first. Sent by HTTP.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Vec<ConversationRow>, StorageError>")]
pub struct ListConversations {
    /// Only those after this one.
    pub after: Option<ListedJournal>,
    /// At most so many.
    pub limit: usize,
    /// Only those that work in this folder.
    pub workspace: Option<PathBuf>,
}

/// One conversation in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// Its place in the list.
    pub listed: ListedJournal,
    /// The header of its journal, and how it is; or why it cannot be read.
    pub found: Result<(Header, Overview), String>,
}

/// Has the idle conversation end that was used longest ago, to make a place for another. Sent by
/// what the directory itself has under way; answered with whether one ended.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct LetGo;

/// Forgets that a conversation could not be opened. Sent by what the directory itself has under
/// way.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ForgetFailed {
    /// The conversation.
    pub id: ConversationId,
}

/// Stops all runs and takes no more prompts; answered when everything is written. Sent when the
/// service stops.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct StopAll;
