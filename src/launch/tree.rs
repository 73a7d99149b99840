//! Ending everything that a stage has started.

use std::collections::HashSet;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgid, getpgrp};

use crate::processes::{descendants, name_of};

/// How many of those that are left are named.
const MAX_NAMED: usize = 5;
/// How long those that were asked to end have for it.
const GRACE: Duration = Duration::from_millis(300);
/// How often it is tried to end what starts itself anew.
const TRIES: usize = 5_000;
/// How long is waited between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Takes note of children that have ended; tells how one of them did.
pub(super) fn reap(wanted: Pid) -> Option<WaitStatus> {
    let mut found = None;
    loop {
        match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return found,
            Ok(status) => {
                let has_ended = matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..));
                if has_ended && status.pid() == Some(wanted) {
                    found = Some(status);
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return found,
        }
    }
}

/// The names of what still runs, the first few; how many more there are behind them. `shell` is how the
/// command itself was called, which is also how its subshells are.
pub(super) fn left(shell: &str) -> Vec<String> {
    let mut pids: Vec<u32> = descendants(std::process::id()).into_iter().collect();
    if pids.is_empty() {
        return Vec::new();
    }
    // What was begun last may not have become what it is to be.
    pause(PAUSE);
    pids.sort_unstable();
    let names = pids.into_iter().filter_map(name_of);
    let shell = shell.replace(char::is_control, " ");
    let own = |name: String| match shell.starts_with(name.as_str()) {
        true => "a subshell".to_owned(),
        false => name,
    };
    let names: Vec<String> = names.map(own).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    names.into_iter().take(MAX_NAMED).chain(more).collect()
}

/// Asks everything that runs to end, and ends it a little later.
pub(super) fn end_gently() {
    signal_all(&descendants(std::process::id()), Signal::SIGTERM);
    for _ in 0..GRACE.as_millis() / PAUSE.as_millis() {
        reap(Pid::from_raw(0));
        if descendants(std::process::id()).is_empty() {
            return;
        }
        pause(PAUSE);
    }
    end_all();
}

/// Ends everything that this process has started, and what that started.
pub(super) fn end_all() {
    for _ in 0..TRIES {
        let pids = descendants(std::process::id());
        if pids.is_empty() {
            return;
        }
        // A group ends as a whole, also while its processes start others.
        for group in groups_of(&pids) {
            match killpg(group, Signal::SIGKILL) {
                // One that is gone by now has ended; others end one by one below.
                Ok(()) | Err(_) => {}
            }
        }
        signal_all(&pids, Signal::SIGKILL);
        reap(Pid::from_raw(0));
        pause(Duration::from_millis(1));
    }
}

/// The process groups of processes, but that of this one.
fn groups_of(pids: &HashSet<u32>) -> HashSet<Pid> {
    let pids = pids.iter().filter_map(|pid| i32::try_from(*pid).ok());
    let groups = pids.filter_map(|pid| getpgid(Some(Pid::from_raw(pid))).ok());
    // A process that is gone by now has none, and the group 0 would be this one's.
    groups
        .filter(|group| *group != getpgrp() && group.as_raw() > 1)
        .collect()
}

fn signal_all(pids: &HashSet<u32>, signal: Signal) {
    for pid in pids {
        let Ok(pid) = i32::try_from(*pid) else {
            continue;
        };
        match kill(Pid::from_raw(pid), signal) {
            // One that is gone has ended; one of another user cannot be ended from here.
            Ok(()) | Err(_) => {}
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stage has one thread and no arbiter"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
