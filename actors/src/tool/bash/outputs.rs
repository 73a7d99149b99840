//! The outputs of commands that are too long to be shown whole, a file each.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::attachment::sha256;
use crate::ids::ConversationId;

/// How much is kept of one command, in bytes.
pub(super) const MAX_KEPT: u64 = 64 * 1024 * 1024;
/// How many bytes of outputs are kept at most; the oldest go first.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// The outputs that are kept. Clones share them.
#[derive(Debug, Clone)]
pub struct Outputs {
    folder: Arc<Path>,
    max: u64,
}

/// Where one output is to be kept.
#[derive(Debug)]
pub(super) struct NewOutput {
    outputs: Outputs,
    path: PathBuf,
}

impl Outputs {
    /// Those in the folder `outputs` of a state folder. Nothing is done there before the first one.
    #[must_use]
    pub fn at(home: &Path) -> Self {
        Self {
            folder: home.join("outputs").into(),
            max: MAX_BYTES,
        }
    }

    /// Where the output of a call is; nothing need be there.
    #[must_use]
    pub fn path(&self, conversation: &ConversationId, call: &str) -> PathBuf {
        // A call's id is any text.
        let name = &sha256(call.as_bytes())[..32];
        self.folder.join(format!("{conversation}.{name}"))
    }

    pub(super) fn new_output(&self, conversation: &ConversationId, call: &str) -> NewOutput {
        NewOutput {
            outputs: self.clone(),
            path: self.path(conversation, call),
        }
    }

    /// Removes the outputs of a conversation. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub fn remove(&self, conversation: &ConversationId) -> io::Result<()> {
        let start = format!("{conversation}.");
        for (_, _, path) in all(&self.folder)? {
            let name = path.file_name().map(|name| name.to_string_lossy());
            if name.is_some_and(|name| name.starts_with(&start)) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Makes room for one more.
    fn make_room(&self) -> io::Result<()> {
        let mut all = all(&self.folder)?;
        all.sort();
        let mut bytes: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in all {
            if bytes + MAX_KEPT <= self.max {
                break;
            }
            fs::remove_file(path)?;
            bytes -= size;
        }
        Ok(())
    }
}

impl NewOutput {
    /// Makes the file. Blocks.
    pub(super) fn create(self) -> io::Result<File> {
        let folder = &self.outputs.folder;
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        self.outputs.make_room()?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&self.path)
    }
}

/// The outputs: when each was written last, how large it is, and where. None if there is no folder.
fn all(folder: &Path) -> io::Result<Vec<(SystemTime, u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let found = entry.metadata()?;
        all.push((found.modified()?, found.len(), entry.path()));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Spec: [BASH-09]
    #[test]
    fn outputs_are_bounded_together_and_go_with_their_conversation() {
        let home = tempfile::tempdir().unwrap();
        let outputs = Outputs {
            max: MAX_KEPT + 250,
            ..Outputs::at(home.path())
        };
        let (ana, ben) = (ConversationId::new("ana"), ConversationId::new("ana-2"));
        outputs.remove(&ana).unwrap();
        for (turn, (conversation, call)) in [(&ana, "a"), (&ana, "b"), (&ben, "a"), (&ben, "../x")]
            .into_iter()
            .enumerate()
        {
            let mut file = outputs.new_output(conversation, call).create().unwrap();
            file.write_all(&[b'x'; 100]).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(turn as u64);
            file.set_modified(time).unwrap();
        }
        let is_there =
            |conversation: &ConversationId, call: &str| outputs.path(conversation, call).exists();
        assert!(!is_there(&ana, "a"));
        assert!(is_there(&ana, "b") && is_there(&ben, "a") && is_there(&ben, "../x"));
        assert_eq!(all(&home.path().join("outputs")).unwrap().len(), 3);
        outputs.remove(&ana).unwrap();
        assert!(!is_there(&ana, "b") && is_there(&ben, "a"));
    }
}
