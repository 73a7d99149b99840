//! The init: contains itself, starts the command, and ends what that leaves.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use harness_actors::tool::LaunchReport;
use harness_protocol::Backend;
use nix::fcntl::OFlag;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;

use super::contain::SharedWorld;
use super::policy::LaunchPolicy;
use super::stage::{StageLifeline, StageOrder, StageWord, end_of, report};
use super::tree;

/// How often children are looked for that have ended.
const REAPS: Duration = Duration::from_millis(500);
/// How much of the file is read in which the shell notes where it was, in bytes.
const MAX_FOLDER: usize = 4096;
/// The name of that file in the folder for temporary files.
const FOLDER_NOTE: &str = ".folder";
/// How much a command gives way to others, as `nice` has it.
const NICER: i32 = 5;
/// The score of a process that the system ends first when memory is short.
const FIRST_TO_END: &str = "1000";

/// The shell's script that closes descriptors that the service was started with, before the shell
/// becomes the program.
const CLOSING: &str = r#"for at in /proc/self/fd/*; do at=${at##*/}; [ "$at" -gt 2 ] && eval "exec $at>&-"; done; exec "$@""#;

/// Runs the stage to the end of the command.
pub(super) fn run() -> io::Result<()> {
    let lifeline = StageLifeline::of_input()?;
    let StageOrder {
        policy,
        line: _,
        world,
        pipes,
    } = lifeline.order()?;
    let world = SharedWorld::from_descriptors(world, &policy);
    nix::unistd::setsid()?;
    prctl::set_child_subreaper(true)?;
    prctl::set_pdeathsig(on_end_of_warden(policy.containment.backend))?;
    // The service answers first, however much the command has to do.
    rustix::process::nice(NICER)?;
    // Without it the system takes its own choice.
    drop(fs::write("/proc/self/oom_score_adj", FIRST_TO_END));
    super::bound::processes(&policy, world.is_some())?;
    super::contain::apply(&policy.containment, world.as_ref()).map_err(io::Error::other)?;
    drop(world);
    let mut command = command(&policy, pipes)?;
    let child = command.spawn().map_err(|error| {
        let program = policy.program.first().map_or("", String::as_str);
        io::Error::other(format!("{program} cannot be started: {error}"))
    })?;
    // What is written is the command's alone now, and so are its pipes.
    drop(command);
    let (pid, end) = end_of(child.id())?;
    let scope = tree::SignalScope::of_init(policy.containment.backend);
    let mut status = None;
    loop {
        let (word, has_ended) = lifeline.wait(&end, REAPS)?;
        status = tree::reap(pid).or(status);
        match word {
            StageWord::None if has_ended => break,
            StageWord::None => {}
            StageWord::Stop => {
                tree::end_gently(scope);
                status = tree::reap(pid).or(status);
            }
            StageWord::End => {
                tree::end_all(scope);
                return Ok(());
            }
        }
    }
    let left = tree::left(&policy.program.join(" "));
    if !left.is_empty() {
        tree::end_gently(scope);
    }
    let (code, signal) = match status.or_else(|| tree::reap(pid)) {
        Some(WaitStatus::Exited(_, code)) => (Some(code), None),
        Some(WaitStatus::Signaled(_, signal, _)) => (None, Some(signal as i32)),
        _ => (None, None),
    };
    report(&LaunchReport::Ended {
        code,
        signal,
        left,
        folder: noted_folder(&policy),
    });
    Ok(())
}

/// The signal that the system sends to the init when the warden ends.
fn on_end_of_warden(backend: Backend) -> Signal {
    match backend {
        // With the first process of a namespace all others end.
        Backend::Namespaces => Signal::SIGKILL,
        // It has to end them itself, and does not see the end of its input while it is halted.
        Backend::Landlock | Backend::None | Backend::Unknown => Signal::SIGCONT,
    }
}

/// The command with its whole environment, and none of the descriptors of this process but its output.
fn command(policy: &LaunchPolicy, pipes: Option<[OwnedFd; 2]>) -> io::Result<Command> {
    let mut words = policy.program.iter();
    let program = words
        .next()
        .ok_or_else(|| io::Error::other("there is no program"))?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let mut command = if inherited()?.is_empty() {
        let mut command = Command::new(program);
        command.args(words);
        command
    } else {
        let mut command = Command::new("bash");
        command
            .args(["--norc", "--noprofile", "-c", CLOSING, "bash", program])
            .args(words);
        command
    };
    let (input, written) = match pipes {
        Some([input, written]) => (Stdio::from(input), Stdio::from(written)),
        None => (Stdio::null(), Stdio::inherit()),
    };
    command
        .env_clear()
        .envs(policy.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&policy.folder)
        .stdin(input)
        .stdout(written)
        .stderr(Stdio::from(output))
        .process_group(0);
    Ok(command)
}

/// The descriptors that a program would inherit besides the first three.
///
/// Source: `proc(5)`: `flags` in `/proc/PID/fdinfo/N` is octal; `O_CLOEXEC` is 0o2000000.
fn inherited() -> io::Result<BTreeSet<u32>> {
    const CLOSES: u32 = 0o2_000_000;
    let mut inherited = BTreeSet::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // The one that reads this folder is gone by then.
        let Ok(info) = fs::read_to_string(entry.path()) else {
            continue;
        };
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        if let (Some(number), Some(flags)) = (number, flags)
            && number > 2
            && flags & CLOSES == 0
        {
            inherited.insert(number);
        }
    }
    Ok(inherited)
}

/// The folder that the shell was in at its end, as it noted. The command can write the note as well: it counts only if it
/// is the real path of a folder.
fn noted_folder(policy: &LaunchPolicy) -> Option<PathBuf> {
    let noted = policy.temp.as_ref()?.join(FOLDER_NOTE);
    // What the command has put there need be no file.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW).bits())
        .open(noted)
        .ok()?;
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FOLDER).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut bytes).ok()?;
    real_folder(&bytes)
}

fn real_folder(note: &[u8]) -> Option<PathBuf> {
    let line = note.strip_suffix(b"\n")?;
    let path = Path::new(std::str::from_utf8(line).ok()?);
    let real = fs::canonicalize(path).ok()?;
    (real == path && real.is_dir()).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-451]
    #[test]
    fn a_note_that_is_not_the_real_path_of_a_folder_is_none() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let folder = real.join("a b");
        fs::create_dir(&folder).unwrap();
        fs::write(real.join("file"), "").unwrap();
        std::os::unix::fs::symlink("a b", real.join("link")).unwrap();
        let note = |text: &str| real_folder(text.as_bytes());
        let path = |name: &str| format!("{}/{name}\n", real.display());
        assert_eq!(note(&path("a b")), Some(folder));
        for name in ["file", "link", "gone", "a b/../a b", "a b\nx"] {
            assert_eq!(note(&path(name)), None, "{name}");
        }
        for text in ["", "\n", ".\n", "a b\n", path("a b").trim_end()] {
            assert_eq!(note(text), None, "{text}");
        }
    }
}
