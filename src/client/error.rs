//! Why a command did not do what it was asked, and the exit code that says so.

use std::io;
use std::time::Duration;

use derive_more::{Display, Error, From};

use crate::client::api::connection::RequestError;
use crate::client::api::discovery::DiscoveryError;
use crate::client::api::error::ApiError;
use crate::client::background::StartError;
use crate::client::commands::life::error::{RestartError, StopError};
use crate::client::prompt_files::PromptFileError;
use crate::client::prompt_text::PromptTextError;
use crate::client::reply_file::ReplyFileError;
use crate::config::SettingError;

/// The exit code of a command that Ctrl-C ended, and of a run that was cancelled.
pub(super) const EXIT_CANCELLED: i32 = 130;

/// The exit code of a run in which a tool was denied what it wanted, because a person is needed or said no.
pub(super) const EXIT_DENIED: i32 = 3;
/// The exit code of a run that a limit cut off.
pub(super) const EXIT_LIMITED: i32 = 4;
/// The exit code of a command that took longer than `--timeout` says; that of `timeout`.
pub(super) const EXIT_TIMED_OUT: i32 = 124;

/// The status by which the service says that a value cannot be.
const BAD_REQUEST: u16 = 400;

/// Why a command did not do what it was asked.
#[derive(Debug, Display, Error, From)]
pub(super) enum CommandError {
    /// A setting cannot be used.
    #[from]
    Config(SettingError),
    /// There is no service, it did not answer, or it refused.
    #[from(ApiError, DiscoveryError, RequestError)]
    Api(ApiError),
    /// No service could be started.
    #[from]
    Start(StartError),
    /// The service was not stopped.
    #[from]
    Stop(StopError),
    /// The service was not restarted.
    #[from]
    Restart(RestartError),
    /// The service that runs is not the demo.
    #[display("{reason}")]
    NoDemo {
        /// The service that runs, and the ways out.
        reason: String,
    },
    /// There is no prompt to send.
    #[from]
    Prompt(PromptTextError),
    /// A file cannot go with the prompt.
    #[from]
    File(PromptFileError),
    /// The result cannot be written.
    #[display("cannot write to standard output: {_0}")]
    #[from]
    Output(io::Error),
    /// The system refused something else.
    #[display("{reason}")]
    System {
        /// The object, and the system's error.
        reason: String,
    },
    /// The given values cannot be sent.
    #[display("{reason}")]
    Usage {
        /// The value, and the form that it should have.
        reason: String,
    },
    /// The service contradicts itself.
    #[display("{reason}")]
    Contradiction {
        /// How.
        reason: &'static str,
    },
    /// The terminal client could not continue.
    #[from]
    Screen(harness_tui::RunError),
    /// A run is going, so that no other begins.
    #[display("{reason}")]
    Busy {
        /// The service's words, and the ways out.
        reason: String,
    },
    /// A file does not get the results.
    #[from]
    ReplyFile(ReplyFileError),
    /// No conversation has this name.
    #[display(
        "there is no conversation {name}: it is no id, no title and the beginning of neither; `harness conversations` lists them"
    )]
    #[from(skip)]
    NoConversation {
        /// The name.
        name: String,
    },
    /// The operator saw something else than what waits now.
    #[display("approval {id} was changed; look again: harness approvals")]
    #[from(skip)]
    ChangedApproval {
        /// The number of the approval.
        id: u64,
    },
    /// The conversation has no run of this number.
    #[display("there is no run {run}{}", and_going(*going))]
    #[from(skip)]
    NoRun {
        /// The number.
        run: u64,
        /// The run that is going.
        going: Option<u64>,
    },
    /// The person who was asked said no.
    #[display("{id} stays as it is")]
    #[from(skip)]
    Kept {
        /// The thing that stays.
        id: String,
    },
    /// The time that the command may take was over before its run had begun.
    #[display("nothing was sent within {limit:?}")]
    TimedOut {
        /// That time.
        limit: Duration,
    },
    /// Ctrl-C was pressed.
    #[display("stopped")]
    Stopped,
}

/// The run that is going, after the number of one that does not exist.
fn and_going(going: Option<u64>) -> String {
    going.map_or_else(String::new, |run| {
        format!("; run {run} is going, and continues")
    })
}

impl CommandError {
    /// The service gives the same page for another cursor.
    pub(super) const SAME_PAGE: Self = Self::Contradiction {
        reason: "the service answers with the same page again and again",
    };

    /// The exit code: 2 for wrong use, 130 for Ctrl-C, 1 for a failure. A reader that has seen
    /// enough and left is no failure.
    pub(super) fn exit_code(&self) -> i32 {
        match self {
            Self::Config(_) | Self::Usage { .. } => 2,
            Self::Api(ApiError::Request(RequestError::Refused { status, .. }))
                if *status == BAD_REQUEST =>
            {
                2
            }
            Self::Prompt(error) => error.exit_code(),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Stopped => EXIT_CANCELLED,
            Self::TimedOut { .. } => EXIT_TIMED_OUT,
            Self::Api(_)
            | Self::Start(_)
            | Self::Stop(_)
            | Self::Restart(_)
            | Self::NoDemo { .. }
            | Self::Screen(_)
            | Self::File(_)
            | Self::ReplyFile(_)
            | Self::Busy { .. }
            | Self::Kept { .. }
            | Self::NoConversation { .. }
            | Self::ChangedApproval { .. }
            | Self::NoRun { .. }
            | Self::Output(_)
            | Self::System { .. }
            | Self::Contradiction { .. } => 1,
        }
    }

    /// Whether there is something to say that the exit code does not.
    pub(super) fn is_worth_telling(&self) -> bool {
        !matches!(self.exit_code(), 0 | EXIT_CANCELLED)
    }
}
