//! Jobs: commands that run in the background while the conversation continues.

use serde::{Deserialize, Serialize};

use crate::ChangeAction;

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Names it within its conversation; counts from 1.
    pub job: u64,
    /// The id of the call that started it. Its output is that of the call.
    pub call: String,
    /// The line for the shell, at most its first 1,024 bytes.
    pub command: String,
    /// The start time in seconds since the Unix epoch.
    pub since: u64,
}

/// The answer to `GET /v1/conversations/{id}/jobs`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobList {
    /// Those that run, the oldest first.
    pub jobs: Vec<Job>,
}

/// The body of `POST /v1/conversations/{id}/jobs/{job}/stop`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopJobOrder {
    /// The name of the client that asks for it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `POST /v1/conversations/{id}/jobs/{job}/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopJobAnswer {
    /// The job.
    pub job: u64,
    /// The end of the job, possibly from before this order.
    #[serde(flatten)]
    pub end: JobEnd,
}

/// The changes in the folder of a job while it ran, but for those that other calls and undo made meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobChanges {
    /// The files, by their paths: at most 256, those that git ignores only if there is room.
    pub files: Vec<JobChange>,
    /// Number of further files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// From where to where HEAD of the folder's repository moved, and the git commands that move it back, if it moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// A file that changed while a job ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobChange {
    /// The absolute path. Characters that cannot be displayed are replaced.
    pub path: String,
    /// The kind of change.
    pub action: ChangeAction,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl JobEnd {
    /// The name of the client that stopped it, if a client did and gave a name.
    #[must_use]
    pub fn by(&self) -> Option<&str> {
        match self {
            Self::Stopped { by } => by.as_deref(),
            Self::Exited { .. }
            | Self::Killed { .. }
            | Self::OverLimit { .. }
            | Self::WithService
            | Self::Forked
            | Self::Failed { .. }
            | Self::Unknown => None,
        }
    }
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum JobEnd {
    /// Its shell ended by itself.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal ended its shell.
    Killed {
        /// The number of the signal.
        signal: i32,
    },
    /// A client stopped it.
    Stopped {
        /// The name of the client.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// It reached a limit.
    OverLimit {
        /// The limit and its value.
        what: String,
    },
    /// The service stopped or died.
    WithService,
    /// The conversation is a fork, and the job is its origin's.
    Forked,
    /// The process that held it failed.
    Failed {
        /// The reason.
        reason: String,
    },
    /// An end that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}
