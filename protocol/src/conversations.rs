//! The bodies of the routes under `/v1/conversations`.

use serde::{Deserialize, Serialize};

use crate::{ActivityState, Approval, Event, Job, QueueItem, Settings, TokenUsage};

/// The body of `POST /v1/conversations`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewConversation {
    /// A title of at most 200 characters on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The absolute path of the working folder, which cannot be changed later; the service's if left out.
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
    /// The name of the client that continues in the fork. If set, the clients of the origin receive an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `DELETE /v1/conversations/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// The path that the journal was moved to.
    pub trash: String,
}

/// One conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationSummary {
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
    /// Number of accepted prompts.
    pub prompts: u64,
    /// Number of turns that were started.
    pub turns: u64,
    /// Number of records in its journal.
    pub records: u64,
    /// The token counts of all runs that have ended.
    pub usage: TokenUsage,
    /// The time when it was created, in Unix seconds.
    pub created_at: u64,
    /// The time when its last record was written, in Unix seconds.
    pub active_at: u64,
    /// Number of its commands that run in the background.
    #[serde(default, skip_serializing_if = "is_none")]
    pub jobs: u64,
    /// The error, if its journal cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason for which its last run failed, if it did and no other run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
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
    /// Its last run did not end: the service died. The next prompt continues from there.
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
    pub conversations: Vec<ConversationSummary>,
    /// The `cursor` for the next page; left out on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The answer to `GET /v1/conversations/{id}`: all that a client needs to show a conversation and
/// to follow it from there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationSnapshot {
    /// The conversation as a list shows it.
    pub summary: ConversationSummary,
    /// Its state, as in the last status event.
    pub state: ActivityState,
    /// The text that goes with the state; may be empty.
    pub message: String,
    /// The settings in which it differs from the service.
    pub settings: Settings,
    /// The queued messages, in the order in which they will be sent to the model.
    pub queue: Vec<QueueItem>,
    /// The files whose instructions are part of the system prompt, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<ContextFileEntry>,
    /// The conversation that it was forked from, and the last record that both have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<(String, u64)>,
    /// Number of attached clients.
    pub attached: usize,
    /// The last events, the oldest first.
    pub history: HistoryPage,
    /// The blocks that a reply left unfinished when the service died, up to what clients were shown: a `delta` each,
    /// from the beginning. The next run makes records of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Event>,
    /// The approvals that wait for an operator's answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// The jobs in the background, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// The position of the snapshot: events follow from here.
    pub position: String,
    /// The part of the journal that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
}

/// A file whose instructions are part of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFileEntry {
    /// The path of the file.
    pub path: String,
    /// Number of its bytes that the model receives.
    pub bytes: u64,
}

/// A page of the past, the answer to `GET /v1/conversations/{id}/history`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HistoryPage {
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
    /// Number of unreadable parts.
    pub parts: u64,
    /// Number of bytes in these parts.
    pub bytes: u64,
    /// The file with a copy of them.
    pub file: String,
}
