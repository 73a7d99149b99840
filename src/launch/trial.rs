//! Starts one command as the service does: from a shell, for `tests/sandbox.sh`, and to look at a folder.

use std::io::{self, Read as _, Write as _};
use std::process::{Command, Stdio};

use harness_actors::tool::LaunchReport;

use super::SUBCOMMAND;
use super::policy::LaunchPolicy;
use super::stage::encode;

/// The exit code of a command that could not be started.
const NOT_STARTED: i32 = 125;
/// That of one that was ended because it took too much.
const TOOK_TOO_MUCH: i32 = 124;
/// The one for an end that is not known.
const LOST: i32 = 126;

/// Reads a policy from standard input and runs its command; the exit code of that, as a shell has it.
pub(super) fn run() -> i32 {
    start().unwrap_or_else(|error| {
        drop(writeln!(io::stderr(), "{error}"));
        NOT_STARTED
    })
}

fn start() -> io::Result<i32> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    run_policy(&serde_json::from_str(&line)?, Stdio::inherit())
}

/// Runs the command of a policy, whose output goes there; its exit code, as a shell has it.
///
/// # Errors
/// If it was not started.
pub(super) fn run_policy(policy: &LaunchPolicy, output: Stdio) -> io::Result<i32> {
    let mut warden = Command::new("/proc/self/exe")
        .args([SUBCOMMAND, "warden"])
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()?;
    let (Some(mut lifeline), Some(mut reports)) = (warden.stdin.take(), warden.stderr.take())
    else {
        return Err(io::Error::other("the warden has no pipes"));
    };
    lifeline.write_all(&encode(&serde_json::to_vec(policy)?))?;
    let mut lines = String::new();
    reports.read_to_string(&mut lines)?;
    warden.wait()?;
    let mut code = LOST;
    for line in lines.lines() {
        match serde_json::from_str(line)? {
            LaunchReport::Failed(reason) => return Err(io::Error::other(reason)),
            LaunchReport::Over(_) => return Ok(TOOK_TOO_MUCH),
            LaunchReport::Ended {
                code: ended,
                signal,
                ..
            } => {
                code = ended.or(signal.map(|signal| 128 + signal)).unwrap_or(LOST);
            }
        }
    }
    Ok(code)
}
