//! Everything that actors say to each other. Orders are verbs, answers are past tense.
//!
//! Invariant: imports no actor, so that no actor needs to know another.

mod broadcast;
mod conversation;
mod directory;
mod model;
mod send;
mod tool;

pub use broadcast::{CloseSubscribers, Closing, Join, Joined, Publish};
pub use conversation::{
    CancelRun, ChangeError, ChangeSettings, CompactConversation, CompactError, Compacted,
    ContinueRun, EndIfIdle, GetOverview, GetSettings, IsRunning, MakeWay, Overview, QueueMessage,
    RenameConversation, RenewTools, Resumption, RetireIfIdle, RunOutcome, SettingsView, StopRuns,
    SubmitError, SubmitPrompt, WaitForEnd, WithdrawMessages, WouldTake,
};
pub use directory::{
    CountRuns, CreateConversation, ForgetFailed, ForkConversation, ForkError, LetGo,
    ListConversations, Made, OpenConversation, RemoveConversation, RemoveError, Row, StopAll,
};
pub use model::{CancelModelCall, DescribeModel, ListModels, ModelEvent, StartModelCall};
pub use send::{publish, reply};
pub use tool::{CancelTool, RunTool, ToolEvent};
