//! Tries whether a command can write in a folder, by a command that looks and writes nothing.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use harness_actors::tool::LaunchOrder;
use harness_protocol::Access;

use super::contain::SandboxSupport;
use super::launcher::OwnLauncher;
use super::trial;

/// The command.
const LOOK: [&str; 5] = ["bash", "--norc", "--noprofile", "-c", "test -w ."];

/// True if a command with the access to write could write in a folder, by what was found to contain commands. Blocks.
///
/// # Errors
/// If no command can be started there.
pub(crate) fn can_write(found: &SandboxSupport, folder: &Path) -> io::Result<bool> {
    let order = LaunchOrder {
        program: LOOK.map(str::to_owned).to_vec(),
        environment: std::env::vars()
            .filter(|(name, _)| name == "PATH")
            .collect(),
        conversation: None,
        folder: folder.to_owned(),
        workspace: folder.to_owned(),
        // It needs no other place to write.
        temp: folder.to_owned(),
        access: Access::Write,
        network: false,
        has_pipes: false,
        writable: Vec::new(),
        protected: Vec::new(),
        copies: Vec::new(),
        closed: Arc::default(),
    };
    let mut policy = OwnLauncher::with_found(found.clone()).policy(&order);
    policy.temp = None;
    match trial::run_policy(&policy, Stdio::null())? {
        0 => Ok(true),
        1 => Ok(false),
        code => Err(io::Error::other(format!(
            "the command that looked ended with {code}"
        ))),
    }
}
