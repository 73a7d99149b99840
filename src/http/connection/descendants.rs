//! The processes that this one started, and those that they started: what the model runs is among them.
//!
//! Source: `proc(5)` of Linux: `/proc/PID/task/TID/fd`; `namespaces(7)`: `/proc/PID/ns/net`; `waitid(2)`.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};

use super::socket_search::{SocketSearch, entries};
use crate::os::procfs::descendants_within;

/// True if no process descends from this one. Asks the kernel for children, which needs no open file; one that has
/// exited and was not waited for counts.
pub(super) fn are_none() -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    matches!(waitid(Id::All, flags), Err(Errno::ECHILD))
}

/// True if a process that descends from this one has that socket. Blocks, for long if there are many in the network
/// of this one.
///
/// A process in another network is passed over with all that it started: what runs contained has no capability that
/// leads back, and a socket that is handed to it proves nothing in its favour. Thousands of them are one look at the
/// uppermost.
///
/// # Errors
/// If the service may open no more files.
pub(super) fn have_socket(inode: u64) -> io::Result<bool> {
    let network = OwnNetwork::look();
    near_ones_have_socket(inode, |pid| network.is_left_by(pid))
}

/// The network that this process is in.
#[derive(Debug)]
pub(super) struct OwnNetwork(Option<PathBuf>);

impl OwnNetwork {
    /// Asks the kernel for it.
    pub(super) fn look() -> Self {
        Self(fs::read_link("/proc/self/ns/net").ok())
    }

    /// True if a process is in another network. One that cannot be looked at may be in any.
    pub(super) fn is_left_by(&self, pid: u32) -> bool {
        let network = fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        self.0.is_some() && network.is_some() && self.0 != network
    }
}

/// The processes that descend from this one, without those that are apart and what they started.
pub(super) fn near_ones(is_apart: impl Fn(u32) -> bool) -> HashSet<u32> {
    descendants_within(std::process::id(), |pid| !is_apart(pid))
}

fn near_ones_have_socket(inode: u64, is_apart: impl Fn(u32) -> bool) -> io::Result<bool> {
    let mut search = SocketSearch::new(inode);
    for pid in near_ones(is_apart) {
        for table in tables(pid)? {
            if search.finds_in(&table)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The folders with the descriptors of each thread: one may have a separate table, and those that run after the first
/// has ended have the only one.
fn tables(pid: u32) -> io::Result<Vec<PathBuf>> {
    let threads = entries(Path::new(&format!("/proc/{pid}/task")))?;
    let threads = threads.into_iter().flatten().flatten();
    Ok(threads.map(|thread| thread.path().join("fd")).collect())
}

#[cfg(test)]
pub(super) mod testing {
    use std::fs;
    use std::net::TcpStream;
    use std::os::fd::AsRawFd as _;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    /// The number that a socket of this process has in the kernel.
    pub(in super::super) fn inode_of(stream: &TcpStream) -> u64 {
        let link = fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).unwrap();
        let text = link.to_str().unwrap();
        let digits = text.strip_prefix("socket:[").unwrap().strip_suffix(']');
        digits.unwrap().parse().unwrap()
    }

    /// Ends a process that the test started.
    pub(in super::super) fn end(pid: u32) {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap());
        kill(pid, Signal::SIGKILL).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{BufRead as _, BufReader};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    use super::testing::{end, inode_of};
    use super::*;
    use crate::os::procfs::descendants;

    /// A program that has the socket as its standard input, does something, and has done it when this returns.
    fn python(stream: TcpStream, text: &str) -> Child {
        let input: std::os::fd::OwnedFd = stream.into();
        let mut child = Command::new("python3")
            .args(["-c", text])
            .stdin(Stdio::from(input))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut written = BufReader::new(child.stdout.take().unwrap());
        written.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        child
    }

    /// Spec: [SEC-57]
    #[test]
    fn the_sockets_of_children_and_of_their_children_are_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let inode = inode_of(&stream);
        // This process has it, and descends not from itself.
        assert!(!have_socket(inode).unwrap());
        let input: std::os::fd::OwnedFd = stream.into();
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .stdin(Stdio::from(input))
            .spawn()
            .unwrap();
        while !have_socket(inode).unwrap() || descendants(child.id()).is_empty() {
            std::thread::yield_now();
        }
        assert!(!are_none());
        let known = descendants(std::process::id());
        assert!(known.contains(&child.id()));
        for pid in descendants(child.id()) {
            end(pid);
        }
        child.wait().unwrap();
        assert!(!have_socket(inode).unwrap());
    }

    /// Spec: [SEC-511]
    #[test]
    fn a_socket_in_the_table_of_a_thread_is_known_also_after_the_first_thread_has_ended() {
        let own_table = "import ctypes, os, threading, time\n\
            libc = ctypes.CDLL(None, use_errno=True)\n\
            there = threading.Event()\n\
            def keep():\n    \
                assert libc.unshare(0x400) == 0  # CLONE_FILES\n    \
                there.set()\n    \
                time.sleep(60)\n\
            threading.Thread(target=keep).start()\n\
            there.wait()\n\
            os.close(0)\n";
        let done = "print('done', flush=True)\n";
        // SYS_exit ends the one thread.
        let first_ends = "libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n";
        for (text, has_ended) in [
            (format!("{own_table}{done}time.sleep(60)\n"), false),
            (format!("{own_table}{done}{first_ends}"), true),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let inode = inode_of(&stream);
            let mut child = python(stream, &text);
            let stat = format!("/proc/{}/stat", child.id());
            while has_ended && !fs::read_to_string(&stat).unwrap().contains(") Z ") {
                std::thread::yield_now();
            }
            assert!(have_socket(inode).unwrap(), "{text}");
            end(child.id());
            child.wait().unwrap();
        }
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
        while !have_socket(inode).unwrap() || descendants(child.id()).is_empty() {
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
            let is_found = near_ones_have_socket(inode, is_apart).unwrap();
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
        assert!(near_ones_have_socket(inode, |_| false).unwrap());
        assert!(near_ones_have_socket(inode, |pid| below.contains(&pid)).unwrap());
        for pid in below {
            end(pid);
        }
        child.wait().unwrap();
    }
}
