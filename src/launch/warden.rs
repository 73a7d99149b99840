//! The warden: starts the init where it is to live, watches what the command takes, and ends it.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness_actors::tool::{LaunchReport, send_order};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::contain::SharedWorld;
use super::policy::{LaunchPolicy, Limits};
use super::stage::{StageLifeline, StageOrder, StageWord, encode, end_of, report};
use super::usage::{OWN, UsageMeter};
use super::{SUBCOMMAND, tree};
use crate::os::procfs::TakenResources;

/// How long is waited at first between two looks at what a command takes, and when that grows.
const LOOKS_SOON: Duration = Duration::from_millis(20);
/// How long at most.
const LOOKS_LATE: Duration = Duration::from_millis(320);

/// Runs the stage to the end of the command.
pub(super) fn run() -> io::Result<()> {
    let lifeline = StageLifeline::of_input()?;
    let StageOrder {
        policy,
        line,
        world,
        pipes,
    } = lifeline.order()?;
    let world = SharedWorld::from_descriptors(world, &policy);
    // What its parent leaves behind becomes this process's child.
    prctl::set_child_subreaper(true)?;
    super::contain::enter(&policy.containment, world.as_ref()).map_err(io::Error::other)?;
    // One that is halted does not see the end of its input.
    prctl::set_pdeathsig(Signal::SIGCONT)?;
    let (input, other_side) = UnixStream::pair()?;
    let init = Command::new("/proc/self/exe")
        .args([SUBCOMMAND, "init"])
        .stdin(OwnedFd::from(other_side))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()?;
    // One that has ended already has said why.
    let shared = world.as_ref().map(SharedWorld::descriptors);
    let descriptors = shared.into_iter().flatten().chain(pipes.iter().flatten());
    drop(send_order(&input, &encode(&line), descriptors));
    // Their other sides see their end when the program ends.
    drop(pipes);
    watch(&lifeline, init.id(), Some(input), &policy)?;
    // Nothing uses it any more. The service would remove it, too, but may have been killed.
    if let Some(temp) = &policy.temp {
        drop(fs::remove_dir_all(temp));
    }
    if let Some(world) = &world {
        world.clear();
    }
    Ok(())
}

fn watch(
    lifeline: &StageLifeline,
    init: u32,
    mut input: Option<UnixStream>,
    policy: &LaunchPolicy,
) -> io::Result<()> {
    let (pid, end) = end_of(init)?;
    let scope = tree::SignalScope::of_warden(policy.containment.backend);
    let mut meter = UsageMeter::new(init, &end, policy);
    let mut pause = LOOKS_SOON;
    let mut last = TakenResources::default();
    loop {
        let (word, has_ended) = lifeline.wait(&end, pause)?;
        if has_ended {
            break;
        }
        match word {
            StageWord::None => {}
            StageWord::Stop => {
                if let Some(input) = &mut input {
                    drop(input.write_all(b"stop\n"));
                }
            }
            StageWord::End => {
                // The init ends everything as well, should this one be slow.
                drop(input.take());
                meter.end_listed();
                tree::end_all(scope);
                return Ok(());
            }
        }
        tree::reap(nix::unistd::Pid::from_raw(0));
        let now = meter.look();
        if let Some(what) = over(now, policy.limits) {
            report(&LaunchReport::Over(what));
            meter.end_listed();
            tree::end_all(scope);
            return Ok(());
        }
        let grows = now.tasks > last.tasks || now.memory > last.memory + last.memory / 4;
        pause = if grows {
            LOOKS_SOON
        } else {
            (pause * 2).min(LOOKS_LATE)
        };
        last = now;
    }
    tree::reap(pid);
    // An init that was killed has ended nothing.
    tree::end_all(scope);
    Ok(())
}

/// The resource of which a command takes too much.
fn over(now: TakenResources, limits: Limits) -> Option<String> {
    let tasks = now.tasks.saturating_sub(OWN);
    let memory = now.memory.saturating_mul(1024);
    if tasks > limits.processes {
        return Some(format!(
            "{tasks} processes and threads, of at most {}",
            limits.processes
        ));
    }
    let mib = |bytes: u64| bytes / (1024 * 1024);
    (memory > limits.memory).then(|| {
        format!(
            "{} MiB of memory, of at most {}",
            mib(memory),
            mib(limits.memory)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-12]
    #[test]
    fn what_is_too_much_is_named() {
        let limits = Limits {
            processes: 10,
            memory: 64 * 1024 * 1024,
        };
        let of = |tasks, memory| over(TakenResources { tasks, memory }, limits);
        assert_eq!(of(11, 0), None);
        let what = of(12, 0).unwrap();
        assert_eq!(what, "11 processes and threads, of at most 10");
        assert_eq!(of(1, 64 * 1024), None);
        let what = of(1, 100 * 1024).unwrap();
        assert_eq!(what, "100 MiB of memory, of at most 64");
    }
}
