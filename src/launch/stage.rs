//! The part that the stages have in common: their orders, their reports, and waiting.

use std::fs::File;
use std::io::{self, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use harness_actors::tool::LaunchReport;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::contain::world;
use super::policy::LaunchPolicy;

/// The number of pipes of a program that has some.
const PIPES: usize = 2;

/// An order from the process that started a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageWord {
    /// Nothing yet.
    None,
    /// End what runs, gently.
    Stop,
    /// End it at once.
    End,
}

/// The order to a stage.
pub(super) struct StageOrder {
    pub(super) policy: LaunchPolicy,
    /// The same as JSON.
    pub(super) line: Vec<u8>,
    /// The descriptors of the world that the command shares; none if it shares none.
    pub(super) world: Vec<OwnedFd>,
    /// The standard input and the standard output of the program, if they are pipes.
    pub(super) pipes: Option<[OwnedFd; PIPES]>,
}

/// The standard input of a stage: the policy first, then what is to be done, and its end when the other
/// side dies.
pub(super) struct StageLifeline(OwnedFd);

impl StageLifeline {
    pub(super) fn of_input() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// Reads the policy, as [`encode`] sends it, and not a byte more; also the descriptors that came along.
    ///
    /// # Errors
    /// The system's error, or what is wrong with the order.
    pub(super) fn order(&self) -> io::Result<StageOrder> {
        let mut file = File::from(self.0.try_clone()?);
        let mut line = Vec::new();
        let mut byte = [0];
        let (mut count, descriptors) = receive(&self.0, &mut byte)?;
        // Its length comes first, so that it need not be read byte by byte.
        let mut length = String::new();
        while count == 1 && byte[0] != b'\n' {
            length.push(char::from(byte[0]));
            count = file.read(&mut byte)?;
        }
        if length.is_empty() {
            return Err(io::Error::other("the process that was to start it is gone"));
        }
        let length: u64 = length.parse().map_err(io::Error::other)?;
        file.take(length).read_to_end(&mut line)?;
        let policy: LaunchPolicy = serde_json::from_slice(&line).map_err(io::Error::other)?;
        let (world, pipes) = without_pipes(descriptors, policy.has_pipes)?;
        Ok(StageOrder {
            policy,
            line,
            world,
            pipes,
        })
    }

    /// Waits for a word, for the end of a process, or for that long. Tells also whether the process ended.
    pub(super) fn wait(&self, ended: &OwnedFd, most: Duration) -> io::Result<(StageWord, bool)> {
        let mut fds = [
            PollFd::new(self.0.as_fd(), PollFlags::POLLIN),
            PollFd::new(ended.as_fd(), PollFlags::POLLIN),
        ];
        let most = PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, most) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok((StageWord::None, false)),
            Err(error) => return Err(error.into()),
        }
        let [input, end] = fds.map(|fd| fd.any().unwrap_or_default());
        let word = if input { self.word()? } else { StageWord::None };
        Ok((word, end))
    }

    fn word(&self) -> io::Result<StageWord> {
        let mut bytes = [0; 64];
        let count = File::from(self.0.try_clone()?).read(&mut bytes)?;
        Ok(if count == 0 {
            StageWord::End
        } else {
            StageWord::Stop
        })
    }
}

/// Takes the pipes from the end of what came along.
fn without_pipes(
    mut descriptors: Vec<OwnedFd>,
    has_pipes: bool,
) -> io::Result<(Vec<OwnedFd>, Option<[OwnedFd; PIPES]>)> {
    if !has_pipes {
        return Ok((descriptors, None));
    }
    let others = descriptors.len().checked_sub(PIPES);
    let pipes = others.and_then(|others| descriptors.split_off(others).try_into().ok());
    let missing = || io::Error::other("the pipes of the program did not come along");
    Ok((descriptors, Some(pipes.ok_or_else(missing)?)))
}

/// Reads a byte, with the descriptors that come along; tells how many bytes there were.
pub(super) fn receive(input: &OwnedFd, byte: &mut [u8; 1]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(world::NUMBER + PIPES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let pieces = &mut [IoSliceMut::new(byte)];
    let count = match recvmsg(input, pieces, &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(received) => received.bytes,
        // With a pipe nothing comes along.
        Err(rustix::io::Errno::NOTSOCK) => File::from(input.try_clone()?).read(byte)?,
        Err(errno) => return Err(errno.into()),
    };
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((count, descriptors))
}

/// The message to a stage: the length of what follows in bytes, a line, and the policy.
pub(super) fn encode(policy: &[u8]) -> Vec<u8> {
    let mut told = format!("{}\n", policy.len()).into_bytes();
    told.extend_from_slice(policy);
    told
}

/// Reports to the service. It may be gone.
pub(super) fn report(report: &LaunchReport) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        drop(io::stderr().write_all(&line));
    }
}

/// Can be waited for: it can be read when the process has ended.
pub(super) fn end_of(pid: u32) -> io::Result<(Pid, OwnedFd)> {
    let number = i32::try_from(pid).map_err(io::Error::other)?;
    let known = rustix::process::Pid::from_raw(number).ok_or(Errno::ESRCH)?;
    let end = rustix::process::pidfd_open(known, rustix::process::PidfdFlags::empty())?;
    Ok((Pid::from_raw(number), end))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use harness_actors::tool::send_order;

    use super::*;

    /// Spec: [BOX-540]
    #[test]
    fn descriptors_come_along_with_the_first_byte_of_an_order() {
        let (input, own) = UnixStream::pair().unwrap();
        let sent = [OwnedFd::from(File::open("/dev/null").unwrap())];
        send_order(&input, b"abc", &sent).unwrap();
        send_order(&input, b"d", &[]).unwrap();
        drop(input);
        let own = OwnedFd::from(own);
        let mut byte = [0];
        let (count, received) = receive(&own, &mut byte).unwrap();
        assert_eq!((count, byte, received.len()), (1, [b'a'], 1));
        let mut rest = String::new();
        File::from(own).read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "bcd");
    }
}
