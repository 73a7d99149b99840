//! The flags of `harness status`, `stop`, `restart` and `logs`.

use std::time::Duration;

use clap::Args;

use crate::config::{HomeFlag, parse_duration};

const STATUS_HELP: &str = "\
Examples:
  harness status                               what runs here, and where it differs from this shell
  harness status --json | jq .service.pid
  harness status > /dev/null || harness serve

Exit codes:
  0  a service runs and answers
  1  failed
  2  wrong use: a flag or a setting cannot be used
  3  no service runs
  4  one runs that does not answer, or that this version cannot talk to";

const STOP_HELP: &str = "\
Examples:
  harness stop                                 end the service, when no run is going
  harness stop --force                         end it in any case

A run that is going is recorded as ended by the stop; `harness continue` goes on with it later.
Attached clients wait until a service runs again.

Exit codes:
  0  stopped, or none ran
  1  it goes on: runs are going, or it could not be stopped
  2  wrong use: a flag or a setting cannot be used";

const RESTART_HELP: &str = "\
Examples:
  harness restart                              when no run is going any more
  harness restart --now                        at once, whatever is going

Starts this program in the place of the running service, in the background, in its folder and with
the flags and variables that it was started with. Keys come from this shell and config.toml.
Attached clients come back by themselves.

Exit codes:
    0  restarted
    1  failed, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  ended with Ctrl-C while it waited";

const LOGS_HELP: &str = "\
Examples:
  harness logs                                 its last 100 lines
  harness logs -n 20 -f                        its last 20 lines, and what comes
  harness logs --since 10m                     what was logged in the last 10 minutes

Exit codes:
    0  done
    1  failed, or there is no log
    2  wrong use: a flag or a setting cannot be used
  130  stopped with Ctrl-C";

/// The flags of `harness status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub(crate) struct Status {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness stop`.
#[derive(Debug, Args)]
#[command(after_help = STOP_HELP)]
pub(crate) struct Stop {
    /// Do not ask, and kill the service if it does not stop
    #[arg(long)]
    pub(crate) force: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness restart`.
#[derive(Debug, Args)]
#[command(after_help = RESTART_HELP)]
pub(crate) struct Restart {
    /// Do not wait for the end of runs
    #[arg(long)]
    pub(crate) now: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness logs`.
#[derive(Debug, Args)]
#[command(after_help = LOGS_HELP)]
pub(crate) struct Logs {
    /// At most so many of the last lines; 100 if neither this nor --since is given
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) lines: Option<usize>,
    /// Go on with what is logged from now on
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only what was logged in so long a time, such as 30s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) since: Option<Duration>,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("it must be a duration such as 30s, 10m or 2h")
}
