//! The processes that do not descend from this one, and that are the clients to answer while a tool runs.
//!
//! That no tool's process has a socket cannot be proved: it may hide its descriptors, and a descriptor may be under
//! way between two processes. That a process of another origin has it can be.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/fd`, and the owner of `/proc/PID`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::descendants::{OwnNetwork, near_ones};
use super::socket_search::{SocketSearch, entries};
use crate::os::procfs::parent;

/// Number of times that the processes are looked at: the one that has the socket may have handed it to a child
/// between the listing and the look.
const LOOKS: usize = 2;
/// Maximum number of processes above another.
const MOST_ABOVE: usize = 10_000;

/// True if a process of that user has the socket and does not descend from this one. Blocks.
///
/// # Errors
/// If the service may open no more files.
pub(super) fn have_socket(inode: u64, uid: u32) -> io::Result<bool> {
    let network = OwnNetwork::look();
    let mut search = SocketSearch::new(inode);
    for _ in 0..LOOKS {
        let tools = near_ones(|pid| network.is_left_by(pid));
        for pid in latest_first()? {
            let folder = format!("/proc/{pid}");
            let is_candidate = !tools.contains(&pid)
                && fs::metadata(&folder).is_ok_and(|found| found.uid() == uid)
                && !network.is_left_by(pid);
            let descriptors = Path::new(&folder).join("fd");
            // The last look shows that the number did not pass to another process meanwhile.
            if is_candidate
                && search.finds_in(&descriptors)?
                && descends(pid) == Some(false)
                && search.finds_in(&descriptors)?
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// All processes, those with high numbers first: a client started later than most.
fn latest_first() -> io::Result<Vec<u32>> {
    let entries = entries(Path::new("/proc"))?;
    let entries = entries.into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut pids: Vec<u32> = pids.collect();
    pids.sort_unstable();
    pids.reverse();
    Ok(pids)
}

/// True if a process descends from this one. `None` if one above it exited meanwhile.
fn descends(pid: u32) -> Option<bool> {
    let above = ancestors(pid)?;
    // A parent that exited, and whose number passed to another process, is missing the second time.
    (ancestors(pid)? == above).then(|| above.contains(&std::process::id()))
}

/// The parent of a process, its parent, and so on.
fn ancestors(pid: u32) -> Option<Vec<u32>> {
    let mut above = Vec::new();
    let mut at = pid;
    while at > 1 && above.len() < MOST_ABOVE {
        at = parent(at)?;
        above.push(at);
    }
    (at <= 1).then_some(above)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::os::unix::process::parent_id;
    use std::process::{Command, Stdio};

    use nix::unistd::Uid;

    use super::super::descendants::testing::{end, inode_of};
    use super::*;

    /// Spec: [SEC-510]
    #[test]
    fn the_socket_of_a_process_counts_unless_the_process_descends_from_this_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (inode, uid) = (inode_of(&stream), Uid::effective().as_raw());
        assert!(have_socket(inode, uid).unwrap());
        // No process of that user has it.
        assert!(!have_socket(inode, uid + 1).unwrap());
        let input: OwnedFd = stream.into();
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::from(input))
            .spawn()
            .unwrap();
        // It alone has the socket now, and so does what another test starts, until that becomes its program.
        assert!(!have_socket(inode, uid).unwrap());
        assert_eq!(descends(child.id()), Some(true));
        assert_eq!(descends(std::process::id()), Some(false));
        assert_eq!(descends(parent_id()), Some(false));
        end(child.id());
        child.wait().unwrap();
        assert_eq!(descends(child.id()), None);
    }
}
