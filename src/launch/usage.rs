//! The meter of what a command takes, which knows its processes and can end them.
//!
//! Under `namespaces` one folder lists the processes of a command. Elsewhere they are found from parent to child: among a
//! thousand processes that want to run, that takes so long that the command does what it likes for seconds.
//!
//! Source: `proc(5)`, `pid_namespaces(7)`, `pidfd_send_signal(2)`.

use std::fs::{self, File};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use harness_protocol::Backend;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Signal, pidfd_send_signal};

use super::policy::{LaunchPolicy, Limits};
use crate::os::procfs::{
    MACHINE, TakenResources, descendants_until, listed, memory_counted_once, taken,
};

/// The processes that are this program's, and not the command's.
pub(super) const OWN: u64 = 1;
/// The number of the first process of a namespace.
const FIRST: u32 = 1;
/// The number of processes by which a command may grow between two looks, beside twice what it had, before the look that
/// follows is only a count.
const GROWTH: u64 = 64;
/// The number of looks between two in which shared memory is counted once, which may take long.
const LOOKS_BETWEEN: u32 = 3;

/// Looks at what a command takes, again and again.
pub(super) struct UsageMeter<'a> {
    limits: Limits,
    /// The init, and what can be read when it has ended.
    init: u32,
    end: &'a OwnedFd,
    is_apart: bool,
    view: Option<NamespaceView>,
    shared: SharedMemory,
    /// The number of processes in the last look, and what they took.
    processes: u64,
    last: TakenResources,
}

impl<'a> UsageMeter<'a> {
    pub(super) fn new(init: u32, end: &'a OwnedFd, policy: &LaunchPolicy) -> Self {
        Self {
            limits: policy.limits,
            init,
            end,
            is_apart: policy.containment.backend == Backend::Namespaces,
            view: None,
            shared: SharedMemory::default(),
            processes: 0,
            last: TakenResources::default(),
        }
    }

    /// Returns the processes and the memory that the command takes now, the init included.
    pub(super) fn look(&mut self) -> TakenResources {
        if self.view.is_none() && self.is_apart {
            // The number of an init that has ended may be another process's.
            self.view = NamespaceView::open(self.init).filter(|_| !has_ended(self.end));
        }
        let most = self.limits.processes + OWN;
        let (view, pids) = match &self.view {
            Some(view) => (view.path(), listed(&view.path())),
            None => (
                PathBuf::from(MACHINE),
                descendants_until(std::process::id(), most),
            ),
        };
        let processes = pids.len() as u64;
        let has_leapt = processes > 2 * self.processes + GROWTH;
        self.processes = processes;
        self.last = if processes > most || has_leapt {
            // So many are not looked at one by one: they become more meanwhile.
            TakenResources {
                tasks: processes,
                ..self.last
            }
        } else {
            let now = taken(&view, &pids);
            let count = || memory_counted_once(&view, &pids);
            let limit = self.limits.memory / 1024;
            TakenResources {
                memory: self.shared.correct(now.memory, limit, count),
                ..now
            }
        };
        self.last
    }

    /// Ends the processes of the command that its namespace lists, but for the init.
    pub(super) fn end_listed(&self) {
        if let Some(view) = &self.view {
            view.end_others();
        }
    }
}

fn has_ended(end: &OwnedFd) -> bool {
    let mut ended = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
    poll(&mut ended, PollTimeout::ZERO) != Ok(0)
}

/// The processes of a namespace, as its own `/proc` lists them.
struct NamespaceView(File);

impl NamespaceView {
    /// The view that the first process of a namespace has mounted; `None` before it has.
    fn open(first: u32) -> Option<Self> {
        let process = Path::new(MACHINE).join(first.to_string());
        let view = Self(File::open(process.join("root/proc")).ok()?);
        let namespace = |process: &Path| fs::read_link(process.join("ns/pid")).ok();
        let is_own = namespace(&view.path().join(FIRST.to_string()))? == namespace(&process)?;
        is_own.then_some(view)
    }

    /// Ends all processes but the first one. With that one all end, too, but only once it has given up the files that it
    /// has mapped, and a thousand processes that copy themselves hold the locks of those for seconds.
    fn end_others(&self) {
        let view = self.path();
        for pid in listed(&view).into_iter().filter(|pid| *pid != FIRST) {
            // The open folder of a process is that process, also when its number is given again.
            let Ok(process) = File::open(view.join(pid.to_string())) else {
                continue;
            };
            match pidfd_send_signal(&process, Signal::KILL) {
                // It has ended, or ends with the first one.
                Ok(()) | Err(_) => {}
            }
        }
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

/// The memory that processes share, which each of them counts.
#[derive(Debug, Default)]
struct SharedMemory {
    /// The sum over all processes when it was last counted once, in KiB.
    sum: u64,
    /// The looks since.
    looks: u32,
}

impl SharedMemory {
    /// The memory that counts, in KiB, of a sum in which shared memory counts once for each process. The exact count is
    /// taken only where the sum is above the limit, and not in every look.
    fn correct(&mut self, sum: u64, limit: u64, count: impl FnOnce() -> u64) -> u64 {
        if sum <= limit {
            *self = Self::default();
            return sum;
        }
        let has_grown = sum > self.sum + self.sum / 8;
        if !has_grown && self.looks < LOOKS_BETWEEN {
            self.looks += 1;
            return limit;
        }
        (self.sum, self.looks) = (sum, 0);
        count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-531]
    #[test]
    fn shared_memory_is_counted_once_where_the_sum_is_above_the_limit() {
        let mut shared = SharedMemory::default();
        assert_eq!(shared.correct(90, 100, || unreachable!()), 90);
        // Ten processes that share most of what they have.
        assert_eq!(shared.correct(400, 100, || 50), 50);
        for _ in 0..LOOKS_BETWEEN {
            assert_eq!(shared.correct(410, 100, || unreachable!()), 100);
        }
        // They write to it, and have it alone from then on.
        assert_eq!(shared.correct(410, 100, || 300), 300);
        // It grows fast.
        assert_eq!(shared.correct(900, 100, || 700), 700);
        assert_eq!(shared.correct(80, 100, || unreachable!()), 80);
        assert_eq!(shared.correct(120, 100, || 110), 110);
    }

    /// Spec: [BASH-530]
    #[test]
    fn the_view_of_a_namespace_is_that_of_its_first_process() {
        // The first process of this namespace is not this one.
        let own = std::process::id();
        let view = NamespaceView::open(own);
        let seen = view.map(|view| listed(&view.path()));
        assert!(seen.is_none_or(|seen| seen.contains(&own)));
        assert!(NamespaceView::open(u32::MAX).is_none());
    }
}
