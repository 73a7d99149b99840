//! The processes that this one started, and those that they started: what the model runs is among them.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/fd`.

use std::fs;
use std::path::Path;

use crate::processes::{descendants, has_started_none};

/// Whether no process descends from this one.
pub(super) fn are_none() -> bool {
    has_started_none(std::process::id())
}

/// Whether a process that descends from this one has that socket. Blocks, for long if there are many.
pub(super) fn have_socket(inode: u64) -> bool {
    let link = format!("socket:[{inode}]");
    let own = std::process::id();
    descendants(own).iter().any(|pid| has_open(*pid, &link))
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
}
