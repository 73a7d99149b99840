//! Messages that wait to be said, and the files that can go with them.

use serde::{Deserialize, Serialize};

/// A queue of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// Sent before the next model request, after the results of the tools.
    Steer,
    /// Sent when the run would otherwise end.
    FollowUp,
}

/// A message that waits to be said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueItem {
    /// Names it within its conversation.
    pub item: u64,
    /// The queue that it waits in.
    pub queue: Queue,
    /// The text.
    pub content: String,
    /// Files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The key that it was sent with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The name of the client that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `GET /v1/conversations/{id}/queue`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueList {
    /// The waiting messages, in the order in which they are said: steering first.
    pub items: Vec<QueueItem>,
}

/// The answer to an accepted `POST …/steer` or `POST …/follow-up`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueAnswer {
    /// Names the message in the queue.
    pub item: u64,
}

/// The answer to `DELETE …/queue` and `DELETE …/queue/{item}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WithdrawAnswer {
    /// The messages that were withdrawn.
    pub withdrawn: Vec<u64>,
}

/// A file that goes with a prompt. Its content is kept once, under its hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attachment {
    /// The SHA-256 of the content, in hexadecimal digits.
    pub sha256: String,
    /// Its media type: an `image/…` type, `application/pdf` or `text/plain`.
    pub media_type: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A file as a client sends it: either its content or where it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachmentOrder {
    /// The content in base64 (RFC 4648).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// A path under the working folder of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its media type; found from the content if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its name; the file's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
