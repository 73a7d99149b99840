//! `harness stop`: ends the service that uses a state folder.
//!
//! Invariant: a process is signalled only if the system says that it has the lock of the folder, or,
//! where the system does not list locks, if it has proved itself. A file alone, which may be stale,
//! ends nothing.

use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cli::exit_codes::exits;
use crate::client::api::discovery;
use crate::client::commands::life::error::StopError;
use crate::client::commands::life::look::ServiceLook;
use crate::client::commands::life::work::StoppedWork;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::question;
use crate::config::ClientConfig;
use crate::state_dir::lock_owner::{StateHolder, holder};
use clap::Args;

const STOP_HELP: &str = "\
Examples:
  harness stop                                 end the service, when no run is going and no job runs
  harness stop --force                         end it in any case

A run that is going is recorded as ended by the stop; `harness continue` goes on with it later. Jobs
in the background end with the service.
Attached clients wait until a service runs again.";

/// The flags of `harness stop`.
#[derive(Debug, Args)]
#[command(after_help = exits(STOP_HELP, "stopped, or none ran", "it goes on: runs are going, jobs run, or it could not be stopped", None))]
pub(crate) struct StopArgs {
    /// Do not ask, and kill the service if it does not stop
    #[arg(long)]
    pub(super) force: bool,
    /// Print a JSON object: whether a service was stopped, and its process
    #[arg(long)]
    pub(super) json: bool,
}

/// How long each step may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StopWaits {
    /// Until a process that holds the lock says that it is the service.
    pub(crate) named: Duration,
    /// From the order to stop until the lock is free.
    pub(crate) stop: Duration,
    /// From the second order on, which a service obeys at once.
    pub(crate) again: Duration,
    /// From the kill on.
    pub(crate) kill: Duration,
    /// Between two looks.
    pub(crate) look: Duration,
}

impl Default for StopWaits {
    fn default() -> Self {
        Self {
            named: Duration::from_secs(2),
            stop: Duration::from_secs(10),
            again: Duration::from_secs(3),
            kill: Duration::from_secs(3),
            look: Duration::from_millis(20),
        }
    }
}

/// Stops the service; the exit code.
///
/// # Errors
/// If it goes on.
pub(crate) async fn run(
    order: &StopArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let waits = StopWaits::default();
    let Some(pid) = target(config, waits).await? else {
        if order.json {
            output.json(&json!({"stopped": false, "pid": null}))?;
        } else {
            output.line(&format!("no service runs for {}", config.home.display()))?;
        }
        return Ok(0);
    };
    if !order.force {
        match ServiceLook::at(config).await.found.info() {
            Some(info) => {
                if let Some(work) = StoppedWork::from_info(info) {
                    if !question::is_confirmed(&work.question()) {
                        return Err(StopError::Busy { work }.into());
                    }
                    is_still(config, pid, waits).await?;
                }
            }
            None => output.note(
                "harness: the service does not say whether runs are going; one that is ends as interrupted, and `harness continue` goes on with it",
            ),
        }
    }
    let insistence = if order.force {
        Insistence::Kill
    } else {
        Insistence::Ask
    };
    stop(&config.home, pid, insistence, waits, output).await?;
    if order.json {
        output.json(&json!({"stopped": true, "pid": pid}))?;
    } else {
        output.line(&format!("stopped the service, process {pid}"))?;
    }
    Ok(0)
}

/// Makes sure that a process is the service yet, after a time in which much can have happened.
///
/// # Errors
/// If it is not.
pub(crate) async fn is_still(
    config: &ClientConfig,
    pid: u32,
    waits: StopWaits,
) -> Result<(), CommandError> {
    match target(config, waits).await? {
        Some(now) if now == pid => Ok(()),
        _ => Err(StopError::Another { pid }.into()),
    }
}

/// The treatment of a service that does not stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insistence {
    /// Nothing.
    Ask,
    /// Kill it.
    Kill,
}

/// The process of the service, if one runs. A service that is starting is given a moment to say
/// that it is one.
///
/// # Errors
/// If it is not certain which process it is.
pub(crate) async fn target(
    config: &ClientConfig,
    waits: StopWaits,
) -> Result<Option<u32>, CommandError> {
    let home = || config.home.display().to_string();
    let give_up = Instant::now() + waits.named;
    loop {
        let named = discovery::read(config)?.map(|file| file.pid);
        let found = holder(&config.home, named).map_err(|source| StopError::Look {
            home: home(),
            source,
        })?;
        match found {
            StateHolder::Nobody => return Ok(None),
            StateHolder::Process(pid) if Some(pid) == named => return Ok(Some(pid)),
            StateHolder::Unnamed if is_proved(config, named).await => return Ok(named),
            StateHolder::Unnamed if Instant::now() >= give_up => {
                return Err(StopError::Unnamed { home: home() }.into());
            }
            StateHolder::Process(holder) if Instant::now() >= give_up => {
                let named = named.map_or("none".to_owned(), |pid| format!("process {pid}"));
                let home = home();
                return Err(StopError::NotNamed {
                    holder,
                    named,
                    home,
                }
                .into());
            }
            StateHolder::Process(_) | StateHolder::Unnamed => sleep(waits.look).await,
        }
    }
}

/// Whether the process that the folder names has proved to be the service. Where the system lists
/// locks, it knows better.
async fn is_proved(config: &ClientConfig, named: Option<u32>) -> bool {
    if cfg!(target_os = "linux") {
        return false;
    }
    let look = ServiceLook::at(config).await;
    named.is_some() && look.found.info().map(|info| info.pid) == named
}

/// Ends a process that has the lock, and waits until it has given it up.
///
/// # Errors
/// If it goes on.
pub(crate) async fn stop(
    home: &Path,
    pid: u32,
    insistence: Insistence,
    waits: StopWaits,
    output: &mut Output,
) -> Result<(), CommandError> {
    signal(pid, Signal::SIGTERM)?;
    // One that was halted, such as with Ctrl-Z, takes no notice before it goes on.
    signal(pid, Signal::SIGCONT)?;
    if has_left(home, pid, waits.stop, waits.look).await {
        return Ok(());
    }
    let waited = waits.stop;
    if insistence == Insistence::Ask {
        return Err(StopError::GoesOn { pid, waited }.into());
    }
    signal(pid, Signal::SIGTERM)?;
    if has_left(home, pid, waits.again, waits.look).await {
        return Ok(());
    }
    output.note(&format!(
        "harness: process {pid} has not stopped within {:?} and is killed: a run that was going is interrupted, and nothing that was shown is lost",
        waited + waits.again
    ));
    signal(pid, Signal::SIGKILL)?;
    if has_left(home, pid, waits.kill, waits.look).await {
        return Ok(());
    }
    Err(StopError::Unkillable { pid }.into())
}

/// Waits until a process does not use the folder any more. Another one may use it at once.
async fn has_left(home: &Path, pid: u32, limit: Duration, look: Duration) -> bool {
    let give_up = Instant::now() + limit;
    loop {
        match holder(home, Some(pid)) {
            Ok(StateHolder::Nobody) => return true,
            Ok(StateHolder::Process(now)) if now != pid => return true,
            // Of what cannot be looked at it is not known.
            Ok(StateHolder::Process(_) | StateHolder::Unnamed) | Err(_) => {}
        }
        if Instant::now() >= give_up {
            return false;
        }
        sleep(look).await;
    }
}

/// Signals a process. One that is gone by now needs none.
fn signal(pid: u32, signal: Signal) -> Result<(), StopError> {
    let failed = |reason| StopError::Signal { pid, reason };
    let process = i32::try_from(pid).map_err(|_| failed(Errno::ESRCH))?;
    match kill(Pid::from_raw(process), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(reason) => Err(failed(reason)),
    }
}

#[cfg(test)]
#[path = "stop_tests.rs"]
mod tests;
