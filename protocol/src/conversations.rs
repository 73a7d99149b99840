//! The bodies of the routes under `/v1/conversations`.

use serde::{Deserialize, Serialize};

use crate::{Approval, Event, Job, QueueItem, Settings, State, Usage};

/// The body of `POST /v1/conversations`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewConversation {
    /// A title of at most 200 characters on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The absolute path of the folder that it is to work in, for good; the service's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The settings in which it differs from the service.
    #[serde(default)]
    pub settings: Settings,
}

/// The body of `PATCH /v1/conversations/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeConversation {
    /// The new title.
    pub title: String,
    /// The name of the client that gives it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The body of `POST /v1/conversations/{id}/fork`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkOrder {
    /// The last record that the fork has; all of them if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The title of the fork; that of its origin if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of the client that goes on in the fork: then the clients of its origin are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `DELETE /v1/conversations/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// Where the journal is now.
    pub trash: String,
}

/// One conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The conversation.
    pub id: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it works in; left out if its journal cannot be read, and by versions of the
    /// service in which all work in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Its state.
    pub state: ConversationState,
    /// The run that is going, or was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<u64>,
    /// How many prompts were accepted.
    pub prompts: u64,
    /// How many turns were started.
    pub turns: u64,
    /// How many records its journal has.
    pub records: u64,
    /// The token counts of all runs that have ended.
    pub usage: Usage,
    /// When it was made, in Unix seconds.
    pub created_at: u64,
    /// When its last record was written, in Unix seconds.
    pub active_at: u64,
    /// How many of its commands run in the background.
    #[serde(default, skip_serializing_if = "is_none")]
    pub jobs: u64,
    /// Why it cannot be read, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The state of a conversation, as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationState {
    /// It waits for a prompt.
    Idle,
    /// A run is going.
    Running,
    /// A run waits for an operator's answer.
    WaitingApproval,
    /// Its last run did not end: the service died. The next prompt goes on from there.
    Interrupted,
    /// Its journal cannot be read.
    Unreadable,
    /// A state that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// The answer to `GET /v1/conversations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationPage {
    /// The conversations, the last active first.
    pub conversations: Vec<Summary>,
    /// The `cursor` for the next page; left out on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The answer to `GET /v1/conversations/{id}`: all that a client needs to show a conversation and
/// to follow it from there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The conversation as a list shows it.
    pub summary: Summary,
    /// Its state, as in the last status event.
    pub state: State,
    /// The text that goes with the state; may be empty.
    pub message: String,
    /// The settings in which it differs from the service.
    pub settings: Settings,
    /// The queued messages, in the order in which they will be said.
    pub queue: Vec<QueueItem>,
    /// The files whose instructions the model is told, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<ContextFile>,
    /// The conversation that it was forked from, and the last record that both have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<(String, u64)>,
    /// How many clients are attached.
    pub attached: usize,
    /// The last events, the oldest first.
    pub history: History,
    /// The blocks that a reply left unfinished when the service died, as far as they were shown: a
    /// `delta` each, from the beginning. The next run makes records of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Event>,
    /// The approvals that wait for an operator's answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// The jobs in the background, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// Where the snapshot was taken: events follow from here.
    pub position: String,
    /// The part of the journal that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
}

/// A file whose instructions the model is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFile {
    /// Where it is.
    pub path: String,
    /// How many bytes of it are told.
    pub bytes: u64,
}

/// A page of the past, the answer to `GET /v1/conversations/{id}/history`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    /// The events, the oldest first.
    pub events: Vec<PastEvent>,
    /// The `before` for the previous page; left out at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The `after` for the next page; left out at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// An event of the past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastEvent {
    /// The number of its record.
    pub seq: u64,
    /// Its position, which a client resumes from.
    pub id: String,
    /// The event.
    pub event: Event,
}

/// The part of a journal that could not be read and was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// How many parts.
    pub parts: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// The file with a copy of them.
    pub file: String,
}
