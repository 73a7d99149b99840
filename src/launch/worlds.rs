//! The network and the temporary files that the commands of each conversation share, held by descriptors.
//!
//! Invariant: what a running command uses is not given up.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_actors::ConversationId;
use harness_actors::tool::LaunchReport;
use nix::sys::statvfs::fstatvfs;

use super::SUBCOMMAND;
use super::stage::receive;

/// The number of conversations that have such a world at most, unless more run commands.
const MOST: usize = 64;

/// The worlds of all conversations.
#[derive(Debug)]
pub(super) struct WorldStore {
    /// The memory that those without a running command may take together, in bytes.
    most: u64,
    held: Mutex<HeldWorlds>,
}

#[derive(Debug, Default)]
struct HeldWorlds {
    /// The one that was used last is the last.
    worlds: Vec<HeldWorld>,
    /// The conversations whose world was given up for others.
    emptied: HashSet<ConversationId>,
}

#[derive(Debug)]
struct HeldWorld {
    conversation: ConversationId,
    descriptors: Arc<[OwnedFd]>,
}

/// The descriptors of a world, to be held while a command uses it; and true if it had to be made again, so that it is
/// empty.
pub(super) type EnteredWorld = (Arc<[OwnedFd]>, bool);

impl WorldStore {
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            held: Mutex::default(),
        }
    }

    /// The world of a conversation; `make` makes the first one. Blocks for that long.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn enter(
        &self,
        conversation: &ConversationId,
        make: impl FnOnce() -> io::Result<Vec<OwnedFd>>,
    ) -> io::Result<EnteredWorld> {
        let mut held = self.lock();
        let mut worlds = held.worlds.iter();
        let place = worlds.position(|world| world.conversation == *conversation);
        let (descriptors, is_emptied) = match place {
            Some(place) => (held.worlds.remove(place).descriptors, false),
            None => (make()?.into(), held.emptied.remove(conversation)),
        };
        held.make_room(self.most);
        held.worlds.push(HeldWorld {
            conversation: conversation.clone(),
            descriptors: Arc::clone(&descriptors),
        });
        Ok((descriptors, is_emptied))
    }

    /// Gives up the world of a conversation.
    pub(super) fn forget(&self, conversation: &ConversationId) {
        let mut held = self.lock();
        let worlds = &mut held.worlds;
        worlds.retain(|world| world.conversation != *conversation);
        held.emptied.remove(conversation);
    }

    fn lock(&self) -> MutexGuard<'_, HeldWorlds> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldWorlds {
    /// Gives up worlds without a running command, those first that were used longest ago, until there is room for
    /// another one.
    fn make_room(&mut self, most: u64) {
        while self.worlds.len() >= MOST && self.give_up(&HeldWorld::is_idle) {}
        let is_idle_and_full = |world: &HeldWorld| world.is_idle() && world.taken() > 0;
        while self.worlds.iter().map(HeldWorld::taken).sum::<u64>() > most
            && self.give_up(&is_idle_and_full)
        {}
    }

    /// Gives up the first such world; false if there is none.
    fn give_up(&mut self, is_such: &dyn Fn(&HeldWorld) -> bool) -> bool {
        let Some(place) = self.worlds.iter().position(is_such) else {
            return false;
        };
        let HeldWorld { conversation, .. } = self.worlds.remove(place);
        self.emptied.insert(conversation);
        true
    }
}

impl HeldWorld {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.descriptors) == 1
    }

    /// The memory that its files take, in bytes.
    fn taken(&self) -> u64 {
        // The last descriptor is of them.
        let system = self
            .descriptors
            .last()
            .and_then(|files| fstatvfs(files).ok());
        system.map_or(0, |system| {
            let blocks = system.blocks().saturating_sub(system.blocks_free());
            blocks.saturating_mul(system.fragment_size())
        })
    }
}

/// Makes a world, by `program`, which is this one.
///
/// # Errors
/// The reason, in words.
pub(super) fn make(program: &str, home: Option<&Path>) -> io::Result<Vec<OwnedFd>> {
    let (own, other_side) = UnixStream::pair()?;
    let output = Command::new(program)
        .args([SUBCOMMAND, "world"])
        .args(home)
        .env_clear()
        .stdin(OwnedFd::from(other_side))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(reason(&output)));
    }
    let (_, descriptors) = receive(&OwnedFd::from(own), &mut [0])?;
    Ok(descriptors)
}

fn reason(output: &Output) -> String {
    let mut lines = output.stderr.split(|byte| *byte == b'\n');
    match lines.find_map(|line| serde_json::from_slice(line).ok()) {
        Some(LaunchReport::Failed(reason)) => reason,
        Some(LaunchReport::Over(_) | LaunchReport::Ended { .. }) | None => {
            output.status.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn made() -> io::Result<Vec<OwnedFd>> {
        Ok(vec![File::open("/proc/self/ns/net")?.into()])
    }

    fn never() -> io::Result<Vec<OwnedFd>> {
        Err(io::Error::other("it is there"))
    }

    /// Spec: [BOX-544]
    #[test]
    fn the_world_that_was_used_longest_ago_is_given_up_unless_a_command_runs() {
        let worlds = WorldStore::new(1 << 30);
        let id = |number: usize| ConversationId::new(&number.to_string());
        let (running, _) = worlds.enter(&id(0), made).unwrap();
        for number in 1..MOST {
            assert!(!worlds.enter(&id(number), made).unwrap().1);
        }
        drop(worlds.enter(&id(1), never).unwrap());
        drop(worlds.enter(&id(MOST), made).unwrap());
        drop(worlds.enter(&id(0), never).unwrap());
        drop(worlds.enter(&id(1), never).unwrap());
        // The second one took the place of the third.
        assert!(worlds.enter(&id(2), never).is_err());
        assert!(worlds.enter(&id(2), made).unwrap().1);
        assert!(!worlds.enter(&id(2), never).unwrap().1);
        drop(running);
        worlds.forget(&id(0));
        assert!(!worlds.enter(&id(0), made).unwrap().1);
    }

    /// Spec: [BOX-540]
    #[test]
    fn a_world_that_cannot_be_made_says_why() {
        let of = |stderr: &str| {
            let output = Output {
                status: std::os::unix::process::ExitStatusExt::from_raw(256),
                stdout: Vec::new(),
                stderr: stderr.as_bytes().to_vec(),
            };
            reason(&output)
        };
        assert_eq!(of("{\"failed\":\"no memory\"}\n"), "no memory");
        assert_eq!(of("odd\n"), "exit status: 1");
    }
}
