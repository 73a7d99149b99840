//! What the client and the link to the service say to each other.

use std::time::Duration;

use harness_protocol::{Event, History, Snapshot, Summary};

/// What the client wants of the service. The link carries out each, and answers with [`News`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Be attached to this conversation and no other: a snapshot, then its events. Also asked of
    /// the conversation that is open, when an event was missed: the snapshot is taken anew.
    Open {
        /// The conversation.
        conversation: String,
    },
    /// Do not wait any longer before the next try to attach.
    TryNow,
    /// A page of the past of a conversation; answered with [`News::Older`].
    Older {
        /// The conversation.
        conversation: String,
        /// Only records before this one.
        before: u64,
    },
    /// One event in full; answered with [`News::Whole`].
    Whole {
        /// The conversation.
        conversation: String,
        /// Its record.
        seq: u64,
    },
    /// Send a prompt to a conversation; answered with [`News::Accepted`] or
    /// [`News::NotAccepted`].
    Submit {
        /// The conversation.
        conversation: String,
        /// Names the prompt; makes a repetition safe.
        key: String,
        /// What to ask.
        content: String,
    },
    /// Cancel a run of a conversation; answered with [`News::CancelAnswered`] or
    /// [`News::NotCancelled`].
    Cancel {
        /// The conversation.
        conversation: String,
        /// The run; one that is over is not mistaken for the next.
        run_id: u64,
    },
    /// List the conversations; answered with [`News::Listed`].
    List,
    /// Make a conversation and open it; answered as [`Order::Open`] is.
    Create {
        /// Its title.
        title: Option<String>,
    },
    /// Copy a conversation and open the copy; answered as [`Order::Open`] is.
    Fork {
        /// The conversation.
        conversation: String,
    },
    /// Give a conversation another title. Whoever is attached to it sees a `renamed` event.
    Rename {
        /// The conversation.
        conversation: String,
        /// The title.
        title: String,
    },
    /// Move a conversation to the trash; answered with [`News::Deleted`].
    Delete {
        /// The conversation.
        conversation: String,
    },
}

/// What the link tells the client.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The conversation as it is now. Sent on each [`Order::Open`], and when a position could not
    /// be served after a break. Events follow from its position on.
    Snapshot {
        /// The conversation.
        snapshot: Box<Snapshot>,
        /// Why it was sent anew, if it was.
        reset: Option<String>,
    },
    /// An event of the open conversation.
    Event {
        /// The event.
        event: Event,
        /// The position behind it, `<epoch>-<seq>-<sum>`, if it is a lasting one.
        position: Option<String>,
    },
    /// What arrived is no event; it was dropped.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
    /// The connection to the service is lost, and will be tried again.
    Down {
        /// Why.
        reason: String,
        /// How many tries in a row have failed.
        tries: u32,
        /// How long until the next.
        wait: Duration,
    },
    /// The stream is open again.
    Up,
    /// A page of the past.
    Older {
        /// The conversation.
        conversation: String,
        /// Which was asked for: the records before this one.
        before: u64,
        /// The page; none if it could not be had.
        page: Option<Box<History>>,
    },
    /// One event in full.
    Whole {
        /// The conversation.
        conversation: String,
        /// Its record.
        seq: u64,
        /// The event.
        event: Box<Event>,
    },
    /// A prompt was accepted.
    Accepted {
        /// The key of the prompt.
        key: String,
        /// The run that it started.
        run_id: u64,
    },
    /// A prompt was not accepted.
    NotAccepted {
        /// The key of the prompt.
        key: String,
        /// Why.
        reason: String,
    },
    /// The answer to a cancel.
    CancelAnswered {
        /// Whether a run was stopped.
        cancelled: bool,
    },
    /// A cancel was not carried out.
    NotCancelled {
        /// Why.
        reason: String,
    },
    /// The conversations, the last active first.
    Listed(Vec<Summary>),
    /// A conversation was moved to the trash.
    Deleted {
        /// The conversation.
        conversation: String,
        /// Where its journal is now.
        trash: String,
    },
    /// An order was not carried out.
    Failed {
        /// Why.
        reason: String,
    },
    /// The open conversation cannot be had at all: it does not exist, or cannot be read.
    Refused {
        /// The conversation.
        conversation: String,
        /// Why.
        reason: String,
    },
}
