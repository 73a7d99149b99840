//! The processes that this one started, and those that they started: what the model runs is among them.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/fd`; `namespaces(7)`: `/proc/PID/ns/net`.

use std::fs;
use std::path::Path;

use crate::processes::{children, descendants_within};

/// Whether no process descends from this one.
pub(super) fn are_none() -> bool {
    children(std::process::id()).is_empty()
}

/// Whether a process that descends from this one has that socket. Blocks, for long if there are many in
/// the network of this one.
///
/// A process in a network of its own has no way to the service, and neither has what it started: what runs
/// contained has no capability that leads back. Thousands of them are one look at the uppermost.
pub(super) fn have_socket(inode: u64) -> bool {
    let own = fs::read_link("/proc/self/ns/net").ok();
    let is_apart = |pid| {
        let network = fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        // One that cannot be looked at may be anywhere.
        own.is_some() && network.is_some() && own != network
    };
    near_ones_have_socket(inode, is_apart)
}

/// The same without those that are apart, and what they started.
fn near_ones_have_socket(inode: u64, is_apart: impl Fn(u32) -> bool) -> bool {
    let link = format!("socket:[{inode}]");
    let near = descendants_within(std::process::id(), |pid| !is_apart(pid));
    near.iter().any(|pid| has_open(*pid, &link))
}

fn has_open(pid: u32, link: &str) -> bool {
    // A process that is gone, or that is another user's, has no door to this one.
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let mut links = open.flatten().map(|entry| fs::read_link(entry.path()));
    links.any(|found| found.is_ok_and(|found| found == Path::new(link)))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::processes::descendants;

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
        while !have_socket(inode) || descendants(child.id()).is_empty() {
            std::thread::yield_now();
        }
        assert!(!are_none());
        let known = descendants(std::process::id());
        assert!(known.contains(&child.id()));
        for pid in descendants(child.id()) {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        child.wait().unwrap();
        assert!(!have_socket(inode));
    }

    /// Spec: [SEC-200]
    #[test]
    fn a_tree_in_another_network_is_one_look_at_the_uppermost_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let inode = inode_of(&stream);
        let input: std::os::fd::OwnedFd = stream.into();
        // The shell and its child have the socket both.
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 <&0 & wait"])
            .stdin(Stdio::from(input))
            .spawn()
            .unwrap();
        while !have_socket(inode) || descendants(child.id()).is_empty() {
            std::thread::yield_now();
        }
        let below = descendants(child.id());
        // What another test starts has all that is open here for a moment, until it becomes its program.
        loop {
            let looked_at = RefCell::new(Vec::new());
            let is_apart = |pid| {
                looked_at.borrow_mut().push(pid);
                pid == child.id()
            };
            let is_found = near_ones_have_socket(inode, is_apart);
            let looked_at = looked_at.into_inner();
            assert!(looked_at.contains(&child.id()), "{looked_at:?}");
            assert!(
                looked_at.iter().all(|pid| !below.contains(pid)),
                "{looked_at:?} {below:?}"
            );
            if !is_found {
                break;
            }
            std::thread::yield_now();
        }
        // Those that are near are looked into, also above one that is apart.
        assert!(near_ones_have_socket(inode, |_| false));
        assert!(near_ones_have_socket(inode, |pid| below.contains(&pid)));
        for pid in below {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        child.wait().unwrap();
    }
}
