//! Why the service was not stopped, or not restarted.

use std::io;
use std::time::Duration;

use derive_more::{Display, Error};
use nix::errno::Errno;

use crate::client::commands::life::work::StoppedWork;
use crate::state_dir::lock;

/// Why a service was not stopped.
#[derive(Debug, Display, Error)]
pub(crate) enum StopError {
    /// The lock cannot be looked at.
    #[display("cannot look who uses {home}: {source}")]
    Look {
        /// The state folder.
        home: String,
        /// The system's error.
        source: io::Error,
    },
    /// The process that has the lock is not the one that the folder names.
    #[display(
        "process {holder} uses {home}, and {} names {named}; nothing was stopped: look what process {holder} is, and end it with `kill {holder}` if it may go",
        lock::DISCOVERY_FILE
    )]
    NotNamed {
        /// The process that has the lock.
        holder: u32,
        /// The folder's entry.
        named: String,
        /// The state folder.
        home: String,
    },
    /// The system does not say which process has the lock.
    #[display(
        "a process uses {home}, and this system does not say which; nothing was stopped: stop it where it runs"
    )]
    Unnamed {
        /// The state folder.
        home: String,
    },
    /// Runs are going, or jobs run.
    #[display("{work}; nothing was stopped: wait for the end, or `harness stop --force`")]
    Busy {
        /// The runs and jobs.
        work: StoppedWork,
    },
    /// Much happened while the user was asked, or runs were waited for.
    #[display("process {pid} is not the service any more; nothing was stopped: try again")]
    Another {
        /// The process.
        pid: u32,
    },
    /// The system refused.
    #[display("cannot end process {pid}: {reason}")]
    Signal {
        /// The process.
        pid: u32,
        /// The system's error.
        reason: Errno,
    },
    /// It keeps running.
    #[display("process {pid} has not stopped within {waited:?}; `harness stop --force` kills it")]
    GoesOn {
        /// The process.
        pid: u32,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It was killed, and the lock is not free.
    #[display(
        "process {pid} was killed and is not gone; the system keeps it (`ps -o stat= -p {pid}`)"
    )]
    Unkillable {
        /// The process.
        pid: u32,
    },
}

/// Why a service was not restarted. It keeps running in each case.
#[derive(Debug, Display, Error)]
pub(crate) enum RestartError {
    /// None runs.
    #[display("no service runs for {home}; start one with `harness`")]
    None {
        /// The state folder.
        home: String,
    },
    /// The new one would not start.
    #[display("the service goes on as it is, because another would not start: {reason}")]
    WouldNotStart {
        /// Why.
        reason: String,
    },
    /// How it was started is not known.
    #[display(
        "the service (process {pid}) does not tell how it was started: `harness stop; cd FOLDER; harness` starts this version"
    )]
    Untold {
        /// Its process.
        pid: u32,
    },
    /// It cannot say whether runs are going.
    #[display(
        "the service (process {pid}) does not answer, so that the end of runs cannot be waited for; `harness restart --now` does not wait"
    )]
    Silent {
        /// Its process.
        pid: u32,
    },
}
