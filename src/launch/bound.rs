//! How many processes the kernel lets a command have: what doubles itself is faster than the warden looks.
//!
//! Source: `setrlimit(2)`: `RLIMIT_NPROC` binds no process of root; `pid_namespaces(7)`: from Linux 6.14 on each
//! namespace has a `pid_max` of its own; `proc(5)`: `/proc/loadavg`.

use std::fs;
use std::io;

use harness_protocol::Backend;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::geteuid;

use super::policy::LaunchPolicy;

/// How many there may be beyond the limit, so that the warden sees that it is reached.
const ROOM: u64 = 64;
/// The first numbers of processes, which are given once only.
const FIRST_NUMBERS: u64 = 300;
const MAX_NUMBER: &str = "/proc/sys/kernel/pid_max";
/// The first version of Linux in which that is a namespace's own, and not the machine's.
const OWN_NUMBERS: (u32, u32) = (6, 14);

/// Bounds this process and what it starts. What the system does not bound the warden counts. Called before
/// it is contained: it can change no setting then. `is_shared` says that others of its user are in the same namespace
/// of users.
///
/// # Errors
/// If the system refuses a bound of this process.
pub(super) fn processes(policy: &LaunchPolicy, is_shared: bool) -> io::Result<()> {
    let most = policy.limits.processes + ROOM;
    let is_apart = policy.containment.backend == Backend::Namespaces;
    if is_apart && std::process::id() == 1 && has_own_numbers() {
        let numbers = most + FIRST_NUMBERS;
        drop(fs::write(MAX_NUMBER, numbers.to_string()));
    }
    if geteuid().is_root() {
        return Ok(());
    }
    // In a namespace of users of its own its user has no other process.
    let others = match is_apart && !is_shared {
        true => Some(0),
        false => tasks_in(&fs::read_to_string("/proc/loadavg")?),
    };
    if let Some(others) = others {
        setrlimit(Resource::RLIMIT_NPROC, most + others, most + others)?;
    }
    Ok(())
}

fn has_own_numbers() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    let version = release.ok().as_deref().and_then(version_of);
    version.is_some_and(|version| version >= OWN_NUMBERS)
}

/// The first two numbers of a release such as `6.18.44-amd64`.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// How many processes and threads the machine has, in a line such as `0.1 0.2 0.3 2/345 6789`.
fn tasks_in(loadavg: &str) -> Option<u64> {
    let (_, tasks) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    tasks.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-202]
    #[test]
    fn b12_the_machine_says_what_can_be_bounded() {
        assert_eq!(version_of("6.18.44-fc-v782\n"), Some((6, 18)));
        assert_eq!(version_of("5.4"), Some((5, 4)));
        assert!(version_of("6.8.0-31-generic").unwrap() < OWN_NUMBERS);
        assert_eq!(version_of("new"), None);
        assert_eq!(
            tasks_in("7153.22 1952.73 666.72 3/9876 12345\n"),
            Some(9876)
        );
        assert_eq!(tasks_in(""), None);
    }
}
