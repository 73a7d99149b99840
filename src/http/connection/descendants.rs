//! The processes that this one started, and those that they started: what the model runs is among them.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/task/TID/children`, `/proc/PID/stat`, `/proc/PID/fd`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

/// How many processes are looked at.
const MOST: usize = 10_000;

/// Whether a process that descends from this one has that socket.
pub(super) fn have_socket(inode: u64) -> bool {
    let link = format!("socket:[{inode}]");
    all().iter().any(|pid| has_open(*pid, &link))
}

fn has_open(pid: u32, link: &str) -> bool {
    // A process that is gone, or that is another user's, has no door to this one.
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let mut links = open.flatten().map(|entry| fs::read_link(entry.path()));
    links.any(|found| found.is_ok_and(|found| found == Path::new(link)))
}

/// All of them.
fn all() -> HashSet<u32> {
    let own = std::process::id();
    let Ok(children) = children_of(own) else {
        return by_parents(own);
    };
    let (mut known, mut next) = (HashSet::new(), children);
    while let Some(pid) = next.pop() {
        if known.len() < MOST && known.insert(pid) {
            next.extend(children_of(pid).unwrap_or_default());
        }
    }
    known
}

/// What a process started, by all of its threads.
fn children_of(pid: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let list = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    Ok(children)
}

/// The same where the kernel keeps no list of children: from the parents of all processes.
fn by_parents(own: u32) -> HashSet<u32> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in pids {
        let parent = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        if let Some(parent) = parent.as_deref().and_then(parent_in) {
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

/// The parent in a row of `stat`: the second field behind the name, which may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn inode_of(stream: &TcpStream) -> u64 {
        let link = fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).unwrap();
        let text = link.to_str().unwrap();
        let digits = text.strip_prefix("socket:[").unwrap().strip_suffix(']');
        digits.unwrap().parse().unwrap()
    }

    /// Spec: [SEC-57]
    #[test]
    fn the_sockets_of_children_and_of_their_children_are_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let inode = inode_of(&stream);
        // This process has it, and descends not from itself.
        assert!(!have_socket(inode));
        let input: std::os::fd::OwnedFd = stream.into();
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .stdin(Stdio::from(input))
            .spawn()
            .unwrap();
        while !have_socket(inode) {
            std::thread::yield_now();
        }
        let known = all();
        assert!(known.contains(&child.id()));
        assert!(by_parents(std::process::id()).contains(&child.id()));
        for pid in children_of(child.id()).unwrap() {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        child.wait().unwrap();
        assert!(!have_socket(inode));
    }
}
