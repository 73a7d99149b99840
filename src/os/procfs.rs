//! The processes of this machine, as the kernel tells of them.
//!
//! A process chooses its own name, which need not be text; nothing that is read of it fails because of that.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/task/TID/children`, `/proc/PID/stat`, `/proc/PID/status`,
//! `/proc/PID/smaps_rollup`, `/proc/PID/cmdline`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

/// The view of all processes of the machine.
pub(crate) const MACHINE: &str = "/proc";
/// How many processes are looked at.
const MOST: usize = 10_000;
/// Number of times that the threads of a process are read: the children of one that ends meanwhile become those of
/// another.
const LOOKS: usize = 3;
/// Maximum size of a command line in a message, in bytes.
const MAX_NAME: usize = 80;

/// The resources that processes take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TakenResources {
    /// How many processes and threads there are.
    pub(crate) tasks: u64,
    /// The memory that they hold and that no file on a disk has, in KiB. What processes share counts once for each.
    pub(crate) memory: u64,
}

/// The resources that processes take, by a view of them such as `/proc`; those that are gone take nothing.
pub(crate) fn taken(view: &Path, pids: &HashSet<u32>) -> TakenResources {
    pids.iter().fold(TakenResources::default(), |sum, pid| {
        let status = text_of(&view.join(pid.to_string()).join("status"));
        TakenResources {
            tasks: sum.tasks + number_in(&status, "Threads:").unwrap_or_default(),
            memory: sum.memory + held_in(&status),
        }
    })
}

/// The memory that processes hold together, in KiB, as in [`TakenResources`], but with what they share counted once.
/// It takes the longer the more there is.
pub(crate) fn memory_counted_once(view: &Path, pids: &HashSet<u32>) -> u64 {
    let memory = pids.iter().map(|pid| {
        let process = view.join(pid.to_string());
        let shares = text_of(&process.join("smaps_rollup"));
        let share = |name| number_in(&shares, name);
        match (share("Pss_Anon:"), share("Pss_Shmem:")) {
            (Some(own), Some(shared)) => own + shared,
            // A process that is closed to this one, or a kernel that does not tell.
            _ => held_in(&text_of(&process.join("status"))),
        }
    });
    memory.sum()
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

/// The descendants of a process. Once there are more than `enough`, the search ends.
pub(crate) fn descendants_until(of: u32, enough: u64) -> HashSet<u32> {
    let Ok(children) = children_of(of) else {
        return by_parents(of);
    };
    let (mut known, mut next) = (HashSet::new(), children);
    while let Some(pid) = next.pop() {
        if !known.insert(pid) {
            continue;
        }
        next.extend(children_of(pid).unwrap_or_default());
        if (known.len() + next.len()) as u64 > enough {
            // A process that got another parent meanwhile is in both.
            let all: HashSet<u32> = known.iter().chain(&next).copied().collect();
            if all.len() as u64 > enough {
                return all;
            }
        }
    }
    known
}

/// The processes that a process started and that are still its own.
pub(crate) fn children(of: u32) -> Vec<u32> {
    children_of(of).unwrap_or_else(|_| {
        let pids = listed(Path::new(MACHINE)).into_iter();
        pids.filter(|pid| parent(*pid) == Some(of)).collect()
    })
}

/// The parent of a process that has not ended.
pub(crate) fn parent(of: u32) -> Option<u32> {
    parent_in(&text_of(Path::new(&format!("{MACHINE}/{of}/stat"))))
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
    for pid in listed(Path::new(MACHINE)) {
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

/// All processes of a view such as `/proc`.
pub(crate) fn listed(view: &Path) -> HashSet<u32> {
    let entries = fs::read_dir(view).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.collect()
}

/// The parent in a row of `stat`: the second field behind the name, which may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The memory in a `status` that no file on a disk has, in KiB.
fn held_in(status: &str) -> u64 {
    let of = |name| number_in(status, name).unwrap_or_default();
    of("RssAnon:") + of("RssShmem:")
}

/// The number behind a name that begins a line.
fn number_in(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// The text of a file, with signs in place of what is no text; empty if it cannot be read.
fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
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
        let own = descendants_until(std::process::id(), 10_000);
        assert!(own.contains(&child.id()) && own.contains(&sleep));
        assert_eq!(descendants_until(child.id(), 0), HashSet::from([sleep]));
        let by_parents = by_parents(std::process::id());
        assert!(by_parents.contains(&child.id()) && by_parents.contains(&sleep));
        let both = HashSet::from([child.id(), sleep]);
        let view = Path::new(MACHINE);
        assert!(both.is_subset(&listed(view)));
        let taken = taken(view, &both);
        assert!(taken.tasks == 2 && taken.memory > 0, "{taken:?}");
        let counted_once = memory_counted_once(view, &both);
        assert!(counted_once > 0, "{counted_once}");
        for pid in both {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        child.wait().unwrap();
        assert_eq!(name_of(child.id()), None);
    }

    /// Spec: [BASH-532]
    #[test]
    fn a_process_whose_name_is_not_text_counts_and_has_a_parent() {
        let mut child = Command::new("sh")
            .args([
                "-c",
                r"printf 'a\377' > /proc/self/comm; echo; read -r line",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut byte = [0];
        let output = child.stdout.as_mut().unwrap();
        output.read_exact(&mut byte).unwrap();
        assert_eq!(parent(child.id()), Some(std::process::id()));
        let pids = HashSet::from([child.id()]);
        assert_eq!(taken(Path::new(MACHINE), &pids).tasks, 1);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    /// Spec: [BASH-531]
    #[test]
    fn memory_that_no_file_on_a_disk_has_counts() {
        let status = "Name:\tRssShmem:\nVmRSS:\t   999 kB\nRssAnon:\t     104 kB\nRssFile:\t    1400 kB\n\
                      RssShmem:\t      16 kB\nThreads:\t3\n";
        assert_eq!(held_in(status), 120);
        assert_eq!(number_in(status, "Threads:"), Some(3));
        assert_eq!(held_in("Name:\tx\nState:\tZ (zombie)\n"), 0);
    }
}
