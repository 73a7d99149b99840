//! The messages between the client and the link to the service.

use std::time::Duration;

use harness_protocol::{
    AnswerOrder, AnyOrder, ApprovalMode, CompactAnswer, ConversationSnapshot, ConversationSummary,
    Event, FoundFiles, HistoryPage, Queue, SettingsAnswer, ThinkingLevel, UndoneFile, UsageAnswer,
};

use crate::board::{BoardNews, BoardOrder};
use crate::service::Service;

/// The client's orders to the service. The link carries out each, and answers with [`News`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientOrder {
    /// Be attached to this conversation and no other: a snapshot, then its events. Also asked of the conversation that
    /// is open, when an event was missed: the service sends a new snapshot.
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
        /// The question.
        content: String,
        /// The files that go with it.
        files: Vec<PromptFile>,
    },
    /// Let a message wait in a queue of a conversation; answered with [`News::Queued`] or
    /// [`News::NotAccepted`].
    Queue {
        /// The conversation.
        conversation: String,
        /// The queue in which it waits.
        queue: Queue,
        /// Names the message; makes a repetition safe.
        key: String,
        /// The text.
        content: String,
        /// The files that go with it.
        files: Vec<PromptFile>,
    },
    /// Send what a skill or a template makes of a text as a prompt; answered as [`ClientOrder::Submit`]
    /// is.
    Expand {
        /// The conversation.
        conversation: String,
        /// The skill or template that it is made with.
        recipe: Recipe,
        /// The name of the skill or the template.
        name: String,
        /// The text after the name; may be empty.
        text: String,
        /// Names the prompt; makes a repetition safe.
        key: String,
    },
    /// Take messages off the queues of a conversation; answered with [`News::Withdrawn`] or
    /// [`News::NotWithdrawn`].
    Withdraw {
        /// The conversation.
        conversation: String,
        /// The message to withdraw. `None` for all.
        item: Option<u64>,
    },
    /// Continue without a prompt, or ask for the last reply again; answered with [`News::GoesOn`].
    GoOn {
        /// The conversation.
        conversation: String,
        /// True if the last reply is asked for again.
        is_retry: bool,
    },
    /// The settings of a conversation; answered with [`News::Settings`].
    Settings {
        /// The conversation.
        conversation: String,
        /// The part of it to show.
        view: ConversationView,
    },
    /// The tokens and the cost of a conversation; answered with [`News::Usage`].
    Usage {
        /// The conversation.
        conversation: String,
    },
    /// Facts about a conversation as lines; answered with [`News::Facts`].
    Facts {
        /// The conversation.
        conversation: String,
        /// The kind.
        kind: FactKind,
    },
    /// Set something in a conversation; answered with [`News::SettingsChanged`].
    Change {
        /// The conversation.
        conversation: String,
        /// The kind.
        change: SettingChange,
    },
    /// Replace the past of a conversation by a summary for good; answered with
    /// [`News::Compacted`], which may take minutes.
    Compact {
        /// The conversation.
        conversation: String,
        /// The focus of the summary.
        instructions: Option<String>,
    },
    /// The service's entries of a kind; answered with [`News::Offered`] or [`News::NotOffered`].
    Offers {
        /// The kind.
        kind: OfferKind,
        /// The folder whose skills or templates are wanted, absolute. `None` for the service's folder.
        folder: Option<String>,
    },
    /// Run a command in the folder of a conversation; answered with [`News::CommandEnded`]. All clients receive its
    /// result as an event.
    Command {
        /// The conversation.
        conversation: String,
        /// The text that the shell is given.
        command: String,
        /// True if the model does not receive it.
        is_hidden: bool,
    },
    /// End the command that was ordered last.
    EndCommand,
    /// Files of the folder of a conversation; answered with [`News::Files`].
    Files {
        /// The conversation.
        conversation: String,
        /// Letters of their paths.
        query: String,
    },
    /// Cancel a run of a conversation, or what else it does; answered with [`News::CancelAnswered`] or
    /// [`News::NotCancelled`].
    Cancel {
        /// The conversation.
        conversation: String,
        /// The run, so that one that has ended is not mistaken for the next. `None` for work that is not a run.
        run_id: Option<u64>,
        /// True if the messages in the queues are withdrawn, too.
        clear_queue: bool,
    },
    /// Take back what tools changed in the last run that changed something; answered with
    /// [`News::Undone`]. Its event tells all clients.
    Undo {
        /// The conversation.
        conversation: String,
    },
    /// Answer an approval; answered with [`News::NotAnswered`] if the service does not take it. Its event
    /// tells that it did.
    Answer {
        /// The conversation.
        conversation: String,
        /// The approval.
        approval: u64,
        /// The message, under a key.
        answer: AnswerOrder,
    },
    /// List the conversations; answered with [`News::Listed`].
    List {
        /// Only those of this folder, absolute.
        folder: Option<String>,
    },
    /// The end of a conversation, whichever is open; answered with [`News::Previewed`].
    Preview {
        /// The conversation.
        conversation: String,
        /// The number of its last record.
        records: u64,
    },
    /// Make a conversation and open it; answered as [`ClientOrder::Open`] is.
    Create {
        /// Its title.
        title: Option<String>,
        /// The folder that it is to work in, absolute; left out for a service that knows only its
        /// own.
        folder: Option<String>,
    },
    /// Copy a conversation and open the copy; answered as [`ClientOrder::Open`] is.
    Fork {
        /// The conversation.
        conversation: String,
        /// The last record that the copy has. `None` for all of them.
        seq: Option<u64>,
    },
    /// Give a conversation another title. All clients that are attached to it receive a `renamed` event.
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
    /// Something of workflows; answered with [`News::Board`].
    Board(BoardOrder),
}

/// A file that goes with a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PromptFile {
    /// A path below the folder of the conversation, which the service reads.
    Below(String),
    /// An absolute path on this machine, which the link reads.
    Here(String),
}

impl PromptFile {
    /// The path.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Below(path) | Self::Here(path) => path,
        }
    }
}

/// The route that makes a prompt of a name and a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipe {
    /// A skill, with instructions after it.
    Skill,
    /// A template, with its arguments.
    Template,
}

/// A changed setting, for all clients and from the next run on. `None` for the service's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingChange {
    /// The model to ask.
    Model(Option<String>),
    /// The thinking level.
    Thinking(Option<ThinkingLevel>),
    /// The mode: how much of what tools change is asked before.
    Mode(Option<ApprovalMode>),
    /// The body of an order, whose name the service knows.
    Order(AnyOrder),
}

/// The kinds of facts that the service tells about a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    /// The jobs in the background.
    Jobs,
    /// The rules of what tools may change.
    Rules,
}

/// A view of what is set in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationView {
    /// All settings, and which differ from the service's.
    Settings,
    /// The tools that are offered, and those that are not.
    Tools,
}

/// The kinds of things that a service offers several of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OfferKind {
    /// Models to ask.
    Models,
    /// Skills.
    Skills,
    /// Templates of prompts.
    Templates,
}

/// Something that the service has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub description: String,
}

/// News from the link to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The service that the client is attached to. It comes before anything else from the service, and again when the
    /// service was restarted.
    Service(Box<Service>),
    /// A remark that is not a failure.
    Remark {
        /// That.
        text: String,
    },
    /// The present state of the conversation. Sent on each [`ClientOrder::Open`], and when a position could not be
    /// served after a break. Events follow from its position on.
    Snapshot {
        /// The conversation.
        snapshot: Box<ConversationSnapshot>,
        /// The reason for a new snapshot, if it is not the first.
        reset: Option<String>,
    },
    /// An event of the open conversation.
    Event {
        /// The event.
        event: Event,
        /// The position after it, `<epoch>-<seq>-<sum>`, if it is a lasting one.
        position: Option<String>,
    },
    /// A line that is not an event arrived; it was dropped.
    Invalid {
        /// The problem.
        reason: String,
    },
    /// The connection to the service is lost, and will be tried again.
    Down {
        /// The reason.
        reason: String,
        /// Number of tries in a row that have failed.
        tries: u32,
        /// Delay before the next try.
        wait: Duration,
    },
    /// The stream is open again.
    Up,
    /// A page of the past.
    Older {
        /// The conversation.
        conversation: String,
        /// The page that was asked for: the records before this one.
        before: u64,
        /// The page. `None` if it could not be loaded.
        page: Option<Box<HistoryPage>>,
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
    /// A message waits in a queue.
    Queued {
        /// The key of the message.
        key: String,
        /// Names it in the queue.
        item: u64,
    },
    /// Queued messages were withdrawn; they will not be sent.
    Withdrawn {
        /// The conversation.
        conversation: String,
        /// The message that was to be withdrawn. `None` for all.
        item: Option<u64>,
        /// Those that waited.
        withdrawn: Vec<u64>,
    },
    /// Nothing was withdrawn, or the client does not know.
    NotWithdrawn {
        /// The conversation.
        conversation: String,
        /// The message that was to be withdrawn. `None` for all.
        item: Option<u64>,
        /// The reason.
        reason: String,
    },
    /// A conversation continues without a prompt.
    GoesOn {
        /// The run that was started.
        run_id: u64,
    },
    /// The settings of a conversation.
    Settings {
        /// The conversation.
        conversation: String,
        /// The part of it to show.
        view: ConversationView,
        /// The settings.
        answer: Box<SettingsAnswer>,
    },
    /// The tokens and the cost of a conversation.
    Usage {
        /// The conversation.
        conversation: String,
        /// The counts.
        answer: Box<UsageAnswer>,
    },
    /// Facts about a conversation.
    Facts {
        /// The conversation.
        conversation: String,
        /// One a line.
        lines: Vec<String>,
    },
    /// Something was set. The events tell all clients what.
    SettingsChanged {
        /// The conversation.
        conversation: String,
    },
    /// The past was replaced by a summary, or needed none.
    Compacted {
        /// The conversation.
        conversation: String,
        /// The outcome.
        answer: CompactAnswer,
    },
    /// The service's entries of a kind.
    Offered {
        /// The kind.
        kind: OfferKind,
        /// The folder that was searched, as the order named it.
        folder: Option<String>,
        /// All of them, as the service sorts them.
        offers: Vec<Offer>,
        /// The parts of them that could not be read.
        problems: Vec<String>,
    },
    /// A command that was ordered has ended, or was not run.
    CommandEnded {
        /// The reason why the command was not run, or why that is not known. `None` if it ran.
        reason: Option<String>,
    },
    /// Files of the folder of a conversation.
    Files {
        /// The conversation.
        conversation: String,
        /// The files that fit best.
        found: FoundFiles,
    },
    /// It is not known what the service has of a kind.
    NotOffered {
        /// The kind.
        kind: OfferKind,
        /// The reason.
        reason: String,
    },
    /// A prompt or a message for a queue was not accepted.
    NotAccepted {
        /// The key of the prompt.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The answer to a cancel.
    CancelAnswered {
        /// True if a run was stopped.
        cancelled: bool,
    },
    /// A cancel was not carried out.
    NotCancelled {
        /// The reason.
        reason: String,
    },
    /// Changes were taken back, or left.
    Undone {
        /// The conversation.
        conversation: String,
        /// The action on each file.
        files: Vec<UndoneFile>,
        /// Other changes, which are not taken back.
        notes: Vec<String>,
    },
    /// The service took an answer to an approval.
    Answered {
        /// The conversation.
        conversation: String,
        /// The approval.
        approval: u64,
    },
    /// The service did not take an answer to an approval.
    NotAnswered {
        /// The conversation.
        conversation: String,
        /// The approval.
        approval: u64,
        /// The reason.
        reason: String,
    },
    /// The time of day, before a list whose entries have times.
    Time {
        /// The time, in Unix seconds.
        unix_s: u64,
    },
    /// The conversations, the last active first.
    Listed(Vec<ConversationSummary>),
    /// The end of a conversation that is not open.
    Previewed {
        /// The conversation.
        conversation: String,
        /// Its last events, the newest last. `None` if they could not be read.
        events: Option<Vec<Event>>,
    },
    /// A conversation was moved to the trash.
    Deleted {
        /// The conversation.
        conversation: String,
        /// The new place of its journal.
        trash: String,
    },
    /// Something of workflows.
    Board(BoardNews),
    /// An order was not carried out.
    Failed {
        /// The reason.
        reason: String,
    },
    /// The open conversation cannot be had at all: it does not exist, or cannot be read.
    Refused {
        /// The conversation.
        conversation: String,
        /// The reason.
        reason: String,
    },
}
