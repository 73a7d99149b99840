//! The files of workflows beside their journals: the manifests that were applied, and captured outputs.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::workflow::facts::StepPlace;
use crate::workflow::git::{GitConfig, Refs, Worktree};
use crate::workflow::manifest::Manifest;

/// The state that a workflow found at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartState {
    /// The configuration of git.
    pub(super) config: GitConfig,
    /// The tree in which the work is done.
    pub(super) tree: Worktree,
}

/// The protected files that an attempt changed, and that were restored or are about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Protected {
    at: StepPlace,
    paths: BTreeSet<String>,
}

/// A folder of files, each written as a whole, and most of them once. Clones are the same folder.
#[derive(Debug, Clone)]
pub struct WorkflowFiles {
    folder: PathBuf,
}

impl WorkflowFiles {
    /// Those of a state folder. Nothing is made before the first one.
    #[must_use]
    pub fn at(home: &Path) -> Self {
        Self {
            folder: home.join("workflow-files"),
        }
    }

    /// Keeps a manifest under the SHA-256 of its file. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(in crate::workflow) fn put_manifest(
        &self,
        hash: &str,
        manifest: &Manifest,
    ) -> io::Result<()> {
        self.put_json(&format!("{hash}.manifest.json"), manifest)
    }

    /// A manifest that is kept. Blocks.
    ///
    /// # Errors
    /// The disk's error, or damage.
    pub(super) fn manifest(&self, hash: &str) -> io::Result<Manifest> {
        self.json(&format!("{hash}.manifest.json"))
    }

    /// Keeps the text of a file under its SHA-256. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(in crate::workflow) fn put_text(&self, hash: &str, text: &[u8]) -> io::Result<()> {
        self.put(&format!("{hash}.file"), text)
    }

    /// The text of a file that was applied; none of one from a version that kept none. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub fn text(&self, hash: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(format!("{hash}.file"))) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps what a workflow found at its start. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(super) fn put_ground(&self, workflow: &str, ground: &StartState) -> io::Result<()> {
        self.put_json(&format!("{workflow}.ground.json"), ground)
    }

    /// The state that a workflow found at its start; none before that. Blocks.
    ///
    /// # Errors
    /// The disk's error, or damage.
    pub(super) fn ground(&self, workflow: &str) -> io::Result<Option<StartState>> {
        match self.json(&format!("{workflow}.ground.json")) {
            Ok(ground) => Ok(Some(ground)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the refs with which an iteration begins: it may change some, and the service may die before they are
    /// compared. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(super) fn put_refs(&self, workflow: &str, refs: &Refs) -> io::Result<()> {
        let known = self.refs(workflow);
        if known.is_ok_and(|known| known.as_ref() == Some(refs)) {
            return Ok(());
        }
        let bytes = serde_json::to_vec(refs).map_err(io::Error::other)?;
        self.replace(&format!("{workflow}.refs.json"), &bytes)
    }

    /// The refs that were kept last; none before that. Blocks.
    ///
    /// # Errors
    /// The disk's error, or damage.
    pub(super) fn refs(&self, workflow: &str) -> io::Result<Option<Refs>> {
        match self.json(&format!("{workflow}.refs.json")) {
            Ok(refs) => Ok(Some(refs)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps which protected files an attempt changed, before they are restored: with those that were found
    /// in an earlier life. All of them. Blocks.
    ///
    /// # Errors
    /// The disk's error, or damage of the kept file.
    pub(super) fn put_protected(
        &self,
        workflow: &str,
        at: StepPlace,
        found: Vec<String>,
    ) -> io::Result<BTreeSet<String>> {
        let name = format!("{workflow}.protected.json");
        let kept: Option<Protected> = match self.json(&name) {
            Ok(kept) => Some(kept),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let kept = kept.filter(|kept| kept.at == at);
        let mut paths = kept.map(|kept| kept.paths).unwrap_or_default();
        let known = paths.len();
        paths.extend(found);
        if paths.len() > known {
            let protected = Protected { at, paths };
            let bytes = serde_json::to_vec(&protected).map_err(io::Error::other)?;
            self.replace(&name, &bytes)?;
            paths = protected.paths;
        }
        Ok(paths)
    }

    /// Keeps an output under its SHA-256. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(super) fn put_output(&self, hash: &str, output: &str) -> io::Result<()> {
        self.put(&format!("{hash}.output"), output.as_bytes())
    }

    /// An output that is kept. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub fn output(&self, hash: &str) -> io::Result<Vec<u8>> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return Err(io::Error::from(ErrorKind::NotFound));
        }
        fs::read(self.folder.join(format!("{hash}.output")))
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> io::Result<T> {
        let bytes = fs::read(self.folder.join(name))?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    fn put_json<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let bytes = serde_json::to_vec(value).map_err(io::Error::other)?;
        self.put(name, &bytes)
    }

    /// Writes a file unless it is there.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.folder.join(name).exists() {
            return Ok(());
        }
        self.replace(name, bytes)
    }

    /// Writes a file: whole, flushed, then under its name.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let unfinished = self
            .folder
            .join(format!(".{name}.{}.tmp", fastrand::u64(..)));
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&unfinished, &path)?;
        File::open(&self.folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::sha256;
    use crate::workflow::git::TreeKind;

    /// Spec: [FLOW-100]
    #[test]
    fn what_is_kept_is_found_again_under_its_name_and_nothing_else_is_read() {
        let home = tempfile::tempdir().unwrap();
        let files = WorkflowFiles::at(home.path());
        let hash = sha256(b"said");
        files.put_output(&hash, "said").unwrap();
        files.put_output(&hash, "said").unwrap();
        assert_eq!(files.output(&hash).unwrap(), b"said");
        assert_eq!(files.ground("w").unwrap(), None);
        let ground = StartState {
            config: GitConfig::default(),
            tree: Worktree {
                root: "/repository".into(),
                git: "/repository/.git".into(),
                kind: TreeKind::InPlace,
                branch: None,
                copy: Vec::new(),
                ignored: Vec::new(),
            },
        };
        files.put_ground("w", &ground).unwrap();
        assert_eq!(files.ground("w").unwrap(), Some(ground));
        fs::write(home.path().join("secret"), "x").unwrap();
        for name in ["../secret", "", "w.ground.json"] {
            assert_eq!(files.output(name).unwrap_err().kind(), ErrorKind::NotFound);
        }
        let left = fs::read_dir(home.path().join("workflow-files")).unwrap();
        assert_eq!(left.count(), 2);
    }

    /// Spec: [FLOW-111]
    #[test]
    fn what_an_attempt_changed_is_known_after_it_was_restored_and_not_that_of_another() {
        let home = tempfile::tempdir().unwrap();
        let files = WorkflowFiles::at(home.path());
        let at = |n| StepPlace { n, attempt: 1 };
        let put = |n, paths: &[&str]| {
            let paths = paths.iter().map(ToString::to_string).collect();
            let all = files.put_protected("w", at(n), paths).unwrap();
            all.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(put(1, &[]), [""; 0]);
        assert_eq!(put(1, &["b"]), ["b"]);
        assert_eq!(put(1, &[]), ["b"]);
        assert_eq!(put(1, &["a", "b"]), ["a", "b"]);
        assert_eq!(put(2, &[]), [""; 0]);
        assert_eq!(put(2, &["c"]), ["c"]);
    }
}
