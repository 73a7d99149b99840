//! Ending everything that a stage has started.
//!
//! The number of a process is given again once its parent has waited for it. So a signal goes to a child of this
//! process, for which no other process waits, or to a process that is held by a descriptor.
//!
//! Source: `pidfd_open(2)`, `pid_namespaces(7)`, `kill(2)`.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use harness_protocol::Backend;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, Signal as PidfdSignal, pidfd_open, pidfd_send_signal};

use crate::os::procfs::{children, descendants, name_of, parent};

/// How many of those that are left are named.
const MAX_NAMED: usize = 5;
/// How long those that were asked to end have for it.
const GRACE: Duration = Duration::from_millis(300);
/// How often it is tried to end what starts itself anew.
const TRIES: usize = 5_000;
/// How often new processes are looked for before those that were found are ended.
const LOOKS: usize = 100;
/// How long is waited between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The way in which a stage reaches everything that it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalScope {
    /// It is the first process of a namespace that holds nothing else.
    Namespace,
    /// Its child is that first process, and with it everything ends.
    Child,
    /// It is among all processes of the machine: each has to be found.
    Machine,
}

impl SignalScope {
    /// The scope of the stage that starts the first process of a namespace, if the backend has one.
    pub(super) fn of_warden(backend: Backend) -> Self {
        match backend {
            Backend::Namespaces => Self::Child,
            Backend::Landlock | Backend::None | Backend::Unknown => Self::Machine,
        }
    }

    /// The scope of the stage that starts the command.
    pub(super) fn of_init(backend: Backend) -> Self {
        match backend {
            Backend::Namespaces if std::process::id() == 1 => Self::Namespace,
            Backend::Namespaces | Backend::Landlock | Backend::None | Backend::Unknown => {
                Self::Machine
            }
        }
    }
}

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
pub(super) fn end_gently(scope: SignalScope) {
    match scope {
        SignalScope::Namespace => signal_all(Signal::SIGTERM),
        SignalScope::Child => signal_children(Signal::SIGTERM),
        SignalScope::Machine => {
            for process in held(None).into_values() {
                process.signal(PidfdSignal::TERM);
            }
        }
    }
    for _ in 0..GRACE.as_millis() / PAUSE.as_millis() {
        reap(Pid::from_raw(0));
        if children(std::process::id()).is_empty() {
            return;
        }
        pause(PAUSE);
    }
    end_all(scope);
}

/// Ends everything that this process has started, and what that started.
pub(super) fn end_all(scope: SignalScope) {
    for _ in 0..TRIES {
        // The children of those that have ended are this process's.
        if children(std::process::id()).is_empty() {
            return;
        }
        match scope {
            SignalScope::Namespace => signal_all(Signal::SIGKILL),
            SignalScope::Child => signal_children(Signal::SIGKILL),
            SignalScope::Machine => {
                // What is halted starts nothing while the others are looked for.
                for process in held(Some(PidfdSignal::STOP)).into_values() {
                    process.signal(PidfdSignal::KILL);
                }
            }
        }
        reap(Pid::from_raw(0));
        pause(Duration::from_millis(1));
    }
}

/// Signals all processes of the namespace of which this is the first one, at once.
fn signal_all(signal: Signal) {
    match kill(Pid::from_raw(-1), signal) {
        // There is no other, or none that may be signalled.
        Ok(()) | Err(_) => {}
    }
}

/// Signals the children of this process, which are not reaped meanwhile.
fn signal_children(signal: Signal) {
    for pid in children(std::process::id()) {
        let Ok(pid) = i32::try_from(pid) else {
            continue;
        };
        match kill(Pid::from_raw(pid), signal) {
            // One of another user cannot be ended from here.
            Ok(()) | Err(_) => {}
        }
    }
}

/// A process that this one has started, or one that such a process has.
struct HeldProcess {
    pid: u32,
    process: OwnedFd,
}

impl HeldProcess {
    fn open(pid: u32) -> Option<Self> {
        let number = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        let process = pidfd_open(number, PidfdFlags::empty()).ok()?;
        Some(Self { pid, process })
    }

    /// A process that has the number now, if it is a child of this one. Both numbers were theirs meanwhile if both
    /// still run.
    fn child(&self, pid: u32) -> Option<Self> {
        let child = Self::open(pid)?;
        let is_child = parent(pid) == Some(self.pid);
        (is_child && child.runs() && self.runs()).then_some(child)
    }

    fn runs(&self) -> bool {
        let mut ended = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        poll(&mut ended, PollTimeout::ZERO) == Ok(0)
    }

    fn signal(&self, signal: PidfdSignal) {
        match pidfd_send_signal(&self.process, signal) {
            // One that is gone has ended; one of another user cannot be ended from here.
            Ok(()) | Err(_) => {}
        }
    }
}

/// Holds the running processes that this one has started, with those that they have started, at most one for each
/// descriptor that the system allows. Each process gets the signal when it is found. The walk is repeated until it finds
/// no new process.
fn held(signal: Option<PidfdSignal>) -> HashMap<u32, HeldProcess> {
    let mut held = HashMap::new();
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    match setrlimit(Resource::RLIMIT_NOFILE, most, most) {
        // With fewer descriptors it takes more rounds.
        Ok(()) | Err(_) => {}
    }
    let Some(own) = HeldProcess::open(std::process::id()) else {
        return held;
    };
    for _ in 0..LOOKS {
        let known = held.len();
        let mut below = children_of(&own);
        while let Some(child) = below.pop() {
            let pid = child.pid;
            if !held.contains_key(&pid)
                && let Some(signal) = signal
            {
                child.signal(signal);
            }
            below.extend(children_of(&child));
            held.entry(pid).or_insert(child);
        }
        if held.len() == known {
            break;
        }
    }
    held
}

fn children_of(process: &HeldProcess) -> Vec<HeldProcess> {
    let pids = children(process.pid).into_iter();
    pids.filter_map(|pid| process.child(pid)).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stage has one thread and no arbiter"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
