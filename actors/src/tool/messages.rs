//! The messages to the tools' actor, and its answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::{Message, Recipient};
use harness_protocol::{FileChange, Subject};

use super::definition::ToolCall;
use super::job_note::JobNote;
use super::outcome::ToolOutcome;
use super::registry::Registry;
use super::seen::SeenBefore;
use crate::ids::CallId;

/// Runs one tool, when its turn comes. Sent by a conversation; ends with one `Finished` or `Planned`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct RunTool {
    /// Names this call in the answer.
    pub call_id: CallId,
    /// The tool and its input.
    pub call: ToolCall,
    /// The digest of what it may do. Without it, a tool that plans answers with its
    /// plan.
    pub allowed: Option<String>,
    /// A change of the call's command to make, in place of running the tool.
    pub keep: Option<Box<FileChange>>,
    /// The tools that there are.
    pub tools: Registry,
    /// The folder that the conversation works in.
    pub folder: Arc<Path>,
    /// Where its last command was at its end.
    pub command_folder: Option<PathBuf>,
    /// The jobs that it has on record.
    pub jobs: Arc<[JobNote]>,
    /// The contents of files that the model knows.
    pub seen: SeenBefore,
    /// Where the answer goes.
    pub reply_to: Recipient<ToolEvent>,
}

/// Stops a running tool and what it started, or a call that waits. It still ends with its
/// `Finished`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CancelTool {
    /// The call.
    pub call_id: CallId,
}

/// How a tool call went.
#[derive(Debug, Clone, PartialEq, Message)]
#[rtype(result = "()")]
pub enum ToolEvent {
    /// A running tool shows something.
    Output {
        /// The call.
        call_id: CallId,
        /// Where it begins in all that the call has shown, in bytes.
        offset: u64,
        /// The new text.
        text: String,
    },
    /// The tool would do this, and has done nothing.
    Planned {
        /// The call.
        call_id: CallId,
        /// The planned action.
        subject: Box<Subject>,
        /// The inode of the conversation's folder, if it can be told.
        folder_inode: Option<u64>,
    },
    /// The tool returned, failed, ran out of time or was cancelled.
    Finished {
        /// The call.
        call_id: CallId,
        /// The outcome.
        outcome: ToolOutcome,
    },
}
