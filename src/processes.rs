//! The processes of this machine, as the kernel tells of them.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/task/TID/children`, `/proc/PID/stat`, `/proc/PID/statm`,
//! `/proc/PID/cmdline`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;

/// How many processes are looked at.
const MOST: usize = 10_000;
/// Number of times that the threads of a process are read: the children of one that ends meanwhile become those of
/// another.
const LOOKS: usize = 3;
/// How much of a command line is told, in bytes.
const MAX_NAME: usize = 80;

/// The resources that processes take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many processes and threads there are.
    pub(crate) tasks: u64,
    /// How much memory is theirs alone, in pages.
    pub(crate) pages: u64,
}

/// The resources that processes take; those that are gone take nothing.
pub(crate) fn taken(pids: &HashSet<u32>) -> Taken {
    pids.iter().fold(Taken::default(), |sum, pid| {
        let tasks = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        let tasks = tasks.as_deref().and_then(tasks_in).unwrap_or_default();
        let pages = fs::read_to_string(format!("/proc/{pid}/statm")).ok();
        let pages = pages.as_deref().and_then(own_pages_in).unwrap_or_default();
        Taken {
            tasks: sum.tasks + tasks,
            pages: sum.pages + pages,
        }
    })
}

/// How a process was called, as one short line; none if it is gone.
pub(crate) fn name_of(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    if words.is_empty() {
        return None; // It has ended, and waits to be asked how.
    }
    let name: String = words
        .join(" ")
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let end = name.floor_char_boundary(MAX_NAME);
    Some(name[..end].to_owned())
}

/// All processes that a process started, and those that they started; not itself.
pub(crate) fn descendants(of: u32) -> HashSet<u32> {
    descendants_within(of, |_| true)
}

/// The same without those that are not meant, and without what those started.
pub(crate) fn descendants_within(of: u32, is_meant: impl Fn(u32) -> bool) -> HashSet<u32> {
    let Ok(children) = children_of(of) else {
        let all = by_parents(of).into_iter();
        return all.filter(|pid| is_meant(*pid)).collect();
    };
    let (mut known, mut next) = (HashSet::new(), children);
    while let Some(pid) = next.pop() {
        if known.len() < MOST && !known.contains(&pid) && is_meant(pid) {
            known.insert(pid);
            next.extend(children_of(pid).unwrap_or_default());
        }
    }
    known
}

/// The processes that a process started and that are still its own.
pub(crate) fn children(of: u32) -> Vec<u32> {
    children_of(of).unwrap_or_else(|_| {
        let pids = all().into_iter();
        pids.filter(|pid| parent(*pid) == Some(of)).collect()
    })
}

/// The parent of a process that has not ended.
pub(crate) fn parent(of: u32) -> Option<u32> {
    parent_in(&fs::read_to_string(format!("/proc/{of}/stat")).ok()?)
}

/// The processes that a process started, by all of its threads.
fn children_of(pid: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for _ in 0..LOOKS {
        let are_all_there = read_children(pid, &mut children)?;
        if are_all_there {
            break;
        }
    }
    Ok(children)
}

/// Adds the processes that a process started. False if one of its threads ended meanwhile.
fn read_children(pid: u32, children: &mut Vec<u32>) -> io::Result<bool> {
    let mut are_all_there = true;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?.path();
        match fs::read_to_string(thread.join("children")) {
            Ok(list) => {
                let pids = list.split_ascii_whitespace();
                children.extend(pids.filter_map(|pid| pid.parse::<u32>().ok()));
            }
            Err(_) if !thread.exists() => are_all_there = false,
            Err(error) => return Err(error),
        }
    }
    Ok(are_all_there)
}

/// The same where the kernel keeps no list of children: from the parents of all processes.
fn by_parents(own: u32) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in all() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut known, mut next) = (HashSet::new(), vec![own]);
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            known.insert(child);
            next.push(child);
        }
    }
    known
}

/// All processes of the machine.
fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.collect()
}

/// The parent in a row of `stat`: the second field behind the name, which may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The number of threads in a row of `stat`.
fn tasks_in(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(17)?.parse().ok()
}

/// The pages in a row of `statm` that are in memory and shared with no file.
fn own_pages_in(statm: &str) -> Option<u64> {
    let mut fields = statm.split_ascii_whitespace().skip(1);
    let resident: u64 = fields.next()?.parse().ok()?;
    let shared: u64 = fields.next()?.parse().ok()?;
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Spec: [BASH-12]
    #[test]
    fn processes_are_known_with_what_they_take() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let sleep = loop {
            let pids = descendants(child.id());
            let is_it = |pid: &&u32| name_of(**pid).as_deref() == Some("sleep 60");
            if let Some(pid) = pids.iter().find(is_it) {
                break *pid;
            }
            std::thread::yield_now();
        };
        let own = descendants(std::process::id());
        assert!(own.contains(&child.id()) && own.contains(&sleep));
        let by_parents = by_parents(std::process::id());
        assert!(by_parents.contains(&child.id()) && by_parents.contains(&sleep));
        let both = HashSet::from([child.id(), sleep]);
        let taken = taken(&both);
        assert!(taken.tasks == 2 && taken.pages > 0, "{taken:?}");
        for pid in both {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        child.wait().unwrap();
        assert_eq!(name_of(child.id()), None);
    }
}
