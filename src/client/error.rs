//! Why a command did not do what it was asked, and the exit code that says so.

use std::io;

use derive_more::{Display, Error, From};

use crate::client::api::connection::RequestError;
use crate::client::api::discovery::DiscoveryError;
use crate::client::api::error::ApiError;
use crate::client::background::StartError;
use crate::client::commands::life::error::{RestartError, StopError};
use crate::client::prompt_files::PromptFileError;
use crate::client::prompt_text::PromptTextError;
use crate::config::ConfigError;

/// The exit code of a command that Ctrl-C ended, and of a run that was cancelled.
pub(super) const EXIT_CANCELLED: i32 = 130;

/// The exit code of a run in which a tool was denied what it wanted, because a person is needed or said no.
pub(super) const EXIT_DENIED: i32 = 3;
/// The exit code of a run that a limit cut off.
pub(super) const EXIT_LIMITED: i32 = 4;

/// Why a command did not do what it was asked.
#[derive(Debug, Display, Error, From)]
pub(super) enum CommandError {
    /// A setting cannot be used.
    #[from]
    Config(ConfigError),
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
        /// What runs, and the ways out.
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
        /// What, and what the system said.
        reason: String,
    },
    /// What was given cannot be sent.
    #[display("{reason}")]
    Usage {
        /// What, and what it should be.
        reason: String,
    },
    /// The service contradicts itself.
    #[display("{reason}")]
    Contradiction {
        /// How.
        reason: &'static str,
    },
    /// The terminal client could not go on.
    #[from]
    Screen(harness_tui::RunError),
    /// Ctrl-C was pressed.
    #[display("stopped")]
    Stopped,
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
            Self::Prompt(error) => error.exit_code(),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Stopped => EXIT_CANCELLED,
            Self::Api(_)
            | Self::Start(_)
            | Self::Stop(_)
            | Self::Restart(_)
            | Self::NoDemo { .. }
            | Self::Screen(_)
            | Self::File(_)
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
