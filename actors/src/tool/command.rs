//! Running a system program for a tool: no shell, bounded output, nothing left behind.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use super::cap::MAX_TEXT_BYTES;
use super::{Cancellation, Launching, ToolError};
use crate::secret::Redaction;

/// How much of what a program says about its errors is kept, in bytes.
const MAX_STDERR_BYTES: usize = 8 * 1024;

/// How much memory a program may ask for, in bytes. A pattern of repetitions makes grep ask for any
/// amount; a list of a million files takes half of this.
const MAX_MEMORY: u64 = 512 * 1024 * 1024;
/// How long a program may compute, in seconds. One that outlives a service that was killed ends by this.
const MAX_COMPUTING: u64 = 300;

/// The output of a program that has ended.
#[derive(Debug)]
pub(super) struct ProgramOutput {
    /// `None` when the program was stopped because its output was enough.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl ProgramOutput {
    /// The program's own error message, without secrets.
    pub(super) fn complaint(&self, redaction: &Redaction) -> String {
        // One that was cut may end inside a secret.
        let text = if self.stderr.len() < MAX_STDERR_BYTES {
            redaction.apply(self.stderr.clone())
        } else {
            redaction.apply_to_start(&self.stderr, self.stderr.len())
        };
        text.trim().to_owned()
    }
}

/// Runs a program and waits for its end, or until its output is over the cap, for which a newline
/// at the end does not count. The caller sees two bytes more than the cap then.
///
/// The program gets no input, an environment of its own and a process group of its own, which is
/// killed when the call is cancelled or dropped.
pub(super) async fn run(
    program: &str,
    args: &[&OsStr],
    folder: &Path,
    cancellation: &Cancellation,
    launcher: &Launching,
) -> Result<ProgramOutput, ToolError> {
    let launcher = launcher.0.as_ref().and_then(|launcher| launcher.looking());
    let mut command = match launcher {
        Some(mut starter) => {
            starter.arg(program);
            Command::from(starter)
        }
        None => Command::new(program),
    };
    command
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/local/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(zone) = std::env::var_os("TZ") {
        command.env("TZ", zone);
    }
    let child = command
        .spawn()
        .map_err(|error| ToolError(format!("{program} cannot be started: {error}")))?;
    bound(&child);
    let mut group = Group(child);
    let work = group.work();
    let output = tokio::select! {
        biased;
        () = cancellation.cancelled() => None,
        output = work => Some(output),
    };
    match output {
        Some(Ok(output)) => {
            if output.status.is_none() {
                group.end().await;
            }
            Ok(output)
        }
        Some(Err(error)) => Err(ToolError(format!("{program} failed: {error}"))),
        None => {
            group.end().await;
            Err("cancelled".into())
        }
    }
}

/// Bounds what a program takes, with what it starts. That is known of Linux only.
#[cfg(target_os = "linux")]
fn bound(child: &Child) {
    use rustix::io::Errno;
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let Some(id) = id.and_then(Pid::from_raw) else {
        return;
    };
    for (resource, most) in [(Resource::As, MAX_MEMORY), (Resource::Cpu, MAX_COMPUTING)] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        match prlimit(Some(id), resource, limit) {
            // It has ended already.
            Ok(_) | Err(Errno::SRCH) => {}
            Err(error) => log::warn!("a program of a tool cannot be bounded: {error}"),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn bound(_: &Child) {}

/// A program with everything that it started.
struct Group(Child);

impl Group {
    async fn work(&mut self) -> std::io::Result<ProgramOutput> {
        let stdout = self.0.stdout.take();
        let stderr = self.0.stderr.take();
        let is_over = |output: &[u8]| output.len() > MAX_TEXT_BYTES + 1;
        let enough = async {
            let output = read_up_to(stdout, MAX_TEXT_BYTES + 2).await?;
            if is_over(&output) {
                // It may write no more for long, and its errors end only with it.
                self.kill();
            }
            Ok::<_, std::io::Error>(output)
        };
        let (stdout, stderr) = tokio::join!(enough, read_all_keep(stderr, MAX_STDERR_BYTES));
        let stdout = stdout?;
        let status = if is_over(&stdout) {
            None
        } else {
            Some(self.0.wait().await?)
        };
        Ok(ProgramOutput {
            status,
            stdout,
            stderr: String::from_utf8_lossy(&stderr?).into_owned(),
        })
    }

    /// Kills the group and waits until its leader is gone.
    async fn end(&mut self) {
        self.kill();
        if let Err(error) = self.0.wait().await {
            log::warn!("a killed program could not be waited for: {error}");
        }
    }

    fn kill(&self) {
        // The id is there only until the program was waited for, so it is still its own.
        let Some(id) = self.0.id().and_then(|id| i32::try_from(id).ok()) else {
            return;
        };
        if let Err(error) = killpg(Pid::from_raw(id), Signal::SIGKILL) {
            log::warn!("the process group {id} could not be killed: {error}");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn read_up_to(from: Option<impl AsyncRead + Unpin>, max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(max as u64).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Reads to the end, so that the program never waits for us, and keeps the start.
async fn read_all_keep(
    from: Option<impl AsyncRead + Unpin>,
    max: usize,
) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        (&mut from).take(max as u64).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
